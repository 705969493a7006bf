//! Queues that the explored courses are too short for, or that somebody edited; users at the limit;
//! and what is asked of a sale that is not there.

use crate::actions::WAITS;
use crate::bounds::{order, sale};
use crate::extremes::{asked, entry, refused, request, with_order};
use crate::requests::ALL;
use crate::world::{Error, NOW, View, World};
use domain::book::{Entry, State, UserUnits};
use domain::facts::{Needed, Queue, Refusal, TICKET_MAX};
use domain::plan::{Decision, Plan};
use domain::rules::{Meant, Rules};
use domain::sale::{TryOutcome, Units};
use domain::tries::{self, Wish};
use domain::{orders, sales, waitlist};

/// Orders 0 and so on wait, of user 0, for a unit each.
fn waiting(count: u8, stock: i64, total: i64) -> World {
    let mut world = with_order(State::Waiting, 1, Some(stock), total);
    let entry = world.book[0].map(|entry| Entry { deadline: NOW, ..entry });
    let has = i64::from(count);
    let latest = count.saturating_sub(1);
    world.units[0] = Units::new(has).map(|units| UserUnits { units, waiting: has, latest });
    for id in 0..count {
        world.book[usize::from(id)] = entry;
        world.queue[usize::from(id)] = Some(id + 1);
    }
    world.beyond_one = -world.counted();
    world
}

fn promoted(facts: &View<'_>) -> Result<Option<Plan<u8>>, Error> {
    waitlist::promote(facts, waitlist::next(facts)?)
}

#[test]
fn who_leaves_the_queue_moves_it_and_who_is_promoted_does_not() {
    let left = asked(waiting(2, 0, 2), |facts| orders::cancel(facts, &request(), ALL));
    assert!(matches!(left, Ok(Decision::Do(_, plan)) if plan.moves_queue()));
    let plan = asked(waiting(2, 1, 2), promoted).unwrap().unwrap();
    assert!(matches!(plan, Plan::Promote(..)) && !plan.moves_queue());
}

#[test]
fn a_queue_is_joined_while_it_has_a_place_by_orders_that_can_be_promoted() {
    for (count, units, total, want) in [
        (1, 1, 2, TryOutcome::Waiting),
        (2, 1, 2, TryOutcome::SoldOut),
        (1, 2, 2, TryOutcome::Waiting),
        (1, 3, 2, TryOutcome::SoldOut),
    ] {
        let order = order(1, 2, units);
        let tried =
            asked(waiting(count, 0, total), |facts| tries::decide(facts, &order, WAITS, false));
        let (Ok(Decision::Answer(answer)) | Ok(Decision::Do(answer, _))) = tried else {
            panic!("{count} {units}")
        };
        assert_eq!(answer.outcome, want, "{count} {units}");
    }
    let next = |last| Queue { last, ..Queue::default() }.next();
    let tickets = [-5, 0, TICKET_MAX - 1, TICKET_MAX].map(next);
    assert_eq!(tickets, [Some(1), Some(1), Some(TICKET_MAX), None]);
}

/// Somebody deleted an order of the book, or all of it.
#[test]
fn an_id_in_queue_that_is_no_order_leaves_unless_the_book_is_missing() {
    let mut world = waiting(2, 1, 2);
    world.book[0] = None;
    let plan = asked(world, promoted).unwrap().unwrap();
    assert_eq!(plan, Plan::StrayPlace(0));
    world.book[1] = None;
    assert_eq!(asked(world, promoted), refused(Refusal::Missing(Needed::Book)));
}

#[test]
fn a_sale_that_has_ended_opens_again_once_its_waits_are_recorded() {
    let over = |count| {
        let world = waiting(count, 1, 2);
        let rules = world.rules.map(|rules| Rules { begin: None, end: Some(NOW), ..rules });
        World { rules, ..world }
    };
    let end = |world, end| {
        asked(world, |facts| sales::alter(facts, Meant::Any, |rules| Ok(Rules { end, ..rules })))
    };
    assert_eq!(end(over(1), None), refused(Refusal::EndingWaits));
    assert!(end(over(1), Some(NOW - 1)).is_ok());
    let endless = over(0).rules.map(|rules| Rules { end: None, ..rules });
    assert_eq!(end(over(0), None).map(|plan| plan.rules), Ok(endless));
}

#[test]
fn what_is_meant_for_a_sale_is_refused_by_a_stock_alone() {
    let bare = World { stock: Some(1), ..World::EMPTY };
    let meant = Meant::by_request(Some(sale().sale));
    let dropped = |world| asked(world, |facts| sales::drop(facts, meant, false, 1));
    assert_eq!(dropped(bare), refused(Refusal::NotManaged));
    assert!(dropped(World::EMPTY).is_ok());
    let order = order(0, 0, 1);
    let tried = asked(bare, |facts| tries::decide(facts, &order, WAITS, false));
    assert!(matches!(tried, Err(Error::Refused(Refusal::NotManaged))));
}

#[test]
fn a_user_at_the_limit_expires_what_the_stock_lacks_too() {
    let both = |state, until| {
        let mut world = with_order(state, 1, Some(0), 2);
        world.rules = Some(sale());
        let overdue = Entry { deadline: NOW, ..entry(State::Held, 1) };
        if state == State::Held {
            let held = Entry { deadline: until, ..overdue };
            (world.book[0], world.holds[0]) = (Some(held), Some(until));
        }
        (world.book[1], world.holds[1]) = (Some(Entry { user: 1, ..overdue }), Some(NOW));
        world
    };
    let order = order(0, 2, 2);
    let at_limit = || Decision::Answer(TryOutcome::AtLimit.into());
    for (state, until, expired, want) in [
        (State::Held, NOW, false, Decision::ExpireFirst(vec![0, 1])),
        (State::Held, NOW, true, at_limit()),
        // Nothing of theirs is overdue.
        (State::Held, NOW + 1, false, at_limit()),
        (State::Sold, NOW, false, at_limit()),
    ] {
        let world = both(state, until);
        let got = asked(world, |facts| tries::decide(facts, &order, Wish::PLAIN, expired));
        assert_eq!(got, Ok(want), "{state:?} {until} {expired}");
    }
}

#[test]
fn a_user_at_the_limit_expires_an_earlier_order_too() {
    let mut world = with_order(State::Held, 1, Some(0), 2);
    world.rules = Some(sale());
    let overdue = Entry { deadline: NOW, ..entry(State::Held, 1) };
    (world.book[0], world.holds[0]) = (Some(overdue), Some(NOW));
    world.book[1] = Some(entry(State::Sold, 1));
    world.units[0] = Units::new(2).map(|units| UserUnits { units, waiting: 0, latest: 1 });
    let order = order(0, 2, 2);
    let got = asked(world, |facts| tries::decide(facts, &order, Wish::PLAIN, false));
    assert_eq!(got, Ok(Decision::ExpireFirst(vec![0])));
}

#[test]
fn tickets_are_numbers_that_a_double_holds() {
    let next = |last| Queue { last, ..Queue::default() }.next();
    assert_eq!(next(9_007_199_254_740_990), Some(9_007_199_254_740_991));
    assert_eq!(next(9_007_199_254_740_991), None);
}
