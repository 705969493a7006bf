//! `SECKILL.TRY voucher user orderid [UNITS n] [WAITLIST] [SALE id]`: sells to a user, at most once
//! per user, or puts the order in line.

use super::decided::{is_managed, next_order, try_once};
use super::{Answering, Command};
use crate::args::{Args, check_storable};
use crate::error::CommandError;
use crate::keyspace::counter::{self, FreeIds};
use crate::keyspace::names::Name;
use crate::keyspace::sale::Sale;
use crate::keyspace::sale_keys::SaleKeys;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::memory::Memory;
use crate::server::{Access, ArgKind, ArgSpec, CommandSpec, Ctx, KeySpec, Reply, handler};
use crate::typed::Voucher;
use domain::facts::Facts;
use domain::order_id::{Count, Id};
use domain::plan::Order;
use domain::rules::{Meant, SaleId};
use domain::sale::{Outcome, Units};
use domain::tries::Else;

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
        ArgSpec { name: c"waitlist", kind: ArgKind::OptionalToken(c"WAITLIST") },
        ArgSpec { name: c"sale", kind: ArgKind::OptionalInteger(c"SALE") },
    ],
};

struct Try;

impl Command for Try {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let voucher: Voucher<'_> = args.next()?;
        let mut order = next_order(&mut args)?;
        check_storable(order.user.as_str(), order.id.as_str())?;
        let Options { units, waits, sale: meant } = Options::parse(args)?;
        let or_else = if waits { Else::Wait } else { Else::Lose };
        order.units = units.unwrap_or(Units::ONE);
        let meant = Meant::by_request(meant);
        let keys = VoucherKeys::of(&memory.vouchers, voucher)?;
        let reach = keys.reach(&memory.vouchers, ctx)?;
        let sale = Sale::reached(ctx, &memory.vouchers, &keys, voucher, reach);
        memory.arrivals.check(&sale)?;
        if order.id.as_ref() != GENERATE {
            return try_once(&sale, meant, &order, or_else).map(Reply::from);
        }
        // Tries with the next free id, and takes it only if there is an order then. Replies both.
        let next = free_ids(ctx, memory, &keys, &sale, voucher, Count::ONE, |_| false)?;
        let id = Name::read(next.first().text().bytes());
        let outcome = try_once(&sale, meant, &Order { id, ..order }, or_else)?;
        let id = match outcome {
            Outcome::Accepted | Outcome::Waiting => next.take(ctx).into(),
            _ => Reply::Null,
        };
        Ok(Reply::Array(vec![outcome.into(), id]))
    }
}

/// What may follow the order id, in any order, each at most once.
#[derive(Default)]
struct Options {
    units: Option<Units>,
    waits: bool,
    sale: Option<SaleId>,
}

impl Options {
    #[inline]
    fn parse(mut args: Args<'_>) -> Result<Self, CommandError> {
        let mut options = Self::default();
        while !args.is_empty() {
            match args.next_word(&["UNITS", "WAITLIST", "SALE"])? {
                "UNITS" if options.units.is_none() => options.units = Some(args.next_units()?),
                "WAITLIST" if !options.waits => options.waits = true,
                "SALE" if options.sale.is_none() => options.sale = Some(args.next_sale()?),
                _ => return Err(CommandError::Syntax),
            }
        }
        Ok(options)
    }
}

/// As order id: make one if the try is accepted.
pub(super) const GENERATE: &[u8] = b"*";

/// The next ids for orders of a voucher that neither its book nor `is_taken` knows.
pub(super) fn free_ids(
    ctx: Ctx<'_>,
    memory: &Memory,
    keys: &VoucherKeys,
    sale: &Sale<'_>,
    voucher: Voucher<'_>,
    count: Count,
    is_taken: impl Fn(&[u8]) -> bool,
) -> Result<FreeIds, CommandError> {
    let scope = counter::IdScope::Voucher(voucher);
    let has_book = is_managed(sale)?;
    let is_used = |id: Id| {
        let text = id.text();
        Ok(is_taken(text.bytes()) || has_book && sale.entry(&Name::read(text.bytes()))?.is_some())
    };
    let ids = counter::find_unused(&memory.counter, ctx, scope, count, is_used)?;
    let SaleKeys { stock, buyers, orders } = keys.sale()?;
    let counter = ids.key().bytes();
    if [Some(stock), Some(buyers), orders].into_iter().flatten().any(|key| key.bytes() == counter) {
        return Err(CommandError::SameKeys);
    }
    Ok(ids)
}
