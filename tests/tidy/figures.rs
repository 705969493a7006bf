//! Figures of the benchmarks that other pages quote are those of the benchmarks' own pages.

use crate::read;

const README: &str = "README.md";
const SIZING: &str = "docs/sizing.md";
const WORKER: &str = "docs/worker.md";
const ALTERNATIVES: &str = "docs/alternatives.md";
const MTRY: &str = "docs/commands/seckill.mtry.md";

const AOF: &str = "accepted, AOF everysec";
const HELD_AOF: &str = "accepted, held, AOF everysec";
const CONFIRMED_AOF: &str = "confirmed, AOF everysec";
const MARIADB: &str = "MariaDB 10.11.19";

const TRY: (&str, &str) = ("README.md", "Server CPU per try, in microseconds");
const MANY: (&str, &str) =
    ("README.md", "Server CPU per try of many in one command, in microseconds");
const MANAGED: (&str, &str) =
    ("README.md", "Server CPU of what changes a managed sale, in microseconds");
const SOLD_OUT: (&str, &str) =
    ("README.md", "Server CPU per sold-out try of a managed sale, in microseconds");
const BATCH: (&str, &str) =
    ("README.md", "Main thread per SECKILL.MTRY of 1,024 accepted tries, in milliseconds");
const AT_ONCE: (&str, &str) =
    ("README.md", "One try in flight on each of 50 connections, times in microseconds");
const QUEUE: (&str, &str) =
    ("README.md", "Server CPU per order of a waiting list, in microseconds");
const ROWS: (&str, &str) = ("rows.md", "Orders per second");

/// A page, what it says with `{}` for the figure, the decimals that it has there; the benchmark's
/// page and heading, the row and the column.
type Quote = (&'static str, &'static str, usize, (&'static str, &'static str), &'static str, usize);

const QUOTES: [Quote; 33] = [
    (README, "such a try takes {} us", 2, TRY, "sold out", 4),
    (README, "CPU, {} times less than `seckill.lua`", 1, TRY, "sold out", 8),
    (README, "answers {} tries per second", 0, AT_ONCE, "sold out, SECKILL.TRY", 1),
    (README, "with `seckill.lua` {}.", 0, AT_ONCE, "sold out, script", 1),
    (README, "of 32 tries | {} times less |", 1, MANY, "sold out, 32 per command", 7),
    (README, "in redis.conf | `seckill.lua` by `EVALSHA` | {} times less |", 1, TRY, "sold out", 7),
    (README, "An accepted try is {} times cheaper", 1, TRY, "accepted", 8),
    (README, "({} times with AOF everysec)", 1, TRY, AOF, 8),
    (SIZING, "| decision: accepted, append-only file | {} |", 1, TRY, AOF, 4),
    (SIZING, "held, append-only file | {} |", 1, MANAGED, HELD_AOF, 2),
    (SIZING, "| confirmed, append-only file | {} |", 1, MANAGED, CONFIRMED_AOF, 2),
    (SIZING, "| decision: sold out | {} |", 1, TRY, "sold out", 4),
    (SIZING, "sold out, in batches of 32 | {} |", 1, MANY, "sold out, 32 per command", 4),
    (SIZING, "0.8 to 1.0 | {} to 2.0 times that", 1, SOLD_OUT, "1,000", 8),
    (SIZING, "times that: {} instead of", 1, SOLD_OUT, "400, by default", 5),
    (SIZING, "instead of {} us in one run", 1, SOLD_OUT, "400", 5),
    (SIZING, "{} tries/s by 50 connections", 0, AT_ONCE, "sold out, SECKILL.TRY", 1),
    (MTRY, "take [{} ms on an unmanaged voucher", 0, BATCH, "unmanaged", 1),
    (MTRY, "{} ms on one with HOLD", 1, BATCH, "managed, HOLD", 1),
    (MTRY, "{} ms with an append-only file", 1, BATCH, "managed, HOLD", 2),
    (SIZING, "behind 100,000 orders | {} |", 1, QUEUE, "100,000", 1),
    (SIZING, "of these orders promoted | {} |", 1, QUEUE, "100,000", 2),
    (SIZING, "wrote {} orders per second to SQLite", 0, ROWS, "SQLite 3.46.0", 2),
    (SIZING, "to SQLite, {} to MariaDB", 0, ROWS, MARIADB, 2),
    (SIZING, "to MariaDB, {} to MySQL", 0, ROWS, "MySQL 9.7.4", 2),
    (SIZING, "and {} to PostgreSQL", 0, ROWS, "PostgreSQL 15.18", 2),
    (SIZING, "(worker.md#the-shops-own-tables) {}, ", 0, ROWS, "SQLite 3.46.0", 3),
    (SIZING, "| Rows | 10,000 / {} per second", 0, ROWS, MARIADB, 3),
    (WORKER, "statements {} orders per second on MariaDB", 0, ROWS, MARIADB, 3),
    (WORKER, "on MariaDB, {} times as many", 1, ROWS, MARIADB, 6),
    (ALTERNATIVES, "reached {} orders per second on MariaDB", 0, ROWS, MARIADB, 1),
    (ALTERNATIVES, "on MySQL, {} on PostgreSQL", 0, ROWS, "PostgreSQL 15.18", 1),
    (ALTERNATIVES, "PostgreSQL and {} on SQLite", 0, ROWS, "SQLite 3.46.0", 1),
];

/// The cell of a benchmark's table, with as many decimals.
fn figure((page, heading): (&str, &str), row: &str, column: usize, decimals: usize) -> String {
    let page = read(&format!("docs/bench/{page}"));
    let (_, section) = page.split_once(&format!("# {heading}\n")).expect(heading);
    let section = section.split("\n## ").next().unwrap_or(section);
    let row = section.lines().find(|line| line.starts_with(&format!("| {row} |"))).expect(row);
    let cell = row.split('|').nth(column + 1).expect("the column").trim();
    match cell.parse::<f64>() {
        Ok(number) => format!("{number:.decimals$}"),
        Err(_) => cell.to_owned(),
    }
}

#[test]
fn pages_quote_the_figures_of_the_benchmarks() {
    let mut complaints = Vec::new();
    for (name, says, decimals, table, row, column) in QUOTES {
        let wanted = says.replace("{}", &figure(table, row, column, decimals));
        // A line of a page may end anywhere.
        let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        if !plain(&read(name)).contains(&plain(&wanted)) {
            complaints.push(format!("{name} does not say: {wanted}"));
        }
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

/// Both editions of README show the script that the module is compared with.
#[test]
fn readme_shows_seckill_lua_as_it_is() {
    let script = read("tools/benches/side_by_side/scripts/seckill.lua");
    let is_code = |line: &&str| !line.starts_with("--");
    let code: Vec<&str> = script.lines().filter(is_code).collect();
    for page in ["README.md", "README.zh-CN.md"] {
        assert!(read(page).contains(&format!("```lua\n{}\n```", code.join("\n"))), "{page}");
    }
}
