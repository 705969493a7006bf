//! A sold-out try on a managed voucher, compared with an unmanaged one, the script and GET.

use serde::Serialize;

use crate::Result;
use crate::contender::Contender;
use crate::figures::{Figure, cost_of, in_rounds};
use crate::managed::sale::{Kind, Sale, Spelling};
use crate::options::Size;
use crate::stand::Lab;
use crate::wire::{Load, PIPELINE};

pub const CONTENDERS: &[Contender] = &[
    Contender::Script,
    Contender::ManagedScript,
    Contender::Seckill,
    Contender::Managed,
    Contender::ManagedHold,
    Contender::Get,
];
const UNMANAGED: Sale = Sale { voucher: 7, kind: Kind::Unmanaged };
const SOLD: Sale = Sale { voucher: 8, kind: Kind::Sold };
const HELD: Sale = Sale { voucher: 9, kind: Kind::Held };
/// Tries that change nothing are sent repeatedly; this many are different.
const DIFFERENT: usize = 5_000;

/// The costs for a sale with this many orders in its book.
#[derive(Serialize)]
pub struct SoldOut {
    pub orders: usize,
    pub costs: Vec<Figure>,
}

impl SoldOut {
    /// The cost of the more expensive managed sale of the two, with HOLD and without.
    pub fn dearer(&self) -> Option<f64> {
        let both = [Contender::Managed, Contender::ManagedHold];
        both.into_iter().filter_map(|who| cost_of(&self.costs, who)).reduce(f64::max)
    }
}

pub fn measure(lab: &Lab, size: Size) -> Result<Vec<SoldOut>> {
    size.orders_sold.iter().map(|&orders| one(lab, size, orders)).collect()
}

/// All units are sold, each to another user. Every further try is by a new user, with a new order
/// id.
fn one(lab: &Lab, size: Size, orders: usize) -> Result<SoldOut> {
    let mut stand = lab.stand(false)?;
    for sale in [UNMANAGED, SOLD, HELD] {
        sale.open(&mut stand, orders)?;
        sale.sell(&mut stand, orders)?;
    }
    SOLD.prove(&mut stand, 0, 0, orders)?;
    HELD.prove(&mut stand, 0, orders, 0)?;
    let loads: Vec<Load> = CONTENDERS
        .iter()
        .map(|&who| {
            let (command, tries) = (Spelling::Command("SECKILL.TRY"), orders..orders + DIFFERENT);
            let script = Spelling::Script(&stand.scripts.buy);
            match who {
                Contender::Script => script.load(UNMANAGED.voucher, tries, ":1\r\n"),
                Contender::ManagedScript => {
                    let script = Spelling::Script(&stand.scripts.managed_buy);
                    script.load(HELD.voucher, tries, ":1\r\n")
                }
                Contender::Managed => command.load(SOLD.voucher, tries, ":1\r\n"),
                Contender::ManagedHold => command.load(HELD.voucher, tries, ":1\r\n"),
                Contender::Get => gets(DIFFERENT),
                _ => command.load(UNMANAGED.voucher, tries, ":1\r\n"),
            }
        })
        .collect();
    let costs = in_rounds(size.rounds, CONTENDERS, |place| {
        stand.send(&loads[place])?;
        stand.measure(&loads[place], size.losing_each / DIFFERENT)
    })?;
    Ok(SoldOut { orders, costs })
}

fn gets(count: usize) -> Load {
    let mut load = Load::new(PIPELINE, b"$1\r\n0\r\n");
    let stock = format!("seckill:stock:{}", UNMANAGED.voucher);
    for _ in 0..count {
        load.push(&[b"GET", stock.as_bytes()]);
    }
    load
}
