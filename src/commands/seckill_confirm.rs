//! SECKILL.CONFIRM voucher user orderid: makes a held order sold, and appends it to the stream of
//! confirmed orders.

use super::managed::{ManagedSale, UPDATES_VOUCHER, publish};
use super::{Answering, Command};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::book::{self, OpenBook};
use crate::keyspace::orders::Orders;
use crate::keyspace::presence::check_confirmed_here;
use crate::keyspace::terms;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::memory::Memory;
use crate::metrics;
use crate::reply::Reply;
use crate::server::{ArgKind, ArgSpec, CommandSpec, Ctx, OwnedStr, handler};
use crate::typed::{OrderId, User};
use domain::book::{Entry, State};
use domain::integer::Decimal;
use domain::managed::{Confirmation, confirm};
use domain::sale::Units;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.confirm",
    handler: handler::<Answering<Confirm>>(),
    flags: c"write fast",
    categories: c"write fast seckill",
    arity: 4,
    summary: c"Makes a held order sold, and appends it to the stream of confirmed orders",
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
        let sale = ManagedSale::new(ctx, &keys, terms)?;
        let text = book::entry(ctx, sale.keys, id)?;
        let entry = text.as_ref().map(|text| Entry::parse(text.as_str().bytes())).transpose()?;
        let answer = confirm(entry.as_ref(), user.0.bytes(), sale.now);
        match (answer, entry) {
            (Confirmation::Confirmed, Some(entry)) => write(&sale, user, id, &entry)?,
            // Late, and the timer has not reached it: released here, so that the answer is final.
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

/// Makes a held order sold. On an error nothing has been changed.
fn write(
    sale: &ManagedSale<'_>,
    user: User<'_>,
    id: OrderId<'_>,
    entry: &Entry<'_>,
) -> Result<(), CommandError> {
    let (ctx, keys, names) = (sale.ctx, sale.keys, sale.names);
    let mut book = OpenBook::open(ctx, keys, entry.units)?;
    check_confirmed_here(ctx, keys)?;
    let confirmed = Orders::open_with_room(ctx, keys.confirmed)?;
    let order = [names.user(), user.0, names.voucher(), keys.voucher, names.id(), id.0];
    let units = Decimal::new(entry.units.get());
    let units = (entry.units != Units::ONE).then(|| OwnedStr::new(units.bytes()));
    let units = units.iter().flat_map(|units| [names.units(), units.as_str()]);
    let fields: Vec<_> = order.into_iter().chain(units).collect();
    // The first write, and the one that can fail.
    let appended = confirmed.map(|stream| stream.append(&fields)).transpose()?;
    let sold = Entry { state: State::Sold, deadline: 0, ..*entry };
    let entered = book.enter(id, &sold);
    let lifted = book.lift_hold(id);
    drop(book);
    publish(ctx, [entered, lifted, appended]);
    metrics::ORDERS_CONFIRMED.count();
    Ok(())
}
