//! Faults of the queue, planted between facts, decision and plan: the model must find each.

use crate::actions::Action;
use crate::flat::Flat;
use crate::planted::{Planted, each, is_try, seen, written};
use crate::world::{NOW, World};
use domain::book::{Entry, State, UserUnits};
use domain::orders::Cancel;
use domain::plan::Place;
use domain::sale::Units;

/// Orders that wait seem to be held.
fn held(world: &mut World) {
    each(world, |entry: &mut Entry<u8>| {
        if entry.state == State::Waiting {
            (entry.state, entry.deadline) = (State::Held, NOW + 1);
        }
    });
}

fn promotes(plan: &Flat) -> bool {
    matches!(plan.taken, Some(Some(_)))
}

/// Nothing seems to be held or sold, so that all of the stock is for sale.
fn trust_the_stock(world: &mut World) {
    world.beyond_one = -world.counted();
}

/// Faults that matter once another client has written the stock.
pub const PLANTED_FOREIGN: &[Planted] = &[
    seen("a try trusts the stock", |world, action| {
        if is_try(action) {
            trust_the_stock(world);
        }
    }),
    seen("the queue trusts the stock", |world, action| {
        if !is_try(action) && !matches!(action, Action::Restock(_)) {
            trust_the_stock(world);
        }
    }),
    seen("a restock trusts the stock", |world, action| {
        if matches!(action, Action::Restock(_)) {
            trust_the_stock(world);
        }
    }),
    seen("units that are waited for are taken", |world, action| {
        if is_try(action) {
            let waiting = world.units.iter().flatten().map(|has| has.waiting);
            world.beyond_one += waiting.sum::<i64>();
        }
    }),
];

pub const PLANTED_LINE: &[Planted] = &[
    seen("a waiter is overtaken", |world, action| {
        if matches!(action, Action::Try(_)) {
            world.queue = [None; 3];
        }
    }),
    seen("the last in the queue is promoted first", |world, action| {
        if !is_try(action) {
            let last = world.queue.iter().flatten().max().copied().unwrap_or(0);
            world.queue = world.queue.map(|it| it.map(|ticket| last + 1 - ticket));
        }
    }),
    seen("a smaller order overtakes", |world, action| {
        let left = world.stock.unwrap_or(0);
        if !is_try(action) {
            for (entry, ticket) in world.book.iter().zip(&mut world.queue) {
                let fits = entry.is_some_and(|entry| entry.units.get() <= left);
                *ticket = ticket.filter(|_| fits);
            }
        }
    }),
    seen("an order is promoted after the end", |world, action| {
        if !is_try(action) {
            world.rules.iter_mut().for_each(|rules| rules.end = None);
        }
    }),
    seen("an order that waits beyond the end is answered so", |world, action| {
        if is_try(action) {
            world.rules.iter_mut().for_each(|rules| rules.end = None);
        }
    }),
    seen("an order that waits is confirmed", |world, action| {
        if matches!(action, Action::Confirm(..)) {
            held(world);
        }
    }),
    seen("an order of which a part is kept leaves the queue", |world, action| {
        if matches!(action, Action::Cancel(_, Cancel { kept: Some(_), .. })) {
            held(world);
        }
    }),
    seen("units that are waited for don't count towards the limit", |world, action| {
        if is_try(action) {
            for has in world.units.iter_mut() {
                *has = has.and_then(|has| {
                    let units = Units::new(has.units.get() - has.waiting)?;
                    Some(UserUnits { units, waiting: 0, ..has })
                });
            }
        }
    }),
    seen("a queue of any length", |world, action| {
        if matches!(action, Action::Wait(_)) {
            let last = world.queue.iter().flatten().max().copied();
            world.queue = world.queue.map(|ticket| ticket.filter(|it| Some(*it) == last));
        }
    }),
    seen("reservations go while somebody waits", |world, action| {
        if matches!(action, Action::Hold(None)) {
            world.queue = [None; 3];
        }
    }),
    seen("a sale is dropped while somebody waits", |world, action| {
        if matches!(action, Action::Drop { forced: false, .. }) {
            world.queue = [None; 3];
        }
    }),
    written("a place in the queue is not left", |plan, _| {
        plan.place = plan.place.filter(|place| *place != Place::Leave);
        true
    }),
    written("an order waits without a place in the queue", |plan, _| {
        plan.place = plan.place.filter(|place| *place == Place::Leave);
        true
    }),
    written("the units that a user waits for are not returned", |plan, _| {
        let waits = plan.entry.is_some_and(|entry| entry.was == Some(State::Waiting));
        plan.units = plan.units.filter(|_| !waits);
        true
    }),
    written("units that were waited for still count as such", |plan, _| {
        if promotes(plan) {
            plan.units = None;
        }
        true
    }),
    written("a waiter who is promoted is no buyer", |plan, _| {
        if promotes(plan) {
            plan.admit = None;
        }
        true
    }),
    written("an order is promoted without an entry", |plan, _| {
        plan.taken = plan.taken.filter(Option::is_none);
        true
    }),
    written("an order is promoted without a deduction", |plan, _| {
        if promotes(plan) {
            plan.stock = None;
        }
        true
    }),
    Planted {
        is_deaf: |plan| plan.place == Some(Place::Leave),
        ..seen("the queue sticks behind a leaver", |_, _| {})
    },
    Planted {
        is_deaf: |plan| plan.stock.is_some(),
        ..seen("the queue does not hear of units", |_, _| {})
    },
];
