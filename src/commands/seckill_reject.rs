//! SECKILL.REJECT stream group id [REASON text]: moves an entry that its consumer can't process to
//! the dead letters, and releases its order.

use super::managed;
use super::order::Order;
use super::release::Release;
use super::unmanaged;
use super::{Answering, Command};
use crate::args::Args;
use crate::config;
use crate::error::CommandError;
use crate::keyspace::book;
use crate::keyspace::configured::Configured;
use crate::keyspace::dead_letters::{self, DeadLetter};
use crate::keyspace::groups::Delivery;
use crate::keyspace::orders::Orders;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::memory::Memory;
use crate::reply::Reply;
use crate::server::{Access, ArgKind, ArgSpec, CommandSpec, Ctx, KeySpec, OwnedStr, Str, handler};
use crate::typed::{KeyName, OrderId, Reason, User, Voucher};
use domain::book::{Entry, State};
use domain::key_names::is_confirmed_name;
use domain::managed::{Cancellation, cancel};
use domain::rejection::{Fate, parse_order_entry};
use domain::slot::Slot;
use std::rc::Rc;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.reject",
    handler: handler::<Answering<Reject>>(),
    flags: c"write fast",
    categories: c"write fast seckill",
    arity: -4,
    summary: c"Moves an entry to the dead letters of its stream and releases its order, once",
    complexity: c"O(log N) where N is the number of pending entries and of held orders",
    since: c"0.2.0",
    keys: &[KeySpec {
        position: 1,
        access: Access::Update,
        notes: c"The stream. That of its dead letters is derived from it, and the keys of the \
                 voucher from the entry",
    }],
    args: &[
        ArgSpec { name: c"stream", kind: ArgKind::Key(0) },
        ArgSpec { name: c"group", kind: ArgKind::String },
        ArgSpec { name: c"id", kind: ArgKind::String },
        ArgSpec { name: c"reason", kind: ArgKind::OptionalString(c"REASON") },
    ],
};

/// The longest reason: long enough for a stack trace, short enough to refuse data passed by
/// mistake.
const REASON_LEN_MAX: usize = 64 << 10;

struct Reject;

impl Command for Reject {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let (stream, group) = (args.next()?, args.next()?);
        let delivery = Delivery { stream, group, id: args.next_entry_id()? };
        let reason = reason_from(args)?;
        let Some(deliveries) = delivery.pending(ctx)? else {
            delivery.acknowledge_again(ctx);
            return Ok(Reply::Integer(0));
        };
        let entry = delivery.fields(ctx)?;
        let entry: Vec<Str<'_>> = entry.iter().map(OwnedStr::as_str).collect();
        let name = dead_letters::name(ctx, stream)?;
        let dead_letters = dead_letters::open(ctx, name.as_str())?;
        let entry = entry.as_slice();
        reject(memory, Rejection { ctx, delivery, deliveries, reason, entry, dead_letters })?;
        Ok(Reply::Integer(1))
    }
}

/// Reads `[REASON text]`.
fn reason_from(mut args: Args<'_>) -> Result<Option<Reason<'_>>, CommandError> {
    if args.is_empty() {
        return Ok(None);
    }
    args.next_word(&["REASON"])?;
    let reason: Reason<'_> = args.next()?;
    args.finish()?;
    if reason.0.bytes().len() > REASON_LEN_MAX {
        return Err(CommandError::TooLong { argument: "reason", max: REASON_LEN_MAX });
    }
    Ok(Some(reason))
}

/// A pending entry that is rejected, and the stream it is moved to.
struct Rejection<'a> {
    ctx: Ctx<'a>,
    delivery: Delivery<'a>,
    deliveries: i64,
    reason: Option<Reason<'a>>,
    /// The fields, names and values in turn.
    entry: &'a [Str<'a>],
    dead_letters: Orders<'a>,
}

/// Finds the order that the entry is about, and rejects both. On an error nothing has been changed.
///
/// An entry without a live order can be rejected too: that is not an error.
fn reject(memory: &Memory, rejection: Rejection<'_>) -> Result<(), CommandError> {
    let ctx = rejection.ctx;
    let configured = Configured::now(&memory.vouchers.configured);
    let Some(order) = parse_order_entry(rejection.entry, configured.fields.names()) else {
        return rejection.write(Fate::Unknown, None);
    };
    let (voucher, user, id) = (Voucher(order.voucher), User(order.user), OrderId(order.id));
    let Some(keys) = keys_of(memory, voucher, rejection.delivery.stream)? else {
        return rejection.write(Fate::Unknown, None);
    };
    // A confirmation has the fields of its order, which was made and paid. That somebody can't do
    // what a confirmation asks for is no reason to sell its units again.
    let stream = rejection.delivery.stream.0.bytes();
    if is_confirmed_name(stream) {
        return rejection.write(Fate::Unknown, None);
    }
    keys.check_here(ctx)?;
    let Some(terms) = keys.terms_in(&memory.vouchers, ctx)? else {
        if order.sale.is_some() {
            // The order is from a managed sale that has been dropped.
            return rejection.write(Fate::Unknown, None);
        }
        let order = Order { voucher, user, id, units: order.units };
        let release = unmanaged::prepare_release(ctx, &keys, order, State::Rejected)?;
        let fate = release.as_ref().map_or(Fate::Unknown, |_| Fate::Rejected);
        return rejection.write(fate, release);
    };
    let sale = managed::ManagedSale::new(ctx, &keys, terms)?;
    if sale.terms.sale != order.sale {
        // Of an earlier sale of the voucher, whose order may have had the same id.
        return rejection.write(Fate::Unknown, None);
    }
    let text = book::entry(ctx, sale.keys, id)?;
    let entry = text.as_ref().map(|text| Entry::parse(text.as_str().bytes())).transpose()?;
    let answer = cancel(entry.as_ref(), user.0.bytes(), None);
    let release = match (answer, entry) {
        (Cancellation::Released, Some(entry)) => {
            Some(sale.prepare_release(user, id, &entry, State::Rejected)?)
        }
        _ => None,
    };
    rejection.write(answer.into(), release)
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
    match VoucherKeys::of(&memory.vouchers, voucher) {
        Ok(keys) => Ok(Some(keys)),
        Err(CommandError::StrayBraces) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Rejection<'_> {
    /// Writes the dead letter, acknowledges the entry and releases the order.
    ///
    /// Everything that could be refused was checked, and the entry of the release is shorter than
    /// the dead letter. If the server refuses a step anyway, the appended entries are deleted.
    fn write(self, fate: Fate, mut release: Option<Release<'_>>) -> Result<(), CommandError> {
        let Self { ctx, delivery, .. } = self;
        let was = release.as_ref().and_then(Release::was);
        let letter = DeadLetter::new(&delivery, self.deliveries, self.reason, fate, was);
        let fields = letter.behind(self.entry);
        let added = self.dead_letters.add(&fields)?;
        let appended = release.as_mut().map_or(Ok(()), Release::append);
        if let Err(error) = appended.and_then(|()| delivery.acknowledge(ctx)) {
            added.take_back(ctx, &fields);
            if let Some(release) = release {
                release.take_back();
            }
            return Err(error);
        }
        added.effect(&fields).publish(ctx);
        if let Some(release) = release {
            release.finish();
        }
        Ok(())
    }
}
