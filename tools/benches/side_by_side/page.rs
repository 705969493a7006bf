//! The pages with the figures, and the targets.

use std::fs;
use std::process::Command;

use crate::options::Options;
use crate::stand::Stand;
use crate::table::Table;
use crate::{Result, carts, expiry, latency, managed, rows, tries, waiting};

/// What is measured by itself, for --only.
type Part = (&'static str, fn(&Options) -> Result<Vec<Table>>);

/// A page of docs/bench.
pub struct Page {
    pub file: &'static str,
    start: &'static str,
    pub parts: &'static [Part],
    pub tables: Vec<Table>,
}

pub const PAGES: [Page; 2] = [
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
  order of the first consumer. *Confirmed*: of a managed voucher, whose orders are held and then
  confirmed; the confirmation sets the order's status.

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
pub fn place(options: &Options) -> Result<String> {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let date = Command::new("date").args(["-u", "+%F"]).output()?;
    Ok(format!(
        "{}, {}, {} cores, {}, {} rounds in one run, of databases {}.",
        Stand::new(false)?.name()?,
        model.map_or("unknown CPU", |(_, name)| name),
        std::thread::available_parallelism()?,
        String::from_utf8(date.stdout)?.trim(),
        options.rounds(),
        options.rounds_of_databases(),
    ))
}
