//! The documents, their links, the packages and the clients.

use std::fs;
use std::path::Path;

use crate::{COLUMNS, LINES_A_FILE, files, read, root};

#[test]
fn a_version_stands_in_the_changelog() {
    let changelog = read("CHANGELOG.md");
    let version = env!("CARGO_PKG_VERSION");
    let stands = changelog.lines().any(|line| line.starts_with("## ") && line.contains(version));
    assert!(stands, "CHANGELOG.md has no heading of {version}");
}

#[test]
fn the_packages_have_every_configuration() {
    let (ours, packaged) = (read("redis.conf"), read("packaging/seckill.conf"));
    // A package's file ends with what follows this line, commented out.
    let (_, settings) = ours.split_once("\nloadmodule ").expect("the line that loads the module");
    let is_ours =
        |line: &str| line.is_empty() || line.starts_with('#') || line.starts_with("seckill.");
    assert!(settings.lines().skip(1).all(is_ours), "redis.conf: what is no setting of the module?");
    for maker in ["scripts/package", "packaging/Dockerfile"] {
        let commented = "sed '1,/^loadmodule/d; s/^seckill/#&/' redis.conf";
        assert!(read(maker).contains(commented), "{maker} does not take the settings");
    }
    let manifest = read("Cargo.toml");
    let folder = "\"usr/lib/redis/modules/\"";
    assert!(manifest.contains(folder), "Cargo.toml: the package has the module elsewhere");
    // It is included, and CONFIG REWRITE copies what loads a module from there: see tests/it.
    let lines =
        ["loadmodule /usr/lib/redis/modules/libseckill.so", "include /etc/redis/seckill.conf"];
    assert!(packaged.contains(&lines.map(|line| format!("#     {line}\n")).concat()));
    let is_set = |line: &&str| !line.is_empty() && !line.starts_with('#');
    assert_eq!(packaged.lines().filter(is_set).count(), 0);
    for page in ["docs/installing.md", "docs/zh-CN/installing.md"] {
        assert!(read(page).contains(&lines.map(|line| format!("{line}\n")).concat()), "{page}");
    }
}

/// The glibc version that the packages need is set in one place, scripts/portable.
#[test]
fn the_promised_glibc_is_one() {
    let script = read("scripts/portable");
    let promise = script.lines().find_map(|line| line.strip_prefix("glibc="));
    let promise = promise.expect("scripts/portable promises a version");
    let depends = format!("depends = \"libc6 (>= {promise})\"");
    assert!(read("Cargo.toml").contains(&depends), "Cargo.toml: the .deb of a release");
    let page = read("docs/installing.md");
    let told = format!("glibc {promise} or newer");
    assert!(page.contains(&told), "docs/installing.md does not say {told}");
    // It promises no other version. Behind the mark are those that it was tried with.
    let (page, _) = page.split_once("<!-- matrix -->").expect("the table of scripts/matrix");
    let numbers = page.split("glibc ").skip(1).filter(|rest| rest.starts_with(char::is_numeric));
    for rest in numbers {
        assert!(rest.starts_with(promise), "docs/installing.md: glibc {}", &rest[..4]);
    }
}

/// All pages: those at the root and those below examples and docs.
fn pages() -> Vec<(String, String)> {
    let mut pages = files(&["examples", "docs"], "md");
    for entry in fs::read_dir(root()).expect("list the root").flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            let text = fs::read_to_string(&path).expect("read a page");
            pages.push((entry.file_name().to_string_lossy().into_owned(), text));
        }
    }
    pages
}

/// Readers see a line of text right below a table as its last row.
#[test]
fn tables_end_with_an_empty_line() {
    for (name, page) in pages() {
        for (row, below) in page.lines().zip(page.lines().skip(1)) {
            let is_row = |line: &str| line.starts_with('|');
            let ends = !is_row(row) || is_row(below) || below.is_empty();
            assert!(ends, "{name}: no empty line before: {below}");
        }
    }
}

/// A page without its code blocks, and with `_` for inline code, in which brackets are no links.
pub(crate) fn prose(page: &str) -> String {
    let mut fenced = false;
    let mut text = String::new();
    for line in page.lines() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        text += if fenced || fence { "" } else { line };
        text.push('\n');
    }
    // Inline code may go on in the next line, not in the next paragraph.
    let outside = |paragraph: &str| paragraph.split('`').step_by(2).collect::<Vec<_>>().join("_");
    text.split("\n\n").map(outside).collect::<Vec<_>>().join("\n\n")
}

/// The targets of a page's links and images: `](target)`, `src="target"`, `href="target"`.
pub(crate) fn targets(page: &str) -> Vec<String> {
    let prose = prose(page);
    let mut targets = Vec::new();
    for (start, end) in [("](", ')'), ("src=\"", '"'), ("href=\"", '"')] {
        for rest in prose.split(start).skip(1) {
            let target = rest.split(end).next().unwrap_or_default();
            targets.push(target.split(' ').next().unwrap_or_default().to_owned());
        }
    }
    targets
}

/// The anchors of a page's headings, as GitHub makes them.
pub(crate) fn anchors(page: &str) -> Vec<String> {
    let mut fenced = false;
    let mut anchors: Vec<String> = Vec::new();
    for line in page.lines() {
        fenced ^= line.trim_start().starts_with("```");
        if fenced || !line.starts_with('#') {
            continue;
        }
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept =
            heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        anchors.push(kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect());
    }
    anchors
}

#[test]
fn links_of_the_documents_lead_somewhere() {
    let mut complaints = Vec::new();
    for (name, page) in pages() {
        for target in targets(&page) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let folder = Path::new(&name).parent().unwrap_or(Path::new(""));
            let file =
                if path.is_empty() { root().join(&name) } else { root().join(folder).join(path) };
            if !file.exists() {
                complaints.push(format!("{name}: {target} is missing"));
            } else if !anchor.is_empty() {
                let there = fs::read_to_string(&file).expect("read the page that is linked to");
                if !anchors(&there).contains(&anchor.to_owned()) {
                    complaints.push(format!("{name}: {target} has no such heading"));
                }
            }
        }
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

/// The folders of `examples/`: one per client. `cluster` and `brokers` have a `run` of their own.
fn clients() -> Vec<String> {
    let entries = fs::read_dir(root().join("examples")).expect("list the clients").flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<_> =
        folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name != "cluster" && name != "brokers");
    names.sort();
    assert!(!names.is_empty(), "no clients");
    names
}

#[test]
fn every_client_is_run_and_explained() {
    let run = read("examples/run");
    let all = format!("all=({})\n", clients().join(" "));
    assert!(run.contains(&all), "examples/run should have the line {all}");
    // There is one golden file, and no other one with which a client could be compared.
    assert_eq!(run.matches("same transcript.txt").count(), 1, "who is not compared?");

    for name in clients() {
        assert!(
            read("examples/README.md").contains(&format!("| [{name}]({name}/")),
            "{name}: no row"
        );
        let link = format!("](../examples/{name}/");
        let spring = name == "java-spring"; // has its own chapter
        assert!(spring || read("docs/clients.md").contains(&link), "{name}: no section");
    }
}

/// Pages that are read from beginning to end; what is looked up is in a reference beside them.
const GUIDES: [&str; 3] = ["java", "moving", "worker"];
const LINES_A_GUIDE: usize = 250;

#[test]
fn guides_can_be_read_in_one_sitting() {
    for name in GUIDES {
        for page in [format!("docs/{name}.md"), format!("docs/zh-CN/{name}.md")] {
            let lines = read(&page).lines().count();
            assert!(lines <= LINES_A_GUIDE, "{page} has {lines} lines: move some to its reference");
        }
    }
}

/// What docs/servers.md names as proof is a test, or a script that is there.
#[test]
fn the_page_of_servers_names_tests_that_exist() {
    let page = read("docs/servers.md");
    let names: Vec<_> = page.split('`').filter(|word| word.contains("::")).collect();
    assert!(names.len() > 9, "{names:?}");
    for name in names {
        let (path, test) = name.rsplit_once("::").expect("a path");
        let path = format!("{}.rs", path.replace("::", "/"));
        let sources = ["it", "cluster"].map(|suite| root().join("tests").join(suite).join(&path));
        let source = sources.iter().find_map(|path| fs::read_to_string(path).ok());
        let source = source.unwrap_or_else(|| panic!("{name}: no such file"));
        assert!(source.contains(&format!("fn {test}()")), "{name}: no such test");
    }
}

#[test]
fn clients_are_narrow_and_name_no_registry() {
    let mut complaints = Vec::new();
    for extension in ["c", "go", "java", "js", "php", "py", "rb", "lua"] {
        for (name, text) in files(&["examples"], extension) {
            let wide = text.lines().filter(|line| line.chars().count() > COLUMNS).count();
            let wide = wide + text.lines().filter(|line| !line.is_ascii()).count();
            if wide > 0 || text.lines().count() > LINES_A_FILE {
                complaints.push(format!("{name} is too wide, too long or not ASCII"));
            }
        }
    }
    // The machine that fetches packages decides where they come from.
    for extension in ["json", "xml", "txt", "mod", "sum"] {
        for (name, text) in files(&["examples"], extension) {
            if text.contains("\"resolved\"") || text.contains("<repositor") {
                complaints.push(format!("{name} names a registry"));
            }
        }
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn the_checks_of_this_file_can_fail() {
    let page = "[a](b.md) `[c](d)` <img src=\"e.svg\">\n```\n[f](g)\n```\n# A b: `c.d`\n";
    assert_eq!(targets(page), ["b.md", "e.svg"]);
    assert_eq!(targets("[a `b\nc`](d.md) `\n\n[e](f.md)"), ["d.md", "f.md"]);
    assert_eq!(anchors(page), ["a-b-cd"]);
}
