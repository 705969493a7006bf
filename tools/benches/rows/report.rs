//! What was found out, as rows.json and rows.md.

use std::fs;
use std::path::Path;
use std::thread::available_parallelism;

use serde::Serialize;

use crate::harness::Server;
use crate::turns::{Line, Size};
use crate::{Result, machine};

/// How many times the orders of the other consumer the worker is to make rows of.
const TARGET: f64 = 10.0;

#[derive(Serialize)]
pub struct Report {
    place: String,
    rounds: u32,
    orders: Size,
    target: f64,
    lines: Vec<Line>,
}

impl Report {
    pub fn new(lines: Vec<Line>, rounds: u32, orders: Size) -> Result<Self> {
        let server = Server::start();
        let mut control = redis::Client::open(server.address())?.get_connection()?;
        let place = format!(
            "{}, {}, {} cores, {}. Medians of the rounds of one run.",
            machine::server_name(&mut control)?,
            machine::cpu_model(),
            available_parallelism()?,
            machine::today()?
        );
        Ok(Self { place, rounds, orders, target: TARGET, lines })
    }

    pub fn write(&self, dir: &Path) -> Result<()> {
        fs::create_dir_all(dir)?;
        fs::write(dir.join("rows.json"), serde_json::to_string_pretty(self)? + "\n")?;
        fs::write(dir.join("rows.md"), self.page())?;
        Ok(())
    }

    pub fn page(&self) -> String {
        let mut rows = Vec::new();
        let mut verdicts = Vec::new();
        for line in &self.lines {
            let [naive, worker] = [0, 1].map(|place| &line.orders_per_second[place]);
            let times = worker.median / naive.median;
            rows.push(format!(
                "| {} | {} | {} | {times:.1} |",
                line.database,
                thousands(naive.median),
                thousands(worker.median)
            ));
            let reached = if times >= self.target { "reached" } else { "NOT REACHED" };
            verdicts.push(format!("{}: {reached}", line.database));
        }
        [
            "# From the stream to rows".to_owned(),
            "`make bench` writes this page and `rows.json`.".to_owned(),
            self.place.clone(),
            EXPLAINED.to_owned(),
            "Orders a second:".to_owned(),
            format!(
                "|  | one entry a transaction | seckill-worker | ratio |\n\
                 | --- | ---: | ---: | ---: |\n{}",
                rows.join("\n")
            ),
            format!("Target: a ratio of at least {:.0}. {}.", self.target, verdicts.join(", ")),
        ]
        .join("\n\n")
            + "\n"
    }
}

const EXPLAINED: &str = "\
- *one entry a transaction*: how consumers of the usual script do it: `XREADGROUP COUNT 1`, has the
  user ordered, `UPDATE` of the stock, `INSERT` of the order, `COMMIT`, `XACK`. Written in Rust with
  the same library, without the lock a user that many of them take besides.
- *seckill-worker*: at its defaults, `--once`, the start of the process included.

Each turn has a new Redis server (`appendonly yes`, `appendfsync everysec`) and an empty database.
Every commit is on the disk, on both sides: SQLite with `journal_mode=WAL` and `synchronous=FULL`,
PostgreSQL as it is by default. All rows are counted afterwards.";

/// Digits in groups of three.
fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
