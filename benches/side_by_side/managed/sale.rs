//! A managed sale on the stand: open it, sell from it, audit it; its commands as loads.

use std::collections::HashMap;

use redis::Value;

use crate::Result;
use crate::stand::Stand;
use crate::wire::{Load, PIPELINE};

/// Users have eight digits, order ids eighteen.
pub const FIRST_USER: usize = 10_000_001;
pub const FIRST_ORDER: usize = 314_159_265_358_979_001;
/// Long enough that no hold is due while a turn is measured.
const HOLD_MS: &str = "3600000";

/// How a contender sends a command on an order.
#[derive(Clone, Copy)]
pub enum Spelling<'a> {
    Command(&'static str),
    /// A script by its SHA1.
    Script(&'a str),
}

impl Spelling<'_> {
    /// The command on each of the orders with these numbers, each with this `reply`. Order n
    /// belongs to user n.
    pub fn load(self, voucher: usize, orders: impl Iterator<Item = usize>, reply: &str) -> Load {
        let mut load = Load::new(PIPELINE, reply.as_bytes());
        let voucher = voucher.to_string();
        for n in orders {
            let (user, order_id) = ((FIRST_USER + n).to_string(), (FIRST_ORDER + n).to_string());
            let [voucher, user, order_id] = [&voucher, &user, &order_id].map(|id| id.as_bytes());
            match self {
                Self::Command(name) => load.push(&[name.as_bytes(), voucher, user, order_id]),
                Self::Script(sha) => {
                    load.push(&[b"EVALSHA", sha.as_bytes(), b"0", voucher, user, order_id])
                }
            }
        }
        load
    }
}

/// A voucher and how it is sold.
#[derive(Clone, Copy)]
pub struct Sale {
    pub voucher: usize,
    pub kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Unmanaged,
    /// Managed; an accepted order is sold at once.
    Sold,
    /// Managed; an accepted order is held.
    Held,
}

impl Sale {
    /// Opens the sale again: deletes everything of the voucher, and the streams.
    pub fn open(self, stand: &mut Stand, units: usize) -> Result<()> {
        let mut keys: Vec<String> = ["stock", "order", "voucher", "book", "units", "hold"]
            .map(|kind| format!("seckill:{kind}:{}", self.voucher))
            .into();
        keys.extend([
            "stream.orders".to_owned(),
            "stream.orders.released".to_owned(),
            "stream.orders.confirmed".to_owned(),
        ]);
        let () = redis::cmd("DEL").arg(keys).query(&mut stand.control)?;
        let (voucher, units) = (self.voucher.to_string(), units.to_string());
        match self.kind {
            Kind::Unmanaged => stand.run(&["SET", &format!("seckill:stock:{voucher}"), &units]),
            Kind::Sold => stand.run(&["SECKILL.CREATE", &voucher, &units]),
            Kind::Held => stand.run(&["SECKILL.CREATE", &voucher, &units, "HOLD", HOLD_MS]),
        }
    }

    /// Sells the orders numbered from 0.
    pub fn sell(self, stand: &mut Stand, orders: usize) -> Result<()> {
        let tries = Spelling::Command("SECKILL.TRY").load(self.voucher, 0..orders, ":0\r\n");
        stand.send(&tries)
    }

    /// Fails unless the audit of the sale finds no difference, and these units.
    pub fn prove(self, stand: &mut Stand, left: usize, held: usize, sold: usize) -> Result<()> {
        let (voucher, mut cursor) = (self.voucher.to_string(), "0".to_owned());
        let found = loop {
            let step = ["SECKILL.AUDIT", &voucher, "CURSOR", &cursor];
            let (next, found): (String, HashMap<String, Value>) = stand.run(&step)?;
            if next == "0" {
                break found;
            }
            cursor = next;
        };
        let number = |name: &str| match found.get(name) {
            Some(Value::Int(number)) => usize::try_from(*number).ok(),
            _ => None,
        };
        let figures = [number("left"), number("held"), number("sold")];
        let is_sound =
            matches!(found.get("differences"), Some(Value::Array(lines)) if lines.is_empty());
        if is_sound && figures == [Some(left), Some(held), Some(sold)] {
            return Ok(());
        }
        Err(format!("{left} left, {held} held and {sold} sold expected, but: {found:?}").into())
    }
}
