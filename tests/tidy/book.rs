//! The book has every page of the documentation, in both editions.

use std::path::Path;

use crate::{files, root};

/// The pages that a SUMMARY.md lists, as paths from its folder.
fn listed(summary: &str) -> Vec<String> {
    let targets = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.map(str::to_owned).collect()
}

/// The pages of a folder that its SUMMARY.md omits, and those that it lists twice.
fn complaints(folder: &str, pages: &[String], summary: &str) -> Vec<String> {
    let listed = listed(summary);
    let mut complaints = Vec::new();
    for page in pages {
        let name = page.strip_prefix(&format!("{folder}/")).expect("a page of the folder");
        match listed.iter().filter(|target| *target == name).count() {
            1 => {}
            0 => complaints.push(format!("{folder}/SUMMARY.md does not list {name}")),
            _ => complaints.push(format!("{folder}/SUMMARY.md lists {name} twice")),
        }
    }
    complaints
}

#[test]
fn every_page_is_in_the_book() {
    let all: Vec<String> = files(&["docs"], "md").into_iter().map(|(name, _)| name).collect();
    let (chinese, english): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|name| Path::new(name).starts_with("docs/zh-CN"));
    let mut found = Vec::new();
    for (folder, mut pages) in [("docs", english), ("docs/zh-CN", chinese)] {
        pages.retain(|page| !page.ends_with("/SUMMARY.md"));
        assert!(!pages.is_empty(), "{folder} has no pages");
        let summary = std::fs::read_to_string(root().join(folder).join("SUMMARY.md"));
        found.extend(complaints(folder, &pages, &summary.expect("SUMMARY.md")));
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn the_checks_of_this_file_can_fail() {
    let pages = ["docs/a.md", "docs/b.md", "docs/c/d.md"].map(str::to_owned);
    let summary = "- [A](a.md)\n- [D](c/d.md)\n- [D](c/d.md)\n- [E](../E.md)\n";
    let wanted = ["docs/SUMMARY.md does not list b.md", "docs/SUMMARY.md lists c/d.md twice"];
    assert_eq!(complaints("docs", &pages, summary), wanted);
}
