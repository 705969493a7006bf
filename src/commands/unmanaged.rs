//! A try on a voucher that has only a stock key: what `seckill.lua` does, whole or not at all.

use super::order::{ManagedValues, Order};
use super::release::{Release, Targets};
use crate::config;
use crate::error::CommandError;
use crate::keyspace::buyers::Buyer;
use crate::keyspace::fields::{EntryNames, EntryValues};
use crate::keyspace::orders::Orders;
use crate::keyspace::stock;
use crate::keyspace::voucher_keys::{ManagedKeys, SaleKeys, VoucherKeys};
use crate::memory::Memory;
use crate::metrics;
use crate::server::{Ctx, OwnedStr, Str};
use crate::typed::{OrderId, User, Voucher};
use domain::book::State;
use domain::sale::{NoStock, Offer, Outcome, Policy, Stock, Units, offer};

/// What the stock grants to a try, before the buyer is looked at.
pub(super) struct Grant {
    /// The stock after the sale; none when nothing is deducted.
    left: Option<i64>,
}

impl Grant {
    /// The units may be taken, and `left` stay.
    pub(super) fn of(left: i64) -> Self {
        Self { left: Some(left) }
    }
}

/// What the stock grants. None when sold out.
///
/// Most tries end here: nothing is opened for writing, and nothing is allocated by us.
pub(super) fn ask(
    stock: Stock,
    order: &Order<'_>,
    policy: Policy,
) -> Result<Option<Grant>, CommandError> {
    match offer(stock, order.units, policy) {
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
    memory: &Memory,
    grant: Grant,
    keys: SaleKeys<'_>,
    names: EntryNames<'_>,
    order: &Order<'_>,
) -> Result<Outcome, CommandError> {
    // A user with a mark has probably bought: asking is cheaper than what follows.
    let buyer = Buyer::new(keys.buyers, order.user);
    let mark = buyer.mark(&memory.marks);
    if mark.is_believed() && buyer.has_bought(ctx)? {
        return Ok(already_bought());
    }
    // The stream must be known to take the entry before anything is written. Where it does not,
    // or that is expensive to know, a user who has bought is answered so first, as by the script.
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
    let is_new = buyer.admit(ctx)?;
    mark.note(!is_new);
    if !is_new {
        return Ok(already_bought());
    }
    let sale = Sale { stock: keys.stock, grant, stream };
    take(ctx, sale, names, order, ManagedValues::default()).inspect_err(|_| buyer.dismiss(ctx))?;
    Ok(Outcome::Accepted)
}

pub(super) fn already_bought() -> Outcome {
    metrics::TRIES_ALREADY_BOUGHT.count();
    Outcome::AlreadyBought
}

/// What an order of a user who was just admitted is taken from, and written to.
pub(super) struct Sale<'a> {
    pub(super) stock: Str<'a>,
    pub(super) grant: Grant,
    pub(super) stream: Option<Orders<'a>>,
}

/// Writes the order's entry and takes its units from the stock. On an error only the admission is
/// to be undone: the entry, which is the one step that can fail, comes first.
///
/// The stock was read in this very command. It could be gone only if another module removed it
/// when it heard of the admission; then there is nothing to deduct from.
pub(super) fn take(
    ctx: Ctx<'_>,
    sale: Sale<'_>,
    names: EntryNames<'_>,
    order: &Order<'_>,
    managed: ManagedValues<'_>,
) -> Result<(), CommandError> {
    let units = order.units_text();
    let units = units.as_ref().map(OwnedStr::as_str);
    let (plain, entry);
    let fields = match (units, managed) {
        // As most orders of unmanaged vouchers.
        (None, ManagedValues { deadline: None, sale: None }) => {
            plain = names.plain_entry([order.user.0, order.voucher.0, order.id.0]);
            plain.as_slice()
        }
        (units, ManagedValues { deadline, sale }) => {
            entry = names.entry(&EntryValues { deadline, sale, ..order.values(units) });
            entry.as_slice()
        }
    };
    let appended = sale.stream.map(|stream| stream.append(fields)).transpose()?;
    let left = sale.grant.left;
    let deducted = left.and_then(|left| stock::deduct(ctx, sale.stock, units, left));
    for effect in [deducted, appended].into_iter().flatten() {
        effect.publish(ctx);
    }
    metrics::TRIES_ACCEPTED.count();
    Ok(())
}

/// Releases a unit: see [`prepare_release`]. 1, or 0 when the user has bought nothing.
pub(super) fn cancel(
    ctx: Ctx<'_>,
    keys: &VoucherKeys,
    voucher: Voucher<'_>,
    user: User<'_>,
    id: OrderId<'_>,
) -> Result<i64, CommandError> {
    let order = Order { voucher, user, id, units: Units::ONE };
    match prepare_release(ctx, keys, order, State::Cancelled)? {
        None => Ok(0),
        Some(release) => release.write().map(|()| 1),
    }
}

/// Checks everything that could refuse the release of an order, by membership of the set: the order
/// id is not on record and only travels into the entry. None when the user has bought nothing.
pub(super) fn prepare_release<'a>(
    ctx: Ctx<'a>,
    keys: &'a VoucherKeys,
    order: Order<'a>,
    reason: State,
) -> Result<Option<Release<'a>>, CommandError> {
    let ManagedKeys { sale, released, .. } = keys.managed()?;
    if !Buyer::new(sale.buyers, order.user).has_bought(ctx)? {
        return Ok(None);
    }
    let left = match stock::read(ctx, sale.stock)? {
        Stock::Missing => None,
        Stock::Left(-1) if config::policy().minus_one_is_unlimited => None,
        Stock::Left(left) => {
            let after = left.checked_add(order.units.get()).ok_or(CommandError::StockOverflow)?;
            Some((left, after))
        }
    };
    let released = Orders::open_with_room(ctx, released)?;
    let (buyers, stock) = (sale.buyers, sale.stock);
    let targets = Targets { buyers, stock, left, released, booked: None };
    Ok(Some(Release::new(ctx, keys.fields(), order, reason, targets)))
}
