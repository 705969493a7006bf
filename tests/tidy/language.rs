//! The words that mislead or are ours alone, in pages, comments, messages and names: what is
//! released must not be said to be given back or returned, since SECKILL.RETURN is another command
//! than a release; a managed voucher is not hosted in a cloud, as its Chinese name would say; and
//! where the field has a term, the term is used.

use std::collections::BTreeMap;
use std::fs;

use crate::architecture::{PROGRAMS, part_of};
use crate::documents::prose;
use crate::{code, files, root, words};

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

/// Words of our own, each with the term of the field. They are looked for in names, too.
const OWN_WORDS: [(&str, &str); 34] = [
    ("a person", "an operator"),
    ("adopt server", "pair"),
    ("disputed", "in conflict"),
    ("first in line", "first in the queue"),
    ("fifo line", "FIFO queue"),
    ("foretell", "predict"),
    ("in hand", "in flight"),
    ("in line", "in the queue"),
    ("in the rows", "in the database"),
    ("joined the line", "joined the queue"),
    ("line is served", "queue is promoted"),
    ("in vain", "without effect"),
    ("mended", "fixed"),
    ("on no row", "on-zero-rows"),
    ("lock s line", "lock's queue"),
    ("out of the line", "out of the queue"),
    ("place in the line", "place in the queue"),
    ("put aside", "parked"),
    ("second payment", "duplicate payment"),
    ("server s line", "server's queue"),
    ("served from the line", "served from the queue"),
    ("set aside", "reserved"),
    ("settle", "resolve, or expire"),
    ("settled", "resolved, or expired"),
    ("settles", "resolves, or expires"),
    ("the line of a lock", "the queue of a lock"),
    ("told as lost", "reported"),
    ("told by its id", "identified"),
    ("unknown payment", "unmatched payment"),
    ("unproved", "incomplete"),
    ("usual script", "seckill.lua"),
    ("waiting line", "waiting list or queue"),
    ("usual scripts", "seckill.lua and unlock.lua"),
    ("usual unlock script", "unlock.lua"),
];

/// The doctor examines scripts, which have lines, and words of its own.
const OF_THE_DOCTOR: [&str; 4] =
    ["tools/src/doctor/", "tools/tests/doctor/", "docs/doctor.md", "docs/zh-CN/doctor.md"];

/// This file contains the words itself; what other authors have written is examined by the doctor.
const NOT_HERE: [&str; 2] = ["tests/tidy/language.rs", "tools/tests/doctor/corpus"];

fn complaints(name: &str, text: &str) -> Vec<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let found = WORDS.iter().filter(|(words, _)| text.contains(words));
    found.map(|(words, instead)| format!("{name}: for `{words}` write `{instead}`")).collect()
}

/// The words of our own in a text, as whole words, whatever is between them.
fn own_words(name: &str, text: &str) -> Vec<String> {
    let words = text.to_lowercase();
    let words: Vec<_> =
        words.split(|c: char| !c.is_alphanumeric()).filter(|it| !it.is_empty()).collect();
    let text = format!(" {} ", words.join(" "));
    let found = OWN_WORDS.iter().filter_map(|(words, instead)| {
        let (before, behind) = text.split_once(&format!(" {words} "))?;
        let near: Vec<_> = before.split(' ').rev().take(3).collect();
        let near = near.into_iter().rev().chain([*words]).chain(behind.split(' ').take(3));
        let near = near.collect::<Vec<_>>().join(" ");
        Some(format!("{name}: for `{words}` write `{instead}`: {near}"))
    });
    found.collect()
}

/// What a source file says: its comments, the literals of its code, and its names, each apart.
fn said(source: &str) -> String {
    let of_code = |line: &str| {
        let code = line.split("//").next().unwrap_or_default();
        let literals: Vec<_> = code.split('"').skip(1).step_by(2).map(str::to_owned).collect();
        let bare = code.split('"').step_by(2).collect::<Vec<_>>().join(" ");
        let names = bare.split(|c: char| !c.is_alphanumeric() && c != '_');
        let names = names.map(|name| words(name).join(" ")).filter(|name| !name.is_empty());
        (literals.join(" "), names.collect::<Vec<_>>().join(" 0 "))
    };
    let (literals, names): (Vec<_>, Vec<_>) = source.lines().map(of_code).unzip();
    let apart = " 0 ";
    [comments(source, "//"), literals.join(apart), names.join(apart)].join(apart)
}

/// All comments of a source file, without their marks; those of Javadoc, too.
fn comments(source: &str, mark: &str) -> String {
    let of_line = |line: &str| {
        let start = line.trim_start();
        let is_block = start.starts_with("/*") || start.starts_with("* ");
        let comment = if is_block { start } else { line.split_once(mark)?.1 };
        Some(comment.trim_start_matches(['/', '!', '-', '*']).to_owned())
    };
    source.lines().filter_map(of_line).collect::<Vec<_>>().join(" ")
}

fn pages() -> Vec<(String, String)> {
    let mut pages = files(&["docs", "examples", "java", "tools"], "md");
    for name in ["README.md", "README.zh-CN.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        pages.push((name.to_owned(), fs::read_to_string(root().join(name)).expect("a page")));
    }
    pages
}

#[test]
fn no_word_misleads() {
    let pages = pages().into_iter().map(|(name, page)| (name, prose(&page)));
    let rust = files(&["src", "domain", "tests", "tools"], "rs");
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
fn where_the_field_has_a_term_no_word_of_our_own_is_used() {
    let pages = pages().into_iter();
    let mut sources = files(&["src", "domain", "tests", "tools", "examples"], "rs");
    sources.extend(files(&["java", "examples"], "java"));
    let sources = sources.into_iter().map(|(name, source)| (name, said(&source)));
    let mut texts = Vec::new();
    let folders = ["tools/migrations", "packaging", "docs", "examples", "tools/src", "tests"];
    for extension in ["sql", "lua", "sh", "service", "yml", "json", "puml", "html", "toml"] {
        texts.extend(files(&folders, extension));
    }
    for name in ["redis.conf", "Makefile", "findings/README.md"] {
        texts.push((name.to_owned(), fs::read_to_string(root().join(name)).expect("a file")));
    }
    let texts = pages.chain(sources).chain(texts);
    let texts = texts.filter(|(name, _)| {
        !NOT_HERE.iter().chain(&OF_THE_DOCTOR).any(|not| name.starts_with(not))
    });
    let found: Vec<_> = texts.flat_map(|(name, text)| own_words(&name, &text)).collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

/// A verb that hides who does what: pages for users answer, report and notify.
#[test]
fn pages_tell_nobody() {
    let mut pages = files(&["docs"], "md");
    pages.retain(|(name, _)| !OF_THE_DOCTOR.contains(&name.as_str()));
    let told = pages.iter().filter(|(_, page)| {
        let prose = prose(page);
        let mut words = prose.split(|c: char| !c.is_alphanumeric());
        words.any(|word| word.eq_ignore_ascii_case("told"))
    });
    let told: Vec<_> = told.map(|(name, _)| name).collect();
    assert!(told.is_empty(), "for `told` write `answered`, `reported` or `notified`: {told:?}");
}

#[test]
fn a_word_is_found_over_lines() {
    let found = |text: &str| complaints("a page", text).len();
    assert_eq!(found("A unit is Given\n back."), 1);
    assert_eq!(found("A unit is released."), 0);
    assert_eq!(found(&comments("a(); // given\n/// back\nb(\"give back\");", "//")), 1);
}

#[test]
fn a_word_of_our_own_is_found_in_pages_and_in_what_a_source_says() {
    let found = |text: &str| own_words("a page", text).len();
    assert_eq!(found("It is decided by a\nperson, who stands `--on-no-row`."), 2);
    assert_eq!(found("A personal line in linear time is unsettled."), 0);
    for source in [
        "// A\n// person",
        "a(\"b in line\")",
        "fn is_in_line()",
        "x.inLine()",
        "NO_ROW;\nis_on_no_row",
        "/**\n * Waits in\n * vain.\n */",
    ] {
        assert_eq!(found(&said(source)), 1, "{source}");
    }
    for source in ["for word in line {", "a_set[aside]", "// in\nline();"] {
        assert_eq!(found(&said(source)), 0, "{source}");
    }
}

/// The types that a source declares, without those of other types and of traits.
fn types(source: &str) -> Vec<String> {
    let declared = code(source).filter_map(|(_, line)| {
        let line = line.strip_prefix("pub").map_or(line, |rest| {
            rest.strip_prefix('(').and_then(|rest| Some(rest.split_once(')')?.1)).unwrap_or(rest)
        });
        let (keyword, rest) = line.trim_start().split_once(' ')?;
        let name = rest.split(|c: char| !c.is_alphanumeric()).next()?;
        ["struct", "enum", "trait", "union"].contains(&keyword).then(|| name.to_owned())
    });
    declared.collect()
}

#[test]
fn one_word_names_one_type_of_a_program() {
    let programs = PROGRAMS.iter().map(|(program, folder)| {
        let mut sources = files(&["tools/src"], "rs");
        sources.retain(|(file, _)| part_of(file, folder).is_some());
        (*program, sources)
    });
    let mut domain = files(&["domain/src"], "rs");
    domain.retain(|(file, _)| !file.ends_with("tests.rs"));
    let others = [("the module", files(&["src"], "rs")), ("domain", domain)];
    for (program, sources) in programs.chain(others) {
        let mut of_word: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (file, source) in &sources {
            for name in types(source) {
                of_word.entry(name).or_default().push(file);
            }
        }
        of_word.retain(|_, files| files.len() > 1);
        assert!(of_word.is_empty(), "{program}: {of_word:#?}");
    }
    let source = "pub(super) struct A<'a> {\n    struct B;\npub enum C {}\nstruct D;\n// enum E";
    assert_eq!(types(source), ["A", "B", "C", "D"]);
}
