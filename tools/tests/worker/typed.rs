//! What the pages let an operator type is what the program takes, and shows what they show.

use std::collections::BTreeSet;

use kit::pages::{options, page};

use crate::databases::Database;
use crate::shop::Shop;
use crate::worker::{WORKER, asked};

const PAGES: [&str; 4] = ["worker", "cut-over", "backup", "runbook"];

/// What a page has in blocks of text and as code in sentences: a line each.
fn code(name: &str) -> Vec<String> {
    let page = page(format!("docs/{name}.md"));
    let mut found = Vec::new();
    for (number, part) in page.split("```").enumerate() {
        match number % 2 {
            0 => found.extend(part.split('`').skip(1).step_by(2).map(str::to_owned)),
            _ => found.extend(part.lines().map(str::to_owned)),
        }
    }
    found
}

/// The words behind the program's name, of a line that is typed or that a check prints.
fn typed(line: &str) -> Option<Vec<String>> {
    let (before, words) = line.rsplit_once("seckill-worker ")?;
    let words = words.split("  #").next().unwrap_or_default();
    let is_command = before.is_empty() || before.ends_with(": ");
    is_command.then(|| words.split_whitespace().map(str::to_owned).collect())
}

/// What differs between two runs, or is given by variables of the environment.
const OWN: [&str; 3] = ["--sale=", "--database=", "--redis="];

/// The words of a line, without what differs between two runs: times, ids, places.
fn same(line: &str) -> Vec<&str> {
    let is_own = |word: &str| OWN.iter().any(|start| word.starts_with(start));
    let is_time = |word: &str| word.parse::<f64>().is_ok_and(|number| number.fract() != 0.0);
    line.split_whitespace().filter(|word| !is_own(word) && !is_time(word)).collect()
}

impl Shop {
    /// Types a command of a page; its exit code and its output.
    fn types(&self, words: &[String]) -> (Option<i32>, String) {
        let server = self.worker_args().into_iter().take(2);
        asked(server.chain(words.iter().cloned()), self.server.dir(), "")
    }
}

/// Fails unless all these lines are among those of an output.
fn shows(output: &str, wanted: &[String]) {
    for line in wanted {
        let is_there = output.lines().any(|found| same(found) == same(line));
        assert!(is_there, "no line {line:?} in\n{output}");
    }
}

/// The lines of the block of text that contains this line.
fn block(name: &str, line: &str) -> Vec<String> {
    let page = page(format!("docs/{name}.md"));
    let blocks = page.split("\n```text\n").skip(1);
    let mut blocks = blocks.map(|block| block.split("\n```").next().expect("its end"));
    let block = blocks.find(|block| block.lines().any(|other| other.starts_with(line)));
    block.unwrap_or_else(|| panic!("{name}: {line}")).lines().map(str::to_owned).collect()
}

#[test]
fn every_option_that_a_page_types_is_one_of_its_command() {
    for name in PAGES {
        let commands: Vec<_> = code(name).iter().filter_map(|line| typed(line)).collect();
        assert!(!commands.is_empty(), "{name} types nothing");
        for words in commands {
            let command = words.first().filter(|word| !word.starts_with('-')).map(String::as_str);
            let known = options(WORKER, command);
            let known: BTreeSet<_> = known.iter().map(|(option, _)| option.as_str()).collect();
            for word in words.iter().take_while(|word| *word != "--") {
                let option = word.split('=').next().unwrap_or_default();
                let is_known = !option.starts_with("--") || known.contains(option);
                assert!(is_known, "{name}: {option} of {words:?}");
            }
        }
    }
}

#[test]
fn the_first_session_of_the_worker_shows_what_its_page_shows() {
    let shop = Shop::of("phone 5 HOLD 600000");
    shop.buy("phone", "alice", "1001");
    shop.buy("phone", "bob", "1002");
    shop.run("SECKILL.CONFIRM phone alice 1001");
    let mut rows = Database::sqlite();
    rows.url = format!("sqlite:{}", shop.server.dir().join("seckill.db").display());
    let mut lines = block("worker", "seckill-worker --once").into_iter().peekable();
    while let Some(command) = lines.next() {
        let mut wanted = Vec::new();
        let is_typed = |line: &String| typed(line).is_some() || line.starts_with("sqlite3 ");
        while let Some(line) = lines.next_if(|line| !is_typed(line)) {
            wanted.push(line);
        }
        assert!(!wanted.is_empty(), "nothing is shown of {command}");
        let Some(words) = typed(&command) else {
            let query = command.split('"').nth(1).expect("a query");
            let (columns, rest) = query.split_once(" FROM ").expect("a table");
            let columns: Vec<_> = columns.trim_start_matches("SELECT ").split(", ").collect();
            let columns: [&str; 5] = columns.try_into().expect("five columns");
            let found = rows.texts(columns, &format!("FROM {rest}"));
            let found: Vec<_> = found.into_iter().map(|row| row.join("|")).collect();
            assert_eq!(found, wanted);
            continue;
        };
        let (code, output) = shop.types(&words);
        assert_eq!(code, Some(0), "{output}");
        shows(&output, &wanted);
    }
}

/// The trial of the cut-over: a database and a group of its own, compared by the page's command.
#[test]
fn the_worker_can_be_tried_beside_a_consumer() {
    let shop = Shop::of("V 5 LIMIT 1");
    shop.buy("V", "ann", "1");
    shop.buy("V", "ben", "2");
    shop.run("XGROUP CREATE stream.orders g1 0");
    let code = code("cut-over");
    let option = |start: &str| {
        let line = code.iter().find(|line| line.starts_with(start)).expect("an option");
        line.split(' ').map(str::to_owned).collect::<Vec<_>>()
    };
    let given = [option("--database sqlite:"), option("--group try")].concat();
    let (ended, output) = shop.types(&[given, vec!["--once".to_owned()]].concat());
    assert_eq!(ended, Some(0), "{output}");
    let check = code.iter().filter_map(|line| typed(line)).find(|words| words[0] == "check");
    let (ended, output) = shop.types(&check.expect("a check"));
    assert_eq!(ended, Some(0), "{output}");
    assert!(output.contains("CONSISTENT: 2 orders with 2 units"), "{output}");
}

/// Orders and payments since the backup, which only the database has.
#[test]
fn a_check_after_a_restore_asks_what_its_page_shows() {
    let mut shop = Shop::of("phone 9 HOLD 600000");
    shop.buy("phone", "alice", "1001");
    shop.pay("phone alice 1001", "wx-1", 1);
    shop.buy("phone", "bob", "1002");
    shop.drain(&[]);
    shop.loses(&[], |shop| {
        shop.pay("phone bob 1002", "wx-2", 1);
        shop.buy("phone", "carol", "1003");
        shop.pay("phone carol 1003", "wx-3", 1);
        shop.buy("phone", "dave", "1004");
    });
    let (_, output) = shop.asked(&["check", "--voucher", "phone"], "");
    shows(&output, &block("backup", "1. order 1002"));
}
