//! `SECKILL.CANCEL voucher user orderid [IF held|sold] [KEEP n] [SALE id]`: releases an order's
//! units, once, or all of them but `n`.

use super::decided::{done, next_order, request};
use super::{Answering, Command, UPDATES_VOUCHER};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::sale::Sale;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::memory::Memory;
use crate::server::{ArgKind, ArgSpec, CommandSpec, Ctx, Reply, handler};
use domain::book::State;
use domain::orders::cancel;
use domain::rules::{Meant, SaleId};
use domain::sale::Units;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.cancel",
    handler: handler::<Answering<Cancel>>(),
    flags: c"write fast",
    categories: c"write fast seckill",
    arity: -4,
    summary: c"Releases an order, once: its units return to stock, its user may buy again",
    complexity: c"O(log N) where N is the number of held orders",
    since: c"0.1.0",
    keys: UPDATES_VOUCHER,
    args: &[
        ArgSpec { name: c"voucher", kind: ArgKind::Key(0) },
        ArgSpec { name: c"user", kind: ArgKind::String },
        ArgSpec { name: c"orderid", kind: ArgKind::String },
        ArgSpec { name: c"state", kind: ArgKind::OptionalChoice(c"IF", &[c"held", c"sold"]) },
        ArgSpec { name: c"kept", kind: ArgKind::OptionalInteger(c"KEEP") },
        ArgSpec { name: c"sale", kind: ArgKind::OptionalInteger(c"SALE") },
    ],
};

struct Cancel;

impl Command for Cancel {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let voucher = args.next()?;
        let order = next_order(&mut args)?;
        let Options { only, kept, sale: meant } = Options::parse(args)?;
        let keys = VoucherKeys::of(&memory.vouchers, voucher)?;
        keys.check_here(ctx)?;
        let sale = Sale::of(ctx, &memory.vouchers, &keys, voucher);
        memory.arrivals.check(&sale)?;
        let request = request(order, Meant::by_request(meant));
        let answer = done(&sale, cancel(&sale, &request, only, kept)?)?;
        Ok(Reply::Integer(answer as i64))
    }
}

/// What may follow the order id, in any order, each at most once.
#[derive(Default)]
struct Options {
    only: Option<State>,
    kept: Option<Units>,
    sale: Option<SaleId>,
}

impl Options {
    fn parse(mut args: Args<'_>) -> Result<Self, CommandError> {
        let mut options = Self::default();
        while !args.is_empty() {
            match args.next_word(&["IF", "KEEP", "SALE"])? {
                "IF" if options.only.is_none() => {
                    let word = args.next_word(&["HELD", "SOLD"])?;
                    options.only = Some(if word == "HELD" { State::Held } else { State::Sold });
                }
                "KEEP" if options.kept.is_none() => {
                    let kept = args.next_integer("KEEP", 0..=i64::MAX)?;
                    options.kept = Some(Units::new(kept).ok_or(CommandError::KeepNone)?);
                }
                "SALE" if options.sale.is_none() => options.sale = Some(args.next_sale()?),
                _ => return Err(CommandError::Syntax),
            }
        }
        Ok(options)
    }
}
