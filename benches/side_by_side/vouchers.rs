//! The cost of a sold-out try with one voucher, and with many vouchers in turn.

use serde::Serialize;

use crate::Result;
use crate::contender::{Contender, Outcome, Try};
use crate::figures::{Figure, in_rounds};
use crate::options::Size;
use crate::stand::Lab;
use crate::wire::{Load, PIPELINE};

const CONTENDERS: &[Contender] =
    &[Contender::Script, Contender::RmCall, Contender::Seckill, Contender::Get];
const DIFFERENT: usize = 10_000;
const FIRST_VOUCHER: usize = 100_001;
const FIRST_USER: usize = 1_000_001;
const FIRST_ORDER: usize = 314_159_265_358_979_001;

#[derive(Serialize)]
pub struct Spread {
    pub vouchers: usize,
    pub costs: Vec<Figure>,
}

pub fn measure(lab: &Lab, size: Size) -> Result<Vec<Spread>> {
    size.vouchers.iter().map(|&vouchers| round_robin(lab, size, vouchers)).collect()
}

fn round_robin(lab: &Lab, size: Size, vouchers: usize) -> Result<Spread> {
    let mut stand = lab.stand(false)?;
    let different = DIFFERENT.min(size.losing_each);
    let loads: Vec<Load> = CONTENDERS
        .iter()
        .map(|c| {
            let tries = (0..different).map(|n| Try {
                voucher: FIRST_VOUCHER + n % vouchers,
                user: FIRST_USER + n,
                order_id: FIRST_ORDER + n,
            });
            c.load(&stand, Outcome::SoldOut, PIPELINE, tries, 0)
        })
        .collect();
    let costs = in_rounds(size.rounds, CONTENDERS, |place| {
        let mut sell_out = redis::pipe();
        for voucher in FIRST_VOUCHER..FIRST_VOUCHER + vouchers {
            sell_out.set(format!("seckill:stock:{voucher}"), 0).ignore();
        }
        let () = sell_out.query(&mut stand.control)?;
        stand.send(&loads[place])?;
        stand.measure(&loads[place], size.losing_each / different)
    })?;
    Ok(Spread { vouchers, costs })
}
