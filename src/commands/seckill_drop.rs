//! `SECKILL.DROP voucher [FORCE] [SALE id]`: deletes all keys of a voucher, never a stream. Refused
//! while orders are held, unless FORCE releases them first.

use super::decided::{apply_to_all, end_hold};
use super::{Answering, Command, UPDATES_VOUCHER};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::rules::check_primary;
use crate::keyspace::sale::Sale;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::memory::Memory;
use crate::server::{ArgKind, ArgSpec, CommandSpec, Ctx, Reply, handler};
use domain::book::Reason;
use domain::rules::Meant;
use domain::sales::{End, drop};

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.drop",
    handler: handler::<Answering<Drop>>(),
    flags: c"write fast",
    categories: c"write fast seckill",
    arity: -2,
    summary: c"Deletes all keys of a voucher, but no stream",
    complexity: c"O(1), memory is freed in the background. With FORCE O(log N) per held order",
    since: c"0.1.0",
    keys: UPDATES_VOUCHER,
    args: &[
        ArgSpec { name: c"voucher", kind: ArgKind::Key(0) },
        ArgSpec { name: c"force", kind: ArgKind::OptionalToken(c"FORCE") },
        ArgSpec { name: c"sale", kind: ArgKind::OptionalInteger(c"SALE") },
    ],
};

/// How many orders one command releases. Bounds its time.
const RELEASES_MAX: usize = 100;

/// The reply when more orders are held than one command releases.
const MORE_HELD: i64 = 2;

struct Drop;

impl Command for Drop {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let voucher = args.next()?;
        let (mut is_forced, mut meant) = (false, None);
        while !args.is_empty() {
            match args.next_word(&["FORCE", "SALE"])? {
                "FORCE" if !is_forced => is_forced = true,
                "SALE" if meant.is_none() => meant = Some(args.next_sale()?),
                _ => return Err(CommandError::Syntax),
            }
        }
        let keys = VoucherKeys::of(&memory.vouchers, voucher)?;
        keys.check_all_here(ctx)?;
        check_primary(ctx)?;
        let sale = Sale::of(ctx, &memory.vouchers, &keys, voucher);
        if !is_forced {
            memory.arrivals.check(&sale)?;
        }
        // The sale is over: what is released here is nobody's.
        sale.serve_nobody();
        let end = drop(&sale, Meant::by_request(meant), is_forced, RELEASES_MAX)?;
        sale.take_as_found();
        let plan = match end {
            End::Delete(plan) => plan,
            End::Cancel { ids, delete, end } => {
                let mut plan = delete.unwrap_or_else(|| end.clone());
                for (number, id) in ids.iter().enumerate() {
                    match end_hold(&sale, id, Reason::Cancelled) {
                        Ok(()) => {}
                        // Nothing has been changed.
                        Err(error) if number == 0 => return Err(error),
                        Err(_) => {
                            plan = end;
                            break;
                        }
                    }
                }
                plan
            }
        };
        let is_deleted = apply_to_all(&sale, &plan)?;
        Ok(Reply::Integer(if plan.delete { i64::from(is_deleted) } else { MORE_HELD }))
    }
}
