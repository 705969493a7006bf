//! Faults that are planted between facts, decision and plan: the model must find each.

use crate::actions::Action;
use crate::flat::{Flat, Hold};
use crate::world::{NOW, World};
use domain::book::{Entry, Reason, State, UserUnits};
use domain::facts::Stream;
use domain::orders::Cancel;
use domain::payments::Outcome;
use domain::plan::Append;
use domain::rules::SaleId;

#[derive(Clone, Copy)]
pub struct Planted {
    pub name: &'static str,
    /// Changes what a decision sees.
    pub sight: fn(&mut World, &Action),
    /// Changes what is written. False if nothing is.
    pub edit: fn(&mut Flat, &Action) -> bool,
    /// Changes what is asked for.
    pub request: fn(Action) -> Action,
    /// What follows a cancellation, as another command.
    pub then: fn(Action) -> Option<Action>,
    /// Two tries of one command don't see each other.
    pub forgets: bool,
    /// A failover loses orders, and keeps the stock.
    pub tears: bool,
    /// Nobody looks at the queue after this plan.
    pub is_deaf: fn(&Flat) -> bool,
}

pub const NONE: Planted = Planted {
    name: "",
    sight: |_, _| {},
    edit: |_, _| true,
    request: |action| action,
    then: |_| None,
    forgets: false,
    tears: false,
    is_deaf: |_| false,
};

/// A fault in what is seen.
pub const fn seen(name: &'static str, sight: fn(&mut World, &Action)) -> Planted {
    Planted { name, sight, ..NONE }
}

/// A fault in what is written.
pub const fn written(name: &'static str, edit: fn(&mut Flat, &Action) -> bool) -> Planted {
    Planted { name, edit, ..NONE }
}

fn releases(plan: &Flat) -> bool {
    plan.appends.iter().flatten().any(|append| append.stream() == Stream::Released)
}

pub fn each(world: &mut World, change: impl Fn(&mut Entry<u8>)) {
    world.book.iter_mut().flatten().for_each(change);
}

/// Deadlines seem to be a millisecond later.
fn later(world: &mut World) {
    each(world, |entry| entry.deadline += i64::from(entry.state == State::Held));
}

pub fn is_try(action: &Action) -> bool {
    matches!(action, Action::Try(_) | Action::Wait(_) | Action::Pair(..))
}

pub const PLANTED: &[Planted] = &[
    seen("an order is released twice", |world, action| {
        let live = |entry: &mut Entry<u8>| {
            if entry.state.is_released() && entry.was != Some(State::Waiting) {
                entry.state = State::Sold;
            }
        };
        if matches!(action, Action::Cancel(..)) {
            each(world, live);
        }
    }),
    seen("the limit is one more", |world, action| {
        if is_try(action) {
            world.rules.iter_mut().for_each(|rules| rules.limit += 1);
        }
    }),
    seen("an expired hold is confirmed", |world, action| {
        if matches!(action, Action::Confirm(..)) {
            later(world);
        }
    }),
    seen("an expired hold is extended", |world, action| {
        if matches!(action, Action::Extend(..)) {
            later(world);
        }
    }),
    seen("an expired hold is cancelled", |world, action| {
        if matches!(action, Action::Cancel(..)) {
            later(world);
        }
    }),
    seen("a repeat of an expired order is accepted", |world, action| {
        if is_try(action) {
            later(world);
        }
    }),
    seen("a hold expires a millisecond early", |world, _| {
        each(world, |entry| entry.deadline -= i64::from(entry.state == State::Held));
    }),
    seen("an entry of an earlier sale is applied", |world, action| {
        if matches!(action, Action::RejectLate(..)) {
            world.rules.iter_mut().for_each(|rules| rules.sale = SaleId::created_at(1));
        }
    }),
    seen("a request for an earlier sale is applied", |world, action| {
        if matches!(action, Action::Cancel(..)) {
            world.rules.iter_mut().for_each(|rules| rules.sale = SaleId::created_at(1));
        }
    }),
    seen("a paid order is rejected as unsold", |world, action| {
        if matches!(action, Action::RejectUnsold(_)) {
            each(world, |entry| {
                if entry.state == State::Sold {
                    entry.state = State::Held;
                }
            });
        }
    }),
    seen("a confirmation is answered 1 again", |world, action| {
        if matches!(action, Action::Confirm(..)) {
            each(world, |entry| {
                if entry.state == State::Sold {
                    (entry.state, entry.deadline) = (State::Held, NOW + 1);
                }
            });
        }
    }),
    seen("a reference is overwritten", |world, action| {
        if matches!(action, Action::Confirm(..)) {
            each(world, |entry| entry.reference = None);
        }
    }),
    seen("the id of a released order sells again", |world, action| {
        if is_try(action) {
            let is_left = |entry: &Entry<u8>| !entry.state.is_released();
            world.book = world.book.map(|entry| entry.filter(is_left));
        }
    }),
    seen("a repeat with other units is accepted", |world, action| {
        if let Action::Try(order) = action {
            each(world, |entry| entry.asked = order.units);
        }
    }),
    seen("one unit more is sold", |world, action| {
        if is_try(action) {
            world.stock = world.stock.map(|left| left + 1);
        }
    }),
    seen("another user's order is cancelled", |world, action| {
        if let Action::Cancel(named, ..) = action {
            each(world, |entry| entry.user = named.user);
        }
    }),
    seen("a sold order expires", |world, action| {
        if is_try(action) {
            each(world, |entry| {
                if entry.state == State::Sold {
                    (entry.state, entry.deadline) = (State::Held, NOW);
                }
            });
        }
    }),
    seen("an order is sold after the end", |world, action| {
        if is_try(action) {
            world.rules.iter_mut().for_each(|rules| rules.end = None);
        }
    }),
    seen("an end forgets the begin", |world, action| {
        if matches!(action, Action::Drop { .. }) {
            world.rules.iter_mut().for_each(|rules| rules.begin = None);
        }
    }),
    seen("a restock counts other units", |world, action| {
        if matches!(action, Action::Restock(_)) {
            world.stock = world.stock.map(|left| left + 1);
        }
    }),
    seen("an overdue hold is not expired", |world, action| {
        if is_try(action) {
            world.holds = [None; 3];
        }
    }),
    seen("a payment is forgotten", |world, action| {
        if matches!(action, Action::Confirm(..)) {
            world.payments = [None; 2];
        }
    }),
    seen("a payment of an earlier sale pays again", |world, action| {
        if matches!(action, Action::Confirm(..)) {
            let sale = world.sale();
            world.payments = world.payments.map(|it| it.filter(|it| Some(it.sale) == sale));
        }
    }),
    written("a user's units beyond one are not counted", |plan, _| {
        plan.beyond_one = 0;
        true
    }),
    written("a payment is not recorded", |plan, action| {
        plan.payment = plan.payment.filter(|_| !matches!(action, Action::Confirm(..)));
        plan.payment.is_some() || !matches!(action, Action::Confirm(_, Some(_)))
    }),
    written("a duplicate payment is taken for the first", |plan, _| {
        if let Some((_, payment)) = &mut plan.payment {
            payment.outcome = Outcome::First;
        }
        plan.appends = plan.appends.map(|append| match append {
            Some(Append::Payment(_)) => Some(Append::Payment(Outcome::First)),
            append => append,
        });
        true
    }),
    written("a payment is refunded by a release, and then again", |plan, action| {
        plan.payment = plan.payment.filter(|_| !matches!(action, Action::Cancel(..)));
        true
    }),
    written("what was asked for is forgotten when a part is kept", |plan, action| {
        if let (Action::Cancel(_, Cancel { kept: Some(_), .. }), Some(entry)) =
            (action, &mut plan.entry)
        {
            entry.asked = entry.units;
        }
        true
    }),
    written("the hold is not lifted", |plan, _| {
        plan.hold = plan.hold.filter(|hold| *hold != Hold::Lift);
        true
    }),
    written("the hold is not moved", |plan, _| {
        plan.hold = plan.hold.filter(|hold| !matches!(hold, Hold::Move(_)));
        true
    }),
    written("the user's units are not returned", |plan, _| {
        plan.units = plan.units.filter(|units| units.is_some());
        true
    }),
    written("the units of a user's earlier order are forgotten", |plan, action| {
        if is_try(action) && plan.units.is_some() {
            let (units, latest) = (plan.order.units, plan.order.id);
            plan.units = Some(Some(UserUnits { units, waiting: 0, latest }));
        }
        true
    }),
    written("the stock is not deducted", |plan, _| {
        plan.stock = plan.stock.filter(|stock| stock.after > stock.before);
        true
    }),
    written("the units don't return to the stock", |plan, _| {
        plan.stock = plan.stock.filter(|stock| stock.after < stock.before);
        true
    }),
    written("the buyer is not dismissed", |plan, _| {
        plan.dismiss = false;
        true
    }),
    written("a release has no entry", |plan, _| {
        plan.appends = plan.appends.map(|it| it.filter(|it| it.stream() != Stream::Released));
        true
    }),
    written("a release has two entries", |plan, _| {
        if releases(plan) {
            plan.appends[1] = plan.appends[0];
        }
        true
    }),
    written("a release has another reason", |plan, action| {
        if let (Action::Cancel(..), Some(entry)) = (action, &mut plan.entry) {
            entry.state = State::Released(Reason::Rejected);
        }
        true
    }),
    written("an answer is not replicated again", |plan, _| !plan.again),
    Planted { forgets: true, ..seen("a try doesn't see the one before it", |_, _| {}) },
    Planted { tears: true, ..seen("a failover keeps half of a plan", |_, _| {}) },
];
