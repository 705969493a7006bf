//! `SECKILL.ALTER voucher [BEGIN ms] [END ms] [LIMIT n] [HOLD ms] [SALE id]`: changes a sale's
//! rules.

use super::decided::{apply_to_all, end_waits};
use super::rules::{RulesGiven, warn_without_stream};
use super::{Answering, Command, UPDATES_VOUCHER};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::sale::Sale;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::memory::Memory;
use crate::server::{ArgKind, ArgSpec, CommandSpec, Ctx, Reply, handler};
use domain::sales::alter;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.alter",
    handler: handler::<Answering<Alter>>(),
    flags: c"write deny-oom fast",
    categories: c"write fast seckill",
    arity: -4,
    summary: c"Changes the time window, limit or hold of a managed voucher",
    complexity: c"O(1)",
    since: c"0.1.0",
    keys: UPDATES_VOUCHER,
    args: &[
        ArgSpec { name: c"voucher", kind: ArgKind::Key(0) },
        ArgSpec { name: c"begin", kind: ArgKind::OptionalInteger(c"BEGIN") },
        ArgSpec { name: c"end", kind: ArgKind::OptionalInteger(c"END") },
        ArgSpec { name: c"limit", kind: ArgKind::OptionalInteger(c"LIMIT") },
        ArgSpec { name: c"hold", kind: ArgKind::OptionalInteger(c"HOLD") },
        ArgSpec { name: c"sale", kind: ArgKind::OptionalInteger(c"SALE") },
    ],
};

struct Alter;

impl Command for Alter {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let voucher = args.next()?;
        let given = RulesGiven::parse_change(args)?;
        let keys = VoucherKeys::of(&memory.vouchers, voucher)?;
        keys.check_here(ctx)?;
        let sale = Sale::of(ctx, &memory.vouchers, &keys, voucher);
        memory.arrivals.check(&sale)?;
        let decide = || alter(&sale, given.sale(), |rules| given.apply(rules));
        let plan = match decide() {
            Err(CommandError::EndingWaits) => {
                end_waits(&sale)?;
                decide()?
            }
            decided => decided?,
        };
        apply_to_all(&sale, &plan)?;
        if plan.rules.is_some_and(|rules| rules.hold.is_some()) {
            warn_without_stream(ctx, &keys);
        }
        Ok(Reply::Ok)
    }
}
