//! A try on a voucher that has only a stock key: what `seckill.lua` does, whole or not at all.

use crate::args::{Args, OrderId, User, Voucher};
use crate::config;
use crate::error::CommandError;
use crate::keyspace::buyers::Buyer;
use crate::keyspace::names::{OrderFields, SaleKeys};
use crate::keyspace::orders::Orders;
use crate::keyspace::stock;
use crate::metrics;
use crate::rules::integer::Decimal;
use crate::rules::sale::{NoStock, Offer, Outcome, Units, offer};
use crate::server::{Ctx, OwnedStr, Str};

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

    /// Refuses ids of which an entry of a stream might not hold all, being limited to 1 GiB.
    fn check_fits(&self) -> Result<(), CommandError> {
        const MAX: usize = 128 << 20;
        for (argument, id) in
            [("voucher", self.voucher.0), ("user", self.user.0), ("orderid", self.id.0)]
        {
            if id.bytes().len() > MAX {
                return Err(CommandError::TooLong { argument, max: MAX });
            }
        }
        Ok(())
    }
}

/// What the stock grants to a try, before the buyer is looked at.
pub(super) struct Grant {
    /// The stock after the sale; none when nothing is deducted.
    left: Option<i64>,
}

/// Asks the stock. None when sold out.
///
/// Most tries end here: nothing is opened for writing, and nothing is allocated by us.
pub(super) fn ask(
    ctx: Ctx<'_>,
    stock: Str<'_>,
    order: &Order<'_>,
) -> Result<Option<Grant>, CommandError> {
    match offer(stock::read(ctx, stock)?, order.units, config::policy()) {
        Err(NoStock) => Err(CommandError::NoVoucher),
        Ok(Offer::Take { left }) => Ok(Some(Grant { left: Some(left) })),
        Ok(Offer::Unlimited) => Ok(Some(Grant { left: None })),
        Ok(Offer::SoldOut) => {
            metrics::TRIES_SOLD_OUT.count();
            Ok(None)
        }
    }
}

/// Sells what was granted to the order's user, if they have not bought. On an error nothing has
/// been changed.
pub(super) fn sell(
    ctx: Ctx<'_>,
    grant: Grant,
    keys: SaleKeys<'_>,
    names: &OrderFields,
    order: &Order<'_>,
) -> Result<Outcome, CommandError> {
    order.check_fits()?;
    // Who tries again is likely to have been seen lately: asking is cheaper than what follows.
    let buyer = Buyer::new(keys.buyers, order.user);
    if buyer.was_seen() && buyer.has_bought(ctx)? {
        return Ok(already_bought());
    }
    // The stream must be known to take the entry before anything is written. Where it does not,
    // or that is dear to know, a user who has bought is told so first, as by the script.
    let opened = keys.orders.map(|key| Orders::open(ctx, key)).transpose();
    let is_clear = match &opened {
        Ok(stream) => stream.as_ref().is_none_or(Orders::has_room),
        Err(_) => false,
    };
    if !is_clear && buyer.has_bought(ctx)? {
        return Ok(already_bought());
    }
    let stream = opened?;
    if let Some(stream) = &stream {
        stream.check_room(ctx)?;
    }
    // The first write. It is the question too, and changes nothing when the answer is no.
    if !buyer.admit(ctx)? {
        return Ok(already_bought());
    }
    let sale = Sale { stock: keys.stock, left: grant.left, stream };
    commit(ctx, sale, names, order).inspect_err(|_| buyer.dismiss(ctx))
}

fn already_bought() -> Outcome {
    metrics::TRIES_ALREADY_BOUGHT.count();
    Outcome::AlreadyBought
}

/// What is to be written for a user who was admitted.
struct Sale<'a> {
    stock: Str<'a>,
    left: Option<i64>,
    stream: Option<Orders<'a>>,
}

/// Writes the order of a user who was just admitted. On an error only the admission is to be
/// undone: the entry, which is the one step that can fail, comes first.
///
/// The stock was read in this very command. It could be gone only if another module removed it
/// when it heard of the admission; then there is nothing to deduct from.
fn commit(
    ctx: Ctx<'_>,
    sale: Sale<'_>,
    names: &OrderFields,
    order: &Order<'_>,
) -> Result<Outcome, CommandError> {
    let units =
        (order.units != Units::ONE).then(|| OwnedStr::new(Decimal::new(order.units.get()).bytes()));
    let units = units.as_ref().map_or(names.one(), OwnedStr::as_str);
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
    let appended = sale.stream.map(|stream| stream.append(fields)).transpose()?;
    let deducted = sale.left.and_then(|left| stock::deduct(ctx, sale.stock, units, left));
    for effect in [deducted, appended].into_iter().flatten() {
        effect.publish(ctx);
    }
    metrics::TRIES_ACCEPTED.count();
    Ok(Outcome::Accepted)
}
