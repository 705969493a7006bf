//! Words in pages, comments and messages that are hard for readers of technical English, and what
//! to write.

use std::fs;
use std::path::PathBuf;

use crate::documents::prose;
use crate::{files, root};

/// What not to write, one form each, and what instead.
const WORDS: [(&str, &str); 59] = [
    ("give back", "release"),
    ("gives back", "releases"),
    ("gave back", "released"),
    ("given back", "released"),
    ("giving back", "releasing"),
    ("give-back", "release"),
    ("give-backs", "releases"),
    ("anew", "again"),
    ("in vain", "without effect"),
    ("dear", "expensive"),
    ("dearer", "more expensive"),
    ("foretell", "predict"),
    ("foretells", "predicts"),
    ("by hand", "manually; by another client"),
    ("mend", "fix"),
    ("mends", "fixes"),
    ("mended", "fixed"),
    ("all the same", "anyway; still"),
    ("for ever", "forever"),
    ("without a word", "silently"),
    ("in the place of", "instead of"),
    ("the server's end", "when the server stops"),
    ("has run out", "has expired"),
    ("have run out", "have expired"),
    ("server cpu a", "server CPU per"),
    ("one order a user", "one order per user"),
    ("once a user", "once per user"),
    ("one a user", "one per user"),
    ("units a shard", "units per shard"),
    ("unit a shard", "unit per shard"),
    ("unit a user", "unit per user"),
    ("whereupon", "then"),
    ("hitherto", "until now"),
    ("takes long", "is slow"),
    ("take long", "are slow"),
    ("afresh", "again"),
    ("us a try", "us per try"),
    ("bytes a voucher", "bytes per voucher"),
    ("bytes an order", "bytes per order"),
    ("a row an order", "one row per order"),
    ("an object a", "one object per"),
    ("must hold no", "must not contain"),
    ("is no integer", "is not an integer"),
    ("is no number", "is not a number"),
    ("it is no order", "it is not an order"),
    ("that is no order", "that is not an order"),
    ("is no id", "is not an id"),
    ("so many ms", "this many ms"),
    ("play no part", "do not apply"),
    ("plays no part", "does not apply"),
    ("reckoned", "calculated"),
    ("there is no such key", "the key does not exist"),
    ("is no string", "is not a string"),
    ("is no set", "is not a set"),
    ("is no hash", "is not a hash"),
    ("gets along", "works"),
    ("to that end", "for this"),
    ("be it", "whether"),
    ("database is away", "database is down"),
];

/// More words for pages and messages: comments on a test's steps may use them.
const WORDS_TO_USERS: [(&str, &str); 8] = [
    ("come back", "return; are released; expire"),
    ("comes back", "returns; is released; expires"),
    ("came back", "returned; were released"),
    ("coming back", "returning"),
    ("is told", "is answered; gets"),
    ("are told", "are answered; get"),
    ("was told", "was answered; got"),
    ("were told", "were answered; got"),
];

/// How a sentence does not begin, unless it is a question: the topic in front, a clause as a noun,
/// an inverted condition.
const STARTS: [(&str, &str); 7] = [
    ("of a", "the subject first"),
    ("of the", "the subject first"),
    ("who", "the actor: `a client that ..`"),
    ("whoever", "the actor: `a client that ..`"),
    ("is the", "`if the .. is ..`; or a question mark"),
    ("is a", "`if a .. is ..`; or a question mark"),
    ("are the", "`if the .. are ..`; or a question mark"),
];

/// The lists for one kind of text.
struct Rules {
    words: &'static [&'static [(&'static str, &'static str)]],
    starts: &'static [(&'static str, &'static str)],
}

const PAGES: Rules = Rules { words: &[&WORDS, &WORDS_TO_USERS], starts: &STARTS };
const SOURCES: Rules = Rules { words: &[&WORDS], starts: &STARTS };
const MESSAGES: Rules = Rules { words: &[&WORDS_TO_USERS], starts: &[] };

/// Counts before a time: `tries per second` needs `per`.
const COUNTED: [&str; 8] =
    ["once", "twice", "times", "tries", "orders", "requests", "entries", "messages"];
const TIMES: [&str; 4] = ["second", "minute", "hour", "day"];

/// This file contains the words itself.
const OWN: &str = "tests/tidy/language.rs";

/// Sources in languages other than Rust: their whole text is checked, including code.
const OTHER_SOURCES: &str =
    "benches docs/book docs/tutorial domain/fuzz examples java packaging scripts tools";
const OTHER_FILES: &str = ".ci/deny.toml .ci/run Cargo.toml Makefile domain/Cargo.toml redis.conf \
                           rustfmt.toml";
const EXTENSIONS: &str = "c conf env go html java js lua mjs php properties py rb service sh sql \
                          toml txt xml yaml yml";

/// Scripts in the habits of other authors, for the doctor to examine: their words are not checked.
const CORPUS: &str = "tools/tests/doctor";

/// The words of a text in lower case, with one space between them.
fn plain(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// Each place of a phrase in a plain text, with some of the words around it.
fn places<'a>(text: &'a str, phrase: &str) -> Vec<(usize, &'a str)> {
    let ends = |letter: Option<char>| letter.is_none_or(|l| !l.is_alphanumeric() && l != '_');
    let found = text.match_indices(phrase).filter(|(at, _)| {
        let (before, after) = (&text[..*at], &text[at + phrase.len()..]);
        ends(before.chars().next_back()) && ends(after.chars().next())
    });
    let around = |(at, _): (usize, &str)| {
        let start = text[..at].char_indices().rev().nth(40).map_or(0, |(index, _)| index);
        let end = text[at..].char_indices().nth(60).map_or(text.len(), |(index, _)| at + index);
        (at, &text[start..end])
    };
    found.map(around).collect()
}

/// Does a sentence that is not a question begin here?
fn is_start(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end();
    let begins = before.is_empty() || (before.len() < at && before.ends_with(['.', '!', '?']));
    let is_numbered = before.trim_end_matches('.').ends_with(|last: char| last.is_ascii_digit());
    let abbreviated = is_numbered || ["..", "e.g.", "i.e."].iter().any(|end| before.ends_with(end));
    let end = text[at..].find(['.', '!', '?', ':']).map(|end| at + end);
    begins && !abbreviated && end.is_none_or(|end| !text[end..].starts_with('?'))
}

/// What is wrong with the language of a text.
fn complaints(name: &str, text: &str, rules: &Rules) -> Vec<String> {
    let text = plain(text);
    let mut complaints = Vec::new();
    for (phrase, instead) in rules.words.iter().flat_map(|list| list.iter()) {
        for (_, place) in places(&text, phrase) {
            complaints.push(format!("{name}: for `{phrase}` write `{instead}`: {place}"));
        }
    }
    for (start, instead) in rules.starts {
        for (_, place) in places(&text, start).into_iter().filter(|(at, _)| is_start(&text, *at)) {
            complaints.push(format!("{name}: begin with {instead}, not `{start}`: {place}"));
        }
    }
    for counted in COUNTED {
        for time in TIMES {
            for (_, place) in places(&text, &format!("{counted} a {time}")) {
                complaints.push(format!("{name}: write `{counted} per {time}`: {place}"));
            }
        }
    }
    complaints
}

/// All comments of a Rust source file.
fn comments(source: &str) -> String {
    let of_line = |line: &str| {
        let (code, comment) = line.split_once("//")?;
        let starts = code.is_empty() || code.ends_with(' ');
        starts.then(|| comment.trim_start_matches(['/', '!']).to_owned())
    };
    source.lines().filter_map(of_line).collect::<Vec<_>>().join(" ")
}

/// The string literals of a Rust source file, each as a sentence of its own; without unit tests at
/// its end.
fn literals(source: &str) -> String {
    let end = source.find("#[cfg(test)]\nmod tests").unwrap_or(source.len());
    let mut rest = &source[..end];
    let mut found = String::new();
    while let Some(at) = rest.find(['"', '\'', '/']) {
        let (before, here) = rest.split_at(at);
        let skipped = if here.starts_with("//") {
            here.find('\n').unwrap_or(here.len())
        } else if here.starts_with("'\\") || here.starts_with("'\"'") {
            3
        } else if let Some(quoted) = here.strip_prefix('"') {
            let marks = before.len() - before.trim_end_matches('#').len();
            let is_raw = before[..before.len() - marks].ends_with('r');
            let close = format!("\"{}", "#".repeat(marks));
            let len = if is_raw { quoted.find(&close) } else { quoted_len(quoted) };
            let len = len.unwrap_or(quoted.len());
            let flat = quoted[..len].replace("\\\n", " ").replace("\\n", " ").replace('\\', "");
            found = found + " " + &flat + " .";
            len + 2
        } else {
            1
        };
        rest = &here[skipped.min(here.len())..];
    }
    found
}

/// The length of a text up to the first quote that no backslash escapes.
pub(crate) fn quoted_len(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.find(|letter: char| {
        let ends = letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        ends
    })
}

/// The lines of a source file in another language, without comment marks.
fn unmarked(source: &str) -> String {
    let marks = ['/', '*', '#', '-', '<', '!'];
    let line = |line: &str| line.trim().trim_start_matches(marks).to_owned();
    source.lines().map(line).collect::<Vec<_>>().join(" ")
}

/// The part of a file's text that people read and that the lists are about.
fn text_of(name: &str, source: &str) -> String {
    let is_rust = name.ends_with(".rs");
    let is_program = ["src/", "domain/", "tools/src/"].iter().any(|start| name.starts_with(start));
    match (is_rust, name.ends_with(".md")) {
        (true, _) if is_program && !name.ends_with("tests.rs") => {
            comments(source) + " . " + &literals(source)
        }
        (true, _) => comments(source),
        (_, true) => prose(source),
        _ => unmarked(source),
    }
}

/// Sources in other languages, from folders and single files.
fn other_sources() -> Vec<(String, String)> {
    let paths = |names: &str| names.split(' ').map(|name| root().join(name)).collect::<Vec<_>>();
    let (mut found, mut folders) = (paths(OTHER_FILES), paths(OTHER_SOURCES));
    let known: Vec<&str> = EXTENSIONS.split(' ').collect();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(&folder).expect("list a folder").flatten().map(|e| e.path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let extension = path.extension().unwrap_or_default().to_string_lossy();
            let made = ["target", "node_modules", "vendor"].contains(&&*name);
            if path.is_dir() && !made && !name.starts_with('.') {
                folders.push(path);
            } else if path.is_file() && (extension.is_empty() || known.contains(&&*extension)) {
                found.push(path);
            }
        }
    }
    found.sort();
    let read = |path: PathBuf| {
        let name = path.strip_prefix(root()).expect("below the root").display().to_string();
        Some((name, fs::read_to_string(path).ok()?))
    };
    let mut sources: Vec<_> = found.into_iter().filter_map(read).collect();
    sources.retain(|(name, _)| !name.starts_with(CORPUS));
    sources
}

fn assert_plain(sources: &[(String, String)], rules: &Rules) {
    let found: Vec<_> = sources
        .iter()
        .filter(|(name, _)| name != OWN)
        .flat_map(|(name, source)| complaints(name, &text_of(name, source), rules))
        .collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn pages_are_in_plain_english() {
    let mut pages = files(&["docs"], "md");
    pages.retain(|(name, _)| !name.starts_with("docs/zh-CN/") && !name.ends_with(".zh-CN.md"));
    for name in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        pages.push((name.to_owned(), fs::read_to_string(root().join(name)).expect("a page")));
    }
    assert_plain(&pages, &PAGES);
}

#[test]
fn comments_are_in_plain_english() {
    assert_plain(&files(&["src", "domain", "benches", "tests", "tools"], "rs"), &SOURCES);
}

#[test]
fn messages_are_in_plain_english() {
    let mut sources = files(&["src", "domain", "tools/src"], "rs");
    sources.retain(|(name, _)| !name.ends_with("tests.rs"));
    let texts: Vec<_> =
        sources.iter().map(|(name, source)| (name.clone(), literals(source))).collect();
    let found: Vec<_> =
        texts.iter().flat_map(|(name, text)| complaints(name, text, &MESSAGES)).collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn other_sources_are_in_plain_english() {
    assert_plain(&other_sources(), &SOURCES);
}

#[test]
fn a_word_is_found_in_every_kind_of_text() {
    for (name, source) in [
        ("docs/a.md", "Given\nback."),
        ("src/a.rs", "//! It is given\n//! back\n"),
        ("src/a.rs", "fail(\"it is given \\\n    back\");"),
        ("domain/src/a.rs", "let a = '\"'; let b = r#\"\"given back\" \"#;"),
        ("tools/src/a.rs", "/// Given back\nlet url = \"http://e\";"),
        ("tools/src/a.rs", "bail!(\"a \\\" b\"); // given back"),
        ("java/A.java", "/**\n * Given\n * back. */"),
        ("java/A.java", "fail(\"given back\");"),
        ("packaging/functions/a.lua", "-- given\n-- back"),
        ("scripts/a", "# given back"),
        ("examples/transcript.txt", "bob: given back"),
        ("Makefile", "a: ## given back"),
        ("Cargo.toml", "# given back"),
    ] {
        let found = complaints(name, &text_of(name, source), &SOURCES);
        assert_eq!(found.len(), 1, "{name} {source}: {found:?}");
    }
    for (name, source) in [
        ("tests/a.rs", "server.check(\"> GET given back\");"),
        ("src/a.rs", "fn f() {}\n#[cfg(test)]\nmod tests { f(\"given back\"); }"),
        ("docs/a.md", "Released.\n\n```text\n> GET given back\n```\n"),
    ] {
        let found = complaints(name, &text_of(name, source), &SOURCES);
        assert!(found.is_empty(), "{found:?}");
    }
    let sources = other_sources();
    for wanted in
        ["Makefile", "examples/transcript.txt", "packaging/functions/seckill.lua", "scripts/run"]
    {
        assert!(sources.iter().any(|(name, _)| name == wanted), "{wanted}");
    }
}

#[test]
fn the_checks_of_this_file_can_fail() {
    let found =
        |text: &str| complaints("x", text, &PAGES).len() + complaints("x", text, &SOURCES).len();
    assert_eq!(found("It is given\n  back, at most once a second."), 4);
    assert_eq!(found("It is Released at most once per second; a mender is no mend-all."), 2);
    assert_eq!(found("A user is told 1. It is no integer."), 3);
    assert_eq!(found("amends, endeared, handed by handlers"), 0);
    assert_eq!(
        found("It waits. Of a\nline the first goes. Who waits, waits. Is the line empty, go."),
        6
    );
    assert_eq!(found("One of a kind, who waits. Who waits? Is the line empty? e.g. of a line"), 0);
    assert_eq!(comments("a(); // b\n//! c\n/// d\n\"http://e\";\n"), " b  c  d");
    assert_eq!(literals("f(\"a\\\"b\", 'c', \"d\\\n  e\") // \"f\"\n"), " a\"b . d   e .");
}
