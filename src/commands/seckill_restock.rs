//! `SECKILL.RESTOCK voucher delta|TOTAL n [FOR user orderid] [SALE id]`: adds units to a managed
//! voucher, or takes some away; with FOR once, for an order that has them and is not in the book.

use super::decided::apply_to_all;
use super::{Answering, Command, ORDER_ID, SALE, USER, VOUCHER};
use crate::args::{Either, arguments};
use crate::error::CommandError;
use crate::keyspace::names::Name;
use crate::keyspace::opening::Opening;
use crate::memory::Memory;
use crate::server::{ArgSpec, CommandSpec, Ctx, Reply, handler};
use crate::typed::{OrderId, User, Voucher};
use domain::facts::Facts;
use domain::key_names::outside_field;
use domain::rules::{Meant, SaleId};
use domain::sale::Stock;
use domain::sales;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.restock",
    handler: handler::<Answering<Restock>>(),
    flags: c"write deny-oom fast",
    summary: c"Adds units to the stock and total of a managed voucher, or removes some",
    complexity: c"O(1)",
    since: c"0.1.0",
    args: Given::SPECS,
};

arguments! {
    /// Units that are added or taken away, and for which order.
    Given<'a> {
        voucher: Voucher<'a> = VOUCHER,
        how: Either<i64, i64> = DELTA,
        [order: (User<'a>, OrderId<'a>) = FOR]
        [sale: SaleId = SALE]
    }
}

const DELTA: ArgSpec = ArgSpec::one_of(
    c"delta",
    &[
        ArgSpec::integer(c"delta", i64::MIN, i64::MAX),
        ArgSpec::integer(c"total", 0, i64::MAX).after(c"TOTAL"),
    ],
);
const FOR: ArgSpec = ArgSpec::block(c"order", &[USER, ORDER_ID]).after(c"FOR");

struct Restock;

impl Command for Restock {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, memory: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let Given { voucher, how, order, sale: meant } = given;
        let how = match how {
            Either::First(delta) => sales::Restock::By(delta),
            Either::Second(total) => sales::Restock::To(total),
        };
        let how = match (how, order) {
            (how, None) => how,
            // Without the sale, a late repeat would change the next one.
            (sales::Restock::By(delta), Some((user, id))) if delta != 0 && meant.is_some() => {
                let order = Name::read(&outside_field(user.0.bytes(), id.0.bytes()));
                sales::Restock::For { delta, order }
            }
            (_, Some(_)) => return Err(CommandError::BareFor),
        };
        let opening = Opening::new(ctx, &memory.vouchers, voucher)?;
        let sale = memory.arrivals.sale(&opening)?;
        let (left, plan) = sales::restock(&sale, Meant::by_request(meant), how)?;
        apply_to_all(memory, &sale, &plan)?;
        // The first in the queue may have got some.
        Ok(Reply::Integer(if let Ok(Stock::Left(left)) = sale.stock() { left } else { left }))
    }
}
