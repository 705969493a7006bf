//! The cost of a duplicate and of an accepted try as the set of buyers grows.

use serde::Serialize;

use crate::Result;
use crate::contender::{Outcome, SELLING, Try};
use crate::figures::{Figure, in_rounds};
use crate::options::Size;
use crate::stand::{Lab, Stand};
use crate::wire::{Load, PIPELINE};

const FIRST_BUYER: usize = 1_000_001;
const FIRST_NEWCOMER: usize = 9_000_001;
const FIRST_ORDER: usize = 314_159_265_358_979_001;
const SADD_MEMBERS: usize = 1_000;
const SEED: u64 = 7;

#[derive(Serialize)]
pub struct Growth {
    pub outcome: Outcome,
    pub buyers: usize,
    pub costs: Vec<Figure>,
}

/// This many vouchers with this many buyers each. If the sets are small there are several, since
/// accepted tries may add only a tenth to a set, or its size would change.
#[derive(Clone, Copy)]
struct Field {
    vouchers: usize,
    buyers: usize,
    newcomers: usize,
}

pub fn measure(lab: &Lab, size: Size) -> Result<Vec<Growth>> {
    let mut all = Vec::new();
    for &buyers in size.buyers {
        let newcomers = (buyers / 10).min(size.grown_each);
        let field = Field { vouchers: size.grown_each / newcomers, buyers, newcomers };
        let mut stand = lab.stand(false)?;
        fill(&mut stand, field)?;
        let costs = duplicates(&mut stand, size, field)?;
        all.push(Growth { outcome: Outcome::Duplicate, buyers, costs });
        let costs = accepted(&mut stand, size, field)?;
        all.push(Growth { outcome: Outcome::Accepted, buyers, costs });
    }
    Ok(all)
}

/// Users picked at random from all buyers, one voucher after the other.
fn duplicates(stand: &mut Stand, size: Size, field: Field) -> Result<Vec<Figure>> {
    let each = size.losing_each / 2 / field.vouchers;
    let loads: Vec<Load> = SELLING
        .iter()
        .map(|c| {
            let mut random = fastrand::Rng::with_seed(SEED);
            let tries = (0..field.vouchers * each).map(|n| Try {
                voucher: 1 + n / each,
                user: FIRST_BUYER + random.usize(..field.buyers),
                order_id: FIRST_ORDER + n,
            });
            c.load(stand, Outcome::Duplicate, PIPELINE, tries, 0)
        })
        .collect();
    in_rounds(size.rounds, SELLING, |place| stand.measure(&loads[place], 1))
}

/// New users, who are removed after each turn.
fn accepted(stand: &mut Stand, size: Size, field: Field) -> Result<Vec<Figure>> {
    let loads: Vec<Load> = SELLING
        .iter()
        .map(|c| {
            let tries = (0..field.vouchers * field.newcomers).map(|n| Try {
                voucher: 1 + n / field.newcomers,
                user: FIRST_NEWCOMER + n % field.newcomers,
                order_id: FIRST_ORDER + n,
            });
            c.load(stand, Outcome::Accepted, PIPELINE, tries, 0)
        })
        .collect();
    in_rounds(size.rounds, SELLING, |place| {
        let micros = stand.measure(&loads[place], 1)?;
        send_away(stand, field)?;
        Ok(micros)
    })
}

fn fill(stand: &mut Stand, field: Field) -> Result<()> {
    for voucher in 1..=field.vouchers {
        restock(stand, voucher, field)?;
        for from in (0..field.buyers).step_by(SADD_MEMBERS) {
            let members = from..(from + SADD_MEMBERS).min(field.buyers);
            let mut sadd = redis::cmd("SADD");
            sadd.arg(format!("seckill:order:{voucher}"));
            sadd.arg(members.map(|n| FIRST_BUYER + n).collect::<Vec<_>>());
            let () = sadd.query(&mut stand.control)?;
        }
    }
    Ok(())
}

/// Removes the newcomers, and fails if a voucher did not have all of them.
fn send_away(stand: &mut Stand, field: Field) -> Result<()> {
    let newcomers: Vec<usize> = (0..field.newcomers).map(|n| FIRST_NEWCOMER + n).collect();
    for voucher in 1..=field.vouchers {
        let mut srem = redis::cmd("SREM");
        srem.arg(format!("seckill:order:{voucher}")).arg(&newcomers);
        let removed: usize = srem.query(&mut stand.control)?;
        if removed != field.newcomers {
            return Err(format!("{removed} of {} newcomers bought", field.newcomers).into());
        }
        restock(stand, voucher, field)?;
    }
    stand.run(&["DEL", "stream.orders"])
}

fn restock(stand: &mut Stand, voucher: usize, field: Field) -> Result<()> {
    let stock = Outcome::Accepted.stock(field.newcomers);
    stand.run(&["SET", &format!("seckill:stock:{voucher}"), &stock.to_string()])
}
