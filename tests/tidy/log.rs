//! The pages of log messages have each message of the sources, in their order.
//!
//! The messages are taken from the sources; what to do about each is written in the pages. After a
//! change of a message this command writes the tables, with new rows whose second cell is missing:
//!
//!     WRITE_DOCS=1 cargo test --test tidy log

use std::env;
use std::fmt::Write as _;
use std::fs;

use crate::{files, root};

const PAGES: [&str; 2] = ["docs/log.md", "docs/zh-CN/log.md"];

/// Where the module and the worker write into a log: what stands before the message, and whether
/// all texts up to the end of the statement are messages, or only the first one.
const PLACES: [(&str, &str, bool); 7] = [
    ("src/", "ctx.warn(", true),
    ("src/entry.rs", "return Err(", true),
    ("src/server/loading.rs", "c\"warning\",", true),
    ("src/server/panics.rs", "c\"warning\", ", true),
    ("tools/src/worker/", "warn!(", false),
    ("tools/src/worker/", "error!(", false),
    ("tools/src/worker/consumers.rs", "let text = format!(", true),
];

/// The text literals of a statement, up to the `;` or the end of the match arm that closes it.
fn texts(statement: &str) -> Vec<String> {
    let (mut found, mut rest, mut depth) = (Vec::new(), statement, 1);
    while let Some(at) = rest.find(['"', '(', ')', '{', '}']) {
        match rest.as_bytes()[at] {
            b'"' => {
                let quoted = &rest[at + 1..];
                let len = quoted_len(quoted).unwrap_or(quoted.len());
                found.push(quoted[..len].to_owned());
                rest = &quoted[(len + 1).min(quoted.len())..];
                continue;
            }
            b'(' | b'{' => depth += 1,
            _ => depth -= 1,
        }
        rest = &rest[at + 1..];
        if depth == 0 {
            break;
        }
    }
    found
}

/// A message as it is shown, with `...` for what is put in.
fn shown(literal: &str) -> String {
    let joined = literal.split("\\\n").map(str::trim_start).collect::<Vec<_>>().concat();
    let mut text = String::new();
    let mut rest = joined.as_str();
    while let Some((before, behind)) = rest.split_once('{') {
        text += before;
        text += "...";
        rest = behind.split_once('}').map_or("", |(_, behind)| behind);
    }
    text + rest
}

/// The messages of a source file, in its order.
fn messages(name: &str, source: &str) -> Vec<String> {
    let code = &source[..source.find("#[cfg(test)]\nmod tests").unwrap_or(source.len())];
    let mut found = Vec::new();
    for (folder, before, all) in PLACES.into_iter().filter(|place| name.starts_with(place.0)) {
        for (at, _) in code.match_indices(before) {
            let texts = texts(&code[at + before.len()..]);
            let kept = if all { texts.len() } else { 1 };
            let loading = if folder == "src/entry.rs" { "not loaded: " } else { "" };
            let shown = texts.iter().take(kept).map(|text| loading.to_owned() + &shown(text));
            found.extend(shown.map(|text| (at, text)));
        }
    }
    found.sort_by_key(|(at, _)| *at);
    // What only joins other texts is no message.
    let says = |text: &String| text.replace("not loaded: ", "").matches(' ').count() > 1;
    found.into_iter().map(|(_, text)| text).filter(says).collect()
}

fn all(folder: &str) -> Vec<String> {
    let mut all: Vec<String> =
        files(&[folder], "rs").iter().flat_map(|(name, source)| messages(name, source)).collect();
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|message| seen.insert(message.clone()));
    assert!(all.len() > 5, "{folder}: {all:?}");
    all
}

/// The page with the messages in the table of this name, each with what the page says of it.
fn with_messages(page: &str, name: &str, messages: &[String]) -> String {
    let mark = format!("<!-- messages: {name} -->\n");
    let (before, rest) = page.split_once(&mark).expect("the mark of the table");
    let (old, after) = rest.split_once("<!-- end of messages -->").expect("the end of the table");
    let head: String = old.trim_start().split_inclusive('\n').take(2).collect();
    let mut table = head;
    for message in messages {
        let begin = format!("| `{message}` | ");
        let row = old.lines().find(|line| line.starts_with(&begin)).unwrap_or(&begin);
        let _ = writeln!(table, "{}", row.trim_end());
    }
    format!("{before}{mark}\n{table}\n<!-- end of messages -->{after}")
}

#[test]
fn pages_have_the_messages_of_the_sources() {
    let tables = [("module", all("src")), ("worker", all("tools/src/worker"))];
    let mut complaints = Vec::new();
    for name in PAGES {
        let file = root().join(name);
        let page = fs::read_to_string(&file).expect("the page of messages");
        let wanted = tables
            .iter()
            .fold(page.clone(), |page, (name, messages)| with_messages(&page, name, messages));
        if env::var_os("WRITE_DOCS").is_some() {
            fs::write(&file, &wanted).expect("write the page");
        } else if page != wanted {
            let how = "WRITE_DOCS=1 cargo test --test tidy log";
            complaints.push(format!("{name}: {how} writes\n{wanted}"));
        }
        let is_empty = |line: &&str| line.starts_with("| `") && line.ends_with("` |");
        let empty = wanted.lines().filter(is_empty);
        complaints.extend(empty.map(|row| format!("{name} does not say what to do: {row}")));
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

/// What a page says that a log has. The other edition has the same code, by a test of its own.
fn quoted(page: &str) -> impl Iterator<Item = &str> {
    ["log says `", "log has `"].into_iter().flat_map(|before| {
        page.split(before).skip(1).map(|rest| rest.split('`').next().unwrap_or_default())
    })
}

#[test]
fn what_other_pages_quote_of_a_log_is_a_message() {
    let log = fs::read_to_string(root().join(PAGES[0])).expect("the page of messages");
    let mut count = 0;
    for (name, page) in files(&["docs"], "md") {
        for message in quoted(&page) {
            assert!(log.contains(message), "{name}: no log says {message}");
            count += 1;
        }
    }
    assert!(count >= 4, "{count}");
}

#[test]
fn the_checks_of_this_file_can_fail() {
    assert_eq!(quoted("The log says `a b` or `c`").collect::<Vec<_>>(), ["a b"]);
    let source = "fn f() { ctx.warn(&format!(\"no {a} \\\n    in {}\", b(\"c\"))); g(\"d e f\"); }";
    assert_eq!(messages("src/a.rs", source), ["no ... in ..."]);
    let source = "warn!(\"{a}: {}\"); error!(\"it is {b:?} here\", \"no such text\");";
    assert_eq!(messages("tools/src/worker/a.rs", source), ["it is ... here"]);
    let page = "<!-- messages: x -->\n\n| a | b |\n| --- | --- |\n| `m n` | do |\n\n\
                <!-- end of messages -->\n";
    assert_eq!(with_messages(page, "x", &["m n".to_owned()]), page);
    assert!(with_messages(page, "x", &["o p".to_owned()]).contains("\n| `o p` |\n"));
}

/// The length of a text up to the first quote that no backslash escapes.
fn quoted_len(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.find(|letter: char| {
        let ends = letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        ends
    })
}
