//! The results, as rows.md.

use std::fs;
use std::path::Path;
use std::thread::available_parallelism;

use indicatif::HumanCount;

use crate::harness::Server;
use crate::turns::Line;
use crate::{Result, machine};

/// The target: how many times the orders per second of the other consumer the worker must reach.
const TARGET: f64 = 10.0;
/// The target if the worker also runs the shop's own statements.
const TARGET_WITH_STATEMENTS: f64 = 5.0;
/// The part of SQLite's orders per second, with statements, that MariaDB and MySQL must reach.
const TARGET_OF_SQLITE: f64 = 0.5;

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
        let mut rows = Vec::new();
        let mut verdicts = [const { Vec::new() }; 3];
        let of_sqlite = self.lines.first().map_or(f64::NAN, |line| line.orders_per_second[2]);
        for line in &self.lines {
            let [naive, worker, shop] = line.orders_per_second;
            let times = [worker, shop].map(|median| median / naive);
            rows.push(format!(
                "| {} | {} | {} | {:.1} | {} | {:.1} |",
                line.database,
                thousands(naive),
                thousands(worker),
                times[0],
                thousands(shop),
                times[1]
            ));
            let targets = [TARGET, TARGET_WITH_STATEMENTS];
            for (place, (times, target)) in times.into_iter().zip(targets).enumerate() {
                let reached = if times >= target { "reached" } else { "NOT REACHED" };
                verdicts[place].push(format!("{}: {reached}", line.database));
            }
            if line.database.starts_with("M") {
                let part = shop / of_sqlite;
                let reached = if part >= TARGET_OF_SQLITE { "reached" } else { "NOT REACHED" };
                verdicts[2].push(format!("{}: {part:.2}, {reached}", line.database));
            }
        }
        [
            "# From the stream to rows".to_owned(),
            "`make bench` writes this page.".to_owned(),
            self.place.clone(),
            EXPLAINED.to_owned(),
            "Orders per second:".to_owned(),
            format!(
                "|  | one entry per transaction | seckill-worker | ratio | with statements | ratio \
                 |\n| --- | ---: | ---: | ---: | ---: | ---: |\n{}",
                rows.join("\n")
            ),
            format!(
                "Targets: a ratio of at least {:.0} ({}), and with statements of at least {:.0} \
                 ({}). With statements MariaDB and MySQL must reach {TARGET_OF_SQLITE} of SQLite's \
                 orders per second ({}).",
                TARGET,
                verdicts[0].join(", "),
                TARGET_WITH_STATEMENTS,
                verdicts[1].join(", "),
                verdicts[2].join(", ")
            ),
        ]
        .join("\n\n")
            + "\n"
    }
}

const EXPLAINED: &str = "\
- *one entry per transaction*: a typical consumer of the usual script. It reads one entry,
  checks whether the user has ordered, updates the stock, inserts the order, commits, and
  acknowledges. It is written in Rust with the same library, and takes no lock per user.
- *seckill-worker*: with its defaults and `--once`, including the start of the process.
- *with statements*: the same with `--statements`, which also update the stock and insert the
  order of the first consumer.

Each round has a new Redis server (`appendonly yes`, `appendfsync everysec`) and an empty
database. All commits are durable: SQLite with `journal_mode=WAL` and `synchronous=FULL`, the
others with their defaults, MySQL without a binary log. All rows are counted afterwards.";

/// A rate, rounded, with its digits in groups of three.
fn thousands(value: f64) -> String {
    HumanCount(value.round() as u64).to_string()
}
