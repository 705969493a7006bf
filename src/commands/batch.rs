//! Tries of one command: the orders that they ask for, and their writes, as far as they are the
//! same for managed and unmanaged vouchers, merged into as few plain commands as possible.

use super::order::{ManagedValues, Order};
use super::seckill_try::{GENERATE, free_ids};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::counter::FreeIds;
use crate::keyspace::fields::{EntryFields, EntryNames, EntryValues, OrderFields};
use crate::keyspace::orders::{Added, Orders};
use crate::keyspace::voucher_keys::{SaleKeys, VoucherKeys};
use crate::keyspace::{buyers, stock};
use crate::memory::Memory;
use crate::metrics;
use crate::reply::Reply;
use crate::server::{Ctx, OwnedStr, Str};
use crate::typed::{OrderId, User, Voucher};
use domain::batch::TRIES_MAX;
use domain::integer::Decimal;
use domain::order_id::Count;
use domain::sale::{Outcome, Units};
use std::cell::{Cell, OnceCell};
use std::collections::HashSet;

/// The result of one try of a batch. An error concerns this try only.
pub(super) type Answer = Result<Outcome, CommandError>;

/// The tries of one command.
pub(super) struct Batch<'a> {
    voucher: Voucher<'a>,
    pairs: Vec<(User<'a>, OrderId<'a>)>,
    ids: Option<NewIds>,
}

/// Ids for the tries that ask for one. Only an accepted try uses one.
struct NewIds {
    free: FreeIds,
    texts: Vec<OnceCell<OwnedStr>>,
    used: Cell<u32>,
}

impl<'a> Batch<'a> {
    pub(super) fn new(voucher: Voucher<'a>, args: Args<'a>) -> Result<Self, CommandError> {
        Ok(Self { voucher, pairs: args.pairs(TRIES_MAX)?, ids: None })
    }

    pub(super) fn voucher(&self) -> Voucher<'a> {
        self.voucher
    }

    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }

    pub(super) fn users(&self) -> impl Iterator<Item = Str<'a>> {
        self.pairs.iter().map(|(user, _)| user.0)
    }

    /// Finds ids for all tries that ask for one. Writes nothing.
    pub(super) fn find_ids(
        &mut self,
        ctx: Ctx<'_>,
        memory: &Memory,
        keys: &VoucherKeys,
        is_managed: bool,
    ) -> Result<(), CommandError> {
        let wanted = self.pairs.iter().filter(|(_, id)| is_wanted(*id)).count();
        if let Some(count) = i64::try_from(wanted).ok().and_then(Count::new) {
            let given = self.pairs.iter().filter(|(_, id)| !is_wanted(*id));
            let given: HashSet<&[u8]> = given.map(|(_, id)| id.0.bytes()).collect();
            let is_given = |id: &[u8]| given.contains(id);
            let free = free_ids(ctx, memory, keys, self.voucher, is_managed, count, is_given)?;
            let texts = (0..wanted).map(|_| OnceCell::new()).collect();
            self.ids = Some(NewIds { free, texts, used: Cell::new(0) });
        }
        Ok(())
    }

    /// The requested orders, one after the other. Each must be answered by [`Batch::answered`]
    /// before the next one is requested: whether an id is used decides which id is next.
    pub(super) fn orders(&self) -> impl Iterator<Item = Order<'_>> {
        self.pairs.iter().map(|(user, id)| {
            let made = if is_wanted(*id) { self.ids.as_ref().and_then(NewIds::next) } else { None };
            let id = made.unwrap_or(*id);
            Order { voucher: self.voucher, user: *user, id, units: Units::ONE }
        })
    }

    /// Notes the answer to the try with this number.
    pub(super) fn answered(&self, number: usize, answer: Answer) {
        if let Some(ids) = &self.ids
            && answer == Ok(Outcome::Accepted)
            && self.pairs.get(number).is_some_and(|(_, id)| is_wanted(*id))
        {
            ids.used.set(ids.used.get().saturating_add(1));
        }
    }

    /// Takes the ids that were used, and makes the reply.
    pub(super) fn finish(self, ctx: Ctx<'_>, answers: Vec<Answer>) -> Reply {
        let Some(NewIds { free, used, .. }) = self.ids else {
            return Reply::Array(answers.into_iter().map(element).collect());
        };
        let mut made = (0..used.get()).map(|steps| free.nth(steps));
        let pairs = self.pairs.iter().zip(answers);
        let elements = pairs.map(|((_, id), answer)| match answer {
            Ok(outcome) if is_wanted(*id) => {
                let id = (outcome == Outcome::Accepted).then(|| made.next()).flatten();
                Reply::Array(vec![outcome.into(), id.map_or(Reply::Null, Reply::Id)])
            }
            answer => element(answer),
        });
        let reply = Reply::Array(elements.collect());
        if let Some(count) = Count::new(used.get().into()) {
            free.take_first(ctx, count);
        }
        reply
    }
}

fn is_wanted(id: OrderId<'_>) -> bool {
    id.0.bytes() == GENERATE
}

fn element(answer: Answer) -> Reply {
    answer.map_or_else(Reply::Error, Reply::from)
}

impl NewIds {
    /// The first id that is not used.
    fn next(&self) -> Option<OrderId<'_>> {
        let used = self.used.get();
        let text = self.texts.get(usize::try_from(used).ok()?)?;
        let text = text.get_or_init(|| OwnedStr::new(self.free.nth(used).text().bytes()));
        Some(OrderId(text.as_str()))
    }
}

/// Accepted orders: their entries are in the stream, but not yet published. [`Accepted::write`]
/// does the rest.
pub(super) struct Accepted<'a> {
    ctx: Ctx<'a>,
    keys: SaleKeys<'a>,
    names: &'a OrderFields,
    managed: ManagedValues<'a>,
    stream: Option<Orders<'a>>,
    orders: Vec<AcceptedOrder<'a>>,
}

/// An order, and what is known of it.
pub(super) struct AcceptedOrder<'a> {
    pub(super) order: Order<'a>,
    /// The number of the try in its batch.
    pub(super) number: usize,
    /// Units that the user had before.
    pub(super) has: i64,
    added: Option<Added<'a>>,
}

impl<'a> Accepted<'a> {
    /// Opens the stream; an error if it can't take an entry. Changes nothing.
    pub(super) fn open(
        ctx: Ctx<'a>,
        keys: SaleKeys<'a>,
        names: &'a OrderFields,
        managed: ManagedValues<'a>,
    ) -> Result<Self, CommandError> {
        let stream = Orders::open_with_room(ctx, keys.orders)?;
        Ok(Self { ctx, keys, names, managed, stream, orders: Vec::new() })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.orders.is_empty()
    }

    /// Refuses a stream that has no room for another entry.
    pub(super) fn check_room(&mut self) -> Result<(), CommandError> {
        match &mut self.stream {
            // The stream holds an entry then, and before the first one it was known to have room.
            Some(stream) if !self.orders.is_empty() => stream.check_next(),
            _ => Ok(()),
        }
    }

    /// Accepts an order, unless the stream has no room for its entry. The user must be known not to
    /// be among the buyers, or to have units already.
    pub(super) fn add(
        &mut self,
        order: Order<'a>,
        number: usize,
        has: i64,
    ) -> Result<(), CommandError> {
        let Self { names, managed, .. } = *self;
        let added = match &mut self.stream {
            None => None,
            Some(stream) => {
                let fields = fields_of(names, &order, managed);
                let added = stream.add_next(fields.as_slice());
                // The stream had room for earlier entries, so now it lacks ids.
                let is_first = self.orders.is_empty();
                let refused = |e| if is_first { e } else { CommandError::StreamExhausted };
                Some(added.map_err(refused)?)
            }
        };
        self.orders.push(AcceptedOrder { order, number, has, added });
        Ok(())
    }

    /// Writes the buyers, and `left` as the stock if it changes; then publishes these writes and
    /// the entries. On an error nothing stays written.
    pub(super) fn write(mut self, left: Option<i64>) -> Result<Vec<AcceptedOrder<'a>>, Refused> {
        let Self { ctx, keys, names, managed, .. } = self;
        self.stream = None;
        let mut new = self.orders.iter().filter(|made| made.has == 0).peekable();
        let admitted = match new.peek() {
            None => Ok(()),
            Some(_) => buyers::admit_all(ctx, keys.buyers, new.map(|made| made.order.user.0)),
        };
        if let Err(error) = admitted {
            let numbers = self.orders.iter().map(|made| made.number).collect();
            for AcceptedOrder { order, added, .. } in self.orders {
                let back = |added: Added<'a>| {
                    added.take_back(ctx, fields_of(names, &order, managed).as_slice());
                };
                added.map(back);
            }
            return Err(Refused { numbers, error });
        }
        let count = i64::try_from(self.orders.len()).unwrap_or(i64::MAX);
        let units = (count != 1).then(|| OwnedStr::new(Decimal::new(count).bytes()));
        let units = units.as_ref().map(OwnedStr::as_str);
        if let Some(deducted) = left.and_then(|left| stock::deduct(ctx, keys.stock, units, left)) {
            deducted.publish(ctx);
        }
        for AcceptedOrder { order, added, .. } in &mut self.orders {
            if let Some(added) = added.take() {
                added.effect(fields_of(names, order, managed).as_slice()).publish(ctx);
            }
            metrics::TRIES_ACCEPTED.count();
        }
        Ok(self.orders)
    }
}

/// The server refused to add the buyers, which is not known to happen.
pub(super) struct Refused {
    /// The tries of this error.
    pub(super) numbers: Vec<usize>,
    pub(super) error: CommandError,
}

/// The fields of an order's entry, of one unit.
fn fields_of<'a>(
    names: &'a OrderFields,
    order: &Order<'a>,
    managed: ManagedValues<'a>,
) -> EntryFields<'a> {
    let ManagedValues { deadline, sale } = managed;
    let values = EntryValues { deadline, sale, ..order.values(None) };
    EntryNames::configured(names).entry(&values)
}
