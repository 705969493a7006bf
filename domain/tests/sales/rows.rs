//! The rows of a shop beside the book: a worker reads entries in any order and any number of times,
//! and projects. The server loses any suffix of what it had, and may lose it once.

use crate::actions::{Action, Named, Run, keeping};
use crate::bounds::{created, is_set, order, sale};
use crate::generated_max;
use crate::world::{NOW, ORDERS, World, Written};
use domain::book::State as OrderState;
use domain::projection::{Book, Known, project};
use domain::sale::Units;
use stateright::{Checker, Model, Property};
use std::cell::Cell;

/// What streams say of one order: the try, its confirmation, the release of a part, its release.
type Entries = [Option<Known<u8>>; 4];

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server {
    pub world: World,
    streams: [Entries; ORDERS],
}

/// An order, an entry about it, and what the server has answered.
type Work = (usize, Known<u8>, Book<u8>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    server: Server,
    rows: [Option<Known<u8>>; ORDERS],
    disputed: [bool; ORDERS],
    /// A second worker, between its question and its lock on the row.
    slow: Option<Box<Work>>,
    /// What a failover loses everything after.
    replica: Option<Box<Server>>,
    has_failed: bool,
    bad: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    Command(Action),
    /// The worker reads an entry of an order, by its stream.
    Read(usize, usize),
    /// A check looks at an order without an entry.
    Look(usize),
    /// Another worker asks about the order of an entry, and writes later.
    Ask(usize, usize),
    Write,
    Lag,
    Failover,
}

/// How a projection is planted wrongly.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Planted {
    Nothing,
    /// The entry alone decides, as it would for an unmanaged voucher.
    IgnoresTheBook,
    /// A row becomes what the book says, whatever it was.
    WritesOver,
    /// An answer that may be stale is taken for a contradiction.
    AsksOnce,
}

struct Rows {
    planted: Planted,
    ids: usize,
    /// With a second worker, for one order.
    has_slow: bool,
}

/// Two orders and one worker, or one order and two.
const BOUNDS: [(usize, bool); 2] = [(2, false), (1, true)];

impl Server {
    pub fn new(world: World) -> Self {
        Self { world, streams: [const { [const { None }; 4] }; ORDERS] }
    }

    pub fn book(&self, id: usize) -> Book<u8> {
        match (self.world.rules, self.world.book[id]) {
            (None, _) => Book::Over,
            (Some(_), None) => Book::Lacks,
            (Some(_), Some(entry)) => Book::Has(entry.into()),
        }
    }

    /// Runs a command; what it appends is in the streams from then on.
    pub fn run(&mut self, action: Action) -> Result<(), &'static str> {
        let late = None;
        let mut run = Run {
            world: self.world,
            written: Written::default(),
            bad: None,
            asked: Cell::new(0),
            fails: usize::MAX,
            knows_buyers: false,
            serves: usize::MAX,
            planted: None,
            action,
            new_rules: sale(),
            late,
        };
        // Refusals change nothing.
        let _ = run.run();
        let before = std::mem::replace(&mut self.world, run.world);
        for (id, streams) in self.streams.iter_mut().enumerate() {
            let entry = self.world.book[id].or(before.book[id]);
            let Some(entry) = entry else { continue };
            if run.written.ordered[id] > 0 {
                streams[0] = Some(entry.into());
            }
            if run.written.confirmed[id] > 0 {
                streams[1] = Some(entry.into());
            }
            if run.written.released[id] > 0 {
                streams[if entry.state.is_live() { 2 } else { 3 }] = Some(entry.into());
            }
        }
        run.bad.map_or(Ok(()), Err)
    }
}

impl State {
    /// Projects what the server has answered; what contradicts the row is asked again.
    fn read(
        &mut self,
        id: usize,
        entry: Option<Known<u8>>,
        answer: Option<Book<u8>>,
        planted: Planted,
    ) {
        let row = self.rows[id].clone();
        let (row, now, is_stale) = (row.as_ref(), self.server.book(id), answer.is_some());
        let book = match planted {
            Planted::IgnoresTheBook => Book::Over,
            _ => answer.unwrap_or_else(|| now.clone()),
        };
        let projected = match (planted, &book) {
            (Planted::WritesOver, Book::Has(book)) => Ok(Some(book.clone())),
            (Planted::AsksOnce, book) => project(row, entry.as_ref(), book),
            (_, book) => {
                project(row, entry.as_ref(), book).or_else(|_| project(row, entry.as_ref(), &now))
            }
        };
        match projected {
            Ok(next) => {
                self.check(row, next.as_ref());
                self.rows[id] = next;
            }
            Err(contradiction) => {
                if !self.has_failed {
                    self.bad = Some("a dispute without a loss");
                }
                self.rows[id] = Some(contradiction.known);
                self.disputed[id] = true;
            }
        }
        // After an old answer, an entry that is not read yet tells the rest.
        if !self.has_failed && !is_stale {
            self.check_without_loss(id);
        }
    }

    /// A row never says less than what it said before.
    fn check(&mut self, row: Option<&Known<u8>>, next: Option<&Known<u8>>) {
        let (Some(row), Some(next)) = (row, next) else {
            if row.is_some() {
                self.bad = Some("a row vanishes");
            }
            return;
        };
        let rank = |state: OrderState| match state {
            OrderState::Waiting | OrderState::Held => 0,
            OrderState::Sold => 1,
            OrderState::Released(_) => 2,
        };
        let was_paid = row.was_sold != Some(true) || next.was_sold == Some(true);
        let keeps = row.reference.is_none() || row.reference == next.reference;
        if rank(next.state) < rank(row.state) || !was_paid || !keeps || next.units > row.units {
            self.bad = Some("a row is written over");
        }
    }

    /// Whatever was read, and in which order: the row is what the book says now.
    fn check_without_loss(&mut self, id: usize) {
        if let Book::Has(book) = self.server.book(id)
            && self.rows[id].as_ref() != Some(&book)
        {
            self.bad = Some("a row is not what the book says");
        }
    }
}

impl Model for Rows {
    type State = State;
    type Action = Move;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            server: Server::new(created(sale())),
            rows: [const { None }; ORDERS],
            disputed: [false; ORDERS],
            slow: None,
            replica: None,
            has_failed: false,
            bad: None,
        }]
    }

    fn actions(&self, state: &State, moves: &mut Vec<Move>) {
        let ids = self.ids + usize::from(is_set("SOAK"));
        for id in 0..ids {
            let number = id as u8;
            let user = number % 2;
            let named = Named { user, id: number, sale: None };
            let units = if id == 0 { 2 } else { 1 };
            let commands = [
                Action::Try(order(user, number, units)),
                Action::Confirm(named, None),
                Action::Confirm(named, Some(0)),
                Action::Cancel(named, keeping(None)),
                Action::Cancel(named, keeping(Some(Units::ONE))),
            ];
            moves.extend(commands.map(Move::Command));
            if state.server.world.holds[id].is_some_and(|until| until <= NOW) {
                moves.push(Move::Command(Action::Timer(number)));
            }
            let streams = &state.server.streams[id];
            let there = (0..4).filter(|stream| streams[*stream].is_some());
            for stream in there {
                moves.push(Move::Read(id, stream));
                if self.has_slow && state.slow.is_none() {
                    moves.push(Move::Ask(id, stream));
                }
            }
            if state.rows[id].is_some() {
                moves.push(Move::Look(id));
            }
        }
        moves.extend(state.slow.is_some().then_some(Move::Write));
        moves.push(Move::Command(Action::Tick));
        moves.push(Move::Command(Action::Drop { forced: true, sale: None }));
        if state.replica.is_none() && !state.has_failed {
            moves.push(Move::Lag);
        }
        if state.replica.is_some() {
            moves.push(Move::Failover);
        }
    }

    fn next_state(&self, last: &State, action: Move) -> Option<State> {
        let mut next = last.clone();
        match action {
            Move::Command(Action::Tick) => {
                next.server.world.tick();
                next.replica.iter_mut().for_each(|replica| replica.world.tick());
            }
            Move::Command(action) => next.bad = next.server.run(action).err(),
            Move::Read(id, stream) => {
                let entry = next.server.streams[id][stream].clone();
                next.read(id, entry, None, self.planted);
            }
            Move::Look(id) => next.read(id, None, None, self.planted),
            Move::Ask(id, stream) => {
                let entry = next.server.streams[id][stream].clone()?;
                next.slow = Some(Box::new((id, entry, next.server.book(id))));
            }
            Move::Write => {
                let (id, entry, answer) = *next.slow.take()?;
                next.read(id, Some(entry), Some(answer), self.planted);
            }
            Move::Lag => next.replica = Some(Box::new(next.server.clone())),
            Move::Failover => {
                next.server = *next.replica.take()?;
                next.has_failed = true;
                // Its connection is lost.
                next.slow = None;
            }
        }
        (next != *last).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("nothing is wrong", |_, state: &State| state.bad.is_none()),
            // The exploration reaches what it is for.
            Property::sometimes("a sold row is disputed", |_, state: &State| {
                let sold = |row: &Option<Known<u8>>| {
                    row.as_ref().is_some_and(|row| row.state == OrderState::Sold)
                };
                state.rows.iter().zip(state.disputed).any(|(row, disputed)| disputed && sold(row))
            }),
        ]
    }
}

#[test]
fn rows_never_say_less_than_the_evidence() {
    for (ids, has_slow) in BOUNDS {
        let rows = Rows { planted: Planted::Nothing, ids, has_slow };
        let checker = rows.checker().target_state_count(generated_max()).spawn_bfs().join();
        let (unique, generated) = (checker.unique_state_count(), checker.state_count());
        println!("rows: {unique} states, {generated} generated, depth {}", checker.max_depth());
        checker.assert_properties();
        assert!(checker.is_done());
    }
}

#[test]
fn planted_faults_of_rows_are_found() {
    for (planted, name) in [
        (Planted::IgnoresTheBook, "entries decide"),
        (Planted::WritesOver, "the book is written over a row"),
        (Planted::AsksOnce, "a stale answer is taken for a contradiction"),
    ] {
        let checker = Rows { planted, ids: 1, has_slow: true }.checker().spawn_bfs().join();
        let path = checker.discovery("nothing is wrong").unwrap_or_else(|| panic!("{name}"));
        let (length, word) = (path.clone().into_actions().len(), path.last_state().bad);
        println!("{name}: {length} steps, {}", word.unwrap_or_default());
    }
}
