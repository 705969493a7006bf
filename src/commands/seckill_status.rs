//! SECKILL.STATUS voucher user: what a user has of a voucher.

use super::seckill_order::deadline_of;
use super::{Answering, Command, READS_VOUCHER};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::names::Name;
use crate::keyspace::sale::Sale;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::memory::Memory;
use crate::reply::Reply;
use crate::server::{ArgKind, ArgSpec, CommandSpec, Ctx, handler};
use crate::typed::User;
use domain::book::Entry;
use domain::facts::Facts;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.status",
    handler: handler::<Answering<Status>>(),
    flags: c"readonly fast",
    categories: c"read fast seckill",
    arity: 3,
    summary: c"Returns what a user has bought of a voucher",
    complexity: c"O(1)",
    since: c"0.1.0",
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
        let (sale, user) = (Sale::of(ctx, &memory.vouchers, &keys, voucher), Name::Given(user.0));
        if sale.rules()?.is_none() {
            // The set contains buyers, and nothing more.
            let has_bought = sale.is_buyer(&user)?;
            return Ok(if has_bought { status(Reply::Null, None) } else { Reply::Null });
        }
        let Some(has) = sale.user_units(&user)? else { return Ok(Reply::Null) };
        let latest = sale.entry(&has.latest)?.map(|entry| (&has.latest, entry));
        Ok(status(Reply::Integer(has.units.get()), latest))
    }
}

/// The reply: the units, and the latest order with its state.
fn status(units: Reply, latest: Option<(&Name<'_>, Entry<Name<'_>>)>) -> Reply {
    let (order, state, deadline) = match latest {
        None => (Reply::Null, Reply::Null, Reply::Null),
        Some((order, entry)) => (
            Reply::Bytes(order.as_ref().to_vec()),
            Reply::text(entry.state.word()),
            deadline_of(&entry),
        ),
    };
    Reply::Map(vec![("units", units), ("orderid", order), ("state", state), ("deadline", deadline)])
}
