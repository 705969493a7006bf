//! Overdue orders: held, past their deadline, and not yet released.

use super::managed::{ManagedSale, publish};
use crate::error::CommandError;
use crate::keyspace::book::{self, OpenBook};
use crate::keyspace::terms;
use crate::server::OwnedStr;
use crate::typed::{OrderId, User};
use domain::book::{Entry, Holding, State};
use domain::due::HoldPosition;
use domain::managed::{Known, Window, known, window};
use domain::sale::Units;
use domain::terms::{Millis, Terms};

/// How many due holds a try releases before it answers sold out. Bounds its time; the timer
/// releases the rest.
const REAPED_BY_A_TRY_MAX: usize = 100;

/// How long tries ignore holds that could not be released.
const REAPING_RESTS_MS: Millis = 100;

impl ManagedSale<'_> {
    /// Releases the overdue orders of a user who seems to have too many units. False if the user's
    /// units did not change. What can't be released stays, and the timer logs why.
    pub(super) fn settle(&self, user: User<'_>) -> Result<bool, CommandError> {
        let ids = self.overdue_of(user, &mut None)?;
        if ids.is_empty() {
            return Ok(false);
        }
        self.check_whole()?;
        Ok(self.expire(&ids) > 0)
    }

    /// The ids of a user's overdue orders: the latest order, and those among the first due holds,
    /// which are looked up once. Reads the holds once if nothing is due, and nothing if that is
    /// already known.
    pub(super) fn overdue_of(
        &self,
        user: User<'_>,
        due: &mut Option<Vec<DueOrder>>,
    ) -> Result<Vec<Vec<u8>>, CommandError> {
        let Self { ctx, keys, now, .. } = *self;
        let mut ids = Vec::new();
        if self.is_none_due() {
            return Ok(ids);
        }
        let Some(text) = book::holding(ctx, keys, user)? else { return Ok(ids) };
        let Holding { units, order } = Holding::parse(text.as_str().bytes())?;
        let mut others = units.get();
        let id = OwnedStr::new(order);
        let text = book::entry(ctx, keys, OrderId(id.as_str()))?;
        if let Some(Ok(entry)) = text.as_ref().map(|text| Entry::parse(text.as_str().bytes())) {
            if entry.state.is_live() {
                others = others.saturating_sub(entry.units.get());
            }
            if known(&entry, user.0.bytes(), entry.units, now) == Known::Overdue {
                ids.push(order.to_vec());
            }
        }
        if others > 0 {
            let due = match due {
                Some(due) => due,
                None => due.insert(self.due_orders()?),
            };
            let is_other = |other: &&DueOrder| other.user == user.0.bytes() && other.id != order;
            ids.extend(due.iter().filter(is_other).map(|other| other.id.clone()));
        }
        Ok(ids)
    }

    /// Releases overdue orders, as far as possible, and returns how many.
    pub(super) fn expire(&self, ids: &[Vec<u8>]) -> usize {
        let ids = ids.iter().map(|id| OwnedStr::new(id));
        ids.filter(|id| self.reap_one(OrderId(id.as_str())).is_ok()).count()
    }

    /// Whether no hold of the sale is due. Remembered until a hold is placed or removed.
    fn is_none_due(&self) -> bool {
        let db = self.ctx.selected_db();
        if self.source.is_none_due(db, self.now) {
            return true;
        }
        let holds = book::holds(self.ctx, self.keys.holds, None);
        let first = holds.and_then(|holds| holds.first).unwrap_or(Millis::MAX);
        if first > self.now {
            self.source.set_none_due(db, first);
        }
        first > self.now
    }

    /// The orders that are due first.
    fn due_orders(&self) -> Result<Vec<DueOrder>, CommandError> {
        let Self { ctx, keys, now, .. } = *self;
        let mut orders = Vec::new();
        for (id, _) in book::due(ctx, keys, None, now, REAPED_BY_A_TRY_MAX)? {
            let text = book::entry(ctx, keys, OrderId(id.as_str()))?;
            if let Some(Ok(entry)) = text.as_ref().map(|text| Entry::parse(text.as_str().bytes())) {
                let (id, user) = (id.as_str().bytes().to_vec(), entry.user.to_vec());
                orders.push(DueOrder { id, user });
            }
        }
        Ok(orders)
    }

    /// Makes the sale sell nothing from now on. Writes nothing if that is so already.
    pub(super) fn end_now(&self) -> Result<(), CommandError> {
        if window(&self.terms, self.now) == Window::Ended {
            return Ok(());
        }
        let ended = Terms { begin: None, end: Some(self.now), ..self.terms };
        terms::write(self.ctx, self.keys.terms, &ended)
    }

    /// Releases held orders as cancelled, at most this many, the earliest deadline first. True when
    /// none is left. An error when the first one can't be released: then nothing was.
    pub(super) fn release_held(&self, most: usize) -> Result<bool, CommandError> {
        let Self { ctx, keys, .. } = *self;
        if !terms::exists(ctx, keys.book) {
            // Nothing is known of the orders.
            return Ok(true);
        }
        let held = book::due(ctx, keys, None, Millis::MAX, most.saturating_add(1))?;
        for (number, (id, _)) in held.iter().take(most).enumerate() {
            match self.end_hold(OrderId(id.as_str()), State::Cancelled) {
                Err(error) if number == 0 => return Err(error),
                Err(_) => return Ok(false),
                Ok(()) => {}
            }
        }
        Ok(held.len() <= most)
    }

    /// Releases what is due, if anything may be. False if the stock did not change.
    pub(super) fn reap_if_due(&self) -> Result<bool, CommandError> {
        let db = self.ctx.selected_db();
        if self.source.is_none_due(db, self.now) {
            return Ok(false);
        }
        terms::check_primary(self.ctx)?;
        let none_before = match self.reap(None, REAPED_BY_A_TRY_MAX) {
            Ok(Reaped { taken: 1.., .. }) => return Ok(true),
            Ok(Reaped { refused: None, .. }) => {
                let holds = book::holds(self.ctx, self.keys.holds, None);
                holds.and_then(|holds| holds.first).unwrap_or(Millis::MAX)
            }
            // The next losing tries need not find out again that nothing can be released.
            Ok(_) | Err(_) => self.now.saturating_add(REAPING_RESTS_MS),
        };
        self.source.set_none_due(db, none_before);
        Ok(false)
    }

    /// Releases held orders whose deadline has passed, the earliest after a position first.
    ///
    /// Handles at most `most`. An order that can't be released stays, and does not stop those after
    /// it.
    pub(crate) fn reap(
        &self,
        behind: Option<&HoldPosition>,
        most: usize,
    ) -> Result<Reaped, CommandError> {
        let due = book::due(self.ctx, self.keys, behind, self.now, most)?;
        let last = due.last().map(|(id, deadline)| {
            let id = Some(id.as_str().bytes().to_vec());
            HoldPosition { deadline: *deadline, id }
        });
        let mut reaped = Reaped { taken_up: due.len(), taken: 0, refused: None, last };
        for (id, _) in &due {
            match self.reap_one(OrderId(id.as_str())) {
                Ok(()) => reaped.taken = reaped.taken.saturating_add(1),
                Err(error) => reaped.refused = reaped.refused.or(Some(error)),
            }
        }
        Ok(reaped)
    }

    fn reap_one(&self, id: OrderId<'_>) -> Result<(), CommandError> {
        self.end_hold(id, State::Expired)
    }

    /// Releases an order among the holds.
    fn end_hold(&self, id: OrderId<'_>, reason: State) -> Result<(), CommandError> {
        let Self { ctx, keys, .. } = *self;
        let text = book::entry(ctx, keys, id)?;
        match text.as_ref().map(|text| Entry::parse(text.as_str().bytes())) {
            Some(Ok(entry)) if entry.state == State::Held => self.release(id, &entry, reason),
            // The whole book is missing, and may return: RENAME, or RESTORE of key after key.
            None if !terms::exists(ctx, keys.book) => Err(CommandError::Garbled),
            // Somebody edited the holds. A member that is not a held order has no units to release.
            _ => {
                let lifted = OpenBook::open(ctx, keys, Units::ONE)?.lift_hold(id);
                publish(ctx, [lifted]);
                Ok(())
            }
        }
    }
}

/// An order among those that are due.
pub(super) struct DueOrder {
    id: Vec<u8>,
    user: Vec<u8>,
}

/// The result of a batch of due holds.
pub(crate) struct Reaped {
    /// How many were handled.
    pub(crate) taken_up: usize,
    /// How many of them are no longer held.
    pub(crate) taken: usize,
    /// Why the first of the others could not be released.
    pub(crate) refused: Option<CommandError>,
    /// Where the last of them is.
    pub(crate) last: Option<HoldPosition>,
}
