//! `SECKILL.RESTOCK voucher delta|TOTAL n [FOR orderid] [SALE id]`: adds units to a managed
//! voucher, or takes some away; with FOR once, for an order that has them and is not in the book.

use super::decided::apply_to_all;
use super::{Answering, Command, UPDATES_VOUCHER};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::names::Name;
use crate::keyspace::sale::Sale;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::memory::Memory;
use crate::server::{ArgKind, ArgSpec, CommandSpec, Ctx, Reply, handler};
use crate::typed::OrderId;
use domain::facts::Facts;
use domain::rules::{Meant, SaleId};
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
        ArgSpec { name: c"orderid", kind: ArgKind::OptionalString(c"FOR") },
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
        let (order, meant) = parse_options(args)?;
        let how = match (how, order) {
            (how, None) => how,
            (sales::Restock::By(0), Some(_)) => return Err(CommandError::NoUnitsFor),
            // Without the sale, a late repeat would change the next one.
            (sales::Restock::By(delta), Some(order)) if meant.is_some() => {
                sales::Restock::For { delta, order: Name::Given(order.0) }
            }
            (_, Some(_)) => return Err(CommandError::Syntax),
        };
        let keys = VoucherKeys::of(&memory.vouchers, voucher)?;
        keys.check_here(ctx)?;
        let sale = Sale::of(ctx, &memory.vouchers, &keys, voucher);
        memory.arrivals.check(&sale)?;
        let (left, plan) = sales::restock(&sale, Meant::by_request(meant), how)?;
        apply_to_all(&sale, &plan)?;
        // The first in line may have got some.
        Ok(Reply::Integer(if let Ok(Stock::Left(left)) = sale.stock() { left } else { left }))
    }
}

/// What may follow, in any order, each at most once: `FOR orderid` and `SALE id`.
fn parse_options(
    mut args: Args<'_>,
) -> Result<(Option<OrderId<'_>>, Option<SaleId>), CommandError> {
    let (mut order, mut meant) = (None, None);
    while !args.is_empty() {
        match args.next_word(&["FOR", "SALE"])? {
            "FOR" if order.is_none() => order = Some(args.next::<OrderId<'_>>()?),
            "SALE" if meant.is_none() => meant = Some(args.next_sale()?),
            _ => return Err(CommandError::Syntax),
        }
    }
    Ok((order, meant))
}
