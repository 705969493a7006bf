//! `SECKILL.CANCEL voucher user orderid [IF held|sold] [KEEP n] [NORESTOCK] [REFUNDED]
//! [REF reference] [SALE id]`: releases an order's units, once, or all of them but `n`; for the
//! stock, or off the sale.

use super::decided::done;
use super::seckill_confirm::check_new;
use super::{Answering, Command, ORDER_ID, REF, SALE, USER, VOUCHER, request};
use crate::args::{Either, Said, arguments};
use crate::error::CommandError;
use crate::keyspace::names::Name;
use crate::keyspace::opening::Opening;
use crate::memory::Memory;
use crate::server::{ArgSpec, CommandSpec, Ctx, Reply, handler};
use crate::typed::{OrderId, Reference, User, Voucher};
use domain::book::State;
use domain::orders::{Cancel as Asked, cancel};
use domain::rules::SaleId;
use domain::sale::Units;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.cancel",
    handler: handler::<Answering<Cancel>>(),
    flags: c"write fast",
    summary: c"Releases an order, once: its units return to stock, its user may buy again",
    complexity: c"O(log N) where N is the number of held orders",
    since: c"0.1.0",
    args: Given::SPECS,
};

arguments! {
    /// An order, and what of it is to be released.
    Given<'a> {
        voucher: Voucher<'a> = VOUCHER,
        user: User<'a> = USER,
        id: OrderId<'a> = ORDER_ID,
        [only: Either<Said, Said> = IF]
        [kept: i64 = KEEP]
        [norestock: Said = NORESTOCK]
        [refunded: Said = REFUNDED]
        [reference: Reference<'a> = REF]
        [sale: SaleId = SALE]
    }
}

const IF: ArgSpec =
    ArgSpec::one_of(c"state", &[ArgSpec::word(c"held", c"held"), ArgSpec::word(c"sold", c"sold")])
        .after(c"IF");
const KEEP: ArgSpec = ArgSpec::integer(c"keep", 0, i64::MAX).after(c"KEEP");
const NORESTOCK: ArgSpec = ArgSpec::word(c"norestock", c"NORESTOCK");
const REFUNDED: ArgSpec = ArgSpec::word(c"refunded", c"REFUNDED");

struct Cancel;

impl Command for Cancel {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, memory: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let only = given.only.map(|only| match only {
            Either::First(Said) => State::Held,
            Either::Second(Said) => State::Sold,
        });
        let kept = given.kept.map(|kept| Units::new(kept).ok_or(CommandError::KeepNone));
        let kept = kept.transpose()?;
        let [norestock, refunded] = [&given.norestock, &given.refunded].map(Option::is_some);
        if refunded && only == Some(State::Held) {
            return Err(CommandError::RefundedHeld);
        }
        let reference = given.reference.map(|reference| Name::Given(reference.0));
        let opening = Opening::new(ctx, &memory.vouchers, given.voucher)?;
        let sale = memory.arrivals.sale(&opening)?;
        if let Some(reference) = &reference {
            check_new(&sale, reference)?;
        }
        let asked = Asked { only, kept, norestock, refunded, reference };
        let request = request(given.user, given.id, given.sale);
        let answer = done(memory, &sale, cancel(&sale, &request, asked)?)?;
        Ok(Reply::Integer(answer as i64))
    }
}
