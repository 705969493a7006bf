//! `SECKILL.EXTEND voucher user orderid ms [SALE id]`: moves the deadline of a held order to later,
//! because its payment is under way.

use super::managed::{ManagedSale, UPDATES_VOUCHER, publish};
use super::{Answering, Command};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::book::{self, OpenBook};
use crate::keyspace::terms;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::memory::Memory;
use crate::reply::Reply;
use crate::server::{ArgKind, ArgSpec, CommandSpec, Ctx, handler};
use crate::typed::{OrderId, User};
use domain::book::{Entry, State};
use domain::managed::{Confirmation, confirm, extended};
use domain::terms::MILLIS_MAX;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.extend",
    handler: handler::<Answering<Extend>>(),
    flags: c"write fast",
    categories: c"write fast seckill",
    arity: -5,
    summary: c"Sets the deadline of a held order to ms from now, if that is later",
    complexity: c"O(log N) where N is the number of held orders",
    since: c"0.2.0",
    keys: UPDATES_VOUCHER,
    args: &[
        ArgSpec { name: c"voucher", kind: ArgKind::Key(0) },
        ArgSpec { name: c"user", kind: ArgKind::String },
        ArgSpec { name: c"orderid", kind: ArgKind::String },
        ArgSpec { name: c"ms", kind: ArgKind::Integer },
        ArgSpec { name: c"sale", kind: ArgKind::OptionalInteger(c"SALE") },
    ],
};

struct Extend;

impl Command for Extend {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let (voucher, user) = (args.next()?, args.next::<User<'_>>()?);
        let id: OrderId<'_> = args.next()?;
        let ms = args.next_integer("ms", 1..=MILLIS_MAX)?;
        let meant = if args.take_word("SALE") { Some(args.next_sale()?) } else { None };
        args.finish()?;
        let keys = VoucherKeys::of(&memory.vouchers, voucher)?;
        keys.check_here(ctx)?;
        let terms = terms::read_managed(&memory.vouchers.terms, ctx, keys.terms())?;
        let sale = ManagedSale::new(ctx, &keys, terms)?;
        if !sale.is_meant(meant) {
            return Ok(Reply::Integer(Confirmation::NoSuchOrder as i64));
        }
        let text = book::entry(ctx, sale.keys, id)?;
        let entry = text.as_ref().map(|text| Entry::parse(text.as_str().bytes())).transpose()?;
        // Only an order that could be confirmed now gets more time.
        let answer = confirm(entry.as_ref(), user.0.bytes(), sale.now);
        match (answer, entry) {
            (Confirmation::Confirmed, Some(entry)) => {
                let longer = extended(&entry, sale.now, ms);
                if longer == entry {
                    sale.replicate_entry_again(id, text);
                } else {
                    let mut book = OpenBook::open(ctx, sale.keys, entry.units)?;
                    let entered = book.enter(id, &longer);
                    let moved = book.move_hold(id, longer.deadline);
                    drop(book);
                    publish(ctx, [entered, moved]);
                }
            }
            (Confirmation::TooLate, Some(entry)) if entry.state == State::Held => {
                sale.release(id, &entry, State::Expired)?;
            }
            (Confirmation::WasSold, _) => {
                sale.replicate_entry_again(id, text);
            }
            _ => {}
        }
        Ok(Reply::Integer(answer as i64))
    }
}
