//! `SECKILL.TRY voucher user orderid [UNITS n]`: sells to a user, at most once per user.

use super::order::Order;
use super::unmanaged;
use super::{Answering, Command, managed};
use crate::args::Args;
use crate::config;
use crate::error::CommandError;
use crate::keyspace::book::ReadBook;
use crate::keyspace::counter::{self, FreeIds};
use crate::keyspace::fields::EntryNames;
use crate::keyspace::presence::Reach;
use crate::keyspace::voucher_keys::{SaleKeys, VoucherKeys};
use crate::memory::Memory;
use crate::reply::Reply;
use crate::server::{Access, ArgKind, ArgSpec, CommandSpec, Ctx, KeySpec, OwnedStr, handler};
use crate::typed::{OrderId, Voucher};
use domain::order_id::{Count, Id};
use domain::sale::Outcome;
use domain::terms::Terms;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.try",
    handler: handler::<Answering<Try>>(),
    flags: c"write deny-oom fast",
    categories: c"write fast seckill",
    arity: -4,
    summary: c"Sells units of a voucher to a user, and appends the order to a stream",
    complexity: c"O(1)",
    since: c"0.1.0",
    keys: &[KeySpec {
        position: 1,
        access: Access::Update,
        notes: c"The voucher. Its stock, buyers and orders keys are derived from it",
    }],
    args: &[
        ArgSpec { name: c"voucher", kind: ArgKind::Key(0) },
        ArgSpec { name: c"user", kind: ArgKind::String },
        ArgSpec { name: c"orderid", kind: ArgKind::String },
        ArgSpec { name: c"units", kind: ArgKind::OptionalInteger(c"UNITS") },
    ],
};

struct Try;

impl Command for Try {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let mut order = Order::parse(&mut args)?;
        if !args.is_empty() {
            args.next_word(&["UNITS"])?;
            order.units = args.next_units()?;
        }
        args.finish()?;
        let keys = VoucherKeys::of(&memory.vouchers, order.voucher)?;
        let reach = keys.reach(&memory.vouchers, ctx)?;
        let terms = keys.terms_in(&memory.vouchers, ctx)?;
        if order.id.0.bytes() == GENERATE {
            try_with_new_id(ctx, memory, &keys, reach, terms, order)
        } else {
            try_once(ctx, memory, &keys, reach, terms, &order).map(Reply::from)
        }
    }
}

/// As order id: make one if the try is accepted.
pub(super) const GENERATE: &[u8] = b"*";

#[inline]
fn try_once(
    ctx: Ctx<'_>,
    memory: &Memory,
    keys: &VoucherKeys,
    reach: Reach,
    terms: Option<Terms>,
    order: &Order<'_>,
) -> Result<Outcome, CommandError> {
    if let Some(terms) = terms {
        let sale = managed::ManagedSale::new(ctx, keys, terms)?;
        return sale.with_reach(reach).sell(order);
    }
    match unmanaged::ask(keys.read_stock(ctx)?, order, config::policy())? {
        None => Ok(Outcome::SoldOut),
        Some(grant) => {
            let names = EntryNames::configured(keys.fields());
            unmanaged::sell(ctx, memory, grant, keys.sale()?, names, order)
        }
    }
}

/// Tries with the next free id, and takes the id only if the try is accepted. Replies both.
fn try_with_new_id(
    ctx: Ctx<'_>,
    memory: &Memory,
    keys: &VoucherKeys,
    reach: Reach,
    terms: Option<Terms>,
    order: Order<'_>,
) -> Result<Reply, CommandError> {
    let is_managed = terms.is_some();
    let next = free_ids(ctx, memory, keys, order.voucher, is_managed, Count::ONE, |_| false)?;
    let id = OwnedStr::new(next.first().text().bytes());
    let order = Order { id: OrderId(id.as_str()), ..order };
    let outcome = try_once(ctx, memory, keys, reach, terms, &order)?;
    let id = match outcome {
        Outcome::Accepted => Reply::Id(next.take(ctx)),
        _ => Reply::Null,
    };
    Ok(Reply::Array(vec![outcome.into(), id]))
}

/// The next ids for orders of a voucher that neither its book nor `is_taken` knows.
pub(super) fn free_ids(
    ctx: Ctx<'_>,
    memory: &Memory,
    keys: &VoucherKeys,
    voucher: Voucher<'_>,
    is_managed: bool,
    count: Count,
    is_taken: impl Fn(&[u8]) -> bool,
) -> Result<FreeIds, CommandError> {
    let scope = counter::IdScope::Voucher(voucher);
    let book = if is_managed { Some(ReadBook::open(ctx, keys.managed()?)) } else { None };
    let is_used = |id: Id| {
        let text = id.text();
        if is_taken(text.bytes()) {
            return Ok(true);
        }
        let Some(book) = &book else { return Ok(false) };
        book.has_entry(OrderId(OwnedStr::new(text.bytes()).as_str()))
    };
    let ids = counter::find_unused(&memory.counter, ctx, scope, count, is_used)?;
    let SaleKeys { stock, buyers, orders } = keys.sale()?;
    let counter = ids.key().bytes();
    if [Some(stock), Some(buyers), orders].into_iter().flatten().any(|key| key.bytes() == counter) {
        return Err(CommandError::SameKeys);
    }
    Ok(ids)
}
