//! SECKILL.STATUS voucher user: what a user has of a voucher.

use super::managed::{READS_VOUCHER, deadline_of};
use super::{Answering, Command};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::book;
use crate::keyspace::buyers::Buyer;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::memory::Memory;
use crate::reply::Reply;
use crate::server::{ArgKind, ArgSpec, CommandSpec, Ctx, OwnedStr, handler};
use crate::typed::{OrderId, User};
use domain::book::{Entry, Holding};

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.status",
    handler: handler::<Answering<Status>>(),
    flags: c"readonly fast",
    categories: c"read fast seckill",
    arity: 3,
    summary: c"Returns what a user has bought of a voucher",
    complexity: c"O(1)",
    since: c"0.2.0",
    keys: READS_VOUCHER,
    args: &[
        ArgSpec { name: c"voucher", kind: ArgKind::Key(0) },
        ArgSpec { name: c"user", kind: ArgKind::String },
    ],
};

struct Status;

impl Command for Status {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let (voucher, user) = (args.next()?, args.next::<User<'_>>()?);
        args.finish()?;
        let keys = VoucherKeys::of(&memory.vouchers, voucher)?;
        keys.check_here(ctx)?;
        let managed = keys.managed()?;
        if keys.terms_in(&memory.vouchers, ctx)?.is_none() {
            // The set contains buyers, and nothing more.
            let has_bought = Buyer::new(managed.sale.buyers, user).has_bought(ctx)?;
            return Ok(if has_bought { status(Reply::Null, None) } else { Reply::Null });
        }
        let Some(text) = book::holding(ctx, managed, user)? else { return Ok(Reply::Null) };
        let holding = Holding::parse(text.as_str().bytes())?;
        let id = OwnedStr::new(holding.order);
        let text = book::entry(ctx, managed, OrderId(id.as_str()))?;
        let entry = text.as_ref().map(|text| Entry::parse(text.as_str().bytes())).transpose()?;
        let latest = entry.map(|entry| (holding.order, entry));
        Ok(status(Reply::Integer(holding.units.get()), latest))
    }
}

/// The reply: the units, and the latest order with its state.
fn status(units: Reply, latest: Option<(&[u8], Entry<'_>)>) -> Reply {
    let (order, state, deadline) = match latest {
        None => (Reply::Null, Reply::Null, Reply::Null),
        Some((order, entry)) => {
            (Reply::Bytes(order.to_vec()), Reply::text(entry.state.word()), deadline_of(&entry))
        }
    };
    Reply::Map(vec![("units", units), ("orderid", order), ("state", state), ("deadline", deadline)])
}
