//! What every step must keep, whatever it decides.

use crate::actions::{Action, Answer, Late, Named, meant};
use crate::world::{Error, NOW, ORDERS, REFERENCES, World, Written};
use domain::book::{Entry, Reason, State};
use domain::facts::Refusal;
use domain::orders::Cancel;
use domain::plan::Order;
use domain::rules::{Meant, Window};
use domain::sale::TryOutcome;
use domain::sales::Restock;
use domain::tries;

/// One command: the keys before and after, what was appended, the answer.
pub struct Step<'s> {
    pub before: &'s World,
    pub after: &'s World,
    pub action: &'s Action,
    pub answer: &'s Result<Answer, Error>,
    pub written: &'s Written,
    /// The entry that was rejected.
    pub late: Option<Late>,
}

pub type Checked = Result<(), &'static str>;

pub fn ensure(is_right: bool, word: &'static str) -> Checked {
    if is_right { Ok(()) } else { Err(word) }
}

impl Step<'_> {
    pub fn check(&self) -> Checked {
        // A world that is as before was checked before.
        let is_unchanged = self.before == self.after;
        if !is_unchanged {
            self.after.check()?;
        }
        self.check_changes()?;
        let written = self.written;
        if let Err(error) = self.answer {
            ensure(*error != Error::Fault, "a fault without one")?;
            // Overdue comes first: waits that the end has ended.
            let may_end = *error == Error::Refused(Refusal::EndingWaits);
            ensure(may_end || (is_unchanged && !written.anything), "an error that writes")?;
        }
        let rejects = matches!(self.answer, Ok(Answer::Reject(Some(_))));
        ensure(written.letters == u8::from(rejects), "not one dead letter")?;
        self.check_rules()?;
        self.check_kept_keys()?;
        self.check_queue()?;
        ensure(!written.has_failed, "the queue is not promoted")?;
        self.check_answer()
    }

    /// The orders, whatever the answer is.
    pub fn check_changes(&self) -> Checked {
        (0..ORDERS).try_for_each(|id| self.check_order(id))?;
        (0..REFERENCES).try_for_each(|reference| self.check_payment(reference))
    }

    fn check_order(&self, id: usize) -> Checked {
        let (before, after) = (self.before.book[id], self.after.book[id]);
        let w = self.written;
        let appended = (w.ordered[id], w.confirmed[id], w.released[id]);
        let wanted = match (before, after) {
            // Without rules there is no book, and streams are all there is.
            (None, None) if self.before.rules.is_none() => appended,
            (None, None) => (0, 0, 0),
            (None, Some(entry)) => {
                ensure(entry.asked == entry.units && entry.was.is_none(), "no new order")?;
                self.check_sale(id, &entry)?;
                (u8::from(entry.state != State::Waiting), 0, 0)
            }
            (Some(before), None) => {
                ensure(matches!(self.action, Action::Drop { .. }), "an order vanishes")?;
                (0, 0, u8::from(before.state == State::Held))
            }
            (Some(before), Some(after)) if before == after => (0, 0, 0),
            (Some(before), Some(after)) => self.check_change(id, &before, &after)?,
        };
        ensure(appended == wanted, "a change without its entry, or an entry without its change")
    }

    /// An order that was made: by a try for just that, while the sale is open, within the limit.
    fn check_sale(&self, id: usize, entry: &Entry<u8>) -> Checked {
        let is_tried = |order: &Order<u8>| {
            (usize::from(order.id), order.user, order.units) == (id, entry.user, entry.units)
        };
        ensure(self.tries().any(is_tried), "an order that nobody tried")?;
        let Some(rules) = &self.after.rules else { return Err("an order without rules") };
        ensure(rules.window(NOW) == Window::Open, "an order outside of the window")?;
        let all = self.after.live_units(entry.user) + self.after.waiting_units(entry.user);
        ensure(all <= rules.limit, "a user over the limit")?;
        if entry.state == State::Waiting && entry.deadline == NOW && entry.reference.is_none() {
            let units = entry.units;
            return self.check_joined(&Order { user: entry.user, id: id as u8, units });
        }
        self.check_made(entry)
    }

    /// An order that has just got its units.
    fn check_made(&self, entry: &Entry<u8>) -> Checked {
        let hold = self.after.rules.and_then(|rules| rules.hold);
        let (state, deadline) = hold.map_or((State::Sold, 0), |hold| (State::Held, NOW + hold));
        let is_new = (entry.state, entry.deadline, entry.reference) == (state, deadline, None);
        ensure(is_new, "an order is not made by the rules")
    }

    fn tries(&self) -> impl Iterator<Item = &Order<u8>> {
        let (first, second) = match self.action {
            Action::Try(order) | Action::TryFor(order, _) | Action::Wait(order) => {
                (Some(order), None)
            }
            Action::Pair(first, second) => (Some(first), Some(second)),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// What is appended for the change of an order.
    fn check_change(
        &self,
        id: usize,
        before: &Entry<u8>,
        after: &Entry<u8>,
    ) -> Result<(u8, u8, u8), &'static str> {
        ensure((before.user, before.asked) == (after.user, after.asked), "another order")?;
        let is_part = before.units != after.units;
        ensure(is_part == (before.state == after.state && self.keeps(id, after)), "other units")?;
        self.check_paid_units(id, before, after)?;
        let was = Some(before.state).filter(|_| after.state.is_released());
        let was = if before.state.is_released() { before.was } else { was };
        ensure(after.was == was, "a release of another state")?;
        let is_overdue = before.is_overdue(NOW);
        let is_named = |named: &Named| {
            usize::from(named.id) == id
                && named.user == before.user
                && named.meant().is(self.before.sale())
        };
        let (is_right, appended) = match (before.state, after.state, self.action) {
            (State::Waiting, State::Held | State::Sold, _) => {
                self.check_made(after)?;
                let is_open = |world: &World| !world.is_over();
                (is_open(self.before) && is_open(self.after), (1, 0, 0))
            }
            (State::Waiting, State::Released(Reason::Expired), _) => {
                (self.before.is_over() || self.after.is_over(), (0, 0, 0))
            }
            (State::Waiting, State::Released(Reason::Cancelled), Action::Cancel(named, _)) => {
                (is_named(named) && !self.before.is_over(), (0, 0, 0))
            }
            (State::Held, State::Held, Action::Extend(named, _)) => {
                let is_later = after.deadline > before.deadline;
                (is_named(named) && is_later && !is_overdue, (0, 0, 0))
            }
            (State::Held, State::Sold, Action::Confirm(..) | Action::Paid(..)) => {
                (self.is_paid_by(before, after, is_named) && !is_overdue, (0, 1, 0))
            }
            (State::Sold, State::Sold, Action::Confirm(..) | Action::Paid(..)) => {
                (self.is_paid_by(before, after, is_named), (0, 1, 0))
            }
            (State::Released(_), _, Action::Confirm(..) | Action::Paid(..)) => {
                let was_sold = before.state == after.state && before.was == Some(State::Sold);
                (was_sold && self.is_paid_by(before, after, is_named), (0, 0, 0))
            }
            (before, after, Action::Cancel(named, Cancel { only, kept: Some(_), .. }))
                if before == after =>
            {
                let is_in_state = only.is_none_or(|only| only == before);
                (is_named(named) && is_in_state && !is_overdue, (0, 0, 1))
            }
            (State::Held, State::Released(Reason::Expired), _) => (is_overdue, (0, 0, 1)),
            (State::Held, State::Released(Reason::Cancelled), Action::Drop { forced, .. }) => {
                (*forced && !is_overdue, (0, 0, 1))
            }
            (State::Held | State::Sold, State::Released(Reason::Cancelled), action) => {
                let named = matches!(action, Action::Cancel(named, asks) if is_named(named)
                    && asks.only.is_none_or(|only| only == before.state));
                (named && !is_overdue, (0, 0, 1))
            }
            (State::Held | State::Sold, State::Released(Reason::Rejected), _) => {
                (self.rejects(id, before) && !is_overdue, (0, 0, 1))
            }
            _ => (false, (0, 0, 0)),
        };
        let may_pay = after.state == State::Sold || before.state.is_released();
        let keeps = may_pay || after.reference == before.reference;
        ensure(is_right && keeps, "a change that nobody may ask for")?;
        Ok(appended)
    }

    /// Is it this order's entry that is rejected?
    fn rejects(&self, id: usize, entry: &Entry<u8>) -> bool {
        let named = match self.action {
            Action::Reject(named) | Action::RejectUnsold(named) | Action::RejectLate(_, named) => {
                usize::from(*named) == id
            }
            _ => false,
        };
        let sale = self.before.sale();
        named && self.late.is_some_and(|late| late.user == entry.user && late.sale() == sale)
    }

    /// Rules change by the commands for that, and an end keeps the begin.
    fn check_rules(&self) -> Checked {
        let (Some(before), Some(after)) = (self.before.rules, self.after.rules) else {
            let is_dropped = matches!(self.action, Action::Drop { .. });
            let is_made = matches!(self.action, Action::Create | Action::Adopt);
            let is_same = self.before.rules == self.after.rules;
            return ensure(is_same || is_dropped || is_made, "rules appear or vanish");
        };
        let end = after.end;
        let is_right = match self.action {
            Action::End(_) | Action::Begin(_) | Action::Limit(_) | Action::Hold(_) => true,
            Action::Restock(how) => {
                let outside = |world: &World| world.units_outside();
                let total = match how {
                    Restock::By(delta) => before.total + delta,
                    Restock::To(total) => *total,
                    Restock::For { .. } => {
                        before.total + outside(self.before) - outside(self.after)
                    }
                };
                after == domain::rules::Rules { total, ..before }
            }
            Action::Drop { .. } => {
                // A sale that has not begun ends as it begins.
                let is_over = after.window(NOW) == Window::Ended || end == after.begin;
                after == domain::rules::Rules { end, ..before } && is_over
            }
            Action::Cancel(_, Cancel { norestock: true, .. }) => {
                after == domain::rules::Rules { total: after.total, ..before }
            }
            _ => before == after,
        };
        ensure(is_right || before == after, "rules change")
    }

    fn check_answer(&self) -> Checked {
        match (self.action, self.answer) {
            (Action::Try(order) | Action::Wait(order), Ok(Answer::Try(answer))) => {
                self.check_try(order, answer)
            }
            (Action::TryFor(order, sale), answer) => match answer {
                _ if !meant(Some(*sale)).is(self.before.sale()) => {
                    let is_over = *answer == Ok(Answer::Try(TryOutcome::Ended.into()));
                    ensure(is_over && self.before == self.after, "a try of another sale")
                }
                Ok(Answer::Try(answer)) => self.check_try(order, answer),
                _ => self.check_refused(order),
            },
            (
                Action::End(_) | Action::Begin(_) | Action::Limit(_) | Action::Hold(_),
                Err(Error::Refused(refusal)),
            ) => {
                let is_over = self.before.is_over();
                let waits = self.before.first_in_queue().is_some();
                let is_right = match refusal {
                    Refusal::NotManaged => self.before.rules.is_none(),
                    Refusal::EndingWaits => waits && is_over,
                    Refusal::Waiting => waits && !is_over && *self.action == Action::Hold(None),
                    _ => false,
                };
                ensure(is_right, "a change of the rules is refused")
            }
            (Action::Drop { sale, .. }, answer) => {
                let is_meant = meant(*sale).is(self.before.sale());
                let nothing = *self.before == self.before.without_sale();
                let is_waited_for =
                    self.before.first_in_queue().is_some() && !self.before.is_over();
                let is_forced = matches!(self.action, Action::Drop { forced: true, .. });
                let may_end = is_forced || !is_waited_for || answer.is_err();
                ensure(may_end, "a sale ends while somebody waits")?;
                ensure(is_meant || nothing || answer.is_err(), "another sale is dropped")
            }
            (Action::Restock(Restock::To(total)), Ok(_)) => {
                let is_so = self.after.rules.is_some_and(|rules| rules.total == *total);
                ensure(is_so && self.written.anything, "a total that is not what was asked for")
            }
            (Action::Restock(Restock::For { delta, order }), answer) => {
                self.check_outside(*delta, *order, answer)
            }
            (Action::Confirm(..) | Action::Paid(..), answer) => {
                let Some((named, reference)) = self.action.pays() else { return Ok(()) };
                self.check_confirm(&named, reference, false, answer)
            }
            (Action::Refund(named, reference), answer) => {
                self.check_confirm(named, Some(*reference), true, answer)
            }
            (Action::Create | Action::Adopt, Ok(_)) => {
                ensure(self.after.last > self.before.last, "a sale has the id of an earlier one")
            }
            (Action::Extend(named, _), Ok(Answer::Confirm(answer))) => {
                self.check_extend(named, *answer)
            }
            (Action::Cancel(named, asks), Ok(Answer::Cancel(answer))) => {
                self.check_cancel(named, *asks, *answer)
            }
            (_, Ok(Answer::Reject(Some(fate)))) => self.check_fate(*fate),
            (_, Ok(Answer::Reject(None))) => self.check_kept(),
            (Action::Try(order) | Action::Wait(order), Err(_)) => self.check_refused(order),
            _ => Ok(()),
        }
    }

    fn check_try(&self, order: &Order<u8>, answer: &tries::TryAnswer) -> Checked {
        let (before, after) = (self.before.entry(order.id), self.after.entry(order.id));
        let is_theirs = |it: Option<Entry<u8>>| it.is_some_and(|entry| entry.user == order.user);
        ensure(answer.is_repeat == before.is_some(), "a repeat is not marked as one")?;
        if before.is_some() {
            let is_live = after.is_some_and(|it| it.state.is_live() && it.asked == order.units);
            ensure(is_theirs(before), "an order of another user is shown")?;
            ensure(self.written.anything, "a repeat that is not replicated")?;
            return match answer.outcome {
                TryOutcome::Accepted => ensure(is_live, "a repeat of an order that is not live"),
                TryOutcome::Released => {
                    ensure(after.is_some_and(|it| it.state.is_released()), "not released")
                }
                TryOutcome::Waiting => {
                    let waits = after.is_some_and(|it| it.state == State::Waiting);
                    ensure(
                        waits && !self.before.is_over(),
                        "a repeat of an order that is not in the queue",
                    )
                }
                _ => Err("a repeat is answered like a new order"),
            };
        }
        if answer.outcome == TryOutcome::Accepted {
            let is_made = self.after.rules.is_none() || is_theirs(after);
            let is_appended = self.written.ordered[usize::from(order.id)] == 1;
            return ensure(is_made && is_appended, "accepted without an order");
        }
        if answer.outcome == TryOutcome::Waiting {
            let waits = after.is_some_and(|it| it.state == State::Waiting);
            return ensure(waits && is_theirs(after), "waiting without an order");
        }
        ensure(after.is_none(), "a loser has an order")?;
        self.check_no_place(order, answer.outcome)?;
        self.check_loss(order, answer.outcome)
    }

    /// Nobody loses without a reason.
    fn check_loss(&self, order: &Order<u8>, outcome: TryOutcome) -> Checked {
        let left = self.after.for_sale();
        let Some(rules) = &self.after.rules else {
            let has_bought = self.after.buyers[usize::from(order.user)];
            return match outcome {
                TryOutcome::SoldOut => ensure(left < order.units.get(), "units are left"),
                TryOutcome::AtLimit => ensure(has_bought, "nothing was bought"),
                _ => Err("an outcome of managed vouchers"),
            };
        };
        let waiting = self.after.waiting_units(order.user);
        let (has, units) = (self.after.live_units(order.user) + waiting, order.units.get());
        let is_waited_for = self.after.first_in_queue().is_some();
        let mut overdue = self.after.live().filter(|entry| entry.is_overdue(NOW));
        let window = rules.window(NOW);
        match outcome {
            TryOutcome::NotStarted => ensure(window == Window::NotStarted, "it has begun"),
            TryOutcome::Ended => ensure(window == Window::Ended, "it is not over"),
            TryOutcome::AtLimit => {
                let is_overdue = overdue.any(|entry| entry.user == order.user);
                ensure(has + units > rules.limit && !is_overdue, "within the limit")
            }
            TryOutcome::SoldOut => {
                let has_expired = left < units && overdue.next().is_none();
                ensure(has_expired || is_waited_for, "units are left")
            }
            _ => Err("an outcome of repeats"),
        }
    }

    fn check_refused(&self, order: &Order<u8>) -> Checked {
        let refused = self.before.entry(order.id).is_some_and(|entry| {
            let differs = !entry.state.is_released() && entry.asked != order.units;
            let is_over = self.before.rules.is_some_and(|rules| entry.is_over(&rules, NOW));
            entry.user != order.user || differs && !is_over
        });
        let may_wait = self.before.rules.is_some_and(|rules| rules.hold.is_some());

        let is_missing = self.before.stock.is_none();
        let is_right = match self.answer {
            Err(Error::Refused(Refusal::OrderId)) => refused,
            Err(Error::Refused(Refusal::NoVoucher)) => is_missing,
            Err(Error::Refused(Refusal::NoHold | Refusal::NotManaged)) => {
                matches!(self.action, Action::Wait(_)) && !may_wait
            }
            _ => false,
        };
        ensure(is_right, "a try is refused")
    }

    /// The order that a request names, before and after.
    pub fn named(&self, named: &Named) -> Option<(Entry<u8>, Entry<u8>)> {
        let is_meant = named.meant() == Meant::Any || named.meant().is(self.before.sale());
        let before = self.before.entry(named.id).filter(|it| is_meant && it.user == named.user)?;
        Some((before, self.after.entry(named.id)?))
    }
}
