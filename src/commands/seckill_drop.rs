//! SECKILL.DROP voucher: removes a voucher with all its keys, never a stream.

use super::managed::UPDATES_VOUCHER;
use super::{Answering, Command};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::terms;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::memory::Memory;
use crate::reply::Reply;
use crate::server::{ArgKind, ArgSpec, Call, CommandSpec, Ctx, handler};
use crate::typed::Voucher;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.drop",
    handler: handler::<Answering<Drop>>(),
    flags: c"write fast",
    categories: c"write fast seckill",
    arity: 2,
    summary: c"Removes every key of a voucher, never a stream",
    complexity: c"O(1), the memory is freed in the background",
    since: c"0.1.0",
    keys: UPDATES_VOUCHER,
    args: &[ArgSpec { name: c"voucher", kind: ArgKind::Key(0) }],
};

struct Drop;

impl Command for Drop {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let voucher: Voucher<'_> = args.next()?;
        args.finish()?;
        let keys = VoucherKeys::of(&memory.vouchers, voucher)?;
        keys.check_here(ctx)?;
        terms::check_primary(ctx)?;
        match Call::write_all(ctx, c"UNLINK", &keys.managed()?.own()) {
            Ok(unlinked) => Ok(Reply::Integer(i64::from(unlinked.integer() > 0))),
            Err(error) => Err(CommandError::of_call(error, "UNLINK")),
        }
    }
}
