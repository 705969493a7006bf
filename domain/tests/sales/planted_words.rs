//! Faults about the units of payments, and about units that leave a sale or were refunded: the
//! model must find each.

use crate::actions::Action;
use crate::planted::{NONE, Planted, each, seen, written};
use crate::world::World;
use domain::book::{Entry, Spans, State};
use domain::orders::Cancel;
use domain::payments::Outcome;
use domain::sale::Units;
use domain::sales::Restock;

fn cancels(action: &Action) -> Cancel<u8> {
    if let Action::Cancel(_, cancel) = action { *cancel } else { Cancel::ALL }
}

/// Changes the orders that a cancellation sees which says that they are refunded.
fn each_refunded(world: &mut World, action: &Action, change: impl Fn(&mut Entry<u8>)) {
    if cancels(action).refunded {
        each(world, change);
    }
}

/// One unit of two leaves the sale.
fn is_one(action: &Action) -> bool {
    let cancel = cancels(action);
    cancel.norestock && cancel.kept == Some(Units::ONE) && !cancel.refunded
}

pub const PLANTED_WORDS: &[Planted] = &[
    // As a cancellation and a RESTOCK of their own.
    Planted {
        name: "units that leave a sale are for the queue",
        request: |action| match action {
            Action::Cancel(named, cancel) if is_one(&action) => {
                Action::Cancel(named, Cancel { norestock: false, ..cancel })
            }
            action => action,
        },
        then: |action| is_one(&action).then_some(Action::Restock(Restock::By(-1))),
        ..NONE
    },
    written("the total is not lowered", |plan, _| {
        plan.rules = None;
        true
    }),
    written("the total is lowered by one unit too many", |plan, _| {
        plan.rules.iter_mut().for_each(|rules| rules.total -= 1);
        true
    }),
    seen("units leave a sale again by a repeat", |world, action| {
        if cancels(action).norestock {
            each(world, |it| {
                if it.was == Some(State::Sold) {
                    it.state = State::Sold;
                }
            });
        }
    }),
    seen("a repeat of a refund says something new", |world, action| {
        each_refunded(world, action, |it| {
            if it.was == Some(State::Sold) {
                it.state = State::Sold;
            }
        });
    }),
    seen("units are refunded without a reference", |world, action| {
        each_refunded(world, action, |it| {
            it.reference = it.reference.or(Some(0)).filter(|_| it.state == State::Sold);
        });
    }),
    seen("held units are refunded", |world, action| {
        each_refunded(world, action, |it| {
            if it.state == State::Held {
                (it.state, it.reference) = (State::Sold, Some(0));
            }
        });
    }),
    written("a refund is not in the book", |plan, _| {
        plan.entry.iter_mut().for_each(|entry| entry.refunded = Spans::NONE);
        true
    }),
    Planted {
        name: "a payment pays more units than it is for",
        request: |action| match action {
            Action::Paid(named, reference, _) => Action::Confirm(named, Some(reference)),
            action => action,
        },
        edit: |plan, action| {
            if let Some(units) = action.paid() {
                plan.payment.iter_mut().for_each(|(_, payment)| payment.paid = Some(units));
                plan.entry.iter_mut().for_each(|entry| entry.paid = Some(units));
            }
            true
        },
        ..NONE
    },
    seen("the units of a payment change", |world, action| {
        if action.paid().is_some() {
            world.payments.iter_mut().flatten().for_each(|it| it.paid = action.paid());
        }
    }),
    seen("the units of an unmatched payment are forgotten", |world, action| {
        if matches!(action, Action::Confirm(..)) {
            let unmatched = |it: &mut domain::payments::Payment<u8>| {
                it.paid = it.paid.filter(|_| it.outcome != Outcome::Unmatched);
            };
            world.payments.iter_mut().flatten().for_each(unmatched);
        }
    }),
    written("the book does not say what was paid", |plan, action| {
        if action.paid().is_some() {
            plan.entry.iter_mut().for_each(|entry| entry.paid = None);
        }
        true
    }),
    seen("the first payment of a released order is late", |world, action| {
        if action.pays().is_some() {
            each(world, |it| it.was = it.was.map(|_| State::Held));
        }
    }),
];
