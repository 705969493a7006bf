//! The page agrees with the program's own output.

use std::fs;
use std::path::Path;

use crate::program::{run, text};

pub fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The options that `--help` lists.
fn options() -> Vec<String> {
    let help = text(&run(&["--help"]).stdout);
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let name = |line: &str| {
        let mut words = line.split([' ', ',', '.']);
        words.find(|word| word.starts_with("--")).map(str::to_owned)
    };
    let mut names: Vec<String> = lines.filter_map(name).collect();
    names.retain(|name| name != "--help" && name != "--version");
    assert!(names.len() > 8, "{help}");
    names
}

#[test]
fn the_page_lists_every_option() {
    let page = page("docs/watching.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `--")).collect();
    for name in options() {
        let is_its = |row: &&&str| row.split(['`', ' ']).nth(2) == Some(&name);
        assert!(rows.iter().any(|row| is_its(&row)), "docs/watching.md has no row of {name}");
    }
    assert_eq!(rows.len(), options().len(), "a row of an option that is none");
}
