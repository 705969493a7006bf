//! The pages of docs/, and the tables of options on them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A file of the repository.
pub fn page(name: impl AsRef<Path>) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The cells of a page's table whose head begins like this, row by row.
pub fn rows(name: &str, head: &str) -> Vec<Vec<String>> {
    let page = page(name);
    let lines = page.lines().skip_while(|line| !line.starts_with(head)).skip(2);
    let lines = lines.take_while(|line| line.starts_with('|'));
    // A bar within a cell has a backslash.
    let cells = |line: &str| {
        line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()
    };
    lines.map(cells).collect()
}

/// The lines of a section of SECURITY.md that make users.
pub fn users(heading: &str) -> Vec<String> {
    let page = page("docs/SECURITY.md");
    let section = page.lines().skip_while(|line| *line != heading).skip(1);
    let section = section.take_while(|line| !line.starts_with("## "));
    section.filter(|line| line.starts_with("ACL SETUSER ")).map(str::to_owned).collect()
}

fn help(program: &str, command: Option<&str>) -> String {
    let help = Command::new(program).args(command).arg("--help").output();
    let help = help.expect("run the program");
    String::from_utf8(help.stdout).expect("text")
}

/// Fails unless a program's `--help` has its exit codes, two examples, and the variables of options
/// that a server is named by.
pub fn check_help(program: &str, command: Option<&str>) {
    let help = help(program, command);
    let examples = help.split_once("Examples:\n").expect("examples").1;
    let examples = examples.lines().take_while(|line| line.starts_with("  seckill-"));
    assert!(examples.count() >= 2, "{help}");
    assert!(help.contains("Exit code:\n  0  "), "{help}");
    assert_eq!(help.contains("--redis <URL>"), help.contains("\n  SECKILL_REDIS "), "{help}");
}

/// The options that the `--help` of a program or of its command lists, each with its default.
pub fn options(program: &str, command: Option<&str>) -> Vec<(String, Option<String>)> {
    let help = help(program, command);
    let mut options: Vec<(String, Option<String>)> = Vec::new();
    for line in help.lines() {
        if line.trim_start().starts_with('-') {
            let name = line.split([' ', ',', '.']).find(|word| word.starts_with("--"));
            options.push((name.expect("a long name").to_owned(), None));
        }
        if let (Some((_, rest)), Some(option)) = (line.split_once("[default: "), options.last_mut())
        {
            option.1 = rest.split(']').next().map(|default| default.replace('"', ""));
        }
    }
    options.retain(|(name, _)| name != "--help" && name != "--version");
    assert!(options.len() > 5, "{help}");
    options
}

/// Fails unless the first cells of a page's tables name all options of a program and no others, and
/// each row has the defaults that are a single word.
pub fn check_options(program: &str, name: &str) {
    check_help(program, None);
    let (page, options) = (page(name), options(program, None));
    let rows = page.lines().filter(|line| line.starts_with("| `--"));
    let mut listed = BTreeSet::new();
    for row in rows {
        let cell = row.trim_start_matches("| ").split(" | ").next().unwrap_or_default();
        let code = cell.split('`').skip(1).step_by(2);
        for option in code.filter_map(|code| code.split(' ').next()) {
            listed.insert(option);
            let default = options.iter().find(|(name, _)| name == option);
            let default = default.and_then(|(_, default)| default.as_deref());
            if let Some(default) = default.filter(|default| !default.contains(' ')) {
                assert!(row.contains(default), "{name}, {option}: {default}, not {row}");
            }
        }
    }
    let there: BTreeSet<&str> = options.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(listed, there, "{name}");
}
