//! `SECKILL.EXTEND voucher user orderid ms [SALE id]`: moves the deadline of a held order to later,
//! because its payment is under way.

use super::decided::done;
use super::{Answering, Command, ORDER_ID, SALE, USER, VOUCHER, request};
use crate::args::arguments;
use crate::error::CommandError;
use crate::keyspace::opening::Opening;
use crate::memory::Memory;
use crate::server::{ArgSpec, CommandSpec, Ctx, Reply, handler};
use crate::typed::{OrderId, User, Voucher};
use domain::confirm::extend;
use domain::rules::{MILLIS_MAX, Millis, SaleId};

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.extend",
    handler: handler::<Answering<Extend>>(),
    flags: c"write fast",
    summary: c"Sets the deadline of a held order to ms from now, if that is later",
    complexity: c"O(log N) where N is the number of held orders",
    since: c"0.1.0",
    args: Given::SPECS,
};

arguments! {
    /// An order, and how long from now it is to be held.
    Given<'a> {
        voucher: Voucher<'a> = VOUCHER,
        user: User<'a> = USER,
        id: OrderId<'a> = ORDER_ID,
        ms: Millis = MS,
        [sale: SaleId = SALE]
    }
}

const MS: ArgSpec = ArgSpec::integer(c"ms", 1, MILLIS_MAX);

struct Extend;

impl Command for Extend {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, memory: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let opening = Opening::new(ctx, &memory.vouchers, given.voucher)?;
        let sale = memory.arrivals.sale(&opening)?;
        let request = request(given.user, given.id, given.sale);
        let answer = done(memory, &sale, extend(&sale, &request, given.ms)?)?;
        Ok(Reply::Integer(answer as i64))
    }
}
