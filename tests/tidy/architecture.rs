//! ARCHITECTURE.md agrees with the sources, and omits nothing.

use crate::{files, forbid, read};

/// The parts of the module, each with the parts that it may use, as ARCHITECTURE.md lists them.
fn parts() -> Vec<(String, Vec<String>)> {
    let page = read("docs/ARCHITECTURE.md");
    let start = page.find("| part | what it owns | may use |").expect("the table of parts");
    let rows = page[start..].lines().skip(2).take_while(|line| line.starts_with('|'));
    let quoted = |cell: &str| -> Vec<String> {
        cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    rows.map(|row| {
        let cells: Vec<_> = row.split('|').collect();
        (quoted(cells[1]).remove(0), quoted(cells[3]))
    })
    .collect()
}

/// The parts of the module that a line of code names, by `crate::part` or `domain::`.
fn parts_named(line: &str) -> Vec<&str> {
    let name = |rest: &'_ str| rest.find(|c: char| !c.is_alphanumeric() && c != '_');
    let named = line.split("crate::").skip(1);
    let mut named: Vec<&str> =
        named.map(|rest| &rest[..name(rest).unwrap_or(rest.len())]).collect();
    named.extend(line.contains("domain::").then_some("domain"));
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
    forbid(&files(&["src"], "rs"), |name, line| {
        let (part, allowed) = parts
            .iter()
            .find(|(part, _)| name["src/".len()..].split(['/', '.']).next() == Some(part))?;
        let mut named = parts_named(line).into_iter();
        let found = named.find(|other| other != part && !allowed.iter().any(|part| part == other));
        found.map(|other| format!("{part} must not use {other}"))
    });
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
    assert_eq!(parts_named(line), ["args", "a_b", "domain"]);
    assert!(parts().iter().any(|(part, may)| part == "memory" && may.contains(&"keyspace".into())));
}
