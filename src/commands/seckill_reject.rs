//! `SECKILL.REJECT stream group id [UNSOLD] [REASON text]`: moves an entry that its consumer can't
//! process to the dead letters, and releases its order.

use super::decided::done;
use super::{Answering, Command};
use crate::args::{Said, arguments};
use crate::config;
use crate::error::CommandError;
use crate::keyspace::configured::Configured;
use crate::keyspace::dead_letters::{self, Rejected};
use crate::keyspace::groups::Delivery;
use crate::keyspace::names::Name;
use crate::keyspace::opening::Opening;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::memory::Memory;
use crate::server::{Access, ArgSpec, CommandSpec, Ctx, OwnedStr, Reply, Str, handler};
use crate::typed::{Group, KeyName, Reason, Voucher};
use domain::entry_id::EntryId;
use domain::key_names::is_confirmed_name;
use domain::orders::{OrderRequest, reject};
use domain::rejection::Fate;
use domain::rules::Meant;
use domain::slot::Slot;
use domain::stream_entry::{OrderEntry, Which, read};
use std::rc::Rc;

arguments! {
    /// An entry of a stream, and why it is rejected.
    Given<'a> {
        stream: KeyName<'a> = STREAM,
        group: Group<'a> = GROUP,
        id: EntryId = ENTRY_ID,
        [unsold: Said = UNSOLD]
        [reason: Reason<'a> = REASON]
    }
}

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.reject",
    handler: handler::<Answering<Reject>>(),
    flags: c"write fast",
    summary: c"Moves an entry to the dead letters of its stream and releases its order, once",
    complexity: c"O(log N) where N is the number of pending entries and of held orders",
    since: c"0.1.0",
    args: Given::SPECS,
};

const STREAM: ArgSpec = ArgSpec::key(
    c"stream",
    Access::Update,
    c"The stream. That of its dead letters is derived from it, and the keys of the voucher from \
      the entry",
);
const GROUP: ArgSpec = ArgSpec::text(c"group");
const ENTRY_ID: ArgSpec = ArgSpec::text(c"id");
const UNSOLD: ArgSpec = ArgSpec::word(c"unsold", c"UNSOLD");
const REASON: ArgSpec = ArgSpec::text(c"reason").after(c"REASON");

/// The answer where `UNSOLD` keeps an entry.
const NOT_UNSOLD: i64 = 2;

struct Reject;

impl Command for Reject {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, memory: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let Given { stream, group, id, unsold, reason } = given;
        let delivery = Delivery { stream, group, id };
        let only_unsold = unsold.is_some();
        // For people. The right to reject must not be one to fill the memory.
        let reason = reason.filter(|_| !ctx.is_memory_full());
        let Some(deliveries) = delivery.pending(ctx)? else {
            delivery.acknowledge_again(ctx);
            return Ok(Reply::Integer(0));
        };
        let entry = delivery.fields(ctx)?;
        let entry: Vec<Str<'_>> = entry.iter().map(OwnedStr::as_str).collect();
        let letters = dead_letters::name(ctx, stream)?;
        let letters = letters.as_str();
        let rejected = Rejected { delivery, deliveries, reason, entry: &entry, letters };
        let configured = Configured::now(&memory.vouchers.configured);
        let fate = match order_of(memory, &configured, &rejected)? {
            Some((keys, order)) => {
                let voucher = Voucher(order.voucher);
                let opening = Opening::with(ctx, voucher, keys)?;
                let sale = memory.arrivals.sale(&opening)?;
                let sale = sale.with_rejected(&rejected);
                let (user, id) = (Name::Given(order.user), Name::Given(order.id));
                let request = OrderRequest { user, id, sale: Meant::by_entry(order.sale) };
                let decided = reject(&sale, &request, order.units, only_unsold)?;
                done(memory, &sale, decided)?
            }
            None if only_unsold => None,
            None => {
                rejected.bury(ctx, Fate::Unknown)?;
                Some(Fate::Unknown)
            }
        };
        Ok(Reply::Integer(if fate.is_some() { 1 } else { NOT_UNSOLD }))
    }
}

/// The keys of a voucher, and an order of it.
type Found<'a> = (Rc<VoucherKeys>, OrderEntry<Str<'a>>);

/// The order that an entry is about, and the keys of its voucher; None if it is about none. An
/// entry without an order can be rejected too: that is not an error.
fn order_of<'a>(
    memory: &Memory,
    configured: &Configured,
    rejected: &Rejected<'a>,
) -> Result<Option<Found<'a>>, CommandError> {
    let stream = rejected.delivery.stream;
    // A confirmation has the fields of its order, which was made and paid. That somebody can't do
    // what a confirmation asks for is no reason to sell its units again.
    if is_confirmed_name(stream.0.bytes()) {
        return Ok(None);
    }
    let Ok(entry) = read(Which::Orders, rejected.entry, configured.fields.names()) else {
        return Ok(None);
    };
    let order = entry.order;
    let keys = keys_of(memory, Voucher(order.voucher), stream)?;
    Ok(keys.map(|keys| (keys, order)))
}

/// The keys of a voucher; None if it can't have keys beside this stream. An entry in a stream of
/// another slot than the voucher's was not appended by SECKILL.TRY, and other nodes can't be asked.
fn keys_of(
    memory: &Memory,
    voucher: Voucher<'_>,
    stream: KeyName<'_>,
) -> Result<Option<Rc<VoucherKeys>>, CommandError> {
    if config::is_cluster() && Slot::of(voucher.0.bytes()) != Slot::of(stream.0.bytes()) {
        return Ok(None);
    }
    match memory.vouchers.keys(voucher) {
        Ok(keys) if matches!(keys.sale(), Err(CommandError::AnotherKey)) => Ok(None),
        Ok(keys) => Ok(Some(keys)),
        Err(CommandError::StrayBraces) => Ok(None),
        Err(error) => Err(error),
    }
}
