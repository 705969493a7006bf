//! The situations that a selling script is put into, and how it is put into one.

use anyhow::Result;
use domain::integer;

use crate::reply::Reply;
use crate::server::Client;
use crate::shape::{Shape, Try};
use crate::state::{self, State};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stock {
    Missing,
    Units(&'static str),
    /// Units that expire in an hour.
    Lasting(&'static str),
    List,
}

/// Which key is of a type that it should not be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spoiled {
    Nothing,
    Buyers,
    Stream,
}

pub struct Scenario {
    pub name: &'static str,
    pub stock: Stock,
    pub spoiled: Spoiled,
    pub tries: Vec<Try>,
}

/// What came of a scenario.
pub struct Ran {
    pub replies: Vec<Reply>,
    /// Before the first try, and after each.
    pub states: Vec<State>,
}

pub const BUYS: &str = "a user buys";
pub const LAST: &str = "the last unit, then another user";
pub const SOLD_OUT: &str = "sold out";
pub const BOUGHT: &str = "the same user again";
pub const BOUGHT_AND_OUT: &str = "the same user again, sold out";
pub const MISSING: &str = "no stock key";
pub const MINUS_ONE: &str = "a stock of -1";
pub const MINUS_FIVE: &str = "a stock of -5";
pub const MANY: &str = "30 users, 10 units";
pub const TWO: &str = "a user, two vouchers";
pub const ODD: &str = "odd bytes in users";
pub const LASTING: &str = "a stock that expires";
pub const BUYERS_SPOILED: &str = "the buyers' key is a string";
pub const STREAM_SPOILED: &str = "the stream's key is a string";

fn a_try(number: usize) -> Try {
    Try {
        voucher: "7",
        user: format!("{}", 1000 + number).into(),
        order: format!("{}", 5000 + number),
    }
}

fn again(number: usize) -> Try {
    Try { order: format!("{}", 6000 + number), ..a_try(number) }
}

/// Users with bytes that are easily mistaken.
fn odd_users() -> Vec<Try> {
    let users: [&[u8]; 10] = [
        b"1",
        b"01",
        b"1.0",
        b" 1",
        b"",
        b"a b",
        b"nul\x00here",
        b"\xff\xfe",
        b"'\"\\\r\n",
        b"{tag}",
    ];
    let mut users: Vec<Vec<u8>> = users.iter().map(|user| user.to_vec()).collect();
    // As long as the module takes by default.
    users.push(vec![b'x'; 512]);
    users.push(b"01".to_vec());
    let with = |(index, user)| Try { user, ..a_try(index) };
    users.into_iter().enumerate().map(with).collect()
}

/// All scenarios, in the order of a report. Those of keys that the script has not are left out.
pub fn all(shape: &Shape) -> Vec<Scenario> {
    use Stock::{Lasting, List, Missing, Units};
    let one = || vec![a_try(1)];
    let elsewhere = Try { voucher: "8", ..again(1) };
    let rows = [
        (BUYS, Units("5"), one()),
        (LAST, Units("1"), vec![a_try(1), a_try(2)]),
        (SOLD_OUT, Units("0"), one()),
        (BOUGHT, Units("5"), vec![a_try(1), again(1)]),
        (BOUGHT_AND_OUT, Units("1"), vec![a_try(1), again(1)]),
        (MISSING, Missing, one()),
        (MINUS_ONE, Units("-1"), one()),
        (MINUS_FIVE, Units("-5"), one()),
        (MANY, Units("10"), (0..30).map(a_try).collect()),
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
    let scenario = |(name, stock, tries)| {
        let spoiled = match name {
            BUYERS_SPOILED => Spoiled::Buyers,
            STREAM_SPOILED => Spoiled::Stream,
            _ => Spoiled::Nothing,
        };
        Scenario { name, stock, spoiled, tries }
    };
    let there = |scenario: &Scenario| match scenario.spoiled {
        Spoiled::Nothing => true,
        Spoiled::Buyers => shape.buyers.is_some(),
        Spoiled::Stream => shape.stream_key(&a_try(1)).is_some(),
    };
    rows.map(scenario).into_iter().filter(there).collect()
}

impl Scenario {
    /// Whether its keys are damaged: there a script may do what it likes, and the module refuses.
    pub fn is_damaged(&self) -> bool {
        let number = match self.stock {
            Stock::Units(text) | Stock::Lasting(text) => integer::parse(text.as_bytes()).is_some(),
            Stock::Missing => true,
            Stock::List => false,
        };
        !number || self.spoiled != Spoiled::Nothing
    }

    /// Runs a script in it, on a server whose data is all given up.
    pub fn run(&self, client: &mut Client, shape: &Shape, script: &[u8]) -> Result<Ran> {
        client.must(&["FLUSHALL"])?;
        for a_try in &self.tries {
            let stock = shape.stock_key(a_try);
            match self.stock {
                Stock::Missing => {}
                Stock::Units(units) => plant(client, &[b"SET", &stock, units.as_bytes()])?,
                Stock::Lasting(units) => {
                    plant(client, &[b"SET", &stock, units.as_bytes(), b"EX", b"3600"])?;
                }
                Stock::List => plant(client, &[b"RPUSH", &stock, b"not a stock"])?,
            }
            let spoiled = match self.spoiled {
                Spoiled::Nothing => None,
                Spoiled::Buyers => shape.buyers_key(a_try),
                Spoiled::Stream => shape.stream_key(a_try),
            };
            if let Some(key) = spoiled {
                plant(client, &[b"SET", &key, b"of another type"])?;
            }
        }
        let mut ran = Ran { replies: Vec::new(), states: vec![state::read(client)?] };
        for a_try in &self.tries {
            ran.replies.push(client.eval(&shape.eval(script, a_try, false))?);
            ran.states.push(state::read(client)?);
        }
        Ok(ran)
    }
}

fn plant(client: &mut Client, command: &[&[u8]]) -> Result<()> {
    client.must(command).map(drop)
}

impl Ran {
    pub fn before(&self) -> &State {
        &self.states[0]
    }

    pub fn after(&self) -> &State {
        self.states.last().unwrap_or(self.before())
    }

    pub fn first(&self) -> &Reply {
        &self.replies[0]
    }

    /// Whether a try, counted from 0, changed nothing.
    pub fn silent(&self, number: usize) -> bool {
        self.states[number] == self.states[number + 1]
    }
}
