//! Batches against rows in memory.

use domain::book::Reason;
use domain::entry_id::EntryId;

use super::*;

fn id(ms: u64) -> EntryId {
    EntryId { ms, seq: 0 }
}

fn key(order: &str) -> OrderKey {
    OrderKey { voucher: "7".to_owned(), sale: String::new(), order: order.to_owned() }
}

fn order_of(user: &str, order: &str, ms: u64, units: i64) -> Order {
    Order { id: id(ms), key: key(order), user: user.to_owned(), units, deadline_ms: None }
}

fn sale(user: &str, order: &str, ms: u64) -> Event {
    Event::Order(order_of(user, order, ms, 1), Sole::Yes)
}

fn release(user: &str, order: &str, ms: u64, reason: Reason) -> Event {
    let was_sold = false;
    let (key, user) = (key(order), user.to_owned());
    Event::Release(Release { id: id(ms), key, user, units: 1, reason, was_sold })
}

fn cancel(user: &str, order: &str, ms: u64) -> Event {
    release(user, order, ms, Reason::Cancelled)
}

/// Rows as a database keeps them, with the check of the unique index.
#[derive(Default)]
struct Rows {
    rows: HashMap<OrderKey, Row>,
    sales: BTreeMap<(String, String), i64>,
    /// The changes that the shop's statements ran for, by order.
    told: BTreeMap<OrderKey, Vec<String>>,
}

fn holder(row: &Row) -> (String, String, String) {
    (row.key.voucher.clone(), row.key.sale.clone(), row.user.clone())
}

impl Rows {
    fn apply(&mut self, events: &[Event]) -> Vec<Outcome> {
        let holders = self
            .rows
            .values()
            .filter(|row| row.sole == Sole::Yes)
            .map(|row| (holder(row), row.key.order.clone()));
        let plan = plan(events, &self.rows, &holders.collect(), Steps::Wanted).unwrap();
        for row in plan.inserts {
            assert!(self.rows.insert(row.key.clone(), row).is_none(), "inserted twice");
        }
        for row in plan.releases.into_iter().chain(plan.updates) {
            assert!(self.rows.insert(row.key.clone(), row).is_some(), "no such row");
        }
        for (voucher, change) in plan.sales {
            *self.sales.entry(voucher).or_default() += change;
        }
        for Step { change, old, new, row } in plan.steps {
            let old = old.map_or("-", State::word);
            let told = format!("{} {old} {}", change.word(), new.word());
            self.told.entry(row.key).or_default().push(told);
        }
        self.check();
        plan.outcomes
    }

    fn check(&self) {
        let live = self.rows.values().filter(|row| row.state.is_live());
        let units: i64 = live.clone().map(|row| row.units).sum();
        assert_eq!(self.sales.values().sum::<i64>(), units);
        let mut users = std::collections::HashSet::new();
        for row in live.filter(|row| row.sole == Sole::Yes) {
            assert!(users.insert(holder(row)), "{} twice", row.user);
        }
        for row in self.rows.values().filter(|row| !row.state.is_live()) {
            assert_eq!(row.sole, Sole::No);
        }
    }

    fn sold(&self) -> i64 {
        self.sales.values().sum()
    }

    fn state(&self, order: &str) -> &'static str {
        self.rows.get(&key(order)).map_or("none", |row| row.state.word())
    }
}

use Outcome::{Inserted, Released, Repeated};

#[test]
fn an_order_becomes_one_row_however_often_it_comes() {
    let mut rows = Rows::default();
    let batch = [sale("alice", "1", 1), sale("bob", "2", 2), sale("alice", "1", 1)];
    assert_eq!(rows.apply(&batch), [Inserted, Inserted, Repeated]);
    assert_eq!(rows.apply(&batch), [Repeated, Repeated, Repeated]);
    assert_eq!(rows.sold(), 2);
}

#[test]
fn held_orders_have_a_deadline() {
    let mut rows = Rows::default();
    let order = Order { deadline_ms: Some(99), ..order_of("alice", "1", 1, 2) };
    rows.apply(&[Event::Order(order, Sole::No)]);
    assert_eq!((rows.state("1"), rows.sold()), ("held", 2));
    rows.apply(&[release("alice", "1", 5, Reason::Expired)]);
    assert_eq!((rows.state("1"), rows.sold()), ("expired", 0));
}

#[test]
fn a_release_that_comes_first_leaves_a_note() {
    let mut rows = Rows::default();
    assert_eq!(rows.apply(&[cancel("alice", "1", 5)]), [Released]);
    assert_eq!(rows.state("1"), "cancelled");
    assert_eq!(rows.apply(&[sale("alice", "1", 4)]), [Inserted]);
    assert_eq!((rows.state("1"), rows.rows.len()), ("cancelled", 1));
    assert_eq!(rows.apply(&[sale("alice", "1", 4), cancel("alice", "1", 5)]), [Repeated, Released]);
    assert_eq!(rows.state("1"), "cancelled");
}

#[test]
fn a_rejected_order_that_has_no_row_gets_none() {
    let mut rows = Rows::default();
    assert_eq!(rows.apply(&[release("alice", "1", 5, Reason::Rejected)]), [Released]);
    assert_eq!(rows.state("1"), "none");
    // A rejected order that has a row is released.
    rows.apply(&[sale("bob", "2", 6), release("bob", "2", 7, Reason::Rejected)]);
    assert_eq!(rows.state("2"), "rejected");
}

#[test]
fn a_release_touches_no_row_of_another_user() {
    let mut rows = Rows::default();
    rows.apply(&[sale("alice", "1", 1)]);
    assert_eq!(rows.apply(&[cancel("bob", "1", 2)]), [Released]);
    assert_eq!(rows.state("1"), "sold");
    // The id stays usable for the user who bought with it.
    rows.apply(&[cancel("bob", "2", 3)]);
    assert_eq!(rows.apply(&[sale("carol", "2", 4)]), [Inserted]);
    assert_eq!(rows.state("2"), "sold");
}

#[test]
fn an_id_is_one_users() {
    let mut rows = Rows::default();
    let batch = [sale("alice", "1", 1), sale("bob", "1", 2)];
    let other = Outcome::Failed(Why::OtherUser);
    assert_eq!(rows.apply(&batch), [Inserted, other.clone()]);
    assert_eq!(rows.apply(&batch), [Repeated, other]);
    assert_eq!(rows.rows[&key("1")].user, "alice");
}

#[test]
fn a_user_has_one_order_where_the_limit_is_one() {
    let mut rows = Rows::default();
    let other = Outcome::Failed(Why::HasOther("1".to_owned()));
    assert_eq!(
        rows.apply(&[sale("alice", "1", 1), sale("alice", "2", 2), sale("bob", "3", 3)]),
        [Inserted, other.clone(), Inserted]
    );
    assert_eq!(rows.apply(&[sale("alice", "2", 2)]), [other]);
    // With a higher limit there is no conflict.
    let second = Event::Order(order_of("alice", "4", 4, 1), Sole::No);
    assert_eq!(rows.apply(&[second]), [Inserted]);
}

#[test]
fn who_cancelled_buys_again() {
    let mut rows = Rows::default();
    rows.apply(&[sale("alice", "1", 1)]);
    assert_eq!(rows.apply(&[sale("alice", "2", 3), cancel("alice", "1", 2)]), [Inserted, Released]);
    assert_eq!((rows.state("1"), rows.state("2")), ("cancelled", "sold"));
    // The same events in one batch.
    let batch = [sale("bob", "3", 1), sale("bob", "4", 3), cancel("bob", "3", 2)];
    assert_eq!(rows.apply(&batch), [Inserted, Inserted, Released]);
    assert_eq!((rows.state("3"), rows.state("4")), ("cancelled", "sold"));
}

#[test]
fn an_id_that_is_sold_again_revives_its_row() {
    let history = [
        Event::Order(order_of("alice", "1", 1, 1), Sole::Yes),
        cancel("alice", "1", 2),
        Event::Order(order_of("alice", "1", 3, 5), Sole::Yes),
    ];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut rows = Rows::default();
        for number in order.into_iter().chain(order) {
            rows.apply(&[history[number].clone()]);
        }
        assert_eq!((rows.state("1"), rows.sold()), ("sold", 5), "{order:?}");
    }
}

#[test]
fn what_the_application_made_of_a_live_row_stays() {
    let mut rows = Rows::default();
    let order = Order { deadline_ms: Some(99), ..order_of("alice", "1", 1, 1) };
    rows.apply(&[Event::Order(order.clone(), Sole::Yes)]);
    rows.rows.get_mut(&key("1")).unwrap().state = State::Sold;
    assert_eq!(rows.apply(&[Event::Order(order, Sole::Yes)]), [Repeated]);
    assert_eq!(rows.state("1"), "sold");
}

#[test]
fn sums_beyond_all_bounds_are_found_before_they_are_written() {
    let huge = |order| Event::Order(order_of("alice", order, 1, i64::MAX), Sole::No);
    let rows = HashMap::new();
    assert_eq!(plan(&[huge("1"), huge("2")], &rows, &Holders::new(), Steps::Wanted), Err(TooMany));
    assert!(plan(&[huge("1")], &rows, &Holders::new(), Steps::Wanted).is_ok());
}

#[test]
fn random_histories_end_the_same_in_whatever_pieces_they_come() {
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let history = history(&mut random);
        let mut together = Rows::default();
        together.apply(&history);
        let mut pieces = Rows::default();
        let mut shuffled = history.clone();
        shuffled.extend(history.iter().filter(|_| random.bool()).cloned().collect::<Vec<_>>());
        random.shuffle(&mut shuffled);
        let mut left = shuffled;
        // Conflicts that are due to the order of reading are retried, as the worker does.
        for round in 0.. {
            assert!(round < 50, "seed {seed} does not settle");
            let outcomes: Vec<_> = left.chunks(3).flat_map(|some| pieces.apply(some)).collect();
            let failed = left.iter().zip(outcomes);
            let failed = failed.filter(|(_, outcome)| matches!(outcome, Outcome::Failed(_)));
            left = failed.map(|(event, _)| event.clone()).collect();
            if left.is_empty() {
                break;
            }
        }
        assert_eq!(pieces.sold(), together.sold());
        for (key, row) in &together.rows {
            let (state, seen) = (&pieces.rows[key].state, &pieces.rows[key].seen);
            assert_eq!((state, seen), (&row.state, &row.seen), "seed {seed}, {key:?}");
        }
    }
}

/// Three users who buy and cancel in turn.
fn history(random: &mut fastrand::Rng) -> Vec<Event> {
    let mut events = Vec::new();
    let mut has: [Option<String>; 3] = [None, None, None];
    for ms in 1..12 {
        let number = random.usize(..3);
        let user = format!("u{number}");
        match has[number].take() {
            Some(order) => events.push(cancel(&user, &order, ms)),
            None => {
                let order = format!("{user}-{ms}");
                events.push(sale(&user, &order, ms));
                has[number] = Some(order);
            }
        }
    }
    events
}

/// The entries of an order that was held, paid and cancelled, and of one that was sold.
fn lives() -> [Vec<Event>; 3] {
    let held = Order { deadline_ms: Some(99), ..order_of("alice", "h", 1, 2) };
    let confirmation = Confirmation { id: id(2), key: key("h"), user: "alice".into(), units: 2 };
    let release = |order, was_sold| Release {
        id: id(3),
        key: key(order),
        user: "alice".into(),
        units: 2,
        reason: Reason::Cancelled,
        was_sold,
    };
    let paid = Event::Confirmation(confirmation);
    [
        vec![Event::Order(held.clone(), Sole::No), paid.clone()],
        vec![Event::Order(held, Sole::No), paid, Event::Release(release("h", true))],
        vec![
            Event::Order(order_of("alice", "s", 1, 2), Sole::No),
            Event::Release(release("s", true)),
        ],
    ]
}

/// Every order of reading, in batches of every size, each entry once or twice.
#[test]
fn however_the_three_streams_interleave_the_row_and_what_the_shop_is_told_are_the_same() {
    let wanted = [
        ("sold", vec!["on_held - held", "on_confirmed held sold"]),
        ("cancelled", {
            vec!["on_held - held", "on_confirmed held sold", "on_released sold cancelled"]
        }),
        ("cancelled", vec!["on_sold - sold", "on_released sold cancelled"]),
    ];
    let mut random = fastrand::Rng::with_seed(7);
    for (events, (state, told)) in lives().into_iter().zip(wanted) {
        for _ in 0..500 {
            let mut queue: Vec<_> = events.iter().chain(&events).cloned().collect();
            random.shuffle(&mut queue);
            let mut rows = Rows::default();
            while !queue.is_empty() {
                let size = random.usize(1..=queue.len());
                rows.apply(&queue.drain(..size).collect::<Vec<_>>());
            }
            let key = events[0].key();
            assert_eq!(rows.state(&key.order), state);
            match rows.told.get(key) {
                Some(all) => assert_eq!(*all, told),
                None => assert_ne!(state, "sold"),
            }
            assert_eq!(rows.sold(), if state == "sold" { 2 } else { 0 });
        }
    }
}

#[test]
fn a_confirmation_counts_though_its_order_was_not_read() {
    let [events, ..] = lives();
    let mut rows = Rows::default();
    assert_eq!(rows.apply(&events[1..]), [Outcome::Confirmed]);
    assert_eq!((rows.state("h"), rows.sold(), rows.told.len()), ("sold", 2, 0));
    rows.apply(&events[..1]);
    assert_eq!((rows.state("h"), rows.sold()), ("sold", 2));
    // A confirmation of another user's order with this id does not change the row.
    let other = Confirmation { id: id(9), key: key("x"), user: "bob".into(), units: 1 };
    rows.apply(&[Event::Confirmation(other)]);
    let held = Order { deadline_ms: Some(99), ..order_of("carol", "x", 9, 1) };
    rows.apply(&[Event::Order(held, Sole::No)]);
    assert_eq!((rows.state("x"), rows.sold()), ("held", 3));
}

#[test]
fn an_order_of_another_sale_has_a_row_of_its_own() {
    let mut rows = Rows::default();
    let of_sale = |sale: &str, ms, user: &str| {
        let mut order = order_of(user, "1", ms, 1);
        sale.clone_into(&mut order.key.sale);
        order
    };
    for (sale, user) in [("", "alice"), ("1", "bob"), ("2", "alice")] {
        let order = Event::Order(of_sale(sale, 1, user), Sole::Yes);
        assert_eq!(rows.apply(&[order]), [Inserted]);
    }
    let first = of_sale("1", 5, "bob");
    let Order { id, key, user, units, .. } = first.clone();
    let reason = Reason::Expired;
    let over = Release { id, key: key.clone(), user, units, reason, was_sold: false };
    rows.apply(&[Event::Release(over)]);
    assert_eq!(rows.rows.len(), 3);
    assert_eq!((rows.state("1"), rows.rows[&key].state), ("sold", State::Released(reason)));
    assert_eq!(rows.sales[&("7".to_owned(), "2".to_owned())], 1);
}

#[test]
fn what_frees_units_is_told_before_what_takes_them() {
    let mut rows = Rows::default();
    rows.apply(&[sale("alice", "1", 1)]);
    let held = |user: &str, order: &str| {
        let order = Order { deadline_ms: Some(99), ..order_of(user, order, 2, 1) };
        Event::Order(order, Sole::No)
    };
    let events =
        [held("bob", "0"), held("carol", "2"), cancel("carol", "2", 3), cancel("alice", "1", 4)];
    let plan = plan(&events, &rows.rows, &Holders::new(), Steps::Wanted).unwrap();
    let told = plan.steps.iter().map(|step| (&*step.row.key.order, step.change));
    let wanted = [("1", Change::Released), ("0", Change::Held)];
    assert_eq!(told.collect::<Vec<_>>(), wanted);
}
