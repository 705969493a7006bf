//! Tries of one outcome as commands of the contenders, which take turns on a stand.

use std::ops::Range;

use crate::Result;
use crate::contender::{Contender, Outcome, Try};
use crate::figures::{Figure, in_rounds};
use crate::options::Size;
use crate::stand::Stand;
use crate::wire::{Load, PIPELINE};

const VOUCHER: usize = 7;
/// The buyers of the sale of `make run`, after which it is sold out.
pub const BUYERS: usize = 1_000;
const FIRST_USER: usize = 1_000_001;
const FIRST_ORDER: usize = 314_159_265_358_979_001;
/// Losing tries are sent repeatedly; this many are different.
const DIFFERENT: usize = 5_000;
/// Sent before each turn, so that its caches and names are warm.
const WARM_UP: usize = 1_000;

/// The turns on one stand: a warm-up and a load per contender.
pub struct Tries {
    outcome: Outcome,
    size: Size,
    contenders: Vec<Contender>,
    /// The stock that each turn starts with.
    stock: usize,
    loads: Vec<(Load, Load)>,
    /// The tries of a measured load, which may have fewer commands than tries.
    tries: usize,
}

/// Lets the contenders take turns on one stand, with `depth` commands in flight per connection.
pub fn costs(
    stand: &mut Stand,
    size: Size,
    outcome: Outcome,
    contenders: &[Contender],
    depth: usize,
) -> Result<Vec<Figure>> {
    let tries = Tries::new(stand, size, outcome, contenders, depth);
    in_rounds(size.rounds, contenders, |place| tries.turn(stand, place))
}

impl Tries {
    /// With one command per try, and `depth` commands in flight per connection.
    pub fn new(
        stand: &Stand,
        size: Size,
        outcome: Outcome,
        contenders: &[Contender],
        depth: usize,
    ) -> Self {
        Self::of(size, outcome, contenders, |contender, tries, stock| {
            contender.load(stand, outcome, depth, tries.into_iter(), stock)
        })
    }

    /// With this many tries per command for contenders that can decide several, and as many tries
    /// in flight as for the other contenders.
    pub fn in_batches(
        stand: &Stand,
        size: Size,
        outcome: Outcome,
        contenders: &[Contender],
        tries_per_command: usize,
    ) -> Self {
        let depth = (PIPELINE / tries_per_command).max(1);
        Self::of(size, outcome, contenders, |contender, tries, stock| {
            if contender.decides_batches() {
                contender.batches(stand, outcome, depth, tries.chunks(tries_per_command))
            } else {
                contender.load(stand, outcome, PIPELINE, tries.into_iter(), stock)
            }
        })
    }

    fn of(
        size: Size,
        outcome: Outcome,
        contenders: &[Contender],
        spell: impl Fn(Contender, Vec<Try>, usize) -> Load,
    ) -> Self {
        let units = if outcome == Outcome::Accepted { size.accepted_each } else { 0 };
        let stock = outcome.stock(units);
        // Tries of the warm-up must not be repeats in the measured load.
        let (warm_up, counted) = match outcome {
            Outcome::Accepted => (units..units + WARM_UP, 0..units),
            _ => (0..DIFFERENT, 0..DIFFERENT),
        };
        let load = |contender: Contender, numbers: &Range<usize>| {
            spell(contender, numbers.clone().map(|n| a_try(outcome, n)).collect(), stock)
        };
        let loads = contenders.iter().map(|&who| (load(who, &warm_up), load(who, &counted)));
        let (loads, contenders) = (loads.collect(), contenders.to_vec());
        Self { outcome, size, contenders, stock, loads, tries: counted.len() }
    }

    /// The microseconds of server CPU per try of the contender at this index.
    pub fn turn(&self, stand: &mut Stand, place: usize) -> Result<f64> {
        let wants_scripts_set = self.contenders[place].wants_scripts_set();
        if wants_scripts_set {
            stand.answer_natively(true)?;
        }
        let micros = if self.outcome == Outcome::Accepted {
            self.accepted(stand, place)
        } else {
            self.losing(stand, place)
        }?;
        if wants_scripts_set {
            stand.answer_natively(false)?;
        }
        Ok(micros)
    }

    fn commands_per_try(&self, load: &Load) -> f64 {
        load.commands() as f64 / self.tries as f64
    }

    /// Tries that change nothing: `DIFFERENT` of them, repeatedly.
    fn losing(&self, stand: &mut Stand, place: usize) -> Result<f64> {
        let (warm_up, load) = &self.loads[place];
        open_sale(stand, self.stock, BUYERS)?;
        stand.send(warm_up)?;
        let micros = stand.measure(load, self.size.losing_each / DIFFERENT)?;
        Ok(micros * self.commands_per_try(load))
    }

    /// Tries that buy: every user is new, and each turn starts with no buyers and no stream, so
    /// that every contender fills the same keys to the same size.
    fn accepted(&self, stand: &mut Stand, place: usize) -> Result<f64> {
        let (warm_up, load) = &self.loads[place];
        // GET and the no-op sell nothing, so the stock must be the expected one from the start.
        open_sale(stand, self.stock, 0)?;
        stand.send(warm_up)?;
        open_sale(stand, self.stock, 0)?;
        let micros = stand.measure(load, 1)? * self.commands_per_try(load);
        let sells = self.contenders[place].sells();
        prove_sold(stand, self.stock, if sells { self.size.accepted_each } else { 0 })?;
        Ok(micros)
    }
}

/// A duplicate needs a user who has bought; a sold-out try needs a user who has not.
fn a_try(outcome: Outcome, n: usize) -> Try {
    let user = match outcome {
        Outcome::SoldOut => FIRST_USER + BUYERS + n,
        Outcome::Duplicate => FIRST_USER + n % BUYERS,
        Outcome::Accepted => FIRST_USER + n,
    };
    Try { voucher: VOUCHER, user, order_id: FIRST_ORDER + n }
}

/// Sets up a sale after `buyers` have bought: stock, buyers, no stream.
fn open_sale(stand: &mut Stand, stock: usize, buyers: usize) -> Result<()> {
    let keys = stand.naming.keys(VOUCHER);
    let () = stand.run(&["DEL", &keys.buyers, &keys.orders])?;
    let () = stand.run(&["SET", &keys.stock, &stock.to_string()])?;
    if buyers > 0 {
        let mut sadd = redis::cmd("SADD");
        sadd.arg(&keys.buyers).arg((FIRST_USER..FIRST_USER + buyers).collect::<Vec<_>>());
        let () = sadd.query(&mut stand.control)?;
    }
    Ok(())
}

/// The replies were checked already; this checks that the keys agree with them.
fn prove_sold(stand: &mut Stand, stock: usize, units: usize) -> Result<()> {
    let keys = stand.naming.keys(VOUCHER);
    let left: usize = stand.run(&["GET", &keys.stock])?;
    let buyers: usize = stand.run(&["SCARD", &keys.buyers])?;
    let orders: usize = stand.run(&["XLEN", &keys.orders])?;
    if left + units == stock && buyers == units && orders == units {
        return Ok(());
    }
    Err(format!("{units} sold, yet {left} of {stock} left, {buyers} buyers, {orders} orders")
        .into())
}
