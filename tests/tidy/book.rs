//! The book has every page of the documentation, in both editions.

use std::path::Path;

use crate::{files, root};

/// The pages that an index lists, as paths from its folder: the links that begin its lines and
/// rows, as `docs/book/pages.mjs` reads them.
fn listed(index: &str) -> Vec<String> {
    let lines = index.lines().skip_while(|line| !line.starts_with("## "));
    let begins = |line: &&str| line.trim_start_matches("| ").starts_with('[');
    let cells = lines.filter(begins).filter_map(|line| line.split(" | ").next());
    let targets = cells.flat_map(|cell| cell.split("](").skip(1));
    targets.filter_map(|rest| rest.split(')').next()).map(str::to_owned).collect()
}

/// The pages of a folder that its README.md omits, and those that it lists twice.
fn complaints(folder: &str, pages: &[String], index: &str) -> Vec<String> {
    let listed = listed(index);
    let mut complaints = Vec::new();
    for page in pages {
        let name = page.strip_prefix(&format!("{folder}/")).expect("a page of the folder");
        match listed.iter().filter(|target| *target == name).count() {
            1 => {}
            0 => complaints.push(format!("{folder}/README.md does not list {name}")),
            _ => complaints.push(format!("{folder}/README.md lists {name} twice")),
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
        pages.retain(|page| *page != format!("{folder}/README.md"));
        assert!(!pages.is_empty(), "{folder} has no pages");
        let index = std::fs::read_to_string(root().join(folder).join("README.md"));
        found.extend(complaints(folder, &pages, &index.expect("README.md")));
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn the_checks_of_this_file_can_fail() {
    let pages = ["docs/a.md", "docs/b.md", "docs/c/d.md"].map(str::to_owned);
    let index = "[B](b.md)\n## C\n[A](a.md), see [B](b.md) | [B](b.md)\n\nand [B](b.md)\n\n\
                 | [`D [E] x\\|y`](c/d.md), [D](c/d.md) | [B](b.md) |\n| [E](../E.md) | e |\n";
    let wanted = ["docs/README.md lists c/d.md twice"];
    assert_eq!(complaints("docs", &pages, index), wanted);
    let wanted = ["docs/README.md does not list b.md", "docs/README.md lists c/d.md twice"];
    assert_eq!(complaints("docs", &pages, &index.replace(", see [B](b.md)", "")), wanted);
}
