//! The pages with the figures, and the targets.

use std::fs;
use std::process::Command;

use crate::carts::{self, EACH, TRYALL};
use crate::managed::{
    self, ALONE, CHANGES, COMMAND, EIGHT, HELD_FIRST, IN_TURN, MANY, SAME_WORK, SOLD_OUT,
};
use crate::options::Size;
use crate::rows::{self, CONFIRMED, NAIVE, NETWORK, NETWORK_CONFIRMED, STATEMENTS, WORKER};
use crate::stand::Stand;
use crate::table::{Row, Table, figure};
use crate::tries::{self, BATCHES, DECIDED, GET, MTRY, NATIVE, SCRIPT, TRY};
use crate::{Result, expiry, latency, locks, waiting};

/// What is measured by itself, for --only.
type Part = (&'static str, fn(&Size) -> Result<Vec<Table>>);

/// A page of docs/bench.
pub struct Page {
    pub file: &'static str,
    start: &'static str,
    pub parts: &'static [Part],
    pub tables: Vec<Table>,
}

pub const PAGES: [Page; 3] = [
    Page {
        file: "README.md",
        start: TRIES,
        // In the order of the page.
        parts: &[
            ("tries", tries::decided),
            ("batches", tries::in_batches),
            ("full-batches", managed::full_batches),
            ("latency", latency::measure),
            ("managed", managed::sold_out),
            ("managed-turns", managed::in_turn),
            ("managed-changes", managed::changes),
            ("carts", carts::measure),
            ("managed-lines", waiting::measure),
            ("managed-expiry", expiry::measure),
        ],
        tables: Vec::new(),
    },
    Page {
        file: "lock-line.md",
        start: "# What a lock costs\n\n`make bench` writes this page.\n",
        parts: &[("lock-line", locks::measure)],
        tables: Vec::new(),
    },
    Page { file: "rows.md", start: ROWS, parts: &[("rows", rows::measure)], tables: Vec::new() },
];

const TRIES: &str = "\
# What a try costs

`make bench` writes this page.

- *script*: the usual Lua script, by EVALSHA.
- *one-line script*: `return redis.call('SECKILL.TRY', ...)` instead of the usual one, by
  EVALSHA.
- *EVALSHA, native*: the EVALSHA of *script*, byte for byte, while `seckill.scripts` names it.
- *SECKILL.TRY*: this module.
- *managed*: SECKILL.TRY on a voucher made by SECKILL.CREATE, sold at once or, with HOLD, held
  until a deadline; *script of the same work*: a script with the checks, keys and fields of the
  command beside it (`tools/benches/side_by_side/scripts/`).
- *GET*: a GET of the stock. *GET, scripts set*: the same GET while `seckill.scripts` names a
  script.
- *a SECKILL.TRY per article*: three commands, which can sell a half of a cart.
- *batch script*: a script that decides many tries, with one command per key
  (`tools/benches/side_by_side/scripts/try_batch.lua`), as a module command would; its cost is
  per try.

CPU time is that of the server's main thread, the lower quartile of the rounds, with 4
connections and 100 commands in flight on each. All contenders take turns on one server in one
run, and each reply is checked. Absolute times depend on the machine; the ratios hardly do. Losing
tries find 1,000 users who have bought, duplicates are tries of these users, and accepted tries
fill an empty sale.
";

const ROWS: &str = "\
# From the stream to rows

`make bench` writes this page.

- *one entry per transaction*: a typical consumer of seckill.lua. It reads one entry,
  checks whether the user has ordered, updates the stock, inserts the order, commits, and
  acknowledges. It is written in Rust with the same library, and takes no lock per user.
- *seckill-worker*: with its defaults and `--once`, including the start of the process.
- *with statements*: the same with `--statements`, which also update the stock and insert the
  order of the first consumer; also by *two workers*. *Confirmed*: of a managed voucher, whose
  orders are held and then confirmed; the confirmation sets the order's status.
- *network*: a proxy between worker and database that hands on all bytes half a millisecond
  later, so that an answer takes a millisecond more.

Figures are medians. Each round has a new Redis server (`appendonly yes`, `appendfsync everysec`)
and an empty database. All commits are durable: SQLite with `journal_mode=WAL` and
`synchronous=FULL`, the others with their defaults, MySQL without a binary log. All rows are
counted afterwards.
";

impl Page {
    /// With where and when it was measured.
    pub fn text(&self, place: &str) -> String {
        let tables = self.tables.iter().map(Table::markdown);
        format!("{}\n{place}\n{}", self.start, tables.collect::<String>())
    }
}

/// Where, when and how often it was measured.
pub fn place(size: &Size) -> Result<String> {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let date = Command::new("date").args(["-u", "+%F"]).output()?;
    Ok(format!(
        "{}, {}, {} cores, {}, {} rounds in one run, of contended locks and databases {}.",
        Stand::new(false)?.name()?,
        model.map_or("unknown CPU", |(_, name)| name),
        std::thread::available_parallelism()?,
        String::from_utf8(date.stdout)?.trim(),
        size.rounds,
        size.long_rounds,
    ))
}

/// The title of a table and how a row begins, two columns of which the first is divided by the
/// second, and what this ratio should be.
type Target = (&'static str, &'static str, &'static str, &'static str, &'static str, f64);

const LEAST: &str = "at least";
const MOST: &str = "at most";

const TARGETS: [Target; 37] = [
    (DECIDED, "sold out", SCRIPT, TRY, LEAST, 4.0),
    (DECIDED, "sold out", TRY, GET, MOST, 1.5),
    (DECIDED, "sold out", NATIVE, TRY, MOST, 1.3),
    (DECIDED, "sold out", "GET, scripts set", GET, MOST, 1.05),
    (DECIDED, "duplicate", SCRIPT, TRY, LEAST, 2.3),
    (DECIDED, "accepted", SCRIPT, TRY, LEAST, 2.1),
    (DECIDED, "accepted", NATIVE, TRY, MOST, 1.15),
    (DECIDED, "accepted, AOF everysec", SCRIPT, TRY, LEAST, 1.75),
    (BATCHES, "sold out, 32 per command", SCRIPT, MTRY, LEAST, 9.0),
    (BATCHES, "accepted, 32 per command", SCRIPT, MTRY, LEAST, 3.8),
    (SOLD_OUT, "1,000", HELD_FIRST, TRY, MOST, 2.0),
    (IN_TURN, HELD_FIRST, EIGHT, ALONE, MOST, 1.2),
    (IN_TURN, HELD_FIRST, MANY, ALONE, MOST, 1.6),
    (CHANGES, "accepted, held", SAME_WORK, COMMAND, LEAST, 2.0),
    (carts::TITLE, carts::SOLD_OUT, TRYALL, EACH, MOST, 0.6),
    (carts::TITLE, carts::SOLD_OUT, TRYALL, SAME_WORK, MOST, 0.4),
    (carts::TITLE, carts::LAST_SOLD_OUT, TRYALL, EACH, MOST, 0.7),
    (carts::TITLE, carts::LAST_SOLD_OUT, TRYALL, SAME_WORK, MOST, 0.5),
    (carts::TITLE, carts::ONE, TRYALL, EACH, MOST, 1.2),
    (carts::TITLE, carts::HELD, TRYALL, EACH, MOST, 0.9),
    (carts::TITLE, carts::HELD, TRYALL, SAME_WORK, MOST, 0.5),
    (carts::TITLE, carts::SOLD, TRYALL, EACH, MOST, 0.9),
    (carts::TITLE, carts::SOLD, TRYALL, SAME_WORK, MOST, 0.5),
    (carts::LARGEST, "held, AOF everysec", TRYALL, "", MOST, 1.0),
    (expiry::TITLE, "1,000,000", "p99", "", MOST, 5.0),
    (rows::TITLE, "SQLite", WORKER, NAIVE, LEAST, 10.0),
    (rows::TITLE, "SQLite", STATEMENTS, NAIVE, LEAST, 5.0),
    (rows::TITLE, "PostgreSQL", WORKER, NAIVE, LEAST, 10.0),
    (rows::TITLE, "PostgreSQL", STATEMENTS, NAIVE, LEAST, 5.0),
    (rows::TITLE, "MariaDB", WORKER, NAIVE, LEAST, 10.0),
    (rows::TITLE, "MariaDB", STATEMENTS, NAIVE, LEAST, 10.0),
    (rows::TITLE, "MariaDB", NETWORK, STATEMENTS, LEAST, 0.67),
    (rows::TITLE, "MariaDB", NETWORK_CONFIRMED, CONFIRMED, LEAST, 0.67),
    (rows::TITLE, "MySQL", WORKER, NAIVE, LEAST, 10.0),
    (rows::TITLE, "MySQL", STATEMENTS, NAIVE, LEAST, 10.0),
    (rows::TITLE, "MySQL", NETWORK, STATEMENTS, LEAST, 0.67),
    (rows::TITLE, "MySQL", NETWORK_CONFIRMED, CONFIRMED, LEAST, 0.67),
];

/// Prints the targets whose figures were measured.
pub fn print_targets(pages: &[Page]) {
    for (title, name, above, below, bound, wanted) in TARGETS {
        let mut tables = pages.iter().flat_map(|page| &page.tables);
        let table = tables.find(|table| table.title == title);
        let is_meant = |row: &&Row| match title {
            rows::TITLE => row.name.starts_with(name),
            _ => row.name == name,
        };
        let row = table.and_then(|table| table.rows.iter().find(is_meant));
        let measured = row.and_then(|row| match below {
            "" => row.cost(above),
            _ => row.ratio(above, below),
        });
        let Some(measured) = measured else { continue };
        let is_reached = if bound == LEAST { measured >= wanted } else { measured <= wanted };
        let what = if below.is_empty() { above.to_owned() } else { format!("{above} / {below}") };
        let verdict = if is_reached { "reached" } else { "NOT REACHED" };
        println!("{name}: {what} {bound} {wanted}: {}, {verdict}", figure(measured));
    }
}
