//! SECKILL.CONFIRM voucher user orderid: makes a held order sold.

use super::managed::{ManagedSale, UPDATES_VOUCHER};
use super::{Answering, Command};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::book;
use crate::keyspace::terms;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::memory::Memory;
use crate::reply::Reply;
use crate::server::{ArgKind, ArgSpec, CommandSpec, Ctx, handler};
use crate::typed::{OrderId, User};
use domain::book::{Entry, State};
use domain::managed::{Confirmation, confirm};

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.confirm",
    handler: handler::<Answering<Confirm>>(),
    flags: c"write fast",
    categories: c"write fast seckill",
    arity: 4,
    summary: c"Makes a held order sold",
    complexity: c"O(log n), n being the orders held",
    since: c"0.1.0",
    keys: UPDATES_VOUCHER,
    args: &[
        ArgSpec { name: c"voucher", kind: ArgKind::Key(0) },
        ArgSpec { name: c"user", kind: ArgKind::String },
        ArgSpec { name: c"orderid", kind: ArgKind::String },
    ],
};

struct Confirm;

impl Command for Confirm {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let (voucher, user, id) =
            (args.next()?, args.next::<User<'_>>()?, args.next::<OrderId<'_>>()?);
        args.finish()?;
        let keys = VoucherKeys::of(&memory.vouchers, voucher)?;
        keys.check_here(ctx)?;
        let terms = terms::read_managed(&memory.vouchers.terms, ctx, keys.terms())?;
        let sale = ManagedSale::new(ctx, memory, &keys, voucher, terms)?;
        let text = book::entry(ctx, sale.keys, id)?;
        let entry = text.as_ref().map(|text| Entry::parse(text.as_str().bytes())).transpose()?;
        let answer = confirm(entry.as_ref(), user.0.bytes(), sale.now);
        match (answer, entry) {
            (Confirmation::Confirmed, Some(entry)) => sale.confirm(id, &entry)?,
            // Late, and the timer has not reached it: released here, so that the answer is final.
            (Confirmation::TooLate, Some(entry)) if entry.state == State::Held => {
                sale.release(id, &entry, State::Expired)?;
            }
            _ => {}
        }
        Ok(Reply::Integer(answer as i64))
    }
}
