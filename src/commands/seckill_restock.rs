//! `SECKILL.RESTOCK voucher delta|TOTAL n [SALE id]`: adds units to a managed voucher, or takes
//! some away.

use super::decided::apply_to_all;
use super::{Answering, Command, UPDATES_VOUCHER};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::sale::Sale;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::memory::Memory;
use crate::server::{ArgKind, ArgSpec, CommandSpec, Ctx, Reply, handler};
use domain::facts::Facts;
use domain::rules::Meant;
use domain::sale::Stock;
use domain::sales;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.restock",
    handler: handler::<Answering<Restock>>(),
    flags: c"write deny-oom fast",
    categories: c"write fast seckill",
    arity: -3,
    summary: c"Adds units to the stock and total of a managed voucher, or removes some",
    complexity: c"O(1)",
    since: c"0.1.0",
    keys: UPDATES_VOUCHER,
    args: &[
        ArgSpec { name: c"voucher", kind: ArgKind::Key(0) },
        ArgSpec { name: c"delta", kind: ArgKind::IntegerOrNamed(c"TOTAL", c"total") },
        ArgSpec { name: c"sale", kind: ArgKind::OptionalInteger(c"SALE") },
    ],
};

struct Restock;

impl Command for Restock {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let voucher = args.next()?;
        let how = if args.take_word("TOTAL") {
            sales::Restock::To(args.next_integer("TOTAL", 0..=i64::MAX)?)
        } else {
            sales::Restock::By(args.next_integer("delta", i64::MIN..=i64::MAX)?)
        };
        let meant = if args.take_word("SALE") { Some(args.next_sale()?) } else { None };
        args.finish()?;
        let keys = VoucherKeys::of(&memory.vouchers, voucher)?;
        keys.check_here(ctx)?;
        let sale = Sale::of(ctx, &memory.vouchers, &keys, voucher);
        let (left, plan) = sales::restock(&sale, Meant::by_request(meant), how)?;
        apply_to_all(&sale, &plan)?;
        // The first in line may have got some.
        Ok(Reply::Integer(if let Ok(Stock::Left(left)) = sale.stock() { left } else { left }))
    }
}
