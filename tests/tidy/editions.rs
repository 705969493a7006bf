//! The Chinese pages agree with the English ones: same headings, code, tables and links. Their
//! sessions are literally those of the English pages, so they are not run again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::documents::{anchors, targets};
use crate::{read, root};

const CHINESE: &str = "docs/zh-CN";

/// Chinese pages that have no English edition, with the reason.
const WITHOUT_ENGLISH: [(&str, &str); 1] =
    [("README", "an index of the pages that there are in Chinese")];

/// English pages in docs that have no Chinese edition, with the reason.
const WITHOUT_CHINESE: [(&str, &str); 2] =
    [("ARCHITECTURE", "for maintainers"), ("releasing", "for maintainers")];

/// English pages whose editions may have different links, to what exists in each language.
const OWN_LINKS: [&str; 1] = ["README.md"];

/// The names of the pages directly in a folder, without `.md`, sorted.
fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder)).expect("list the pages").flatten();
    let paths = entries.map(|entry| entry.path());
    let pages = paths.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let stem = |path: PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
    let mut names: Vec<_> = pages.map(stem).collect();
    names.sort();
    names
}

fn excused(list: &[(&str, &str)], name: &str) -> bool {
    list.iter().any(|(page, _)| *page == name)
}

/// English page to Chinese page, both as paths from the root.
fn editions() -> BTreeMap<String, String> {
    let mut editions = BTreeMap::from([("README.md".to_owned(), "README.zh-CN.md".to_owned())]);
    for name in names(CHINESE).into_iter().filter(|name| !excused(&WITHOUT_ENGLISH, name)) {
        editions.insert(format!("docs/{name}.md"), format!("{CHINESE}/{name}.md"));
    }
    editions
}

/// The parts of a page other than its prose.
#[derive(Default)]
struct Shape {
    /// The level and the text of each heading.
    headings: Vec<(usize, String)>,
    /// The lines of each code block, with its fences.
    blocks: Vec<Vec<String>>,
    /// The number of cells in each row of each table.
    tables: Vec<Vec<usize>>,
}

fn shape(page: &str) -> Shape {
    let mut shape = Shape::default();
    let (mut fenced, mut in_table) = (false, false);
    for line in page.lines() {
        let fence = line.trim_start().starts_with("```");
        let row = !fenced && line.trim_start().starts_with('|');
        if fenced || fence {
            if fence && !fenced {
                shape.blocks.push(Vec::new());
            }
            shape.blocks.last_mut().expect("a block").push(line.to_owned());
            fenced ^= fence;
        } else if row {
            if !in_table {
                shape.tables.push(Vec::new());
            }
            let cells = line.trim().replace("\\|", "").matches('|').count();
            shape.tables.last_mut().expect("a table").push(cells - 1);
        } else if line.starts_with('#') {
            let text = line.trim_start_matches('#');
            shape.headings.push((line.len() - text.len(), text.trim().to_owned()));
        }
        in_table = row;
    }
    shape
}

/// Is a line of code that of the English page, apart from a remark in Chinese?
fn same_code(chinese: &str, english: &str) -> bool {
    let Some(remark) = chinese.find(|letter: char| !letter.is_ascii()) else {
        return chinese == english;
    };
    let code = chinese[..remark].trim_end_matches([' ', '#', '-', '/']);
    let Some(rest) = english.strip_prefix(code) else { return false };
    let is_remark = |start: &str| rest.trim_start().starts_with(start);
    code.trim().is_empty() || rest.starts_with("  ") || ["#", "//", "--"].into_iter().any(is_remark)
}

/// The first position at which two lists differ, or at which one of them ends.
fn differ<T>(chinese: &[T], english: &[T], same: impl Fn(&T, &T) -> bool) -> Option<usize> {
    let pairs = chinese.iter().zip(english);
    let first = pairs.take_while(|(one, other)| same(one, other)).count();
    (first < chinese.len().max(english.len())).then_some(first)
}

fn compare(chinese: &Shape, english: &Shape) -> Vec<String> {
    let mut complaints = Vec::new();
    let levels = |one: &(usize, String), other: &(usize, String)| one.0 == other.0;
    if let Some(at) = differ(&chinese.headings, &english.headings, levels) {
        let (here, there) = (chinese.headings.get(at), english.headings.get(at));
        complaints.push(format!("heading {}: {here:?}, in English {there:?}", at + 1));
    }
    let code = |one: &Vec<String>, other: &Vec<String>| {
        differ(one, other, |line, its| same_code(line, its)).is_none()
    };
    if let Some(at) = differ(&chinese.blocks, &english.blocks, code) {
        let (here, there) = (chinese.blocks.get(at), english.blocks.get(at));
        let none = Vec::new();
        let (here, there) = (here.unwrap_or(&none), there.unwrap_or(&none));
        let line = differ(here, there, |line, its| same_code(line, its)).unwrap_or_default();
        let (here, there) = (here.get(line), there.get(line));
        complaints.push(format!("code block {}: {here:?}, in English {there:?}", at + 1));
    }
    if let Some(at) = differ(&chinese.tables, &english.tables, |one, other| one == other) {
        let (here, there) = (chinese.tables.get(at), english.tables.get(at));
        complaints.push(format!("table {}: cells {here:?}, in English {there:?}", at + 1));
    }
    complaints
}

#[test]
fn chinese_pages_have_the_headings_code_and_tables_of_the_english_ones() {
    let editions = editions();
    assert!(editions.len() > 1, "no Chinese pages");
    let mut complaints = Vec::new();
    for (english, chinese) in editions {
        let found = compare(&shape(&read(&chinese)), &shape(&read(&english)));
        complaints.extend(found.into_iter().map(|complaint| format!("{chinese}: {complaint}")));
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn every_page_for_users_has_a_chinese_edition() {
    let chinese = names(CHINESE);
    let missing = |name: &String| !chinese.contains(name) && !excused(&WITHOUT_CHINESE, name);
    let missing: Vec<_> = names("docs").into_iter().filter(missing).collect();
    assert!(missing.is_empty(), "no Chinese edition: {missing:?}");
}

/// The targets of a page's links in the repository: English page, index of the heading.
fn leads(page: &str, editions: &BTreeMap<String, String>) -> Vec<(String, Option<usize>)> {
    let mut leads = Vec::new();
    for target in targets(&read(page)) {
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
        let folder = Path::new(page).parent().unwrap_or(Path::new(""));
        let file = if path.is_empty() { page.to_owned() } else { tidied(&folder.join(path)) };
        let heading = (!anchor.is_empty() && file.ends_with(".md"))
            .then(|| anchors(&read(&file)).iter().position(|known| known == anchor))
            .flatten();
        let english = editions.iter().find(|(_, chinese)| **chinese == file);
        // A picture may have a Chinese edition, too.
        let file = english.map_or(file, |(english, _)| english.clone());
        leads.push((file.replace("docs/images/zh-CN/", "docs/images/"), heading));
    }
    leads
}

/// A path without `..`.
fn tidied(path: &Path) -> String {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            part => parts.push(part.as_os_str().to_string_lossy()),
        }
    }
    parts.join("/")
}

#[test]
fn chinese_pages_lead_where_the_english_ones_lead() {
    let editions = editions();
    let mut complaints = Vec::new();
    for (english, chinese) in &editions {
        if OWN_LINKS.contains(&english.as_str()) {
            continue;
        }
        let sorted = |page: &str| {
            let mut leads = leads(page, &editions);
            // Each edition may name the other.
            leads.retain(|lead| *lead != (english.clone(), None));
            leads.sort();
            leads
        };
        let (here, there) = (sorted(chinese), sorted(english));
        let missing: Vec<_> = there.iter().filter(|lead| !here.contains(lead)).collect();
        let added: Vec<_> = here.iter().filter(|lead| !there.contains(lead)).collect();
        if !missing.is_empty() || !added.is_empty() {
            complaints.push(format!("{chinese}: no link to {missing:?}, its own to {added:?}"));
        }
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn links_of_chinese_pages_stay_in_chinese() {
    let editions = editions();
    let mut complaints = Vec::new();
    for (own, chinese) in &editions {
        for target in targets(&read(chinese)) {
            let path = target.split('#').next().unwrap_or_default();
            let folder = Path::new(chinese).parent().unwrap_or(Path::new(""));
            let file = tidied(&folder.join(path));
            if file != *own && editions.contains_key(&file) {
                complaints.push(format!("{chinese}: {target} has a Chinese edition"));
            }
        }
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn the_checks_of_this_file_can_fail() {
    assert!(same_code("make run  # \u{8dd1}", "make run  # run it"));
    assert!(same_code("  +-- \u{8dd1}", "  +-- what runs"));
    assert!(!same_code("make all  # \u{8dd1}", "make run  # run it"));
    assert!(!same_code("a \u{8dd1}", "a b"));
    assert!(!same_code("a", "a  # b"));

    let page = "# a\n\n| b | c\\|d |\n| --- | --- |\n\n```text\n# e\n```\n## f\n";
    let here = shape(page);
    assert_eq!(here.tables, [[2, 2]]);
    assert_eq!(here.blocks, [["```text", "# e", "```"]]);
    assert!(compare(&here, &shape(page)).is_empty());
    for (cut, what) in [("## f", "heading"), ("# e", "code block"), ("| --- ", "table")] {
        let other = shape(&page.replacen(cut, "", 1));
        let complaints = compare(&other, &here);
        assert!(complaints.iter().any(|complaint| complaint.starts_with(what)), "{complaints:?}");
    }
}
