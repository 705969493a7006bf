//! The pages with the figures, and the targets.

use crate::expiry;
use crate::managed::{CHANGES, COMMAND, HELD_FIRST, SAME_WORK, SOLD_OUT};
use crate::table::{Table, figure};
use crate::tries::{BATCHES, CLUSTER, DECIDED, GET, MTRY, NATIVE, SCRIPT, TRY};

/// A page of docs/bench.
pub struct Page {
    pub file: &'static str,
    start: &'static str,
    /// Where and when it was measured.
    pub place: String,
    pub tables: Vec<Table>,
    /// Plots at its end, and what each shows.
    plots: &'static [(&'static str, &'static str)],
}

pub const TRIES: Page = Page {
    file: "README.md",
    start: "\
# What a try costs

`make bench` writes this page and the plots.

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
- *batch script*: a script that decides many tries, with one command per key
  (`benches/side_by_side/scripts/try_batch.lua`), as a module command would; its cost is per try.
- *stock script*, *unlock script*: the usual ones.

All contenders take turns on one server in one run, and each reply is checked. Absolute times
depend on the machine; the ratios hardly do. Losing tries find 1,000 users who have bought,
duplicates are tries of these users, and accepted tries fill an empty sale. The cluster is one
node with all slots; there the script declares its keys.
",
    place: String::new(),
    tables: Vec::new(),
    plots: &[
        ("bars.svg", "Server CPU per try, by outcome and contender"),
        ("growth.svg", "Server CPU per try as the set of buyers grows"),
        ("managed.svg", "Server CPU per command on a managed sale"),
    ],
};

pub const LOCKS: Page = Page {
    file: "lock-line.md",
    start: "# What a lock costs\n\n`make bench` writes this page and the plot.\n",
    place: String::new(),
    tables: Vec::new(),
    plots: &[],
};

pub const SERVERS: Page = Page {
    file: "servers.md",
    start: "\
# The same tries on several servers

`make bench-servers` writes this page.

The contenders are those of [the first table](README.md). *GET* is a lower bound on that server.
Compare ratios; compare microseconds only between servers with the same allocator. All servers take
turns; the one named here is the first.
",
    place: String::new(),
    tables: Vec::new(),
    plots: &[],
};

impl Page {
    pub fn at(self, place: &str) -> Self {
        Self { place: place.to_owned(), ..self }
    }

    pub fn text(&self) -> String {
        let mut text = format!("{}\n{}\n", self.start, self.place);
        text.extend(self.tables.iter().map(Table::markdown));
        if !self.plots.is_empty() {
            text += "\n## Plots\n";
        }
        text.extend(self.plots.iter().map(|(file, shows)| format!("\n![{shows}]({file})\n")));
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
/// the least or the most that this ratio should be.
type Target = (&'static str, &'static str, &'static str, &'static str, Bound);

enum Bound {
    Least(f64),
    Most(f64),
}

use Bound::{Least, Most};

const TARGETS: [Target; 14] = [
    (DECIDED, "sold out", SCRIPT, TRY, Least(4.0)),
    (DECIDED, "sold out", TRY, GET, Most(1.5)),
    (DECIDED, "sold out", NATIVE, TRY, Most(1.3)),
    (DECIDED, "sold out", "GET, scripts set", GET, Most(1.05)),
    (DECIDED, "duplicate", SCRIPT, TRY, Least(2.3)),
    (DECIDED, "accepted", SCRIPT, TRY, Least(2.1)),
    (DECIDED, "accepted", NATIVE, TRY, Most(1.15)),
    (DECIDED, "accepted, AOF everysec", SCRIPT, TRY, Least(1.75)),
    (CLUSTER, "sold out", "script, declared keys", TRY, Least(3.3)),
    (BATCHES, "sold out, 32 per command", SCRIPT, MTRY, Least(9.0)),
    (BATCHES, "accepted, 32 per command", SCRIPT, MTRY, Least(3.8)),
    (SOLD_OUT, "1,000", HELD_FIRST, TRY, Most(2.0)),
    (CHANGES, "accepted, held", SAME_WORK, COMMAND, Least(2.0)),
    (expiry::TITLE, "1,000,000", "p99", "", Most(5.0)),
];

/// Prints the targets whose figures were measured.
pub fn print_targets(pages: &[Page]) {
    for (title, name, above, below, bound) in TARGETS {
        let table = pages.iter().find_map(|page| page.table(title));
        let row = table.and_then(|table| table.rows.iter().find(|row| row.names[0] == name));
        let measured = row.and_then(|row| match below {
            "" => row.cost(above),
            _ => row.ratio(above, below),
        });
        let Some(measured) = measured else { continue };
        let (is_reached, words, wanted) = match bound {
            Least(wanted) => (measured >= wanted, "at least", wanted),
            Most(wanted) => (measured <= wanted, "at most", wanted),
        };
        let what = [above, below].map(str::trim).join(" / ");
        let verdict = if is_reached { "reached" } else { "NOT REACHED" };
        println!("{name}: {what} {words} {wanted}: {}, {verdict}", figure(measured));
    }
}
