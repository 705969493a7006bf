//! The results, as rows.md.

use std::fs;
use std::path::Path;
use std::thread::available_parallelism;

use indicatif::HumanCount;

use crate::harness::Server;
use crate::turns::{Line, Turn};
use crate::{Result, machine};

/// How many times the orders per second of the other consumer the worker must reach.
const TARGET: f64 = 10.0;
/// The same if the worker also runs the shop's own statements.
const TARGET_WITH_STATEMENTS: f64 = 5.0;
/// The same on MariaDB and MySQL.
const TARGET_ON_MYSQL: f64 = 10.0;
/// The part of SQLite's orders per second, with statements, that MariaDB and MySQL must reach.
const TARGET_OF_SQLITE: f64 = 0.5;
/// The part of the orders per second that must be left with a network in between.
const TARGET_OF_NETWORK: f64 = 2.0 / 3.0;

pub struct Report {
    place: String,
    lines: Vec<Line>,
}

impl Report {
    pub fn new(lines: Vec<Line>) -> Result<Self> {
        let server = Server::start();
        let mut control = redis::Client::open(server.address())?.get_connection()?;
        let place = format!(
            "{}, {}, {} cores, {}. Medians of the rounds of one run.",
            machine::server_name(&mut control)?,
            machine::cpu_model(),
            available_parallelism()?,
            machine::today()?
        );
        Ok(Self { place, lines })
    }

    pub fn write(&self, dir: &Path) -> Result<()> {
        fs::create_dir_all(dir)?;
        fs::write(dir.join("rows.md"), self.page())?;
        Ok(())
    }

    pub fn page(&self) -> String {
        let parts = [
            "# From the stream to rows".to_owned(),
            "`make bench` writes this page.".to_owned(),
            self.place.clone(),
            EXPLAINED.to_owned(),
            "Orders per second:".to_owned(),
            self.beside_naive(),
            "With statements, in orders per second, and as a part of SQLite's:".to_owned(),
            self.with_statements(),
            "Targets:".to_owned(),
            self.targets(),
        ];
        parts.join("\n\n") + "\n"
    }

    fn beside_naive(&self) -> String {
        let head = "|  | one entry per transaction | seckill-worker | ratio | with statements | \
                    ratio |\n| --- | ---: | ---: | ---: | ---: | ---: |";
        self.table(head, |line| {
            let naive = line.median(Turn::Naive).map_or_else(String::new, thousands);
            let ours = [Turn::Worker, Turn::Statements];
            let [worker, shop] = ours.map(|turn| cells(line, turn, line, Turn::Naive));
            vec![naive, worker, shop]
        })
    }

    fn with_statements(&self) -> String {
        let head = "|  | sold | part | held and confirmed | part | two workers | part | sold, \
                    network | left | confirmed, network | left |\n| --- | ---: | ---: | ---: | \
                    ---: | ---: | ---: | ---: | ---: | ---: | ---: |";
        self.table(head, |line| {
            let sqlite = self.lines.first().unwrap_or(line);
            vec![
                cells(line, Turn::Statements, sqlite, Turn::Statements),
                cells(line, Turn::Managed, sqlite, Turn::Managed),
                cells(line, Turn::Two, sqlite, Turn::Statements),
                cells(line, Turn::Network, line, Turn::Statements),
                cells(line, Turn::ManagedNetwork, line, Turn::Managed),
            ]
        })
    }

    /// A row for each database.
    fn table(&self, head: &str, cells: impl Fn(&Line) -> Vec<String>) -> String {
        let row = |line: &Line| format!("\n| {} | {} |", line.database, cells(line).join(" | "));
        self.lines.iter().fold(head.to_owned(), |table, line| table + &row(line))
    }

    fn targets(&self) -> String {
        use Turn::{Managed, ManagedNetwork, Naive, Network, Statements, Worker};
        let Some(sqlite) = self.lines.first() else { return String::new() };
        let targets_of = |line: &Line| {
            let is_mysql = line.database.starts_with('M');
            let shop = if is_mysql { TARGET_ON_MYSQL } else { TARGET_WITH_STATEMENTS };
            let all = [
                ("of one entry per transaction", Worker, line, Naive, TARGET),
                ("of the same with statements", Statements, line, Naive, shop),
                ("of SQLite, sold", Statements, sqlite, Statements, TARGET_OF_SQLITE),
                ("of SQLite, confirmed", Managed, sqlite, Managed, TARGET_OF_SQLITE),
                ("left with a network, sold", Network, line, Statements, TARGET_OF_NETWORK),
                ("left with it, confirmed", ManagedNetwork, line, Managed, TARGET_OF_NETWORK),
            ];
            // The last ones are for MariaDB and MySQL.
            let all = &all[..if is_mysql { all.len() } else { 2 }];
            let told = all.iter().filter_map(|(what, turn, to, of, target)| {
                let reached = ratio(line, *turn, to, *of)?;
                let verdict = if reached >= *target { "" } else { ": NOT REACHED" };
                Some(format!("{what} {reached:.2} (at least {target:.2}{verdict})"))
            });
            format!("- {}: {}", line.database, told.collect::<Vec<_>>().join(",\n  "))
        };
        self.lines.iter().map(targets_of).collect::<Vec<_>>().join("\n")
    }
}

fn ratio(line: &Line, turn: Turn, to: &Line, of: Turn) -> Option<f64> {
    Some(line.median(turn)? / to.median(of)?)
}

/// A figure and its ratio to another one, as two cells of a table.
fn cells(line: &Line, turn: Turn, to: &Line, of: Turn) -> String {
    let cell = |median| Some(format!("{} | {:.2}", thousands(median), ratio(line, turn, to, of)?));
    line.median(turn).and_then(cell).unwrap_or_else(|| " | ".to_owned())
}

const EXPLAINED: &str = "\
- *one entry per transaction*: a typical consumer of seckill.lua. It reads one entry,
  checks whether the user has ordered, updates the stock, inserts the order, commits, and
  acknowledges. It is written in Rust with the same library, and takes no lock per user.
- *seckill-worker*: with its defaults and `--once`, including the start of the process.
- *with statements*: the same with `--statements`, which also update the stock and insert the
  order of the first consumer. *Sold*: of a voucher that is not managed. *Held and confirmed*:
  of a managed one; the confirmation sets the order's status.
- *network*: a proxy between worker and database that hands on all bytes half a millisecond
  later, so that an answer takes a millisecond more.

Each round has a new Redis server (`appendonly yes`, `appendfsync everysec`) and an empty
database. All commits are durable: SQLite with `journal_mode=WAL` and `synchronous=FULL`, the
others with their defaults, MySQL without a binary log. All rows are counted afterwards.";

/// A rate, rounded, with its digits in groups of three.
fn thousands(value: f64) -> String {
    HumanCount(value.round() as u64).to_string()
}
