//! `SECKILL.CONFIRM voucher user orderid [REF reference] [UNITS n] [REFUND] [SALE id]`: makes a
//! held order sold, and appends it to the stream of confirmed orders. A payment with a reference is
//! recorded once, whatever has become of the order.

use super::decided::done;
use super::{Answering, Command, ORDER_ID, REF, SALE, UNITS_OPTION, USER, VOUCHER, request};
use crate::args::{Said, arguments};
use crate::error::CommandError;
use crate::keyspace::names::Name;
use crate::keyspace::opening::Opening;
use crate::keyspace::sale::Sale;
use crate::memory::Memory;
use crate::server::{ArgSpec, CommandSpec, Ctx, Reply, handler};
use crate::typed::{OrderId, Reference, User, Voucher};
use domain::confirm::{Given as Payment, confirm};
use domain::facts::Facts;
use domain::payments::REFERENCE_LEN_MAX;
use domain::rules::SaleId;
use domain::sale::Units;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.confirm",
    handler: handler::<Answering<Confirm>>(),
    flags: c"write fast",
    summary: c"Marks a held order as sold, and appends it to the stream of confirmed orders",
    complexity: c"O(log N) where N is the number of held orders",
    since: c"0.1.0",
    args: Given::SPECS,
};

arguments! {
    /// An order, and its payment.
    Given<'a> {
        voucher: Voucher<'a> = VOUCHER,
        user: User<'a> = USER,
        id: OrderId<'a> = ORDER_ID,
        [reference: Reference<'a> = REF]
        [units: Units = UNITS_OPTION]
        [refund: Said = REFUND]
        [sale: SaleId = SALE]
    }
}

const REFUND: ArgSpec = ArgSpec::word(c"refund", c"REFUND");

struct Confirm;

impl Command for Confirm {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, memory: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let is_refunded = given.refund.is_some();
        if given.reference.is_none() && (is_refunded || given.units.is_some()) {
            return Err(CommandError::NoReference);
        }
        let opening = Opening::new(ctx, &memory.vouchers, given.voucher)?;
        let sale = memory.arrivals.sale(&opening)?;
        let request = request(given.user, given.id, given.sale);
        let units = given.units;
        let payment =
            given.reference.map(|it| Payment { reference: Name::Given(it.0), is_refunded, units });
        if let Some(Payment { reference, .. }) = &payment {
            check_new(&sale, reference)?;
        }
        let answer = done(memory, &sale, confirm(&sale, &request, payment)?)?;
        Ok(Reply::Integer(answer as i64))
    }
}

/// Refuses a reference that is too long, unless it is on record from an earlier version.
pub(super) fn check_new<'a>(sale: &Sale<'a>, reference: &Name<'a>) -> Result<(), CommandError> {
    let is_long = reference.as_ref().len() > REFERENCE_LEN_MAX;
    if is_long && sale.payment(reference)?.is_none() {
        return Err(CommandError::TooLong { argument: "reference", max: REFERENCE_LEN_MAX });
    }
    Ok(())
}
