//! SECKILL.STATUS voucher user: what a user has of a voucher.

use super::seckill_order::deadline_of;
use super::{Answering, Command, USER, VOUCHER_READ};
use crate::args::arguments;
use crate::error::CommandError;
use crate::keyspace::names::Name;
use crate::keyspace::opening::Opening;
use crate::keyspace::sale::Sale;
use crate::memory::Memory;
use crate::server::{CommandSpec, Ctx, Reply, handler};
use crate::typed::{User, Voucher};
use domain::book::Entry;
use domain::facts::Facts;
use domain::rules::Window;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.status",
    handler: handler::<Answering<Status>>(),
    flags: c"readonly fast",
    summary: c"Returns what a user has bought of a voucher",
    complexity: c"O(1)",
    since: c"0.1.0",
    args: Given::SPECS,
};

arguments! {
    /// A user of a voucher.
    Given<'a> {
        voucher: Voucher<'a> = VOUCHER_READ,
        user: User<'a> = USER,
    }
}

struct Status;

impl Command for Status {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, memory: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let opening = Opening::new(ctx, &memory.vouchers, given.voucher)?;
        let (sale, user) = (Sale::of(&opening), Name::Given(given.user.0));
        let Some(rules) = sale.rules()? else {
            // The set contains buyers, and nothing more.
            let has_bought = sale.is_buyer(&user)?;
            return Ok(if has_bought {
                status([Reply::Null, Reply::Null], None)
            } else {
                Reply::Null
            });
        };
        let has = sale.user_units(&user)?;
        // Waits are over with the sale, though the timer may not have released the orders.
        let now = sale.now();
        let has = has.and_then(|has| match rules.window(now) {
            Window::Ended => has.without_waiting(),
            _ => Some(has),
        });
        let Some(has) = has else { return Ok(Reply::Null) };
        let latest = sale.entry(&has.latest)?;
        let latest = latest.map(|entry| (&has.latest, entry.seen(&rules, now)));
        let units = [has.units.get(), has.waiting].map(Reply::Integer);
        Ok(status(units, latest))
    }
}

/// The reply: the units, and the latest order with its state.
fn status([units, waiting]: [Reply; 2], latest: Option<(&Name<'_>, Entry<Name<'_>>)>) -> Reply {
    let (order, state, deadline) = match latest {
        None => (Reply::Null, Reply::Null, Reply::Null),
        Some((order, entry)) => (
            Reply::Bytes(order.as_ref().to_vec()),
            Reply::text(entry.state.word()),
            deadline_of(&entry),
        ),
    };
    Reply::Map(vec![
        ("units", units),
        ("orderid", order),
        ("state", state),
        ("deadline", deadline),
        ("waiting", waiting),
    ])
}
