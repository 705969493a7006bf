//! `SECKILL.EXTEND voucher user orderid ms [SALE id]`: moves the deadline of a held order to later,
//! because its payment is under way.

use super::decided::{done, next_order, request};
use super::{Answering, Command, UPDATES_VOUCHER};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::sale::Sale;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::memory::Memory;
use crate::server::{ArgKind, ArgSpec, CommandSpec, Ctx, Reply, handler};
use domain::confirm::extend;
use domain::rules::{MILLIS_MAX, Meant};

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.extend",
    handler: handler::<Answering<Extend>>(),
    flags: c"write fast",
    categories: c"write fast seckill",
    arity: -5,
    summary: c"Sets the deadline of a held order to ms from now, if that is later",
    complexity: c"O(log N) where N is the number of held orders",
    since: c"0.1.0",
    keys: UPDATES_VOUCHER,
    args: &[
        ArgSpec { name: c"voucher", kind: ArgKind::Key(0) },
        ArgSpec { name: c"user", kind: ArgKind::String },
        ArgSpec { name: c"orderid", kind: ArgKind::String },
        ArgSpec { name: c"ms", kind: ArgKind::Integer },
        ArgSpec { name: c"sale", kind: ArgKind::OptionalInteger(c"SALE") },
    ],
};

struct Extend;

impl Command for Extend {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let voucher = args.next()?;
        let order = next_order(&mut args)?;
        let ms = args.next_integer("ms", 1..=MILLIS_MAX)?;
        let meant = if args.take_word("SALE") { Some(args.next_sale()?) } else { None };
        args.finish()?;
        let keys = VoucherKeys::of(&memory.vouchers, voucher)?;
        keys.check_here(ctx)?;
        let sale = Sale::of(ctx, &memory.vouchers, &keys, voucher);
        memory.arrivals.check(&sale)?;
        let request = request(order, Meant::by_request(meant));
        let answer = done(&sale, extend(&sale, &request, ms)?)?;
        Ok(Reply::Integer(answer as i64))
    }
}
