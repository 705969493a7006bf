//! `SECKILL.CREATE voucher stock [BEGIN ms] [END ms] [LIMIT n] [HOLD ms]`: makes a managed voucher.

use super::managed::{UPDATES_VOUCHER, terms_from};
use super::{Answering, Command};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::keyspace::{stock, terms};
use crate::memory::Memory;
use crate::reply::Reply;
use crate::server::{ArgKind, ArgSpec, CommandSpec, Ctx, handler};
use crate::typed::Voucher;
use domain::terms::Terms;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.create",
    handler: handler::<Answering<Create>>(),
    flags: c"write deny-oom fast",
    categories: c"write fast seckill",
    arity: -3,
    summary: c"Makes a managed voucher with stock, window, limit and hold",
    complexity: c"O(1)",
    since: c"0.1.0",
    keys: UPDATES_VOUCHER,
    args: &[
        ArgSpec { name: c"voucher", kind: ArgKind::Key(0) },
        ArgSpec { name: c"stock", kind: ArgKind::Integer },
        ArgSpec { name: c"begin", kind: ArgKind::OptionalInteger(c"BEGIN") },
        ArgSpec { name: c"end", kind: ArgKind::OptionalInteger(c"END") },
        ArgSpec { name: c"limit", kind: ArgKind::OptionalInteger(c"LIMIT") },
        ArgSpec { name: c"hold", kind: ArgKind::OptionalInteger(c"HOLD") },
    ],
};

struct Create;

impl Command for Create {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let voucher: Voucher<'_> = args.next()?;
        let total = args.next_integer("stock", 0..=i64::MAX)?;
        let terms = Terms { total, begin: None, end: None, limit: 1, hold: None };
        let terms = terms_from(args, terms)?;
        let keys = VoucherKeys::of(&memory.vouchers, voucher)?;
        keys.check_here(ctx)?;
        let own = keys.managed()?.own();
        if own.into_iter().any(|key| terms::exists(ctx, key)) {
            return Err(CommandError::Exists);
        }
        // Two plain SETs of keys that are not there: what the first can do, so can the second.
        terms::write(ctx, keys.terms(), &terms)?;
        stock::create(ctx, keys.stock(), total)?;
        Ok(Reply::Ok)
    }
}
