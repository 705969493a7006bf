//! A sold-out try on a managed voucher, beside an unmanaged one, the script and GET.

use crate::Result;
use crate::contender::Contender;
use crate::managed::sale::{Kind, Sale, Spelling};
use crate::options::Size;
use crate::stand::{Figure, Lab, in_rounds};
use crate::wire::{Load, PIPELINE};

pub const CONTENDERS: &[Contender] = &[
    Contender::Script,
    Contender::Seckill,
    Contender::Managed,
    Contender::ManagedHold,
    Contender::Get,
];
const UNMANAGED: Sale = Sale { voucher: 7, kind: Kind::Unmanaged };
const SOLD: Sale = Sale { voucher: 8, kind: Kind::Sold };
const HELD: Sale = Sale { voucher: 9, kind: Kind::Held };
/// Tries that change nothing are sent again and again; so many differ.
const DIFFERENT: usize = 5_000;

/// All units are gone, each to another user. Who tries now is new, with a new order id.
pub fn measure(lab: &Lab, size: Size) -> Result<Vec<Figure>> {
    let mut stand = lab.stand(false)?;
    let orders = size.managed_orders;
    for sale in [UNMANAGED, SOLD, HELD] {
        sale.open(&mut stand, orders)?;
        sale.sell(&mut stand, orders)?;
    }
    SOLD.prove(&mut stand, 0, 0, orders)?;
    HELD.prove(&mut stand, 0, orders, 0)?;
    let loads: Vec<Load> = CONTENDERS
        .iter()
        .map(|&who| {
            let tries = orders..orders + DIFFERENT;
            let command = Spelling::Command("SECKILL.TRY");
            match who {
                Contender::Script => Spelling::Script(&stand.scripts.buy).load(7, tries, ":1\r\n"),
                Contender::Managed => command.load(SOLD.voucher, tries, ":1\r\n"),
                Contender::ManagedHold => command.load(HELD.voucher, tries, ":1\r\n"),
                Contender::Get => gets(DIFFERENT),
                _ => command.load(UNMANAGED.voucher, tries, ":1\r\n"),
            }
        })
        .collect();
    in_rounds(size.rounds, CONTENDERS, |place| {
        stand.send(&loads[place])?;
        stand.measure(&loads[place], size.losing_each / DIFFERENT)
    })
}

fn gets(count: usize) -> Load {
    let mut load = Load::new(PIPELINE, b"$1\r\n0\r\n");
    let stock = format!("seckill:stock:{}", UNMANAGED.voucher);
    for _ in 0..count {
        load.push(&[b"GET", stock.as_bytes()]);
    }
    load
}
