//! What the explored numbers are too small for, or what only other clients bring about: extreme
//! integers, missing keys, keys that somebody edited, other policies.

use crate::bounds::{created, order, sale};
use crate::flat::{Flat, Hold};
use crate::requests::ALL;
use crate::world::{Error, NOW, ORDERS, USERS, View, World};
use domain::book::{Entry, Reason, State, UserUnits};
use domain::confirm::{self, Confirmation, Given};
use domain::facts::{Needed, Refusal};
use domain::orders::{self, Cancel, OrderRequest, stock_after_release};
use domain::plan::{Admission, Change, Decision, Plan, SalePlan};
use domain::rejection::Fate;
use domain::rules::{MILLIS_MAX, Meant, Rules};
use domain::sale::{Policy, TryOutcome, Units};
use domain::sales::{self, End, LAST_KEPT_MS, Restock};
use domain::tries::{self, Wish};
use std::cell::Cell;

pub const PLAIN: Policy = Policy { missing_is_sold_out: false, minus_one_is_unlimited: false };
pub const SOFT: Policy = Policy { missing_is_sold_out: true, ..PLAIN };
const ENDLESS: Policy = Policy { minus_one_is_unlimited: true, ..PLAIN };
pub const MAX: i64 = i64::MAX;

/// Asks about a world, of whose questions none fails, or one.
fn ask<T>(world: World, policy: Policy, fails: usize, ask: impl FnOnce(&View<'_>) -> T) -> T {
    let asked = Cell::new(0);
    ask(&View { world: &world, asked: &asked, fails, knows_buyers: false, policy })
}

pub fn asked<T>(world: World, question: impl FnOnce(&View<'_>) -> T) -> T {
    ask(world, PLAIN, usize::MAX, question)
}

pub fn restocked(world: World, restock: Restock<u8>) -> Result<(i64, SalePlan<u8>), Error> {
    asked(world, |facts| sales::restock(facts, Meant::Any, restock))
}

pub fn refused<T>(refusal: Refusal) -> Result<T, Error> {
    Err(Error::Refused(refusal))
}

pub fn entry(state: State, units: i64) -> Entry<u8> {
    let deadline = if state == State::Held { NOW + 1 } else { 0 };
    let units = order(0, 0, units).units;
    Entry::made(state, units, deadline, 0)
}

/// A sale with one order of user 0.
pub fn with_order(state: State, units: i64, stock: Option<i64>, total: i64) -> World {
    let mut world = created(Rules { total, limit: MAX, ..sale() });
    let made = entry(state, units);
    world.stock = stock;
    world.book[0] = Some(made);
    let is_held = state == State::Held;
    world.holds[0] = is_held.then_some(made.deadline);
    world.extra = if is_held { units - 1 } else { 0 };
    world.units[0] = Some(UserUnits { units: made.units, waiting: 0, latest: 0 });
    world.beyond_one = units - 1;
    world.buyers[0] = true;
    world
}

pub fn request() -> OrderRequest<u8> {
    OrderRequest { user: 0, id: 0, sale: Meant::Any }
}

/// The plan of a decision that has one.
pub fn plan<A>(decision: Result<Decision<A, u8>, Error>) -> Flat {
    match decision {
        Ok(Decision::Do(_, plan)) => plan.into(),
        _ => panic!("no plan"),
    }
}

#[test]
fn a_stock_sells_all_or_nothing() {
    let bare = |stock| World { stock, ..World::EMPTY };
    let managed = |stock| World { stock, ..created(Rules { total: MAX, limit: MAX, ..sale() }) };
    let no_stock = refused(Refusal::NoVoucher);
    let take = |before, after| Ok((TryOutcome::Accepted, Some(Change { before, after })));
    let (free, sold_out) = (Ok((TryOutcome::Accepted, None)), Ok((TryOutcome::SoldOut, None)));
    let rows = [
        (None, 1, PLAIN, no_stock, no_stock),
        (None, 1, SOFT, sold_out, sold_out),
        (None, 1, ENDLESS, no_stock, no_stock),
        (Some(-1), 1, PLAIN, sold_out, sold_out),
        // A managed stock is a number.
        (Some(-1), 1, ENDLESS, free, sold_out),
        (Some(-2), 1, ENDLESS, sold_out, sold_out),
        (Some(i64::MIN), MAX, PLAIN, sold_out, sold_out),
        (Some(1), 1, PLAIN, take(1, 0), take(1, 0)),
        (Some(0), MAX, PLAIN, sold_out, sold_out),
        (Some(MAX), 1, PLAIN, take(MAX, MAX - 1), take(MAX, MAX - 1)),
        (Some(MAX), MAX, PLAIN, take(MAX, 0), take(MAX, 0)),
    ];
    for (stock, units, policy, want, want_managed) in rows {
        for (world, want) in [(bare(stock), want), (managed(stock), want_managed)] {
            let order = order(0, 0, units);
            let decided = ask(world, policy, usize::MAX, |facts| {
                tries::decide(facts, &order, Wish::PLAIN, false)
            });
            let got = decided.map(|decision| match decision {
                Decision::Answer(answer) => (answer.outcome, None),
                Decision::Do(answer, plan) => (answer.outcome, Flat::from(plan).stock),
                Decision::ExpireFirst(_) => panic!("nothing is due"),
            });
            assert_eq!(got, want, "{stock:?} {units} {policy:?}");
        }
    }
}

#[test]
fn the_units_of_a_user_stay_within_64_bits() {
    for (has, units, want) in [(MAX - 1, 1, Some(MAX)), (MAX, 1, None), (1, MAX, None)] {
        let world = with_order(State::Sold, has, Some(MAX), MAX);
        let order = order(0, 1, units);
        let decided = asked(world, |facts| tries::decide(facts, &order, Wish::PLAIN, false));
        let got = match decided {
            Ok(Decision::Do(_, Plan::Take(it))) if it.admit.is_none() => it.booked.map(|it| it.has),
            Ok(Decision::Answer(answer)) if answer == TryOutcome::AtLimit.into() => None,
            other => panic!("{other:?}"),
        };
        assert_eq!(got.map(|all| (all.units.get(), all.latest)), want.map(|all| (all, 1)));
    }
}

#[test]
fn the_longest_reservation_has_a_deadline() {
    let world = created(Rules { hold: Some(MILLIS_MAX), ..sale() });
    let order = order(0, 0, 1);
    let made = plan(asked(world, |facts| tries::decide(facts, &order, Wish::PLAIN, false)));
    assert_eq!(made.hold, Some(Hold::Place(NOW + MILLIS_MAX)));
    let world = with_order(State::Held, 1, Some(0), 1);
    let more = plan(asked(world, |facts| confirm::extend(facts, &request(), i64::MAX)));
    assert_eq!(more.hold, Some(Hold::Move(i64::MAX)));
}

#[test]
fn a_buyer_is_told_so_although_the_stream_is_full() {
    let bought = World { stock: Some(1), buyers: [true, false], ..World::EMPTY };
    for (user, want) in
        [(0, Ok(Decision::Answer(TryOutcome::AtLimit.into()))), (1, Err(Error::Fault))]
    {
        let order = order(user, 0, 1);
        // After the rules and the stock, the room.
        let a_try = |facts: &View<'_>| tries::decide(facts, &order, Wish::PLAIN, false);
        assert_eq!(ask(bought, PLAIN, 2, a_try), want);
        let decided = plan(asked(bought, a_try));
        assert_eq!(decided.admit, Some(Admission::Ask));
    }
}

#[test]
fn released_units_return_where_they_fit() {
    for (left, units, total, want) in [
        (0, 1, 1, 1),
        (1, 1, 1, 1),
        (2, 1, 1, 2),
        (0, 3, 2, 2),
        (-5, 1, 3, -4),
        (MAX, MAX, MAX, MAX),
        (MAX, 1, 0, MAX),
        (i64::MIN, MAX, 0, -1),
    ] {
        let units = Units::new(units).unwrap();
        assert_eq!(stock_after_release(left, units, total), want, "{left} {units:?} {total}");
    }
    // The second has already all that there is.
    for (stock, want) in [(0, Some(Change { before: 0, after: 2 })), (2, None)] {
        for state in [State::Held, State::Sold] {
            let world = with_order(state, 2, Some(stock), 2);
            let got = plan(asked(world, |facts| orders::cancel(facts, &request(), ALL)));
            assert_eq!((got.stock, got.dismiss, got.units), (want, true, Some(None)));
        }
    }
}

#[test]
fn units_that_somebody_edited_never_become_less_than_none() {
    let units =
        |units| Some(UserUnits { units: Units::new(units).unwrap(), waiting: 0, latest: 1 });
    for (has, want, is_dismissed) in [
        (None, None, true),
        (units(1), Some(None), true),
        (units(2), Some(None), true),
        (units(5), Some(units(3)), false),
        (units(MAX), Some(units(MAX - 2)), false),
    ] {
        let mut world = with_order(State::Held, 2, Some(0), 2);
        world.units = [has, units(1)];
        let got = plan(asked(world, |facts| orders::cancel(facts, &request(), ALL)));
        assert_eq!((got.units, got.dismiss), (want, is_dismissed), "{has:?}");
    }
}

/// A key that is missing may be yet to come: nothing is released without it.
#[test]
fn a_sale_that_lacks_a_key_releases_nothing() {
    let whole = with_order(State::Held, 2, Some(0), 2);
    let without = [
        (Needed::Stock, World { stock: None, ..whole }),
        (Needed::Buyers, World { buyers: [false; USERS], ..whole }),
        (Needed::Units, World { units: [None; USERS], ..whole }),
        (Needed::Extra, World { extra: 0, ..whole }),
        (Needed::Book, World { book: [None; ORDERS], ..whole }),
    ];
    for (key, world) in without {
        let ended = asked(world, |facts| orders::end_hold(facts, &0, Reason::Expired));
        assert_eq!(ended, refused(Refusal::Missing(key)), "{key}");
        let cancelled = asked(world, |facts| orders::cancel(facts, &request(), ALL));
        let is_unknown = key == Needed::Book;
        assert_eq!(cancelled.is_ok(), is_unknown, "{key}");
    }
    // An order of one unit is not counted there.
    let mut single = with_order(State::Held, 1, Some(0), 1);
    single.extra = 0;
    assert!(asked(single, |facts| orders::end_hold(facts, &0, Reason::Expired)).is_ok());
}

#[test]
fn holds_that_somebody_edited_are_lifted() {
    let mut world = with_order(State::Sold, 1, Some(0), 1);
    world.holds = [Some(NOW), Some(NOW), None];
    for id in [0, 1] {
        let plan = asked(world, |facts| orders::end_hold(facts, &id, Reason::Expired)).unwrap();
        assert_eq!(plan, Plan::StrayHold(id));
    }
    // Its book may return.
    world.book = [None; 3];
    let ended = asked(world, |facts| orders::end_hold(facts, &0, Reason::Expired));
    assert_eq!(ended, refused(Refusal::Missing(Needed::Book)));
    world.rules = None;
    let ended = asked(world, |facts| orders::end_hold(facts, &0, Reason::Expired));
    assert_eq!(ended, refused(Refusal::NotManaged));
}

#[test]
fn units_return_to_an_unmanaged_stock() {
    let moved = |before, after| Ok(Some(Change { before, after }));
    for (stock, units, policy, want) in [
        (None, 1, PLAIN, Ok(None)),
        (Some(5), 3, PLAIN, moved(5, 8)),
        (Some(-1), 3, ENDLESS, Ok(None)),
        (Some(-1), 3, PLAIN, moved(-1, 2)),
        (Some(-2), 1, ENDLESS, moved(-2, -1)),
        (Some(MAX), 1, PLAIN, refused(Refusal::Overflow)),
        (Some(MAX - 1), 1, PLAIN, moved(MAX - 1, MAX)),
    ] {
        let world = World { stock, buyers: [true, false], ..World::EMPTY };
        let request = OrderRequest { sale: Meant::Unmanaged, ..request() };
        let units = Units::new(units).unwrap();
        let rejected =
            ask(world, policy, usize::MAX, |facts| orders::reject(facts, &request, units, false));
        let got = rejected.map(|decision| match decision {
            Decision::Do(Some(Fate::Rejected), Plan::Amend(plan)) if plan.dismiss => plan.stock,
            other => panic!("{other:?}"),
        });
        assert_eq!(got, want, "{stock:?} {units:?} {policy:?}");
    }
}

#[test]
fn what_needs_rules_is_refused_without() {
    let world = World { stock: Some(1), buyers: [true, false], ..World::EMPTY };
    let sold = OrderRequest { sale: Meant::by_request(Some(sale().sale)), ..request() };
    for (request, only, is_refused) in [
        (request(), None, false),
        (request(), Some(State::Held), true),
        (sold.clone(), None, true),
        (sold, Some(State::Sold), true),
    ] {
        let got = asked(world, |facts| orders::cancel(facts, &request, Cancel { only, ..ALL }));
        assert_eq!(got == refused(Refusal::NotManaged), is_refused, "{request:?} {only:?}");
    }
    let confirmed = asked(world, |facts| confirm::confirm(facts, &request(), None));
    assert_eq!(confirmed, refused(Refusal::NotManaged));
    assert_eq!(restocked(world, Restock::By(1)), refused(Refusal::NotManaged));
}

/// Somebody deleted the record of payments, whose key can be lost apart from the book.
#[test]
fn a_payment_in_the_book_alone_is_no_second_one() {
    let released = State::Released(Reason::Cancelled);
    for (state, want) in
        [(State::Sold, Confirmation::WasSold), (released, Confirmation::ReleasedSince)]
    {
        let mut world = with_order(state, 1, Some(1), 2);
        world.book[0] = world.book[0].map(|entry| Entry { reference: Some(0), ..entry });
        let given = Some(Given { reference: 0, is_refunded: false, units: None });
        let got = asked(world, |facts| confirm::confirm(facts, &request(), given));
        let Ok(Decision::Do(answer, plan)) = got else { panic!("{got:?}") };
        let plan = Flat::from(plan);
        assert_eq!((answer, plan.appends), (want, [None; 2]), "{state:?}");
        assert!(plan.payment.is_some_and(|(reference, _)| reference == 0), "{state:?}");
    }
}

#[test]
fn stock_and_total_stay_within_64_bits() {
    for (stock, total, delta, want) in [
        (Some(1), 2, 1, Ok((2, Some((2, 3))))),
        (Some(1), 2, -1, Ok((0, Some((0, 1))))),
        (Some(1), 2, 0, Ok((1, None))),
        (Some(1), 1, -1, Ok((0, Some((0, 0))))),
        (Some(0), 2, -1, refused(Refusal::TooFew)),
        (Some(5), 0, -1, refused(Refusal::TooFew)),
        (Some(-5), 2, 1, refused(Refusal::TooFew)),
        (Some(1), MAX, 1, refused(Refusal::Overflow)),
        (Some(MAX), 2, 1, refused(Refusal::Overflow)),
        (Some(0), 0, MAX, Ok((MAX, Some((MAX, MAX))))),
        (None, 2, 1, refused(Refusal::NoVoucher)),
    ] {
        let world = World { stock, ..created(Rules { total, ..sale() }) };
        let got = restocked(world, Restock::By(delta));
        let got = got.map(|(after, plan)| {
            let changed = plan.stock.zip(plan.rules);
            (after, changed.map(|(stock, rules)| (stock.after, rules.total)))
        });
        assert_eq!(got, want, "{stock:?} {total} {delta}");
    }
    for (to, want) in [
        (3, Ok((2, Some((2, 3))))),
        (1, Ok((0, Some((0, 1))))),
        // Written again, and nothing else.
        (2, Ok((1, None))),
        (0, refused(Refusal::TooFew)),
        (-1, refused(Refusal::TooFew)),
        (i64::MIN, refused(Refusal::Overflow)),
    ] {
        let world = World { stock: Some(1), ..created(Rules { total: 2, ..sale() }) };
        let got = restocked(world, Restock::To(to));
        let got = got.map(|(after, plan)| {
            let rules = plan.rules.unwrap();
            (after, plan.stock.map(|stock| (stock.after, rules.total)))
        });
        assert_eq!(got, want, "{to}");
    }
}

#[test]
fn a_stock_is_adopted_if_it_is_a_number_of_units() {
    for (stock, want) in [
        (None, refused(Refusal::NoVoucher)),
        (Some(-1), refused(Refusal::NotAdoptable)),
        (Some(i64::MIN), refused(Refusal::NotAdoptable)),
        (Some(0), Ok(0)),
        (Some(MAX), Ok(MAX)),
    ] {
        let bare = World { stock, ..World::EMPTY };
        let got = asked(bare, |facts| sales::create(facts, sale(), true));
        let total = got.map(|plan| {
            assert_eq!((plan.new_stock, plan.stock, plan.delete), (None, None, None));
            plan.rules.unwrap().total
        });
        assert_eq!(total, want, "{stock:?}");
        let sold = World { buyers: [true, false], ..bare };
        let got = asked(sold, |facts| sales::create(facts, sale(), true));
        assert!(got.is_err());
        let made = asked(bare, |facts| sales::create(facts, sale(), false));
        assert_eq!(made.map(|plan| plan.new_stock).ok(), stock.is_none().then_some(Some(2)));
    }
}

#[test]
fn a_sale_ends_although_its_keys_are_unreadable() {
    let held = with_order(State::Held, 1, Some(0), 1);
    let deletion = SalePlan { delete: Some(NOW + LAST_KEPT_MS), ..SalePlan::NONE };
    let delete = || End::Delete(deletion);
    let end = SalePlan { rules: sale().ended(NOW), ..SalePlan::NONE };
    let end =
        SalePlan { rules: end.rules.map(|rules| Rules { total: 1, limit: MAX, ..rules }), ..end };
    let no_book = World { book: [None; 3], ..held };
    let no_rules = World { rules: None, ..held };
    let sold = with_order(State::Sold, 1, Some(0), 1);
    let cancel = End::Cancel { ids: vec![0], delete: Some(deletion), end };
    // The first question is for holds, the second for rules.
    for (world, fails, forced, want) in [
        (held, 9, false, refused(Refusal::Held)),
        (held, 9, true, Ok(cancel)),
        (held, 0, true, Err(Error::Fault)),
        (held, 1, false, refused(Refusal::Held)),
        (held, 1, true, Ok(delete())),
        (held, 2, true, Err(Error::Fault)),
        (sold, 9, false, Ok(delete())),
        (sold, 1, false, Ok(delete())),
        (no_book, 9, true, Ok(delete())),
        (no_book, 9, false, refused(Refusal::Held)),
        (no_rules, 9, false, Ok(delete())),
    ] {
        let got = ask(world, PLAIN, fails, |facts| sales::drop(facts, Meant::Any, forced, 1));
        assert_eq!(got, want, "{world:?} {fails} {forced}");
    }
    // More are held than are released at once.
    for (most, ids) in [(0, vec![]), (1, vec![0]), (2, vec![0])] {
        let delete = (most > 0).then_some(deletion);
        let got = asked(held, |facts| sales::drop(facts, Meant::Any, true, most));
        assert_eq!(got, Ok(End::Cancel { ids, delete, end }));
    }
}
