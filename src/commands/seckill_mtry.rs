//! `SECKILL.MTRY voucher user orderid [user orderid ...]`: many tries for one unit each, answered
//! as if each had come alone, one after the other.

use super::batch::{Batch, sell};
use super::seckill_try::TRIED;
use super::{Answering, Command, ORDER_ID, USER};
use crate::args::arguments;
use crate::error::CommandError;
use crate::keyspace::opening::Opening;
use crate::memory::Memory;
use crate::server::{ArgSpec, CommandSpec, Ctx, Reply, handler};
use crate::typed::{OrderId, User, Voucher};
use domain::overlay::TRIES_MAX;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.mtry",
    handler: handler::<Answering<MTry>>(),
    flags: c"write deny-oom",
    summary: c"Sells one unit to each of up to 1,024 users, as one SECKILL.TRY per user would",
    complexity: c"O(N) where N is the number of users",
    since: c"0.1.0",
    args: Given::SPECS,
};

arguments! {
    /// A voucher, and who wants a unit of it.
    Given<'a> {
        voucher: Voucher<'a> = TRIED,
        pairs: Vec<(User<'a>, OrderId<'a>)> = ORDERS,
    }
}

const ORDERS: ArgSpec = ArgSpec::repeated(c"order", &[USER, ORDER_ID], TRIES_MAX);

struct MTry;

impl Command for MTry {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, memory: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let mut batch = Batch::new(given.pairs)?;
        let opening = Opening::to_try(ctx, &memory.vouchers, given.voucher)?;
        let sale = memory.arrivals.sale(&opening)?;
        batch.find_ids(memory, &opening, &sale)?;
        let answers = sell(memory, &sale, &batch)?;
        drop(sale);
        Ok(batch.finish(ctx, answers))
    }
}
