//! `SECKILL.CREATE voucher stock|ADOPT [BEGIN ms] [END ms] [LIMIT n] [HOLD ms]`: makes a managed
//! voucher, with a new stock or with the existing one.

use super::evictions::warn_at_create;
use super::rules::{BEGIN, END, HOLD, LIMIT, RulesGiven, warn_without_stream};
use super::{Answering, Command, VOUCHER};
use crate::args::{Either, Moment, Said, arguments};
use crate::error::CommandError;
use crate::keyspace::opening::Opening;
use crate::keyspace::sale::Sale;
use crate::memory::Memory;
use crate::server::{ArgSpec, CommandSpec, Ctx, Reply, handler};
use crate::typed::Voucher;
use domain::rules::{Millis, Rules, SaleId};
use domain::sales::create;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.create",
    handler: handler::<Answering<Create>>(),
    flags: c"write deny-oom fast",
    summary: c"Creates a managed voucher: stock, time window, limit per user, reservations",
    complexity: c"O(1)",
    since: c"0.1.0",
    args: Given::SPECS,
};

arguments! {
    /// A new sale; a value of 0 means none.
    Given<'a> {
        voucher: Voucher<'a> = VOUCHER,
        stock: Either<i64, Said> = STOCK,
        [begin: Moment = BEGIN]
        [end: Moment = END]
        [limit: i64 = LIMIT]
        [hold: Millis = HOLD]
    }
}

const STOCK: ArgSpec = ArgSpec::one_of(
    c"stock",
    &[ArgSpec::integer(c"stock", 0, i64::MAX), ArgSpec::word(c"ADOPT", c"ADOPT")],
);

struct Create;

impl Command for Create {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, memory: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let Given { voucher, stock, begin, end, limit, hold } = given;
        let (total, is_adopted) = match stock {
            Either::First(stock) => (stock, false),
            Either::Second(Said) => (0, true),
        };
        let sale = SaleId::created_at(ctx.now_us());
        let rules = Rules { total, begin: None, end: None, limit: 1, hold: None, sale };
        let rules = RulesGiven::new(begin, end, limit, hold).apply(rules)?;
        let opening = Opening::new(ctx, &memory.vouchers, voucher)?;
        let sale = Sale::of(&opening);
        sale.apply_to_all(&create(&sale, rules, is_adopted)?)?;
        if rules.hold.is_some() {
            warn_without_stream(ctx, &opening.keys);
        }
        warn_at_create(ctx, &opening.keys);
        Ok(Reply::Ok)
    }
}
