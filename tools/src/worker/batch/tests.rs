//! Batches against rows in memory.

use domain::book::Reason;
use domain::entry_id::EntryId;

use super::*;
use crate::order_events::Kind;

mod by_book;
mod paid;

fn id(ms: u64) -> EntryId {
    EntryId { ms, seq: 0 }
}

fn key(order: &str) -> OrderKey {
    OrderKey { voucher: "7".to_owned(), sale: String::new(), order: order.to_owned() }
}

type Heard = (Event, Sole);

fn event(user: &str, order: &str, ms: u64, units: i64, kind: Kind) -> Event {
    Event::made(id(ms), key(order), user.to_owned(), units, kind)
}

fn order_of(user: &str, order: &str, ms: u64, units: i64) -> Event {
    event(user, order, ms, units, Kind::Order { deadline_ms: None })
}

fn held_of(user: &str, order: &str, ms: u64, units: i64) -> Event {
    event(user, order, ms, units, Kind::Order { deadline_ms: Some(99) })
}

fn sale(user: &str, order: &str, ms: u64) -> Heard {
    (order_of(user, order, ms, 1), Sole::Yes)
}

fn release(user: &str, order: &str, ms: u64, reason: Reason) -> Heard {
    let kind = Kind::Released { reason, was: Some(State::Held), kept: None };
    (event(user, order, ms, 1, kind), Sole::No)
}

fn cancel(user: &str, order: &str, ms: u64) -> Heard {
    release(user, order, ms, Reason::Cancelled)
}

/// Rows as a database keeps them, with the check of the unique index.
#[derive(Default)]
struct Rows {
    rows: HashMap<OrderKey, Row>,
    sales: BTreeMap<(String, String), i64>,
    /// The changes that the shop's statements ran for, by order.
    told: BTreeMap<OrderKey, Vec<String>>,
    records: Vec<Record>,
}

fn holder(row: &Row) -> (String, String, String) {
    (row.key.voucher.clone(), row.key.sale.clone(), row.user.clone())
}

impl Rows {
    fn apply(&mut self, events: &[Heard]) -> Vec<Outcome> {
        self.apply_by(events, &Answers::new())
    }

    fn apply_by(&mut self, events: &[Heard], answers: &Answers) -> Vec<Outcome> {
        let holders = self
            .rows
            .values()
            .filter(|row| row.sole == Sole::Yes)
            .map(|row| (holder(row), row.key.order.clone()));
        let (rows, holders) = (&self.rows, &holders.collect());
        let refunded = &self.refunded();
        let batch = Batch { events, rows, answers, holders, refunded, wants: Steps::Wanted };
        let plan = plan(&batch, vec![None; events.len()]).unwrap();
        for row in plan.inserts {
            assert!(self.rows.insert(row.key.clone(), row).is_none(), "inserted twice");
        }
        for row in plan.releases.into_iter().chain(plan.updates) {
            assert!(self.rows.insert(row.key.clone(), row).is_some(), "no such row");
        }
        for (voucher, change) in plan.sales {
            *self.sales.entry(voucher).or_default() += change;
        }
        self.records.extend(plan.records);
        for Step { change, old, new, row, .. } in plan.steps {
            let old = old.map_or("-", State::word);
            let told = format!("{} {old} {}", change.word(), new.word());
            self.told.entry(row.key).or_default().push(told);
        }
        self.check();
        plan.outcomes
    }

    fn check(&self) {
        let live = self.rows.values().filter(|row| row.known.state.is_live());
        let units: i64 = live.clone().map(|row| row.known.units).sum();
        assert_eq!(self.sales.values().sum::<i64>(), units);
        let mut users = std::collections::HashSet::new();
        for row in live.filter(|row| row.sole == Sole::Yes) {
            assert!(users.insert(holder(row)), "{} twice", row.user);
        }
        for row in self.rows.values().filter(|row| !row.known.state.is_live()) {
            assert_eq!(row.sole, Sole::No);
        }
    }

    /// What the lines refund, as a database has them.
    fn refunded(&self) -> HashMap<OrderKey, i64> {
        let mut refunded = HashMap::new();
        for record in &self.records {
            if record.is_refund_of(&self.rows[&record.key]) {
                *refunded.entry(record.key.clone()).or_default() += record.units;
            }
        }
        refunded
    }

    fn sold(&self) -> i64 {
        self.sales.values().sum()
    }

    fn state(&self, order: &str) -> &'static str {
        self.rows.get(&key(order)).map_or("none", |row| row.known.state.word())
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
    rows.apply(&[(held_of("alice", "1", 1, 2), Sole::No)]);
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
fn a_rejection_that_comes_first_leaves_a_note_too() {
    let mut rows = Rows::default();
    assert_eq!(rows.apply(&[release("alice", "1", 5, Reason::Rejected)]), [Released]);
    assert_eq!(rows.apply(&[sale("alice", "1", 4)]), [Inserted]);
    assert_eq!((rows.state("1"), rows.sold()), ("rejected", 0));
    // The group that rejects an order never reads it; without a book the id is sold again.
    rows.apply(&[release("bob", "2", 7, Reason::Rejected)]);
    rows.apply(&[sale("bob", "2", 9)]);
    assert_eq!((rows.state("2"), rows.sold()), ("sold", 1));
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
    let second = (order_of("alice", "4", 4, 1), Sole::No);
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
        (order_of("alice", "1", 1, 1), Sole::Yes),
        cancel("alice", "1", 2),
        (order_of("alice", "1", 3, 5), Sole::Yes),
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
fn sums_beyond_all_bounds_are_found_before_they_are_written() {
    let huge = |order| (order_of("alice", order, 1, i64::MAX), Sole::No);
    let planned = |events: &[Heard]| {
        let (rows, answers, holders) = (&HashMap::new(), &Answers::new(), &Holders::new());
        let refunded = &HashMap::new();
        let batch = Batch { events, rows, answers, holders, refunded, wants: Steps::Wanted };
        plan(&batch, vec![None; events.len()]).map(|_| ())
    };
    assert_eq!(planned(&[huge("1"), huge("2")]), Err(TooMany));
    assert_eq!(planned(&[huge("1")]), Ok(()));
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
            let (state, seen) = (&pieces.rows[key].known.state, &pieces.rows[key].seen);
            assert_eq!((state, seen), (&row.known.state, &row.seen), "seed {seed}, {key:?}");
        }
    }
}

/// Three users who buy and cancel in turn.
fn history(random: &mut fastrand::Rng) -> Vec<Heard> {
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
fn lives() -> [Vec<Heard>; 3] {
    let held = held_of("alice", "h", 1, 2);
    let released = |order| {
        let kind = Kind::Released { reason: Reason::Cancelled, was: Some(State::Sold), kept: None };
        event("alice", order, 3, 2, kind)
    };
    let paid = event("alice", "h", 2, 2, Kind::Confirmed);
    let lives = [
        vec![held.clone(), paid.clone()],
        vec![held, paid, released("h")],
        vec![order_of("alice", "s", 1, 2), released("s")],
    ];
    lives.map(|events| events.into_iter().map(|event| (event, Sole::No)).collect())
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
            let key = &events[0].0.key;
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
    rows.apply(&[(event("bob", "x", 9, 1, Kind::Confirmed), Sole::No)]);
    rows.apply(&[(held_of("carol", "x", 9, 1), Sole::No)]);
    assert_eq!((rows.state("x"), rows.sold()), ("held", 3));
}

#[test]
fn what_frees_units_is_told_before_what_takes_them() {
    let mut rows = Rows::default();
    rows.apply(&[sale("alice", "1", 1)]);
    let held = |user: &str, order: &str| (held_of(user, order, 2, 1), Sole::No);
    let events =
        [held("bob", "0"), held("carol", "2"), cancel("carol", "2", 3), cancel("alice", "1", 4)];
    let (answers, holders) = (&Answers::new(), &Holders::new());
    let wants = Steps::Wanted;
    let (rows, refunded) = (&rows.rows, &HashMap::new());
    let batch = Batch { events: &events, rows, answers, holders, refunded, wants };
    let plan = plan(&batch, vec![None; 4]).unwrap();
    let told = plan.steps.iter().map(|step| (&*step.row.key.order, step.change));
    let wanted = [("1", Change::Released), ("0", Change::Held)];
    assert_eq!(told.collect::<Vec<_>>(), wanted);
}
