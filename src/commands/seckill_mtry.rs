//! `SECKILL.MTRY voucher user orderid [user orderid ...]`: many tries for one unit each, answered
//! as if each had come alone, one after the other.

use super::batch::{Batch, sell};
use super::{Answering, Command};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::sale::Sale;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::memory::Memory;
use crate::server::{Access, ArgKind, ArgSpec, CommandSpec, Ctx, KeySpec, Reply, handler};
use domain::overlay::TRIES_MAX;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.mtry",
    handler: handler::<Answering<MTry>>(),
    flags: c"write deny-oom",
    categories: c"write seckill",
    arity: -4,
    summary: c"Sells one unit to each of up to 1,024 users, as one SECKILL.TRY per user would",
    complexity: c"O(N) where N is the number of users",
    since: c"0.1.0",
    keys: &[KeySpec {
        position: 1,
        access: Access::Update,
        notes: c"The voucher. Its stock, buyers and orders keys are derived from it",
    }],
    args: &[
        ArgSpec { name: c"voucher", kind: ArgKind::Key(0) },
        ArgSpec {
            name: c"order",
            kind: ArgKind::Repeated(
                &[
                    ArgSpec { name: c"user", kind: ArgKind::String },
                    ArgSpec { name: c"orderid", kind: ArgKind::String },
                ],
                TRIES_MAX,
            ),
        },
    ],
};

struct MTry;

impl Command for MTry {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let voucher = args.next()?;
        let mut batch = Batch::new(args)?;
        let keys = VoucherKeys::of(&memory.vouchers, voucher)?;
        let reach = keys.reach(&memory.vouchers, ctx)?;
        let sale = Sale::reached(ctx, &memory.vouchers, &keys, voucher, reach);
        memory.arrivals.check(&sale)?;
        batch.find_ids(ctx, memory, &keys, &sale, voucher)?;
        let answers = sell(&sale, &batch)?;
        drop(sale);
        Ok(batch.finish(ctx, answers))
    }
}
