//! A try on a voucher that has only a stock key: what `seckill.lua` does, whole or not at all.

use crate::args::{Args, OrderId, User, Voucher};
use crate::config;
use crate::error::CommandError;
use crate::keyspace::names::{OrderFields, SaleKeys};
use crate::keyspace::orders::Room;
use crate::keyspace::{buyers, orders, stock};
use crate::metrics;
use crate::rules::integer::Decimal;
use crate::rules::sale::{NoStock, Offer, Outcome, Units, offer};
use crate::server::{Ctx, OwnedStr};

/// The order that an accepted try makes.
pub(super) struct Order<'a> {
    pub(super) voucher: Voucher<'a>,
    pub(super) user: User<'a>,
    pub(super) id: OrderId<'a>,
    pub(super) units: Units,
}

impl<'a> Order<'a> {
    /// Reads `voucher user orderid`, for one unit.
    pub(super) fn parse(args: &mut Args<'a>) -> Result<Self, CommandError> {
        let (voucher, user) = (args.next()?, args.next()?);
        Ok(Self { voucher, user, id: args.next_order_id()?, units: Units::ONE })
    }
}

/// Sells to the order's user, or says why not. On an error nothing has been changed.
///
/// Outcomes by precedence, which is the script's: sold out, already bought, accepted.
pub(super) fn sell(
    ctx: Ctx<'_>,
    keys: SaleKeys<'_>,
    names: &OrderFields,
    order: &Order<'_>,
) -> Result<Outcome, CommandError> {
    // Most tries lose: up to here and in this line nothing is opened for writing.
    let found = stock::read(ctx, keys.stock)?;
    let left = match offer(found, order.units, config::policy()) {
        Err(NoStock) => return Err(CommandError::NoVoucher),
        Ok(Offer::SoldOut) => {
            metrics::TRIES_SOLD_OUT.count();
            return Ok(Outcome::SoldOut);
        }
        Ok(Offer::Take { left }) => Some(left),
        Ok(Offer::Unlimited) => None,
    };
    // The stream must be known to take the entry before anything is written. Where that is dear
    // to know, a user who has bought is sent away first.
    if let Some(key) = keys.orders
        && orders::room(ctx, key)? == Room::AskWhetherEmpty
    {
        if buyers::contains(ctx, keys.buyers, order.user)? {
            return Ok(already_bought());
        }
        orders::check_empty(ctx, key)?;
    }
    // The first write. It is the question too, and changes nothing when the answer is no.
    if !buyers::admit(ctx, keys.buyers, order.user)? {
        return Ok(already_bought());
    }
    commit(ctx, keys, names, order, left)
        .inspect_err(|_| buyers::dismiss(ctx, keys.buyers, order.user))
}

fn already_bought() -> Outcome {
    metrics::TRIES_ALREADY_BOUGHT.count();
    Outcome::AlreadyBought
}

/// Writes the order of a user who was just admitted. On an error only the admission is to be
/// undone: the entry, which is the one step that can fail, comes first.
fn commit(
    ctx: Ctx<'_>,
    keys: SaleKeys<'_>,
    names: &OrderFields,
    order: &Order<'_>,
    left: Option<i64>,
) -> Result<Outcome, CommandError> {
    let units =
        (order.units != Units::ONE).then(|| OwnedStr::new(Decimal::new(order.units.get()).bytes()));
    let units = units.as_ref().map_or(order.id.0, OwnedStr::as_str);
    let fields = [
        names.user(),
        order.user.0,
        names.voucher(),
        order.voucher.0,
        names.id(),
        order.id.0,
        names.units(),
        units,
    ];
    let fields = if order.units == Units::ONE { fields.split_at(6).0 } else { &fields[..] };
    let appended = match keys.orders {
        Some(key) => Some(orders::append(ctx, key, fields)?),
        None => None,
    };
    if let Some(left) = left {
        stock::deduct(ctx, keys.stock, order.units, left)?.publish(ctx);
    }
    if let Some(appended) = appended {
        appended.publish(ctx);
    }
    metrics::TRIES_ACCEPTED.count();
    Ok(Outcome::Accepted)
}
