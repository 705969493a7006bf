//! Scenarios in which a selling script is run, and what it did there, step by step.

use std::collections::BTreeSet;

use anyhow::Result;
use domain::integer;
use seckill_tools::sanitize::sanitize_bytes;

use crate::explore::Effects;
use crate::reading::{Reading, Try};
use crate::reply::Reply;
use crate::sale::Sale;
use crate::server::Client;
use crate::template::Slot;
use crate::watch::Seen;
use crate::wire::Words;
use crate::world::{Cell, World, planted};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stock {
    Missing,
    Units(&'static str),
    /// Units that expire in an hour.
    Lasting(&'static str),
    List,
}

pub struct Scenario {
    pub name: &'static str,
    pub stock: Stock,
    pub tries: Vec<Try>,
}

/// One try of a history.
pub struct Step {
    pub reply: Reply,
    /// The stock before, if it was a number.
    pub before: Option<i64>,
    pub after: Option<i64>,
    /// Names of the cells that it created, without user and order.
    pub made: BTreeSet<Vec<u8>>,
    pub changed: bool,
}

/// The result of a scenario.
pub struct Ran {
    pub steps: Vec<Step>,
    pub before: World,
    pub after: World,
}

pub const BUYS: &str = "a user buys";
pub const LAST: &str = "the last unit, then another user";
pub const SOLD_OUT: &str = "sold out";
pub const BOUGHT: &str = "the same user again";
pub const BOUGHT_AND_OUT: &str = "the same user again, sold out";
pub const MISSING: &str = "no stock key";
/// After the first try the stock key is deleted.
pub const GONE: &str = "bought, then no stock key";
pub const MINUS_ONE: &str = "a stock of -1";
pub const MINUS_FIVE: &str = "a stock of -5";
pub const MANY: &str = "30 users, 10 units";
pub const OFTEN: &str = "a user, 12 tries";
pub const UNITS: &str = "2, 5 or 10 units of 1 to 50";
pub const TWO: &str = "a user, two vouchers";
pub const ODD: &str = "odd bytes in users";
pub const LASTING: &str = "a stock that expires";
pub const BUYERS_SPOILED: &str = "the buyers' key is a string";
pub const STREAM_SPOILED: &str = "the stream's key is a string";

/// Units that are asked for, and the stocks of which they are asked: as texts they are ordered
/// otherwise than as numbers.
pub fn asked() -> impl Iterator<Item = (&'static str, &'static str)> {
    let stocks = |units| ["1", "2", "5", "9", "10", "50"].map(|stock| (units, stock));
    ["2", "5", "10"].into_iter().flat_map(stocks)
}

pub fn a_try(number: usize) -> Try {
    Try {
        voucher: "7",
        user: format!("{}", 1000 + number).into(),
        order: format!("{}", 5000 + number),
        units: "1",
        stock: None,
    }
}

fn again(number: usize) -> Try {
    Try { order: format!("{}", 6000 + number), ..a_try(number) }
}

/// Users whose names are easily mishandled.
fn odd_users() -> Vec<Try> {
    let users: [&[u8]; 9] =
        [b"1", b"01", b"1.0", b" 1", b"a b", b"nul\x00here", b"\xff\xfe", b"'\"\\\r\n", b"{tag}"];
    let mut users: Words = users.iter().map(|user| user.to_vec()).collect();
    // The longest name that the module accepts by default.
    users.push(vec![b'x'; 512]);
    users.push(b"01".to_vec());
    let with = |(index, user)| Try { user, ..a_try(index) };
    users.into_iter().enumerate().map(with).collect()
}

/// All scenarios, in the order of a report, without those about keys that the script doesn't have.
pub fn all(sale: &Sale) -> Vec<Scenario> {
    use Stock::{Lasting, List, Missing, Units};
    let one = || vec![a_try(1)];
    let elsewhere = Try { voucher: "8", ..again(1) };
    let asked = asked().enumerate().map(|(number, (units, stock))| Try {
        units,
        stock: Some(stock),
        ..a_try(number)
    });
    let often = (0..12).map(|number| Try { order: format!("{}", 6100 + number), ..a_try(1) });
    let rows = [
        (BUYS, Units("5"), one()),
        (LAST, Units("1"), vec![a_try(1), a_try(2)]),
        (SOLD_OUT, Units("0"), one()),
        (BOUGHT, Units("5"), vec![a_try(1), again(1)]),
        (BOUGHT_AND_OUT, Units("1"), vec![a_try(1), again(1)]),
        (OFTEN, Units("50"), often.collect()),
        (MISSING, Missing, one()),
        (GONE, Units("5"), vec![a_try(1), again(1), a_try(2)]),
        (MINUS_ONE, Units("-1"), one()),
        (MINUS_FIVE, Units("-5"), one()),
        (MANY, Units("10"), (0..30).map(a_try).collect()),
        (UNITS, Units("5"), asked.collect()),
        (TWO, Units("5"), vec![a_try(1), elsewhere]),
        (ODD, Units("50"), odd_users()),
        (LASTING, Lasting("5"), one()),
        ("a stock of 5.5", Units("5.5"), one()),
        ("a stock of abc", Units("abc"), one()),
        ("an empty stock", Units(""), one()),
        ("the stock's key is a list", List, one()),
        (BUYERS_SPOILED, Units("5"), one()),
        (STREAM_SPOILED, Units("5"), one()),
    ];
    let scenario = |(name, stock, tries)| Scenario { name, stock, tries };
    let there = |scenario: &Scenario| match scenario.name {
        BUYERS_SPOILED => sale.buyers().is_some(),
        STREAM_SPOILED => sale.orders.is_some(),
        UNITS => sale.units.is_some(),
        TWO => sale.user.is_some(),
        ODD => sale.user.is_some_and(|user| !sale.marks.is_empty() && user != Slot::Key(1)),
        _ => true,
    };
    rows.map(scenario).into_iter().filter(there).collect()
}

impl Scenario {
    /// Whether its keys are damaged: the module refuses then, and a script may behave in any way.
    pub fn is_damaged(&self) -> bool {
        let number = match self.stock {
            Stock::Units(text) | Stock::Lasting(text) => integer::parse(text.as_bytes()).is_some(),
            Stock::Missing => true,
            Stock::List => false,
        };
        !number || [BUYERS_SPOILED, STREAM_SPOILED].contains(&self.name)
    }

    /// The commands that create the keys before the first try.
    fn commands(&self, sale: &Sale, reading: &Reading) -> Vec<Words> {
        let words = |words: &[&[u8]]| words.iter().map(|word| word.to_vec()).collect::<Words>();
        let mut commands = vec![words(&[b"FLUSHALL"])];
        for a_try in &self.tries {
            let stock = sale.stock_cell(reading, a_try);
            match self.stock {
                Stock::Missing => {}
                Stock::Units(units) => commands.push(planted(&stock, units.as_bytes())),
                Stock::Lasting(units) => {
                    commands.push(planted(&stock, units.as_bytes()));
                    commands.push(words(&[b"EXPIRE", &stock.key, b"3600"]));
                }
                Stock::List => commands.push(words(&[b"RPUSH", &stock.key, b"not a stock"])),
            }
            let value = |slot| reading.value(slot, a_try, false);
            let spoiled = match self.name {
                BUYERS_SPOILED => sale.buyers().map(|place| place.key.text(&value)),
                STREAM_SPOILED => sale.orders.as_ref().map(|(key, _)| key.text(&value)),
                _ => None,
            };
            commands.extend(spoiled.map(|key| words(&[b"SET", &key, b"of another type"])));
        }
        commands
    }

    pub fn run(
        &self,
        client: &mut Client,
        sale: &Sale,
        reading: &Reading,
        call: &dyn Fn(&Try) -> Words,
    ) -> Result<Ran> {
        client.all(&self.commands(sale, reading))?;
        let mut guarded: BTreeSet<Cell> = BTreeSet::new();
        let mut first = None;
        let mut steps = Vec::new();
        let mut before = World::default();
        for (number, a_try) in self.tries.iter().enumerate() {
            let stock = sale.stock_cell(reading, a_try);
            let guards = sale.guard_cells(reading, a_try).into_iter();
            let new: Vec<Words> = guards
                .filter(|(cell, _)| guarded.insert(cell.clone()))
                .map(|(cell, value)| planted(&cell, &value))
                .collect();
            client.all(&new)?;
            if number == 1 && self.name == GONE {
                client.must(&[&b"DEL"[..], &stock.key])?;
            }
            if let Some(units) = a_try.stock {
                client.must(&planted(&stock, units.as_bytes()))?;
            }
            before = World::read(client)?;
            first.get_or_insert_with(|| before.clone());
            let reply = client.eval(&call(a_try))?;
            let after = World::read(client)?;
            let seen = Seen { reply, calls: Vec::new(), before, after };
            steps.push(Step::of(&seen, &stock, a_try));
            before = seen.after;
        }
        Ok(Ran { steps, before: first.unwrap_or_default(), after: before })
    }
}

impl Step {
    pub fn of(seen: &Seen, stock: &Cell, a_try: &Try) -> Self {
        let effects = Effects::of(seen);
        let name = |cell: &Cell| {
            let key = String::from_utf8_lossy(&cell.key).into_owned();
            let user = String::from_utf8_lossy(&a_try.user).into_owned();
            key.replace(&a_try.order, "<order>").replace(&user, "<user>").into_bytes()
        };
        let made = effects.made.iter().chain(&effects.entries).map(|(cell, _)| cell);
        let made = made.filter(|cell| *cell != stock);
        Self {
            before: seen.before.number(stock),
            after: seen.after.number(stock),
            made: made.map(name).collect(),
            changed: !effects.is_none(),
            reply: seen.reply.clone(),
        }
    }

    pub fn taken(&self) -> i64 {
        self.before.unwrap_or_default().saturating_sub(self.after.unwrap_or_default())
    }
}

impl Ran {
    /// The result of one call that is not a try.
    pub fn of_one(reply: Reply, before: World, after: World) -> Self {
        let changed = before != after;
        let step = Step { reply, before: None, after: None, made: BTreeSet::new(), changed };
        Self { steps: vec![step], before, after }
    }

    pub fn first(&self) -> &Step {
        &self.steps[0]
    }

    pub fn replies(&self) -> Vec<&Reply> {
        self.steps.iter().map(|step| &step.reply).collect()
    }
}

/// The name of a user of [`ODD`], escaped.
pub fn odd_user(number: usize) -> String {
    sanitize_bytes(&odd_users()[number].user)
}
