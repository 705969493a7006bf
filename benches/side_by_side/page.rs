//! The pages with the figures, and the targets.

use crate::carts::{self, EACH, TRYALL};
use crate::expiry;
use crate::managed::{
    ALONE, CHANGES, COMMAND, EIGHT, HELD_FIRST, IN_TURN, MANY, SAME_WORK, SOLD_OUT,
};
use crate::table::{Table, figure};
use crate::tries::{BATCHES, DECIDED, GET, MTRY, NATIVE, SCRIPT, TRY};

/// A page of docs/bench.
pub struct Page {
    pub file: &'static str,
    start: &'static str,
    /// Where and when it was measured.
    pub place: String,
    pub tables: Vec<Table>,
}

pub const TRIES: Page = Page {
    file: "README.md",
    start: "\
# What a try costs

`make bench` writes this page.

- *script*: the usual Lua script, by EVALSHA.
- *one-line script*: `return redis.call('SECKILL.TRY', ...)` instead of the usual one, by
  EVALSHA.
- *EVALSHA, native*: the EVALSHA of *script*, byte for byte, while `seckill.scripts` names it.
- *SECKILL.TRY*: this module.
- *managed*: SECKILL.TRY on a voucher made by SECKILL.CREATE, sold at once or, with HOLD, held
  until a deadline; *script of the same work*: a script with the checks, keys and fields of the
  command beside it (`benches/side_by_side/scripts/`).
- *GET*: a GET of the stock. *GET, scripts set*: the same GET while `seckill.scripts` names a
  script.
- *a SECKILL.TRY per article*: three commands, which can sell a half of a cart.
- *batch script*: a script that decides many tries, with one command per key
  (`benches/side_by_side/scripts/try_batch.lua`), as a module command would; its cost is per try.

All contenders take turns on one server in one run, and each reply is checked. Absolute times
depend on the machine; the ratios hardly do. Losing tries find 1,000 users who have bought,
duplicates are tries of these users, and accepted tries fill an empty sale.
",
    place: String::new(),
    tables: Vec::new(),
};

pub const LOCKS: Page = Page {
    file: "lock-line.md",
    start: "# What a lock costs\n\n`make bench` writes this page.\n",
    place: String::new(),
    tables: Vec::new(),
};

pub const SERVERS: Page = Page {
    file: "servers.md",
    start: "\
# The same tries on several servers

`scripts/bench-servers` writes this page.

The contenders are those of [the first table](README.md). *GET* is a lower bound on that server.
Compare ratios; compare microseconds only between servers with the same allocator. All servers take
turns; the one named here is the first.
",
    place: String::new(),
    tables: Vec::new(),
};

impl Page {
    pub fn at(self, place: &str) -> Self {
        Self { place: place.to_owned(), ..self }
    }

    pub fn text(&self) -> String {
        let mut text = format!("{}\n{}\n", self.start, self.place);
        text.extend(self.tables.iter().map(Table::markdown));
        text
    }

    pub fn print(&self) {
        if !self.tables.is_empty() {
            println!("{}", self.place);
            self.tables.iter().for_each(|table| println!("{}", table.terminal()));
        }
    }

    pub fn table(&self, title: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.title == title)
    }
}

/// The title of a table and a row, two columns of which the first is divided by the second, and
/// what this ratio should be.
type Target = (&'static str, &'static str, &'static str, &'static str, &'static str, f64);

const LEAST: &str = "at least";
const MOST: &str = "at most";

const TARGETS: [Target; 25] = [
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
];

/// Prints the targets whose figures were measured.
pub fn print_targets(pages: &[Page]) {
    for (title, name, above, below, bound, wanted) in TARGETS {
        let table = pages.iter().find_map(|page| page.table(title));
        let row = table.and_then(|table| table.rows.iter().find(|row| row.names[0] == name));
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
