//! Facts about the orders that a timer looks after: those that are held, and those that wait.

use crate::config;
use crate::error::CommandError;
use crate::keyspace::book;
use crate::keyspace::names::Name;
use crate::keyspace::rules::{self, check_primary};
use crate::keyspace::sale::Sale;
use crate::server::{Call, Kind, ReadKey, Str};
use domain::book::{Entry, UserUnits};
use domain::facts::{Due, Facts, First, FirstDue, Needed, Queue};
use domain::rules::Millis;
use std::cell::Ref;
use std::rc::Rc;

impl<'a> Sale<'a> {
    /// Nothing that can be released is due before this moment, as far as is known.
    fn note_none_due(&self, before: Millis) {
        if let Some(keys) = self.known_keys() {
            keys.set_none_due(self.ctx.selected_db(), before);
        }
    }

    /// Is it known that nothing is due now?
    fn is_none_due(&self) -> bool {
        let db = self.ctx.selected_db();
        self.known_keys().is_none_or(|keys| keys.is_none_due(db, self.now()))
    }

    /// The next tries need not find out again that what is due can't be released.
    pub(crate) fn rest_from_due(&self) {
        /// How long tries ignore holds that could not be released.
        const REST_MS: Millis = 100;
        self.note_none_due(self.now().saturating_add(REST_MS));
    }

    pub(super) fn find_due(&self, most: usize) -> Result<Option<FirstDue<Name<'a>>>, CommandError> {
        if self.is_none_due() {
            return Ok(None);
        }
        let Some(holds) = self.opened().holds.reading(self.ctx, self.managed_keys()?.holds) else {
            self.note_none_due(Millis::MAX);
            return Ok(None);
        };
        let due = book::members(&holds, None, self.now(), most)?;
        if due.is_empty() {
            let first = book::holds_in(&holds, None).and_then(|holds| holds.first);
            self.note_none_due(first.unwrap_or(Millis::MAX));
            return Ok(None);
        }
        check_primary(self.ctx)?;
        let due = due.into_iter().map(|(id, _)| {
            let id = Name::Read(Rc::new(id));
            let user = self.entry(&id).ok().flatten().map(|entry| entry.user);
            Due { id, user }
        });
        Ok(Some(due.collect()))
    }

    pub(super) fn find_held(&self, most: usize) -> Result<(Vec<Name<'a>>, u64), CommandError> {
        let holds = self.opened().holds.reading(self.ctx, self.managed_keys()?.holds);
        let Some((holds, held)) =
            holds.and_then(|it| book::holds_in(&it, None).map(|held| (it, held)))
        else {
            return Ok((Vec::new(), 0));
        };
        let first = book::members(&holds, None, Millis::MAX, most)?;
        let ids = first.into_iter().map(|(id, _)| Name::Read(Rc::new(id))).collect();
        Ok((ids, held.count))
    }

    /// The queue, if it exists.
    fn queue_key(&self) -> Result<Option<Ref<'_, ReadKey<'a>>>, CommandError> {
        Ok(self.opened().wait.reading(self.ctx, self.managed_keys()?.wait))
    }

    pub(super) fn has_queue(&self) -> Result<bool, CommandError> {
        let (db, none_waits_in) =
            (self.ctx.selected_db(), self.known_keys().map(|keys| &keys.none_waits_in));
        if none_waits_in.is_some_and(|known| known.get() == Some(db)) {
            return Ok(false);
        }
        match self.queue_key()? {
            Some(queue) if queue.kind() == Kind::SortedSet => Ok(true),
            Some(_) => Err(CommandError::WrongType),
            // While its slot moves, a queue may be on the other node. Most vouchers have none,
            // which can't be distinguished from here, and need not wait for the end of the move.
            None => {
                none_waits_in.inspect(|known| known.set(Some(db)));
                Ok(false)
            }
        }
    }

    /// How many orders are in the queue. Of another type, nobody waits.
    #[inline]
    pub(super) fn waiting(&self) -> Result<i64, CommandError> {
        match self.has_queue() {
            Ok(true) => {
                let waiting = self.queue_key()?.map_or(0, |queue| queue.len());
                Ok(i64::try_from(waiting).unwrap_or(i64::MAX))
            }
            Ok(false) | Err(CommandError::WrongType) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Of another type, nobody waits.
    pub(super) fn read_queue(&self) -> Result<Queue, CommandError> {
        let most = config::waitlist_max();
        let queue = self.queue_key()?.filter(|queue| queue.kind() == Kind::SortedSet);
        let Some(queue) = queue else { return Ok(Queue { waiting: 0, most, last: 0 }) };
        let waiting = u64::try_from(queue.len()).unwrap_or(u64::MAX);
        Ok(Queue { waiting, most, last: queue.zset_last_score()?.unwrap_or(0.0) as i64 })
    }

    pub(super) fn read_first(&self) -> Result<Option<First<Name<'a>>>, CommandError> {
        let Some(queue) = self.queue_key()? else { return Ok(None) };
        let first = queue.members(f64::NEG_INFINITY..=f64::INFINITY, 1, |_, _| false)?;
        drop(queue);
        let Some((id, _)) = first.into_iter().next() else { return Ok(None) };
        let id = Name::Read(Rc::new(id));
        let order = match self.order_in_queue(&id) {
            Err(CommandError::Garbled) => None,
            order => order?,
        };
        Ok(Some(First { id, order }))
    }

    fn order_in_queue(&self, id: &Name<'a>) -> Result<Option<Waiting<'a>>, CommandError> {
        let Some(entry) = self.entry(id)? else { return Ok(None) };
        let has = self.user_units(&entry.user)?;
        Ok(Some((entry, has)))
    }

    /// Opens the queue for writing.
    pub(super) fn open_queue(&self) -> Result<(), CommandError> {
        check_primary(self.ctx)?;
        let (opened, keys) = (self.opened(), self.managed_keys()?);
        if self.queue_key()?.is_none() {
            self.check_one_here(keys.wait)?;
        }
        opened.wait.open(self.ctx, keys.wait, Kind::SortedSet)
    }
}

/// An order that waits, and what its user has.
type Waiting<'a> = (Entry<Name<'a>>, Option<UserUnits<Name<'a>>>);

impl Sale<'_> {
    /// An operator ends the sale: it is released as it is, whatever it lacks.
    pub(crate) fn take_as_found(&self) {
        self.more().is_as_found.set(true);
    }

    /// Is a key missing, and nobody has said that this is meant?
    pub(super) fn lacks(&self, part: Needed) -> Result<bool, CommandError> {
        let (ctx, keys, opened) = (self.ctx, self.managed_keys()?, self.opened());
        if self.more().is_as_found.get() {
            return Ok(false);
        }
        Ok(!match part {
            Needed::Book => opened.book.exists(ctx, keys.book),
            Needed::Units => opened.units.exists(ctx, keys.units),
            Needed::Holds => opened.holds.exists(ctx, keys.holds),
            Needed::Queue => opened.wait.exists(ctx, keys.wait),
            Needed::Payments => opened.payments.exists(ctx, keys.payments),
            Needed::Extra => {
                let is_there = rules::exists(ctx, keys.extra);
                if !is_there {
                    self.check_one_here(keys.extra)?;
                }
                is_there
            }
            Needed::Rules | Needed::Stock | Needed::Buyers => rules::exists(ctx, keys.needed(part)),
        })
    }

    /// The place of an order in the queue, from 1; none if it has none.
    pub(crate) fn place_in_queue(&self, id: Str<'_>) -> Result<Option<i64>, CommandError> {
        let queue = self.managed_keys()?.wait;
        self.close();
        match Call::read(self.ctx, c"ZRANK", &[queue, id]) {
            Ok(rank) if rank.is_null() => Ok(None),
            Ok(rank) => Ok(Some(rank.integer().saturating_add(1))),
            Err(error) => Err(CommandError::of_call(error, "ZRANK")),
        }
    }
}
