//! What every cancellation and rejection must keep.

use crate::actions::{Action, Named};
use crate::properties::{Checked, Step, ensure};
use crate::world::{NOW, World};
use domain::book::{Entry, State};
use domain::orders::{Cancel, Cancellation};
use domain::rejection::Fate;
use domain::sale::Units;

impl Step<'_> {
    /// An unknown order is answered so, and nothing is written.
    pub fn check_unknown(&self, is_unknown: bool) -> Checked {
        ensure(is_unknown && !self.written.anything, "an order is not known, or is")
    }

    pub fn check_cancel(&self, named: &Named, asks: Cancel<u8>, answer: Cancellation) -> Checked {
        let Cancel { only, kept, norestock, refunded, reference } = asks;
        if self.before.rules.is_some() {
            let is_less = norestock && answer == Cancellation::Released;
            self.check_total(named, is_less.then_some(kept))?;
        }
        if self.before.rules.is_none() {
            let (had, has) = (self.before.buyers, self.after.buyers);
            let user = usize::from(named.user);
            let is_released = answer == Cancellation::Released;
            return ensure(had[user] == is_released && !has[user], "a buyer is not dismissed");
        }
        let Some((before, after)) = self.named(named) else {
            return self.check_unknown(answer == Cancellation::NoSuchOrder);
        };
        ensure(self.written.anything, "an answer that is not replicated")?;
        let is_over = self.before.rules.is_some_and(|rules| before.is_over(&rules, NOW));
        let was_live = !before.state.is_released() && !is_over;
        let is_released = after.state.is_released();
        let waits = before.state == State::Waiting;
        let is_other = only.is_some_and(|only| only != before.state) || waits && kept.is_some();
        let is_paid = before.state == State::Sold && before.reference.is_some();
        let is_anothers = reference.is_some() && before.reference != reference;
        let is_other = is_other || is_anothers || refunded && !is_paid;
        let has_less = kept.is_some_and(|kept| kept >= before.units);
        if let Some(kept) = kept.filter(|kept| was_live && *kept < before.units && !is_other) {
            let is_kept = after == Entry { units: kept, refunded: after.refunded, ..before };
            return ensure(is_kept && answer == Cancellation::Released, "other units are kept");
        }
        let is_right = match answer {
            Cancellation::WasReleased if was_live => has_less && after == before && !is_other,
            Cancellation::NoSuchOrder => false,
            Cancellation::Released => was_live && is_released && !is_other,
            Cancellation::WasReleased => !was_live && is_released,
            Cancellation::InAnotherState => was_live && !is_released && is_other,
        };
        ensure(is_right, "a cancellation that is not true")
    }

    /// Is it asked that this order keeps just these units?
    pub fn keeps(&self, id: usize, after: &Entry<u8>) -> bool {
        let (kept, named) = match self.action {
            Action::Cancel(named, asks) => (asks.kept, usize::from(named.id)),
            _ => return false,
        };
        named == id && kept == Some(after.units)
    }

    /// With units that leave the sale, the total is so much less, and nothing else is changed;
    /// without, it stays.
    fn check_total(&self, named: &Named, kept: Option<Option<Units>>) -> Checked {
        let total = |world: &World| world.rules.map_or(0, |rules| rules.total);
        let lost = total(self.before) - total(self.after);
        let Some(kept) = kept else { return ensure(lost == 0, "units leave a sale") };
        let order = self.named(named).filter(|(before, _)| before.state.is_live());
        let released =
            order.map_or(0, |(before, _)| before.units.get() - kept.map_or(0, Units::get));
        let others = |world: &World| {
            let mut book = world.book;
            book[usize::from(named.id)] = None;
            (book, world.queue)
        };
        // Who was in the queue has left it.
        let queue = order.is_none() || others(self.before) == others(self.after);
        let is_same = order.is_none() || self.before.stock == self.after.stock;
        ensure(lost == released && is_same && queue, "units that leave a sale are sold")
    }

    /// The entry is kept: its order is sold.
    pub fn check_kept(&self) -> Checked {
        let entry = match self.action {
            Action::RejectUnsold(id) => self.before.entry(*id),
            _ => None,
        };
        let is_sold = entry.is_some_and(|entry| entry.state == State::Sold);
        ensure(is_sold && self.before == self.after, "an entry that is kept without a reason")?;
        ensure(self.written.anything, "an answer that is not replicated")
    }

    pub fn check_fate(&self, fate: Fate) -> Checked {
        let released: usize = self.written.released.map(usize::from).iter().sum();
        let is_right = match fate {
            Fate::Unknown => self.before == self.after && released == 0,
            Fate::Rejected => {
                let was_sold = match self.action {
                    Action::RejectUnsold(id) => self.before.entry(*id),
                    _ => None,
                };
                let was_sold = was_sold.is_some_and(|entry| entry.state == State::Sold);
                self.before != self.after && released == 1 && !was_sold
            }
            Fate::Released => {
                // No entry says that a wait ends.
                let had_units =
                    |it: &Entry<u8>| it.state.is_released() && it.was != Some(State::Waiting);
                let all = self.after.book.iter().zip(&self.before.book);
                let expired = all.filter(|(after, _)| after.as_ref().is_some_and(had_units));
                expired.filter(|(after, before)| after != before).count() == released
            }
        };
        ensure(is_right, "a dead letter that is not true")
    }
}
