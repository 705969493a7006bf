//! What is refunded of an order that was reduced before and after it was paid, in whatever order
//! its entries are read, while the server is ahead of them.

use super::*;

/// The states of an order on the server, each with the entry that brought it.
struct Life {
    steps: Vec<(Heard, Known<String>)>,
    paid: i64,
    kept: i64,
}

fn life(random: &mut fastrand::Rng) -> Life {
    let mut life = Life { steps: Vec::new(), paid: 0, kept: random.i64(1..5) };
    let mut state = State::Held;
    life.go(held_of("alice", "1", 1, life.kept), state);
    for ms in 2..6 {
        let is_sold = state == State::Sold;
        match random.u8(0..4) {
            0 if !is_sold => {
                (state, life.paid) = (State::Sold, life.kept);
                life.go(event("alice", "1", ms, life.kept, Kind::Confirmed), state);
            }
            1 if is_sold && ms == 5 => {
                let kind =
                    Kind::Released { reason: Reason::Cancelled, was: Some(state), kept: None };
                let units = std::mem::take(&mut life.kept);
                state = State::Released(Reason::Cancelled);
                life.go(event("alice", "1", ms, units, kind), state);
            }
            _ if life.kept > 1 => {
                let kept = random.i64(1..life.kept);
                let units = life.kept - kept;
                life.kept = kept;
                let was = Some(state);
                let kind = Kind::Released { reason: Reason::Cancelled, was, kept: Some(kept) };
                life.go(event("alice", "1", ms, units, kind), state);
            }
            _ => {}
        }
    }
    life
}

impl Life {
    fn go(&mut self, mut event: Event, state: State) {
        event.key.sale = "5".to_owned();
        let was_sold = self.paid > 0;
        let reference = was_sold.then(|| "p".to_owned());
        let entry_has = !matches!(event.kind, Kind::Order { .. })
            && !matches!(event.kind, Kind::Released { was: Some(State::Held), .. });
        event.reference = reference.clone().filter(|_| entry_has);
        let was = was_sold.then_some(State::Sold);
        let units = if self.kept > 0 { self.kept } else { event.units };
        let known = Known::new(state, was.filter(|_| !state.is_live()), units, reference);
        self.steps.push(((event, Sole::No), known));
    }
}

#[test]
fn units_paid_are_those_kept_and_those_refunded_however_the_entries_are_read() {
    for seed in 0..20_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let life = life(&mut random);
        let mut queue: Vec<usize> = (0..life.steps.len()).chain(0..life.steps.len()).collect();
        random.shuffle(&mut queue);
        // Some entries are trimmed before they are read, and a check looks at the order.
        let gone = (seed % 2 == 1).then(|| random.usize(0..life.steps.len()));
        queue.retain(|one| Some(*one) != gone);
        let (mut rows, mut at) = (Rows::default(), 0);
        let key = life.steps[0].0.0.key.clone();
        let count = |rows: &Rows| {
            let row = &rows.rows[&key];
            let kept = if row.known.state == State::Sold { row.known.units } else { 0 };
            kept + rows.refunded().get(&key).copied().unwrap_or(0)
        };
        while !queue.is_empty() {
            let size = random.usize(1..=queue.len());
            let read: Vec<usize> = queue.drain(..size).collect();
            // The server is as far as the entries that are read, or ahead.
            at = random.usize(read.iter().copied().max().unwrap().max(at)..life.steps.len());
            let fact = Fact {
                user: "alice".to_owned(),
                known: life.steps[at].1.clone(),
                deadline_ms: None,
            };
            let answers = Answers::from([(key.clone(), Answer::Has(fact))]);
            let events: Vec<Heard> = read.iter().map(|one| life.steps[*one].0.clone()).collect();
            rows.apply_by(&events, &answers);
            assert!(!rows.rows[&key].is_disputed(), "seed {seed}: {:?}", rows.rows);
            assert!(count(&rows) <= life.paid, "seed {seed}: {:?}", rows.records);
        }
        if rows.rows.is_empty() {
            continue;
        }
        let last = life.steps.last().unwrap();
        let look = Event { id: id(99), kind: Kind::Look, ..last.0.0.clone() };
        let (user, known) = ("alice".to_owned(), last.1.clone());
        let fact = Answer::Has(Fact { user, known, deadline_ms: None });
        rows.apply_by(&[(look, Sole::No)], &Answers::from([(key.clone(), fact)]));
        let (row, lines) = (&rows.rows[&key], &rows.records);
        assert!(gone.is_some() || !row.is_untold(), "seed {seed}: {row:?} {lines:?}");
        match row.is_untold() {
            true => assert!(count(&rows) <= life.paid, "seed {seed}: {row:?} {lines:?}"),
            false => assert_eq!(count(&rows), life.paid, "seed {seed}: {row:?} {lines:?}"),
        }
        let places: std::collections::BTreeSet<_> =
            lines.iter().map(|line| (&line.entry, &line.to)).collect();
        assert_eq!(places.len(), lines.len(), "seed {seed}: {lines:?}");
    }
}
