//! Sales whose keys came one by one.

use crate::bounds::{created, sale};
use crate::extremes::{asked, entry, refused, with_order};
use crate::world::{Error, ORDERS, USERS, World};
use domain::book::{Entry, State};
use domain::facts::{Needed, Refusal};
use domain::whole::{Reading, check_parts};

#[test]
fn keys_tell_of_a_key_that_is_missing() {
    let whole = with_order(State::Held, 2, Some(0), 2);
    let unsold = created(sale());
    let (book, no_book) = (whole.book, [None; ORDERS]);
    let lacks = |part| refused(Refusal::Missing(part));
    let rows = [
        (World::EMPTY, Ok(false)),
        // A voucher that is not managed.
        (World { stock: Some(1), buyers: whole.buyers, ..World::EMPTY }, Ok(false)),
        (World { book, ..World::EMPTY }, lacks(Needed::Rules)),
        (World { units: whole.units, ..World::EMPTY }, lacks(Needed::Rules)),
        (World { holds: whole.holds, ..World::EMPTY }, lacks(Needed::Rules)),
        (whole, Ok(true)),
        (World { stock: None, ..whole }, lacks(Needed::Stock)),
        (unsold, Ok(false)),
        (World { stock: unsold.stock.map(|left| left - 1), ..unsold }, lacks(Needed::Book)),
        (World { units: whole.units, ..unsold }, lacks(Needed::Book)),
        (World { book: no_book, stock: Some(2), ..whole }, lacks(Needed::Book)),
    ];
    for (number, (world, want)) in rows.into_iter().enumerate() {
        assert_eq!(asked(world, |facts| check_parts(facts)), want, "{number}");
    }
}

#[test]
fn orders_tell_which_keys_they_need() {
    let check = |world: World, entry: Entry<u8>| -> Result<(), Error> {
        let mut reading = Reading::default();
        reading.add(&entry);
        asked(world, |facts| reading.check(facts))
    };
    let waiting = Entry { state: State::Waiting, ..entry(State::Held, 1) };
    let paid = Entry { reference: Some(0), ..entry(State::Sold, 1) };
    let whole = with_order(State::Held, 2, Some(0), 2);
    let lacks = |part| refused(Refusal::Missing(part));
    let no_buyers = World { buyers: [false; USERS], ..whole };
    let no_units = World { units: [None; USERS], ..whole };
    let no_holds = World { holds: [None; ORDERS], ..whole };
    for (number, (world, entry, want)) in [
        (whole, entry(State::Held, 2), Ok(())),
        (no_buyers, entry(State::Sold, 1), lacks(Needed::Buyers)),
        (no_units, entry(State::Sold, 1), lacks(Needed::Units)),
        (no_units, waiting, lacks(Needed::Units)),
        (no_holds, entry(State::Held, 1), lacks(Needed::Holds)),
        (no_holds, entry(State::Sold, 1), Ok(())),
        (World { extra: 0, ..whole }, entry(State::Held, 2), lacks(Needed::Extra)),
        (World { extra: 0, ..whole }, entry(State::Held, 1), Ok(())),
        (World { extra: 0, ..whole }, entry(State::Sold, 2), Ok(())),
        (whole, waiting, lacks(Needed::Queue)),
        (whole, paid, lacks(Needed::Payments)),
        (no_buyers, waiting, lacks(Needed::Queue)),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(check(world, entry), want, "{number}");
    }
}

#[test]
fn a_book_is_read_to_its_end() {
    let mut reading = Reading::default();
    assert_eq!(reading.position(), Some(0));
    reading.went_on(7);
    assert_eq!(reading.position(), Some(7));
    reading.went_on(0);
    assert_eq!(reading.position(), None);
}
