//! Batches against rows in memory.

use domain::entry_id::EntryId;

use super::*;

fn id(ms: u64) -> EntryId {
    EntryId { ms, seq: 0 }
}

fn key(order: &str) -> OrderKey {
    OrderKey { voucher: "7".to_owned(), order: order.to_owned() }
}

fn order_of(user: &str, order: &str, ms: u64, units: i64) -> Order {
    Order { id: id(ms), key: key(order), user: user.to_owned(), units, deadline_ms: None }
}

fn sale(user: &str, order: &str, ms: u64) -> Event {
    Event::Order(order_of(user, order, ms, 1), Sole::Yes)
}

fn release(user: &str, order: &str, ms: u64, reason: Reason) -> Event {
    Event::Release(Release { id: id(ms), key: key(order), user: user.to_owned(), units: 1, reason })
}

fn cancel(user: &str, order: &str, ms: u64) -> Event {
    release(user, order, ms, Reason::Cancelled)
}

/// Rows as a database keeps them, with what the unique index would refuse.
#[derive(Default)]
struct Rows {
    rows: HashMap<OrderKey, Row>,
    sales: BTreeMap<String, i64>,
}

impl Rows {
    fn apply(&mut self, events: &[Event]) -> Vec<Outcome> {
        let holders = self
            .rows
            .values()
            .filter(|row| row.sole == Sole::Yes)
            .map(|row| ((row.key.voucher.clone(), row.user.clone()), row.key.order.clone()));
        let plan = plan(events, &self.rows, &holders.collect()).unwrap();
        for row in plan.inserts {
            assert!(self.rows.insert(row.key.clone(), row).is_none(), "inserted twice");
        }
        for row in plan.releases.into_iter().chain(plan.updates) {
            assert!(self.rows.insert(row.key.clone(), row).is_some(), "no such row");
        }
        for (voucher, change) in plan.sales {
            *self.sales.entry(voucher).or_default() += change;
        }
        self.check();
        plan.outcomes
    }

    fn check(&self) {
        let live = self.rows.values().filter(|row| row.state.is_live());
        let units: i64 = live.clone().map(|row| row.units).sum();
        assert_eq!(self.sales.get("7").copied().unwrap_or(0), units);
        let mut users = std::collections::HashSet::new();
        for row in live.filter(|row| row.sole == Sole::Yes) {
            assert!(users.insert(&row.user), "{} twice", row.user);
        }
        for row in self.rows.values().filter(|row| !row.state.is_live()) {
            assert_eq!(row.sole, Sole::No);
        }
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
    assert_eq!(rows.sales["7"], 2);
}

#[test]
fn held_orders_have_a_deadline() {
    let mut rows = Rows::default();
    let order = Order { deadline_ms: Some(99), ..order_of("alice", "1", 1, 2) };
    rows.apply(&[Event::Order(order, Sole::No)]);
    assert_eq!((rows.state("1"), rows.sales["7"]), ("held", 2));
    rows.apply(&[release("alice", "1", 5, Reason::Expired)]);
    assert_eq!((rows.state("1"), rows.sales["7"]), ("expired", 0));
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
    // One that has a row all the same is taken back.
    rows.apply(&[sale("bob", "2", 6), release("bob", "2", 7, Reason::Rejected)]);
    assert_eq!(rows.state("2"), "rejected");
}

#[test]
fn a_release_touches_no_row_of_another_user() {
    let mut rows = Rows::default();
    rows.apply(&[sale("alice", "1", 1)]);
    assert_eq!(rows.apply(&[cancel("bob", "1", 2)]), [Released]);
    assert_eq!(rows.state("1"), "sold");
    // Nor does it spoil an id for its true owner.
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
    // Where it is more, nothing is in the way.
    let second = Event::Order(order_of("alice", "4", 4, 1), Sole::No);
    assert_eq!(rows.apply(&[second]), [Inserted]);
}

#[test]
fn who_cancelled_buys_again() {
    let mut rows = Rows::default();
    rows.apply(&[sale("alice", "1", 1)]);
    assert_eq!(rows.apply(&[sale("alice", "2", 3), cancel("alice", "1", 2)]), [Inserted, Released]);
    assert_eq!((rows.state("1"), rows.state("2")), ("cancelled", "sold"));
    // All of it in one batch.
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
        assert_eq!((rows.state("1"), rows.sales["7"]), ("sold", 5), "{order:?}");
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
    assert_eq!(plan(&[huge("1"), huge("2")], &rows, &Holders::new()), Err(TooMany));
    assert!(plan(&[huge("1")], &rows, &Holders::new()).is_ok());
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
        // Conflicts that come of the wrong order are tried again, as the worker does.
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
        assert_eq!(pieces.sales.get("7").unwrap_or(&0), together.sales.get("7").unwrap_or(&0));
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
