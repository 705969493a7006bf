//! SECKILL.RESTOCK voucher delta: adds units to a managed voucher, or takes some away.

use super::managed::UPDATES_VOUCHER;
use super::{Answering, Command};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::keyspace::{stock, terms};
use crate::memory::Memory;
use crate::reply::Reply;
use crate::server::{ArgKind, ArgSpec, CommandSpec, Ctx, handler};
use crate::typed::Voucher;
use domain::sale::Stock;
use domain::terms::Terms;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.restock",
    handler: handler::<Answering<Restock>>(),
    flags: c"write deny-oom fast",
    categories: c"write fast seckill",
    arity: 3,
    summary: c"Adds units to the stock and total of a managed voucher, or removes some",
    complexity: c"O(1)",
    since: c"0.2.0",
    keys: UPDATES_VOUCHER,
    args: &[
        ArgSpec { name: c"voucher", kind: ArgKind::Key(0) },
        ArgSpec { name: c"delta", kind: ArgKind::Integer },
    ],
};

struct Restock;

impl Command for Restock {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let voucher: Voucher<'_> = args.next()?;
        let delta = args.next_integer("delta", i64::MIN..=i64::MAX)?;
        args.finish()?;
        let keys = VoucherKeys::of(&memory.vouchers, voucher)?;
        keys.check_here(ctx)?;
        let terms = terms::read_managed(&memory.vouchers.terms, ctx, keys.terms())?;
        let Stock::Left(left) = stock::read(ctx, keys.stock())? else {
            return Err(CommandError::NoVoucher);
        };
        let grown = |number: i64| number.checked_add(delta).ok_or(CommandError::StockOverflow);
        let (after, total) = (grown(left)?, grown(terms.total)?);
        if after < 0 || total < 0 {
            return Err(CommandError::Stock);
        }
        if delta != 0 {
            // A plain SET of a string over a string, then the stock in place.
            terms::write(ctx, keys.terms(), &Terms { total, ..terms })?;
            if let Some(effect) = stock::change(ctx, keys.stock(), left, after) {
                effect.publish(ctx);
            }
        }
        Ok(Reply::Integer(after))
    }
}
