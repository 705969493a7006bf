//! ARCHITECTURE.md agrees with the sources, and omits nothing.

use crate::{files, forbid, read};
use std::collections::{BTreeMap, BTreeSet};
use std::slice;

/// The parts of the module, each with the parts that it may use, as ARCHITECTURE.md lists them.
fn parts() -> Vec<(String, Vec<String>)> {
    table("| part | what it owns | may use |")
}

/// The quoted words in the cells of a table's rows.
fn rows(header: &str) -> Vec<Vec<Vec<String>>> {
    let page = read("docs/ARCHITECTURE.md");
    let start = page.find(header).unwrap_or_else(|| panic!("no table {header}"));
    let rows = page[start..].lines().skip(2).take_while(|line| line.starts_with('|'));
    let quoted = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    rows.map(|row| row.trim_matches('|').split('|').map(quoted).collect()).collect()
}

fn table(header: &str) -> Vec<(String, Vec<String>)> {
    rows(header).into_iter().map(|mut row| (row[0].remove(0), row.remove(2))).collect()
}

/// A file's module, as a path from the root of the crate that `folder` has.
fn module(file: &str, folder: &str) -> String {
    let name = file.strip_prefix(folder).and_then(|name| name.strip_suffix(".rs"));
    name.expect("a source of the folder").trim_start_matches('/').replace('/', "::")
}

/// The paths from the root of the crate that the code of a module names, by `crate::` and
/// `super::`; of a group in braces each.
fn paths_named(module: &str, code: &str) -> Vec<String> {
    let own: Vec<&str> = module.split("::").collect();
    let begins = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let mut named = Vec::new();
    for (at, word) in code.match_indices("crate::").chain(code.match_indices("super::")) {
        if !begins(at) || code[..at].ends_with("super::") {
            continue;
        }
        let (mut above, mut rest) = (own.as_slice(), &code[at..]);
        while let Some(further) = rest.strip_prefix("super::") {
            (above, rest) = (above.split_last().map_or(above, |(_, above)| above), further);
        }
        if word == "crate::" {
            (above, rest) = (&[], &rest[word.len()..]);
        }
        let end = rest.find(|c: char| !c.is_alphanumeric() && !"_:".contains(c));
        let path = &rest[..end.unwrap_or(rest.len())];
        // `crate::keyspace::{rules, stock}`: each of them.
        let is_group = path.is_empty() || path.ends_with("::");
        let group = rest[path.len()..].strip_prefix('{').filter(|_| is_group);
        let names = group.map_or("", |group| group.split('}').next().unwrap_or_default());
        let prefix: String = above.iter().map(|name| format!("{name}::")).collect();
        named.extend(names.split(',').map(|name| format!("{prefix}{path}{}", name.trim())));
    }
    named
}

/// The parts that a line of a module names, by `crate::part`, `super::part` or `domain::`. What is
/// above a module inside of a file is the file itself, so of those names only `parts` count.
fn parts_named(module: &str, line: &str, parts: &[&str]) -> Vec<String> {
    let part = |path: &String| path.split(':').next().unwrap_or_default().to_owned();
    let mut named: Vec<_> = paths_named(module, line).iter().map(part).collect();
    let is_of_root = |name: &str| line.contains(&format!("crate::{name}"));
    named.retain(|name| parts.contains(&name.as_str()) || is_of_root(name));
    named.extend(line.contains("domain::").then(|| "domain".to_owned()));
    named
}

#[test]
fn parts_use_only_what_the_architecture_allows() {
    let parts = parts();
    let mut seen = vec!["domain".to_owned()];
    for (name, _) in files(&["src"], "rs") {
        let part = name["src/".len()..].split(['/', '.']).next().expect("a name").to_owned();
        seen.extend((part != "lib").then_some(part));
    }
    seen.sort();
    seen.dedup();
    let mut listed: Vec<_> = parts.iter().map(|(part, _)| part.clone()).collect();
    listed.sort();
    assert_eq!(seen, listed, "the parts of src and those of ARCHITECTURE.md");
    let all: Vec<&str> = listed.iter().map(String::as_str).collect();
    forbid(&files(&["src"], "rs"), |name, line| {
        let (part, allowed) = parts
            .iter()
            .find(|(part, _)| name["src/".len()..].split(['/', '.']).next() == Some(part))?;
        let mut named = parts_named(&module(name, "src"), line, &all).into_iter();
        let found = named.find(|other| other != part && !allowed.contains(other));
        found.map(|other| format!("{part} must not use {other}"))
    });
}

/// The files that a file uses, by `crate::part::file` and `super::file`.
fn files_used(name: &str, text: &str, all: &[String]) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let code: String = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let mut used: Vec<_> = paths_named(name, &code)
        .into_iter()
        .filter_map(|path| {
            let of_path = |file: &&String| path == **file || path.starts_with(&format!("{file}::"));
            all.iter().filter(of_path).max_by_key(|file| file.len()).cloned()
        })
        .collect();
    used.retain(|file| file != name);
    used
}

/// A way from a file to itself, if there is one.
fn circle(uses: &BTreeMap<String, Vec<String>>) -> Option<Vec<String>> {
    uses.keys().find_map(|start| {
        let (mut ways, mut seen) = (vec![vec![start.clone()]], BTreeSet::new());
        while let Some(way) = ways.pop() {
            for next in &uses[way.last()?] {
                if next == start {
                    return Some(way);
                }
                if seen.insert(next) {
                    ways.push([way.as_slice(), slice::from_ref(next)].concat());
                }
            }
        }
        None
    })
}

/// What each file of a crate uses of it. A part's own file gathers what is below it, which may name
/// it.
fn uses(sources: &[(String, String)], folder: &str) -> BTreeMap<String, Vec<String>> {
    let all: Vec<String> = sources.iter().map(|(file, _)| module(file, folder)).collect();
    let of_file = |(name, (_, text)): (&String, &(String, String))| {
        let mut used = files_used(name, text, &all);
        used.retain(|it| !name.starts_with(&format!("{it}::")));
        (name.clone(), used)
    };
    all.iter().zip(sources).map(of_file).collect()
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let of_module = uses(&files(&["src"], "rs"), "src");
    assert!(of_module["keyspace::sale"].contains(&"keyspace::book".to_owned()));
    assert!(of_module["server::key"].contains(&"server::ctx".to_owned()));
    let sources = files(&["tools/src"], "rs");
    let of_programs = PROGRAMS.map(|(_, folder)| {
        let own = sources.iter().filter(|(file, _)| part_of(file, folder).is_some());
        uses(&own.cloned().collect::<Vec<_>>(), folder)
    });
    let of_domain = uses(&files(&["domain/src"], "rs"), "domain/src");
    assert!(of_domain["account"].contains(&"rows".to_owned()));
    for uses in of_programs.iter().chain([&of_module, &of_domain]) {
        assert_eq!(circle(uses), None);
    }
    let planted = [("a", "b"), ("b", "c"), ("c", "b")];
    let planted = planted.map(|(file, used)| (file.to_owned(), vec![used.to_owned()]));
    assert_eq!(circle(&planted.into()).map(|way| way.len()), Some(2));
}

/// The programs, and the library that they share.
pub const PROGRAMS: [(&str, &str); 6] = [
    ("the worker", "tools/src/worker"),
    ("the load test", "tools/src/rush"),
    ("the dashboard", "tools/src/top"),
    ("the shards", "tools/src/shards"),
    ("the doctor", "tools/src/doctor"),
    ("the library", "tools/src"),
];

/// The part of a program that a file belongs to; none if it is of another program, or of tests.
pub fn part_of<'a>(file: &'a str, folder: &str) -> Option<&'a str> {
    let name = file.strip_prefix(folder)?.strip_prefix('/')?;
    let is_test = name.ends_with("tests.rs") || name.contains("/tests/");
    let of_library = folder != "tools/src" || !name.contains('/') || name.starts_with("sharded_");
    let part = name.split(['/', '.']).next().filter(|part| !["main", "lib"].contains(part));
    part.filter(|_| !is_test && of_library)
}

/// What a line of a part's module must not use: parts that are not above it in `order`.
fn not_above(order: &[String], module: &str, line: &str) -> Option<String> {
    let part = module.split("::").next()?;
    let place = |name: &str| order.iter().position(|other| other == name);
    let own = place(part)?;
    let all: Vec<&str> = order.iter().map(String::as_str).collect();
    let mut named = parts_named(module, line, &all).into_iter().filter(|other| other != "domain");
    let found = named.find(|other| other != part && place(other).is_none_or(|it| it >= own))?;
    Some(format!("{part} must not use `{found}`"))
}

#[test]
fn parts_of_programs_use_only_those_above() {
    let sources = files(&["tools/src"], "rs");
    for (program, folder) in PROGRAMS {
        let order = rows(&format!("| part of {program} | what it owns |"));
        let order: Vec<String> = order.into_iter().flat_map(|mut row| row.remove(0)).collect();
        let own: Vec<_> =
            sources.iter().filter(|(file, _)| part_of(file, folder).is_some()).cloned().collect();
        let seen: BTreeSet<_> = own.iter().filter_map(|(file, _)| part_of(file, folder)).collect();
        let listed: BTreeSet<_> = order.iter().map(String::as_str).collect();
        assert_eq!(seen, listed, "the parts of {program} and those of ARCHITECTURE.md");
        assert_eq!(order.len(), listed.len(), "a part of {program} stands twice");
        forbid(&own, |file, line| not_above(&order, &module(file, folder), line));
    }
}

#[test]
fn packages_of_java_use_only_those_above() {
    let packages = table("| package | what it owns | may use |");
    let part = |name: &str| name.split(['.', '/', ';']).next().expect("a name").to_owned();
    let mut sources = files(&["java"], "java");
    sources.retain(|(name, _)| name.contains("/src/main/java/io/github/seckill/"));
    forbid(&sources, |name, line| {
        let own = part(name.split("/io/github/seckill/").nth(1)?);
        let row = packages.iter().position(|(package, _)| *package == own);
        let (above, allowed) = (&packages[..row?], &packages[row?].1);
        let used = line.split("io.github.seckill.").skip(1).map(part);
        let may = |used: &String| {
            *used == own
                || allowed.contains(used) && above.iter().any(|(package, _)| package == used)
        };
        let found = used.filter(|_| !line.trim_start().starts_with('*')).find(|it| !may(it))?;
        Some(format!("{own} must not use {found}"))
    });
    let names = sources.iter().filter_map(|(name, _)| name.split("/io/github/seckill/").nth(1));
    let mut seen: Vec<_> = names.map(part).collect();
    seen.sort();
    seen.dedup();
    let mut listed: Vec<_> = packages.into_iter().map(|(package, _)| package).collect();
    listed.sort();
    assert_eq!(seen, listed, "the packages of java and those of ARCHITECTURE.md");
}

#[test]
fn the_architecture_says_what_every_event_does_to_every_memory() {
    let page = read("docs/ARCHITECTURE.md");
    let start = page.find("| event | names |").expect("the table of events");
    let rows: Vec<_> = page[start..].lines().take_while(|line| line.starts_with('|')).collect();
    let columns = rows[0].matches('|').count();
    assert!(rows.len() > 15, "rows are missing");
    for row in &rows {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(row.matches('|').count(), columns, "{row}");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "an empty cell: {row}");
    }
}

#[test]
fn the_checks_of_this_file_can_fail() {
    let line = "use crate::args::{A}; crate::a_b(); domain::c";
    assert_eq!(parts_named("typed", line, &[]), ["args", "a_b", "domain"]);
    assert_eq!(parts_named("typed", "super::{args, Own}", &["args"]), ["args"]);
    let paths = |line| paths_named("store::open", line);
    assert_eq!(paths("use crate::{a, b::c}; super::d"), ["a", "b::c", "store::d"]);
    assert_eq!(paths("use super::super::a::B; other_crate::c; pub(super) d"), ["a::B"]);
    assert!(parts().iter().any(|(part, may)| part == "memory" && may.contains(&"keyspace".into())));
    let order = ["options", "source", "serve"].map(str::to_owned);
    for (line, is_refused) in [
        ("use crate::options::Options; domain::rows", false),
        ("use crate::source::{A, B};", false),
        ("use crate::serve;", true),
        ("use crate::{options, serve};", true),
        ("use crate::{", true),
        ("use super::options;", false),
        ("use super::serve;", true),
        ("crate::find()", true),
    ] {
        assert_eq!(not_above(&order, "source", line).is_some(), is_refused, "{line}");
    }
    assert_eq!(part_of("tools/src/worker/store/tests.rs", "tools/src/worker"), None);
    assert_eq!(part_of("tools/src/worker/store/open.rs", "tools/src/worker"), Some("store"));
    assert_eq!(part_of("tools/src/worker/store.rs", "tools/src"), None);
}
