//! What is refunded of an order that was reduced before and after it was paid, in whatever order
//! its entries are read, while the server is ahead of them.

use super::*;

use domain::book::Span;
use domain::judge::{ELSEWHERE, ELSEWHERE_PART, Line, beyond};
use domain::sale::Units;

/// The states of an order on the server, each with the entry that brought it.
struct Life {
    steps: Vec<(Heard, Known<String>)>,
    /// Units that were refunded elsewhere up to each step.
    elsewhere: Vec<Vec<Span>>,
    /// How many units the payment is for, if its confirmation says that; and how many the order
    /// has.
    said: Option<i64>,
    paid: i64,
    kept: i64,
}

fn life(random: &mut fastrand::Rng) -> Life {
    let kept = random.i64(1..5);
    let (steps, elsewhere) = (Vec::new(), Vec::new());
    let mut life = Life { steps, elsewhere, said: None, paid: 0, kept };
    let mut state = State::Held;
    life.go(held_of("alice", "1", 1, life.kept), state);
    for ms in 2..6 {
        let is_sold = state == State::Sold;
        match random.u8(0..4) {
            0 if !is_sold => {
                life.said = random.bool().then(|| life.kept + random.i64(0..3));
                (state, life.paid) = (State::Sold, life.said.unwrap_or(life.kept));
                let paid = Event {
                    paid: life.said,
                    ..event("alice", "1", ms, life.kept, Kind::Confirmed)
                };
                life.go(paid, state);
            }
            1 if is_sold && ms == 5 => {
                let kind =
                    Kind::Released { reason: Reason::Cancelled, was: Some(state), kept: None };
                let units = std::mem::take(&mut life.kept);
                state = State::Released(Reason::Cancelled);
                let is_refunded = random.bool();
                let released = event("alice", "1", ms, units, kind);
                life.go(Event { is_refunded, ..released }, state);
            }
            _ if life.kept > 1 => {
                let kept = random.i64(1..life.kept);
                let units = life.kept - kept;
                life.kept = kept;
                let was = Some(state);
                let kind = Kind::Released { reason: Reason::Cancelled, was, kept: Some(kept) };
                let is_refunded = is_sold && random.bool();
                let reduced = event("alice", "1", ms, units, kind);
                life.go(Event { is_refunded, ..reduced }, state);
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
        let mut elsewhere = self.elsewhere.last().cloned().unwrap_or_default();
        if event.is_refunded {
            let had = Units::new(self.kept + event.units).unwrap();
            elsewhere.extend(Span::behind(Units::new(self.kept), had));
        }
        self.elsewhere.push(elsewhere);
        self.steps.push(((event, Sole::No), known));
    }

    fn fact(&self, at: usize) -> Fact {
        let known = self.steps[at].1.clone();
        let paid = self.said.filter(|_| known.reference.is_some());
        let elsewhere = self.elsewhere[at].clone();
        Fact { paid, elsewhere, ..Fact::of("alice".to_owned(), known) }
    }

    /// How many units were refunded elsewhere.
    fn refunded(&self) -> i64 {
        let spans = self.elsewhere.last().unwrap();
        spans.iter().map(|span| span.last.get() - span.first.get() + 1).sum()
    }
}

fn of_money(record: &Record) -> Line<'_> {
    let reference = record.reference.as_deref().unwrap_or_default();
    Line { order: &record.key.order, to: &record.to, units: record.units, reference }
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
            let fact = life.fact(at);
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
        let fact = Answer::Has(life.fact(life.steps.len() - 1));
        rows.apply_by(&[(look, Sole::No)], &Answers::from([(key.clone(), fact)]));
        let (row, lines) = (&rows.rows[&key], &rows.records);
        assert!(gone.is_some() || !row.is_untold(), "seed {seed}: {row:?} {lines:?}");
        let of = |words: [&str; 2]| -> i64 {
            let its = lines.iter().filter(|line| words.contains(&&*line.to));
            its.filter(|line| line.reference.is_some()).map(|line| line.units).sum()
        };
        // Nothing is refunded that was elsewhere, whatever was read.
        let elsewhere = of([ELSEWHERE, ELSEWHERE_PART]);
        assert_eq!(elsewhere, life.refunded(), "seed {seed}: {row:?} {lines:?}");
        match row.is_untold() {
            true => assert!(count(&rows) <= life.paid, "seed {seed}: {row:?} {lines:?}"),
            // What an entry said that is gone, the check names by the book.
            false => {
                let told: Vec<_> = lines.iter().map(of_money).collect();
                let named = beyond(&row.known, &told, life.said).max(0);
                assert!(gone.is_some() || named == 0, "seed {seed}: {row:?} {lines:?}");
                assert_eq!(count(&rows) + named, life.paid, "seed {seed}: {row:?} {lines:?}");
            }
        }
        let places: std::collections::BTreeSet<_> =
            lines.iter().map(|line| (&line.entry, &line.to)).collect();
        assert_eq!(places.len(), lines.len(), "seed {seed}: {lines:?}");
    }
}
