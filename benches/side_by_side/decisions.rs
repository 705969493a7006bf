//! The three outcomes of a try, pipelined, on a stand of their own each.

use serde::Serialize;

use crate::Result;
use crate::contender::{Contender, DECIDING, Outcome, Try};
use crate::figures::{Figure, cost_of, in_rounds};
use crate::options::Size;
use crate::stand::{Lab, Stand};
use crate::wire::{Load, PIPELINE};

const VOUCHER: usize = 7;
/// The sale of `make run`: so many have bought when the rest is turned away.
const BUYERS: usize = 1_000;
const FIRST_USER: usize = 1_000_001;
const FIRST_ORDER: usize = 314_159_265_358_979_001;
/// Losing tries are sent again and again; so many differ.
const DIFFERENT: usize = 5_000;
/// Sent before each turn, so that it starts with warm caches and names.
const WARM_UP: usize = 1_000;

#[derive(Serialize)]
pub struct Decision {
    pub outcome: Outcome,
    pub aof: bool,
    pub costs: Vec<Figure>,
    pub ratios: Ratios,
}

#[derive(Serialize)]
pub struct Ratios {
    pub script_to_seckill: f64,
    pub rm_call_to_seckill: f64,
    pub seckill_to_get: f64,
}

impl Decision {
    pub fn name(&self) -> String {
        let aof = if self.aof { ", AOF everysec" } else { "" };
        format!("{}{aof}", self.outcome.label())
    }
}

pub fn measure(lab: &Lab, size: Size, outcome: Outcome, aof: bool) -> Result<Decision> {
    let mut stand = lab.stand(aof)?;
    let costs = if outcome == Outcome::Accepted {
        accepted(&mut stand, size)?
    } else {
        losing(&mut stand, size, outcome)?
    };
    let ratio = |above, below| match (cost_of(&costs, above), cost_of(&costs, below)) {
        (Some(above), Some(below)) => Ok((above / below * 1e3).round() / 1e3),
        _ => Err("a contender had no turn"),
    };
    let ratios = Ratios {
        script_to_seckill: ratio(Contender::Script, Contender::Seckill)?,
        rm_call_to_seckill: ratio(Contender::RmCall, Contender::Seckill)?,
        seckill_to_get: ratio(Contender::Seckill, Contender::Get)?,
    };
    Ok(Decision { outcome, aof, costs, ratios })
}

/// Tries that change nothing: `DIFFERENT` of them, over and over.
fn losing(stand: &mut Stand, size: Size, outcome: Outcome) -> Result<Vec<Figure>> {
    let stock = outcome.stock(0);
    // A duplicate needs a user who bought; whoever finds it sold out is somebody else.
    let users: Box<dyn Fn(usize) -> usize> = match outcome {
        Outcome::Duplicate => Box::new(|n| FIRST_USER + n % BUYERS),
        _ => Box::new(|n| FIRST_USER + BUYERS + n),
    };
    let loads: Vec<Load> = DECIDING
        .iter()
        .map(|c| {
            let tries = (0..DIFFERENT).map(|n| a_try(users(n), n));
            c.load(stand, outcome, PIPELINE, tries, stock)
        })
        .collect();
    in_rounds(size.rounds, DECIDING, |place| {
        open_sale(stand, stock, BUYERS)?;
        stand.send(&loads[place])?;
        stand.measure(&loads[place], size.losing_each / DIFFERENT)
    })
}

/// Tries that buy: everyone is new, and each turn starts with no buyers and no stream, so that
/// every contender fills the same keys to the same size.
fn accepted(stand: &mut Stand, size: Size) -> Result<Vec<Figure>> {
    let sold = size.accepted_each;
    let stock = Outcome::Accepted.stock(sold);
    let loads: Vec<(Load, Load)> = DECIDING
        .iter()
        .map(|c| {
            let some = |from: usize, n: usize| {
                let tries = (from..from + n).map(|n| a_try(FIRST_USER + n, n));
                c.load(stand, Outcome::Accepted, PIPELINE, tries, stock)
            };
            (some(sold, WARM_UP), some(0, sold))
        })
        .collect();
    in_rounds(size.rounds, DECIDING, |place| {
        let (warm_up, load) = &loads[place];
        // GET and the no-op sell nothing, so their stock must be what the load expects at once.
        open_sale(stand, stock, 0)?;
        stand.send(warm_up)?;
        open_sale(stand, stock, 0)?;
        let micros = stand.measure(load, 1)?;
        let units =
            if matches!(DECIDING[place], Contender::Get | Contender::Noop) { 0 } else { sold };
        prove_sold(stand, stock, units)?;
        Ok(micros)
    })
}

fn a_try(user: usize, n: usize) -> Try {
    Try { voucher: VOUCHER, user, order_id: FIRST_ORDER + n }
}

/// A sale as it is after `buyers` have bought: stock, buyers, no stream.
fn open_sale(stand: &mut Stand, stock: usize, buyers: usize) -> Result<()> {
    let (stock_key, buyers_key) =
        (format!("seckill:stock:{VOUCHER}"), format!("seckill:order:{VOUCHER}"));
    let () = stand.run(&["DEL", &buyers_key, "stream.orders"])?;
    let () = stand.run(&["SET", &stock_key, &stock.to_string()])?;
    if buyers > 0 {
        let mut sadd = redis::cmd("SADD");
        sadd.arg(&buyers_key).arg((FIRST_USER..FIRST_USER + buyers).collect::<Vec<_>>());
        let () = sadd.query(&mut stand.control)?;
    }
    Ok(())
}

/// The replies were checked already; this checks that the keys agree with them.
fn prove_sold(stand: &mut Stand, stock: usize, units: usize) -> Result<()> {
    let left: usize = stand.run(&["GET", &format!("seckill:stock:{VOUCHER}")])?;
    let buyers: usize = stand.run(&["SCARD", &format!("seckill:order:{VOUCHER}")])?;
    let orders: usize = stand.run(&["XLEN", "stream.orders"])?;
    if left + units == stock && buyers == units && orders == units {
        return Ok(());
    }
    Err(format!("{units} sold, yet {left} of {stock} left, {buyers} buyers, {orders} orders")
        .into())
}
