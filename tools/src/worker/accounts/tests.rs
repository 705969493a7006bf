//! Accounts of a few entries, and what follows from them.

use domain::book::{Reason, State};
use domain::rows::{Paid, Release, Report};

use super::*;
use crate::order_events::Which;

fn key(sale: &str, order: &str) -> OrderKey {
    let [voucher, sale, order, user] = ["7", sale, order, "ann"].map(str::to_owned);
    OrderKey { voucher, sale, order, user }
}

fn event(which: Which, id: u64, key: OrderKey, report: Report<String>) -> Event {
    let place = (which, EntryId { ms: id, seq: 0 });
    let reason = matches!(report, Report::Released(_)).then_some(Reason::Cancelled);
    Event { place, key, report, deadline_ms: None, reason, rejects: None }
}

fn bought(id: u64, key: OrderKey, units: i64, is_held: bool) -> Event {
    event(Which::Orders, id, key, Report::Accepted { units, is_held })
}

fn paid(id: u64, key: OrderKey, units: i64, reference: &str) -> Event {
    let payment = Some(Paid { reference: reference.to_owned(), units: None });
    event(Which::Confirmed, id, key, Report::Confirmed { units, payment })
}

fn released(id: u64, key: OrderKey, (units, kept): (i64, i64), reference: Option<&str>) -> Event {
    let release = Release {
        units,
        kept,
        was_sold: reference.is_some(),
        reference: reference.map(str::to_owned),
        is_refunded: false,
        is_norestock: false,
    };
    event(Which::Released, id, key, Report::Released(release))
}

/// Reads some entries; the steps and the lines that follow, in words.
fn follow(accounts: &mut Accounts, events: &[Event]) -> Vec<String> {
    for event in events {
        accounts.read(event, false);
    }
    accounts.see_users();
    let keys: BTreeSet<&OrderKey> = events.iter().map(|event| &event.key).collect();
    let mut words = Vec::new();
    for key in keys {
        let before = accounts.get(key).cloned();
        let steps = accounts.follow(key);
        let lines = accounts.lines_since(key, before.as_ref());
        words.extend(steps.iter().map(|step| {
            let reference = step.reference.as_deref().unwrap_or("-");
            let (change, units, kept) = (step.change.word(), step.units, step.kept);
            format!("{change} {units} {kept} {reference} {}", step.new.word())
        }));
        words.extend(lines.iter().map(|line| {
            let RefundLine { reference, first, last, why, .. } = line;
            format!("{reference} {first}-{last} {why}")
        }));
    }
    words
}

#[test]
fn an_order_goes_its_way_whatever_is_read_first() {
    let order = || key("1", "a");
    let events = [
        bought(1, order(), 3, true),
        paid(2, order(), 3, "p"),
        released(3, order(), (2, 1), Some("p")),
    ];
    let mut accounts = Accounts::default();
    assert_eq!(follow(&mut accounts, &events[..1]), ["on_held 3 3 - held"]);
    assert_eq!(follow(&mut accounts, &events[1..2]), ["on_confirmed 3 3 p sold"]);
    let last = ["on_reduced 2 1 p sold", "p 2-3 released"];
    assert_eq!(follow(&mut accounts, &events[2..]), last);
    assert_eq!(follow(&mut accounts, &events), [""; 0], "again");
    // From the last to the first: nothing is written before its own entry is known.
    let mut accounts = Accounts::default();
    assert_eq!(follow(&mut accounts, &events[2..]), ["p 2-3 released"]);
    assert_eq!(follow(&mut accounts, &events[1..2]), [""; 0]);
    let steps = ["on_held 1 1 - held", "on_confirmed 1 1 p sold"];
    assert_eq!(follow(&mut accounts, &events[..1]), steps);
    let view = accounts.view(&order()).unwrap();
    assert_eq!((view.state, view.units), (Some(State::Sold), 1));
    assert_eq!(view.reference.as_deref(), Some("p"));
}

/// A held order that is paid and released gets the same steps, whether its entries are read one by
/// one, together, or the release first.
#[test]
fn a_release_after_the_payment_follows_the_confirmation() {
    let order = || key("1", "a");
    for (kept, last) in [(0, "on_released 2 0 p cancelled"), (1, "on_reduced 1 1 p sold")] {
        let release = released(4, order(), (2 - kept, kept), Some("p"));
        let early = [released(2, order(), (1, 2), None)];
        let late = [paid(3, order(), 2, "p"), release];
        let wanted = ["on_reduced 1 2 - held", "on_confirmed 2 2 p sold", last];
        let [paid, release] = late.each_ref().map(std::slice::from_ref);
        let ways: [&[&[Event]]; 3] =
            [&[&early, paid, release], &[&early, release, paid], &[&[&early[..], &late].concat()]];
        for way in ways {
            let mut accounts = Accounts::default();
            follow(&mut accounts, &[bought(1, order(), 3, true)]);
            let mut steps: Vec<_> = way.iter().flat_map(|it| follow(&mut accounts, it)).collect();
            steps.retain(|step| step.starts_with("on_"));
            assert_eq!(steps, wanted, "{way:?}");
        }
    }
}

#[test]
fn an_unmanaged_order_lives_by_its_entries() {
    let order = || key("", "a");
    let mut accounts = Accounts::default();
    let sold = ["on_sold 2 2 - sold"];
    assert_eq!(follow(&mut accounts, &[bought(1, order(), 2, false)]), sold);
    let back = [released(2, order(), (2, 0), None)];
    assert_eq!(follow(&mut accounts, &back), ["on_released 2 0 - cancelled"]);
    // Bought again: the row lives, and the shop's tables wait for an operator.
    assert_eq!(follow(&mut accounts, &[bought(3, order(), 2, false)]), [""; 0]);
    let view = accounts.view(&order()).unwrap();
    assert_eq!((view.state, view.units), (Some(State::Sold), 2));
    let order = accounts.get(&order()).unwrap();
    assert!(order.has_entry(&back[0]) && order.account.is_to_be_restored(view.conflicts));
}

#[test]
fn two_users_of_one_id_are_seen_where_there_is_a_book() {
    for (sale, is_seen) in [("1", true), ("", false)] {
        let (ann, ben) = (key(sale, "a"), OrderKey { user: "ben".to_owned(), ..key(sale, "a") });
        let mut accounts = Accounts::default();
        follow(&mut accounts, &[bought(1, ann.clone(), 1, false), bought(2, ben, 1, false)]);
        assert_eq!(accounts.conflicts(&ann).has(Conflicts::TWO_USERS), is_seen);
    }
}
