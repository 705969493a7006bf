//! The few words that mislead, in pages, comments and messages: what is released must not be said
//! to be given back or returned, since SECKILL.RETURN is another command than a release; and a
//! managed voucher is not hosted in a cloud, as its Chinese name would say.

use std::fs;

use crate::documents::prose;
use crate::{files, root};

/// What not to write, and what instead.
const WORDS: [(&str, &str); 11] = [
    ("give back", "release"),
    ("gives back", "releases"),
    ("gave back", "released"),
    ("given back", "released"),
    ("giving back", "releasing"),
    ("give-back", "release"),
    ("give-backs", "releases"),
    ("\u{5f52}\u{8fd8}", "\u{56de}\u{8865}"),
    ("\u{9000}\u{8fd8}", "\u{56de}\u{8865}"),
    ("\u{8fd4}\u{8fd8}", "\u{56de}\u{8865}"),
    ("\u{6258}\u{7ba1}\u{5238}", "\u{89c4}\u{5219}\u{5238}"),
];

/// This file contains the words itself; what other authors have written is examined by the doctor.
const NOT_HERE: [&str; 2] = ["tests/tidy/language.rs", "tools/tests/doctor/corpus"];

fn complaints(name: &str, text: &str) -> Vec<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let found = WORDS.iter().filter(|(words, _)| text.contains(words));
    found.map(|(words, instead)| format!("{name}: for `{words}` write `{instead}`")).collect()
}

/// All comments of a source file, without their marks.
fn comments(source: &str, mark: &str) -> String {
    let of_line = |line: &str| {
        let (_, comment) = line.split_once(mark)?;
        Some(comment.trim_start_matches(['/', '!', '-', '*']).to_owned())
    };
    source.lines().filter_map(of_line).collect::<Vec<_>>().join(" ")
}

#[test]
fn no_word_misleads() {
    let mut pages = files(&["docs", "examples"], "md");
    for name in ["README.md", "README.zh-CN.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        pages.push((name.to_owned(), fs::read_to_string(root().join(name)).expect("a page")));
    }
    let pages = pages.into_iter().map(|(name, page)| (name, prose(&page)));
    let rust = files(&["src", "domain", "benches", "tests", "tools"], "rs");
    let rust = rust.into_iter().map(|(name, source)| (name, comments(&source, "//")));
    let lua = files(&["packaging"], "lua");
    let lua = lua.into_iter().map(|(name, source)| (name, comments(&source, "--")));
    let java = files(&["java"], "java").into_iter();
    let texts = pages.chain(rust).chain(lua).chain(java);
    let texts = texts.filter(|(name, _)| !NOT_HERE.iter().any(|not| name.starts_with(not)));
    let found: Vec<_> = texts.flat_map(|(name, text)| complaints(&name, &text)).collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn a_word_is_found_over_lines() {
    let found = |text: &str| complaints("a page", text).len();
    assert_eq!(found("A unit is Given\n back."), 1);
    assert_eq!(found("A unit is released."), 0);
    assert_eq!(found(&comments("a(); // given\n/// back\nb(\"give back\");", "//")), 1);
}
