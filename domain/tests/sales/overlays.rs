//! What tries of one command see of each other.

use crate::bounds::order;
use crate::extremes::{PLAIN, SOFT, with_order};
use crate::queue::QUEUE_MAX;
use crate::world::{Error, NOW, View, World};
use domain::book::{Has, State, UserUnits};
use domain::facts::{Facts, Needed, Stream};
use domain::overlay::Overlay;
use domain::plan::{Decision, Plan};
use domain::sale::{Stock, Units};
use domain::tries::{self, Wish};
use std::cell::Cell;

#[test]
fn an_overlay_knows_plans_that_are_not_applied() {
    let world = with_order(State::Sold, 1, Some(5), 6);
    let asked = Cell::new(0);
    let policy = PLAIN;
    let view = View { world: &world, asked: &asked, fails: 99, knows_buyers: false, policy };
    let mut overlay = Overlay::new(&view, 3);
    assert_eq!(overlay.is_missing(Needed::Book), Ok(false));
    assert_eq!((overlay.known_buyer(&1), overlay.is_buyer(&1)), (Ok(None), Ok(false)));
    for (id, user) in [(1, 1), (2, 0)] {
        let order = order(user, id, 2);
        let decided = tries::decide(&overlay, &order, Wish::PLAIN, false);
        let Ok(Decision::Do(_, Plan::Take(take))) = decided else { panic!("{decided:?}") };
        overlay.push(take);
    }
    assert!(!overlay.is_empty());
    // The next question of the sale fails. That for room of their entries was answered.
    asked.set(view.fails);
    assert_eq!(overlay.room(Stream::Orders), Ok(()));
    assert_eq!(overlay.room(Stream::Released), Err(Error::Fault));
    let units = |units, latest| UserUnits { units: Units::new(units).unwrap(), waiting: 0, latest };
    assert_eq!(overlay.user_units(&1), Ok(Some(units(2, 1))));
    assert_eq!(overlay.user_units(&0), Ok(Some(units(3, 2))));
    let has = |units| Ok(Has { units, waiting: 0 });
    assert_eq!((overlay.units_of(&0), overlay.units_of(&1)), (has(3), has(2)));
    assert_eq!((overlay.known_buyer(&1), overlay.is_buyer(&1)), (Ok(Some(true)), Ok(true)));
    assert_eq!((overlay.stock(), overlay.taken()), (Ok(Stock::Left(1)), Ok(5)));
    assert_eq!(overlay.entry(&2).unwrap().map(|entry| entry.user), Some(0));
    assert_eq!(overlay.entry(&0).unwrap(), world.book[0]);
    assert_eq!(overlay.take().iter().map(|take| take.order.id).collect::<Vec<_>>(), [1, 2]);
    assert!(overlay.is_empty() && overlay.take().is_empty());
    assert_eq!((overlay.units_of(&0), overlay.stock()), (has(1), Ok(Stock::Left(5))));
    assert_eq!((overlay.entry(&1), overlay.is_buyer(&1)), (Ok(None), Ok(false)));
}

#[test]
fn an_overlay_passes_on_what_it_does_not_know() {
    let mut world = with_order(State::Held, 1, Some(5), 6);
    (world.last, world.outside[0]) = (world.sale(), Some(Units::ONE));
    let asked = Cell::new(0);
    let view = View { world: &world, asked: &asked, fails: 0, knows_buyers: true, policy: SOFT };
    type Question = fn(&Overlay<'_, View<'_>>) -> Result<bool, Error>;
    let questions: [(Question, bool); 22] = [
        (|facts| facts.has_own_keys(true), true),
        (|facts| facts.is_missing(Needed::Book), false),
        (|facts| facts.known_buyer(&0).map(|known| known == Some(true)), true),
        (|facts| facts.known_buyer(&1).map(|known| known == Some(true)), false),
        (|facts| facts.is_buyer(&0), true),
        (|facts| facts.room(Stream::Orders).map(|()| true), true),
        (|facts| facts.writable(true).map(|()| true), true),
        (|facts| facts.releasable().map(|()| true), true),
        (|facts| facts.taken().map(|taken| taken == 1), true),
        (|facts| facts.payment(&0).map(|payment| payment.is_none()), true),
        (|facts| facts.last_sale().map(|last| last.is_some()), true),
        (|facts| facts.outside(&0).map(|units| units == Some(Units::ONE)), true),
        (|facts| facts.keepable().map(|()| true), true),
        (|facts| facts.sees_holds().map(|()| true), true),
        (|facts| facts.held(1).map(|held| held == (vec![0], 1)), true),
        (|facts| facts.due(1).map(|due| due.is_some()), false),
        (|facts| facts.is_waited_for(), false),
        (|facts| facts.queue().map(|queue| queue.most == QUEUE_MAX), true),
        (|facts| facts.first_waiting().map(|first| first.is_none()), true),
        (|facts| facts.queue_writable().map(|()| true), true),
        (|facts| facts.rules().map(|rules| rules.is_some()), true),
        (|facts| facts.stock().map(|stock| stock == Stock::Left(5)), true),
    ];
    for (number, (question, want)) in questions.into_iter().enumerate() {
        asked.set(1);
        assert_eq!(question(&Overlay::new(&view, 1)), Ok(want), "{number}");
        asked.set(0);
        assert_eq!(question(&Overlay::new(&view, 1)), Err(Error::Fault), "{number}");
    }
    let bare = View { world: &World::EMPTY, fails: usize::MAX, ..view };
    let overlay = Overlay::new(&bare, 1);
    assert_eq!(
        (overlay.has_own_keys(true), overlay.is_missing(Needed::Book)),
        (Ok(false), Ok(true))
    );
    assert_eq!((overlay.now(), overlay.policy()), (NOW, SOFT));
}
