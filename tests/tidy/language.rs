//! Words that readers of technical English stumble over, in pages and comments, and what to write.

use std::fs;

use crate::documents::prose;
use crate::{files, root};

/// What not to write, one form each, and what instead.
const WORDS: [(&str, &str); 33] = [
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
];

/// The same for pages only: of a test's steps they may be said.
const WORDS_OF_PAGES: [(&str, &str); 8] = [
    ("come back", "return; are released; expire"),
    ("comes back", "returns; is released; expires"),
    ("came back", "returned; were released"),
    ("coming back", "returning"),
    ("is told", "is answered; gets"),
    ("are told", "are answered; get"),
    ("was told", "was answered; got"),
    ("were told", "were answered; got"),
];

/// A rate is per something: `tries per second`.
const COUNTED: [&str; 8] =
    ["once", "twice", "times", "tries", "orders", "requests", "entries", "messages"];
const TIMES: [&str; 4] = ["second", "minute", "hour", "day"];

/// This file says the words itself.
const OWN: &str = "tests/tidy/language.rs";

/// The words of a text, small, with one space between them.
fn plain(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// Each place of a phrase in a plain text, with some words around it.
fn places<'a>(text: &'a str, phrase: &str) -> Vec<&'a str> {
    let ends = |letter: Option<char>| letter.is_none_or(|l| !l.is_alphanumeric() && l != '_');
    let found = text.match_indices(phrase).filter(|(at, _)| {
        let (before, after) = (&text[..*at], &text[at + phrase.len()..]);
        ends(before.chars().next_back()) && ends(after.chars().next())
    });
    let around = |(at, _): (usize, &str)| {
        let start = text[..at].char_indices().rev().nth(40).map_or(0, |(index, _)| index);
        let end = text[at..].char_indices().nth(60).map_or(text.len(), |(index, _)| at + index);
        &text[start..end]
    };
    found.map(around).collect()
}

/// What is wrong with the language of a text.
fn complaints(name: &str, text: &str, lists: &[&[(&str, &str)]]) -> Vec<String> {
    let text = plain(text);
    let mut complaints = Vec::new();
    for (phrase, instead) in lists.iter().flat_map(|list| list.iter()) {
        for place in places(&text, phrase) {
            complaints.push(format!("{name}: for `{phrase}` write `{instead}`: {place}"));
        }
    }
    for counted in COUNTED {
        for time in TIMES {
            for place in places(&text, &format!("{counted} a {time}")) {
                complaints.push(format!("{name}: write `{counted} per {time}`: {place}"));
            }
        }
    }
    complaints
}

/// The comments of a source file, one after the other.
fn comments(source: &str) -> String {
    let of_line = |line: &str| {
        let (code, comment) = line.split_once("//")?;
        let starts = code.is_empty() || code.ends_with(' ');
        starts.then(|| comment.trim_start_matches(['/', '!']).to_owned())
    };
    source.lines().filter_map(of_line).collect::<Vec<_>>().join(" ")
}

#[test]
fn pages_are_in_plain_english() {
    let mut pages = files(&["docs"], "md");
    pages.retain(|(name, _)| !name.starts_with("docs/zh-CN/") && !name.ends_with(".zh-CN.md"));
    for name in ["README.md", "SECURITY.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        pages.push((name.to_owned(), fs::read_to_string(root().join(name)).expect("a page")));
    }
    let changes = fs::read_to_string(root().join("CHANGELOG.md")).expect("CHANGELOG.md");
    let unreleased = changes.split("\n## ").nth(1).expect("what is not released yet");
    pages.push(("CHANGELOG.md".to_owned(), unreleased.to_owned()));
    let found: Vec<_> = pages
        .iter()
        .flat_map(|(name, page)| complaints(name, &prose(page), &[&WORDS, &WORDS_OF_PAGES]))
        .collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn comments_are_in_plain_english() {
    let sources = files(&["src", "domain", "fuzz", "benches", "tests", "tools"], "rs");
    let found: Vec<_> = sources
        .iter()
        .filter(|(name, _)| name != OWN)
        .flat_map(|(name, source)| complaints(name, &comments(source), &[&WORDS]))
        .collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn the_checks_of_this_file_can_fail() {
    let found = |text: &str| complaints("x", text, &[&WORDS, &WORDS_OF_PAGES]).len();
    assert_eq!(found("It is given\n  back, at most once a second."), 2);
    assert_eq!(found("It is Released at most once per second; a mender is no mend-all."), 1);
    assert_eq!(found("amends, endeared, handed by handlers"), 0);
    assert_eq!(comments("a(); // b\n//! c\n/// d\n\"http://e\";\n"), " b  c  d");
}
