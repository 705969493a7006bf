//! Tries of one command on a voucher that has only a stock key.

use super::batch::{Accepted, Answer, Batch};
use super::order::{ManagedValues, Order};
use super::unmanaged::already_bought;
use crate::config;
use crate::error::CommandError;
use crate::keyspace::buyers;
use crate::keyspace::fields::OrderFields;
use crate::keyspace::voucher_keys::{SaleKeys, VoucherKeys};
use crate::metrics;
use crate::server::Ctx;
use domain::batch::Pending;
use domain::sale::{NoStock, Offer, Outcome, Policy, Stock};

/// The sale of an unmanaged voucher, as found in one command.
struct Sale<'a> {
    ctx: Ctx<'a>,
    keys: SaleKeys<'a>,
    names: &'a OrderFields,
    stock: Stock,
    policy: Policy,
    pending: Pending<'a>,
    accepted: Option<Accepted<'a>>,
}

/// Sells one unit to each user who has not bought, as long as there are some. On an error nothing
/// has been changed.
///
/// The stock and the buyers are asked once for all. Everything that could refuse an order is known
/// before the first one is accepted, but for how many entries the stream takes.
pub(super) fn sell<'a>(
    ctx: Ctx<'a>,
    keys: &'a VoucherKeys,
    batch: &'a Batch<'a>,
) -> Result<Vec<Answer>, CommandError> {
    let (stock, policy) = (keys.read_stock(ctx)?, config::policy());
    if offer(&Pending::default(), stock, policy)? == Offer::SoldOut {
        metrics::TRIES_SOLD_OUT.add(batch.len() as u64);
        return Ok(vec![Ok(Outcome::SoldOut); batch.len()]);
    }
    let (keys, names) = (keys.sale()?, keys.fields());
    let bought = buyers::have_bought(ctx, keys.buyers, batch.users())?;
    let pending = Pending::of(batch.len());
    let mut sale = Sale { ctx, keys, names, stock, policy, pending, accepted: None };
    let mut answers = Vec::with_capacity(batch.len());
    for (number, (order, has_bought)) in batch.orders().zip(bought).enumerate() {
        let answer = sale.decide(order, number, has_bought)?;
        batch.answered(number, answer);
        answers.push(answer);
    }
    sale.write()?;
    Ok(answers)
}

impl<'a> Sale<'a> {
    /// Answers the next try. The outer error is that of the whole command, and nothing has been
    /// changed then.
    fn decide(
        &mut self,
        order: Order<'a>,
        number: usize,
        has_bought: bool,
    ) -> Result<Answer, CommandError> {
        if let Err(error) = order.check_lens() {
            return Ok(Err(error));
        }
        let user = order.user.0.bytes();
        let offer = offer(&self.pending, self.stock, self.policy)?;
        match self.pending.admit(user, offer, has_bought) {
            None => {}
            Some(Outcome::SoldOut) => {
                metrics::TRIES_SOLD_OUT.count();
                return Ok(Ok(Outcome::SoldOut));
            }
            Some(_) => return Ok(Ok(already_bought())),
        }
        let accepted = match &mut self.accepted {
            Some(accepted) => accepted,
            None => {
                let managed = ManagedValues::default();
                let accepted = Accepted::open(self.ctx, self.keys, self.names, managed)?;
                self.accepted.insert(accepted)
            }
        };
        match accepted.add(order, number, 0) {
            Ok(()) => Ok(Ok(Outcome::Accepted)),
            Err(error) if accepted.is_empty() => Err(error),
            Err(error) => {
                self.pending.dismiss(user, offer);
                Ok(Err(error))
            }
        }
    }

    fn write(self) -> Result<(), CommandError> {
        let left = match self.stock {
            Stock::Left(left) => self.pending.after_all(left),
            Stock::Missing => None,
        };
        match self.accepted.map(|accepted| accepted.write(left)) {
            Some(Err(refused)) => Err(refused.error),
            _ => Ok(()),
        }
    }
}

fn offer(pending: &Pending<'_>, stock: Stock, policy: Policy) -> Result<Offer, CommandError> {
    pending.offer(stock, policy).map_err(|NoStock| CommandError::NoVoucher)
}
