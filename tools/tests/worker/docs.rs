//! The worker's page agrees with the program's own output.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::databases::Database;
use crate::shop::Shop;

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The user on the page has all the rights that it needs.
#[test]
fn the_user_of_the_page_has_the_rights_that_it_takes() {
    let page = page("SECURITY.md");
    let line = page.lines().find(|line| line.starts_with("ACL SETUSER seckill-worker on "));
    let rights = line.expect("a user").split(" >change-me-8 ").nth(1).expect("rights");
    let mut shop = Shop::open(Database::sqlite());
    shop.sell("phone", 5);
    shop.sell_managed("tea", 5, "HOLD 60000");
    shop.buy("phone", "ann", "o1");
    shop.buy("phone", "ben", "o2");
    shop.buy("tea", "ann", "o3");
    shop.run("XADD stream.orders * strange entry");
    shop.run("ACL SETUSER admin on nopass ~* &* +@all");
    shop.run("AUTH admin x");
    shop.run(&format!("ACL SETUSER default reset on nopass {rights}"));
    let summary = shop.drain(&["--trim-after", "1ms"]);
    assert_eq!(summary["orders"], 4, "{summary}");
    assert_eq!(shop.run("XLEN stream.orders.dlq"), redis::Value::Int(1));
    assert_eq!(shop.run("ACL LOG"), redis::Value::Array(Vec::new()));
}

/// The options that `--help` lists, each with its default.
fn options() -> Vec<(String, Option<String>)> {
    let help = Command::new(env!("CARGO_BIN_EXE_seckill-worker"))
        .arg("--help")
        .output()
        .expect("run seckill-worker");
    let help = String::from_utf8(help.stdout).expect("text");
    let mut options: Vec<(String, Option<String>)> = Vec::new();
    for line in help.lines() {
        let words = line.trim_start();
        if words.starts_with('-') {
            let name = words.split([' ', ',', '.']).find(|word| word.starts_with("--"));
            options.push((name.expect("a long name").to_owned(), None));
        }
        if let (Some((_, rest)), Some(option)) = (line.split_once("[default: "), options.last_mut())
        {
            option.1 = rest.split(']').next().map(|default| default.replace('"', ""));
        }
    }
    options.retain(|(name, _)| name != "--help" && name != "--version");
    assert!(options.len() > 12, "{help}");
    options
}

#[test]
fn the_page_lists_every_option_at_its_default() {
    let page = page("docs/worker.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `--")).collect();
    for (name, default) in options() {
        let cell = |row: &&&str| {
            row.split('`').nth(1).is_some_and(|cell| cell.split(' ').next() == Some(&name))
        };
        let row = rows.iter().find(cell);
        let row = row.unwrap_or_else(|| panic!("docs/worker.md has no row of {name}"));
        if let Some(default) = default {
            // A default that is not a value is described in words.
            let told = [format!("| `{default}` |"), format!("| {default} |")];
            assert!(told.iter().any(|cell| row.contains(cell)), "{name}, {default}: {row}");
        }
    }
    assert_eq!(rows.len(), options().len(), "a row of an option that is none");
}
