//! Properties of the source text, of ARCHITECTURE.md and of the documentation, without a server.

use std::fs;
use std::path::{Path, PathBuf};

mod architecture;
mod book;
mod documents;
mod editions;
mod figures;
mod language;
mod log;
mod pictures;

const LINES_A_FILE: usize = 400;
const COLUMNS: usize = 100;

/// The folders of all Rust sources.
const RUST: [&str; 5] = ["src", "domain", "tests", "tools", "examples/rust"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Files below `folders` with this extension, as (path from the root, text), sorted.
fn files(folders: &[&str], extension: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut left: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).expect("list a folder").flatten();
            let made = |path: &PathBuf| path.ends_with("target") || path.ends_with("node_modules");
            left.extend(entries.map(|entry| entry.path()).filter(|path| !made(path)));
        } else if path.extension().is_some_and(|other| other == extension) {
            let name = path.strip_prefix(root()).expect("below the root").display().to_string();
            found.push((name, fs::read_to_string(&path).expect("read a source file")));
        }
    }
    assert!(!found.is_empty(), "no .{extension} in {folders:?}");
    found.sort();
    found
}

/// The module's sources, except files that contain only unit tests.
fn source() -> Vec<(String, String)> {
    let mut source = files(&["src", "domain/src"], "rs");
    source.retain(|(name, _)| !name.ends_with("/tests.rs") && !name.contains("/tests/"));
    source
}

/// The lines of a file with their numbers, without comments and without unit tests at its end.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let end = text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len());
    text[..end].lines().enumerate().map(|(index, line)| {
        let comment = if line.trim_start().starts_with("//") { Some(0) } else { line.find(" // ") };
        (index + 1, &line[..comment.unwrap_or(line.len())])
    })
}

/// A line without the text between its quotes.
fn without_literals(line: &str) -> String {
    line.split('"').step_by(2).collect::<Vec<_>>().join("\"\"")
}

/// The parts of identifiers in lower case: split at underscores and capitals.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in line.chars() {
        let hump = letter.is_uppercase() && before.is_lowercase();
        if !letter.is_alphanumeric() || hump {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Fails with every place for which `found` returns a complaint.
fn forbid(files: &[(String, String)], found: impl Fn(&str, &str) -> Option<String>) {
    let mut complaints = Vec::new();
    for (name, text) in files {
        for (number, line) in code(text) {
            if let Some(complaint) = found(name, line) {
                complaints.push(format!("{name}:{number}: {complaint}: {}", line.trim()));
            }
        }
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

fn is_server(name: &str) -> bool {
    name.starts_with("src/server/") || name == "src/server.rs"
}

#[test]
fn unsafe_code_is_in_the_server_part_and_the_entry() {
    forbid(&source(), |name, line| {
        let allowed = is_server(name) || name == "src/entry.rs";
        let is_unsafe = words(line).iter().any(|word| word == "unsafe")
            && !line.contains("unsafe_code")
            && !line.contains("unsafe_op_in_unsafe_fn");
        (is_unsafe && !allowed).then(|| "unsafe".to_owned())
    });
}

#[test]
fn the_domain_knows_no_server_and_no_clock() {
    forbid(&files(&["domain/src"], "rs"), |_, line| {
        let foreign = ["redis_module", "std::fs", "std::net", "std::env", "SystemTime", "Instant"];
        let found = foreign.iter().find(|word| line.contains(**word));
        found.map(|word| format!("{word} in the domain"))
    });
}

#[test]
fn the_server_part_knows_no_word_of_the_domain() {
    let files: Vec<_> = source().into_iter().filter(|(name, _)| is_server(name)).collect();
    let domain = ["voucher", "vouchers", "stock", "stocks", "hold", "holds", "lock", "locks"];
    forbid(&files, |_, line| {
        let words = words(&without_literals(line));
        let found = words.iter().find(|word| domain.contains(&word.as_str()));
        found.map(|word| format!("the word {word}"))
    });
}

#[test]
fn commands_do_not_reach_around_the_server_part() {
    let files = files(&["src/commands", "src/keyspace", "src/memory", "src/background"], "rs");
    forbid(&files, |_, line| line.contains("redis_module").then(|| "the crate's API".to_owned()));
}

#[test]
fn key_names_are_spelled_in_one_place() {
    forbid(&source(), |name, line| {
        let allowed = name == "domain/src/key_names.rs";
        let spelled = ["\"seckill:", "\"stream.orders", "\"stream."];
        let found = spelled.iter().find(|start| line.contains(**start));
        (found.is_some() && !allowed).then(|| "a key name".to_owned())
    });
}

/// Clippy finds everything else that can panic, see src/lib.rs.
#[test]
fn nothing_in_the_module_asserts() {
    forbid(&source(), |_, line| {
        let calls = ["assert!(", "assert_eq!(", "assert_ne!("];
        let found = calls.iter().find(|call| line.replace("debug_assert", "").contains(**call));
        found.map(|call| format!("{call} outside tests"))
    });
}

#[test]
fn files_are_short_and_lines_narrow() {
    let mut complaints = Vec::new();
    for (name, text) in files(&RUST, "rs") {
        let count = text.lines().count();
        if count > LINES_A_FILE {
            complaints.push(format!("{name} has {count} lines"));
        }
        for (number, line) in text.lines().enumerate() {
            if line.chars().count() > COLUMNS {
                complaints.push(format!("{name}:{} is too wide", number + 1));
            }
        }
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn every_source_file_says_what_it_owns() {
    for (name, text) in files(&RUST, "rs") {
        assert!(text.starts_with("//! "), "{name} has no comment at its top");
    }
}

#[test]
fn source_is_plain_ascii() {
    for (name, text) in files(&RUST, "rs") {
        let odd = text.lines().enumerate().find(|(_, line)| !line.is_ascii());
        assert!(odd.is_none(), "{name}:{odd:?}");
    }
}

#[test]
fn the_checks_of_this_file_can_fail() {
    assert_eq!(words("fn read_stock(LockGuard)"), ["fn", "read", "stock", "lock", "guard"]);
    assert_eq!(words("BlockClient unlock"), ["block", "client", "unlock"]);
    assert_eq!(without_literals(r#"f("stock", x, "")"#), "f(\"\", x, \"\")");
    let text = "a(); // b\n// c\n#[cfg(test)]\nmod tests { d(); }\n";
    assert_eq!(code(text).collect::<Vec<_>>(), [(1, "a();"), (2, "")]);
}
