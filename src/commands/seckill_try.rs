//! `SECKILL.TRY voucher user orderid [UNITS n] [LIMIT limit] [WAITLIST] [SALE id]`: sells to a
//! user, at most once per user, or puts the order in the queue.

use super::rules::LIMIT;
use super::tried::try_once;
use super::{Answering, Command, ORDER_ID, SALE, UNITS_OPTION, USER};
use crate::args::{Said, arguments, check_storable};
use crate::error::CommandError;
use crate::keyspace::counter::{self, FreeIds};
use crate::keyspace::names::Name;
use crate::keyspace::opening::Opening;
use crate::keyspace::sale::Sale;
use crate::keyspace::sale_keys::SaleKeys;
use crate::memory::Memory;
use crate::server::{Access, ArgSpec, CommandSpec, Ctx, Reply, handler};
use crate::typed::{OrderId, User, Voucher};
use domain::facts::Facts;
use domain::order_id::{Count, Id};
use domain::plan::Order;
use domain::rules::{Meant, SaleId};
use domain::sale::{TryOutcome, Units};
use domain::tries::{Else, Wish};

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.try",
    handler: handler::<Answering<Try>>(),
    flags: c"write deny-oom fast",
    summary: c"Sells units of a voucher to a user, and appends the order to a stream",
    complexity: c"O(1)",
    since: c"0.1.0",
    args: Given::SPECS,
};

arguments! {
    /// An order, and what becomes of it without units.
    Given<'a> {
        voucher: Voucher<'a> = TRIED,
        user: User<'a> = USER,
        id: OrderId<'a> = ORDER_ID,
        [units: Units = UNITS_OPTION]
        [limit: Units = LIMIT]
        [waits: Said = WAITLIST]
        [sale: SaleId = SALE]
    }
}

/// The voucher of a try.
pub(super) const TRIED: ArgSpec = ArgSpec::key(
    c"voucher",
    Access::Update,
    c"The voucher. Its stock, buyers and orders keys are derived from it",
);
const WAITLIST: ArgSpec = ArgSpec::word(c"waitlist", c"WAITLIST");

struct Try;

impl Command for Try {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, memory: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let Given { voucher, user, id, units, limit, waits, sale: meant } = given;
        check_storable(user.0, id.0)?;
        let or_else = if waits.is_some() { Else::Wait } else { Else::Lose };
        let wish = Wish { or_else, limit };
        let (user, id) = (Name::Given(user.0), Name::Given(id.0));
        let order = Order { user, id, units: units.unwrap_or(Units::ONE) };
        let meant = Meant::by_request(meant);
        let opening = Opening::to_try(ctx, &memory.vouchers, voucher)?;
        // As `Arrivals::sale`, which would move it.
        let sale = Sale::of(&opening);
        memory.arrivals.check(&sale)?;
        if order.id.as_ref() != GENERATE {
            return try_once(memory, &sale, meant, &order, wish).map(Reply::from);
        }
        // Tries with the next free id, and takes it only if there is an order then. Replies both.
        let next = free_ids(memory, &opening, &sale, Count::ONE, |_| false)?;
        let id = Name::read(next.first().text().bytes());
        let outcome = try_once(memory, &sale, meant, &Order { id, ..order }, wish)?;
        let id = match outcome {
            TryOutcome::Accepted | TryOutcome::Waiting => next.take(ctx).into(),
            _ => Reply::Null,
        };
        Ok(Reply::Array(vec![outcome.into(), id]))
    }
}

/// As order id: make one if the try is accepted.
pub(super) const GENERATE: &[u8] = b"*";

/// The next ids for orders of a voucher that neither its book nor `is_taken` knows.
pub(super) fn free_ids(
    memory: &Memory,
    opening: &Opening<'_>,
    sale: &Sale<'_>,
    count: Count,
    is_taken: impl Fn(&[u8]) -> bool,
) -> Result<FreeIds, CommandError> {
    let scope = counter::IdScope::Voucher(opening.voucher);
    let has_book = sale.rules()?.is_some();
    let is_used = |id: Id| {
        let text = id.text();
        Ok(is_taken(text.bytes()) || has_book && sale.entry(&Name::read(text.bytes()))?.is_some())
    };
    let ids = counter::find_unused(&memory.counter, opening.ctx, scope, count, is_used)?;
    let SaleKeys { stock, buyers, orders } = opening.keys.sale()?;
    let counter = ids.key().bytes();
    if [Some(stock), Some(buyers), orders].into_iter().flatten().any(|key| key.bytes() == counter) {
        return Err(CommandError::SameKeys);
    }
    Ok(ids)
}
