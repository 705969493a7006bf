//! `SECKILL.CONFIRM voucher user orderid [REF reference] [REFUND] [SALE id]`: makes a held order
//! sold, and appends it to the stream of confirmed orders. A payment with a reference is recorded
//! once, whatever has become of the order.

use super::decided::{done, next_order, request};
use super::{Answering, Command, UPDATES_VOUCHER};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::names::Name;
use crate::keyspace::sale::Sale;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::memory::Memory;
use crate::server::{ArgKind, ArgSpec, CommandSpec, Ctx, Reply, handler};
use crate::typed::Reference;
use domain::confirm::{Given, confirm};
use domain::facts::Facts;
use domain::payments::REFERENCE_LEN_MAX;
use domain::rules::{Meant, SaleId};

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.confirm",
    handler: handler::<Answering<Confirm>>(),
    flags: c"write fast",
    categories: c"write fast seckill",
    arity: -4,
    summary: c"Marks a held order as sold, and appends it to the stream of confirmed orders",
    complexity: c"O(log N) where N is the number of held orders",
    since: c"0.1.0",
    keys: UPDATES_VOUCHER,
    args: &[
        ArgSpec { name: c"voucher", kind: ArgKind::Key(0) },
        ArgSpec { name: c"user", kind: ArgKind::String },
        ArgSpec { name: c"orderid", kind: ArgKind::String },
        ArgSpec { name: c"reference", kind: ArgKind::OptionalString(c"REF") },
        ArgSpec { name: c"refund", kind: ArgKind::OptionalToken(c"REFUND") },
        ArgSpec { name: c"sale", kind: ArgKind::OptionalInteger(c"SALE") },
    ],
};

struct Confirm;

impl Command for Confirm {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let voucher = args.next()?;
        let order = next_order(&mut args)?;
        let options = Options::parse(args)?;
        let keys = VoucherKeys::of(&memory.vouchers, voucher)?;
        keys.check_here(ctx)?;
        let sale = Sale::of(ctx, &memory.vouchers, &keys, voucher);
        memory.arrivals.check(&sale)?;
        let request = request(order, Meant::by_request(options.sale));
        let is_refunded = options.is_refunded;
        let given = options.reference.map(|it| Given { reference: Name::Given(it.0), is_refunded });
        if let Some(Given { reference, .. }) = &given {
            check_new(&sale, reference)?;
        }
        let answer = done(&sale, confirm(&sale, &request, given)?)?;
        Ok(Reply::Integer(answer as i64))
    }
}

/// Refuses a reference that is too long, unless it is on record from an earlier version.
fn check_new<'a>(sale: &Sale<'a>, reference: &Name<'a>) -> Result<(), CommandError> {
    let is_long = reference.as_ref().len() > REFERENCE_LEN_MAX;
    if is_long && sale.payment(reference)?.is_none() {
        return Err(CommandError::TooLong { argument: "reference", max: REFERENCE_LEN_MAX });
    }
    Ok(())
}

/// What may follow the order id, in any order, each at most once.
#[derive(Default)]
struct Options<'a> {
    reference: Option<Reference<'a>>,
    is_refunded: bool,
    sale: Option<SaleId>,
}

impl<'a> Options<'a> {
    fn parse(mut args: Args<'a>) -> Result<Self, CommandError> {
        let mut options = Self::default();
        while !args.is_empty() {
            match args.next_word(&["REF", "REFUND", "SALE"])? {
                "REF" if options.reference.is_none() => {
                    let reference: Reference<'_> = args.next()?;
                    if reference.0.bytes().is_empty() {
                        return Err(CommandError::Empty { argument: "reference" });
                    }
                    options.reference = Some(reference);
                }
                "REFUND" if !options.is_refunded => options.is_refunded = true,
                "SALE" if options.sale.is_none() => options.sale = Some(args.next_sale()?),
                _ => return Err(CommandError::Syntax),
            }
        }
        if options.is_refunded && options.reference.is_none() {
            return Err(CommandError::Syntax);
        }
        Ok(options)
    }
}
