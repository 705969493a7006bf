//! `SECKILL.CANCEL voucher user orderid [IF held|sold] [SALE id]`: releases an order's units, once.

use super::managed::{ManagedSale, UPDATES_VOUCHER};
use super::unmanaged;
use super::{Answering, Command};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::book;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::memory::Memory;
use crate::reply::Reply;
use crate::server::{ArgKind, ArgSpec, CommandSpec, Ctx, handler};
use crate::typed::{OrderId, User};
use domain::book::{Entry, State};
use domain::managed::{Cancellation, cancel};
use domain::terms::SaleId;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.cancel",
    handler: handler::<Answering<Cancel>>(),
    flags: c"write fast",
    categories: c"write fast seckill",
    arity: -4,
    summary: c"Releases an order, once: its units return to stock, its user may buy again",
    complexity: c"O(log N) where N is the number of held orders",
    since: c"0.2.0",
    keys: UPDATES_VOUCHER,
    args: &[
        ArgSpec { name: c"voucher", kind: ArgKind::Key(0) },
        ArgSpec { name: c"user", kind: ArgKind::String },
        ArgSpec { name: c"orderid", kind: ArgKind::String },
        ArgSpec { name: c"state", kind: ArgKind::OptionalChoice(c"IF", &[c"held", c"sold"]) },
        ArgSpec { name: c"sale", kind: ArgKind::OptionalInteger(c"SALE") },
    ],
};

struct Cancel;

impl Command for Cancel {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let (voucher, user, id) =
            (args.next()?, args.next::<User<'_>>()?, args.next::<OrderId<'_>>()?);
        let Options { only, sale: meant } = Options::parse(args)?;
        let keys = VoucherKeys::of(&memory.vouchers, voucher)?;
        keys.check_here(ctx)?;
        let Some(terms) = keys.terms_in(&memory.vouchers, ctx)? else {
            if only.is_some() || meant.is_some() {
                // There is no record of its orders.
                return Err(CommandError::NotManaged);
            }
            return unmanaged::cancel(ctx, &keys, voucher, user, id).map(Reply::Integer);
        };
        let sale = ManagedSale::new(ctx, &keys, terms)?;
        if !sale.is_meant(meant) {
            return Ok(Reply::Integer(Cancellation::NoSuchOrder as i64));
        }
        let text = book::entry(ctx, sale.keys, id)?;
        let entry = text.as_ref().map(|text| Entry::parse(text.as_str().bytes())).transpose()?;
        let answer = cancel(entry.as_ref(), user.0.bytes(), only);
        match (answer, entry) {
            (Cancellation::Released, Some(entry)) => sale.release(id, &entry, State::Cancelled)?,
            (Cancellation::WasReleased, _) => {
                sale.replicate_entry_again(id, text);
            }
            _ => {}
        }
        Ok(Reply::Integer(answer as i64))
    }
}

/// What may follow the order id, in any order, each at most once.
#[derive(Default)]
struct Options {
    only: Option<State>,
    sale: Option<SaleId>,
}

impl Options {
    fn parse(mut args: Args<'_>) -> Result<Self, CommandError> {
        let mut options = Self::default();
        while !args.is_empty() {
            match args.next_word(&["IF", "SALE"])? {
                "IF" if options.only.is_none() => {
                    let word = args.next_word(&["HELD", "SOLD"])?;
                    options.only = Some(if word == "HELD" { State::Held } else { State::Sold });
                }
                "SALE" if options.sale.is_none() => options.sale = Some(args.next_sale()?),
                _ => return Err(CommandError::Syntax),
            }
        }
        Ok(options)
    }
}
