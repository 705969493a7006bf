//! `SECKILL.DROP voucher [FORCE]`: deletes all keys of a voucher, never a stream. Refused while
//! orders are held, unless FORCE releases them first.

use super::managed::{ManagedSale, UPDATES_VOUCHER};
use super::{Answering, Command};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::keyspace::{book, terms};
use crate::memory::Memory;
use crate::reply::Reply;
use crate::server::{ArgKind, ArgSpec, Call, CommandSpec, Ctx, handler};
use crate::typed::Voucher;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.drop",
    handler: handler::<Answering<Drop>>(),
    flags: c"write fast",
    categories: c"write fast seckill",
    arity: -2,
    summary: c"Deletes all keys of a voucher, but no stream",
    complexity: c"O(1), memory is freed in the background. With FORCE O(log N) per held order",
    since: c"0.2.0",
    keys: UPDATES_VOUCHER,
    args: &[
        ArgSpec { name: c"voucher", kind: ArgKind::Key(0) },
        ArgSpec { name: c"force", kind: ArgKind::OptionalToken(c"FORCE") },
    ],
};

/// How many orders one command releases. Bounds its time.
const RELEASES_MAX: usize = 100;

/// The reply when more orders are held than one command releases.
const MORE_HELD: i64 = 2;

struct Drop;

impl Command for Drop {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let voucher: Voucher<'_> = args.next()?;
        let is_forced = args.take_word("FORCE");
        args.finish()?;
        let keys = VoucherKeys::of(&memory.vouchers, voucher)?;
        keys.check_here(ctx)?;
        terms::check_primary(ctx)?;
        let managed = keys.managed()?;
        let held = book::holds(ctx, managed.holds, None).map_or(0, |holds| holds.count);
        if held > 0 && terms::exists(ctx, managed.terms) {
            if !is_forced {
                return Err(CommandError::Held);
            }
            // Rules that can't be read don't prevent a drop; without them no order can be released.
            if let Ok(Some(terms)) = terms::read(&memory.vouchers.terms, ctx, managed.terms) {
                let sale = ManagedSale::new(ctx, &keys, terms)?;
                if !sale.release_held(RELEASES_MAX)? {
                    // Otherwise the released units would be sold and held again.
                    sale.end_now()?;
                    return Ok(Reply::Integer(MORE_HELD));
                }
            }
        }
        match Call::write_all(ctx, c"UNLINK", &managed.own()) {
            Ok(unlinked) => Ok(Reply::Integer(i64::from(unlinked.integer() > 0))),
            Err(error) => Err(CommandError::of_call(error, "UNLINK")),
        }
    }
}
