//! Two vouchers, one payment, and the books of both: whatever is sold, paid, released, lost and
//! settled, the judge says PROVED only of books whose sums agree, counted here without it.

use crate::actions::{Action, Named, keeping};
use crate::bounds::{created, order, sale};
use crate::ledger::{ORDER, REFERENCE, Rows, UNITS, USER, said, text};
use crate::rows::Server;
use domain::book::{Reason, State as OrderState};
use domain::judge::{self, Fact, Live, Money, Payment, Row, SHARED, Sale, Use, Verdict};
use domain::payments::Outcome;
use domain::projection::{Book, Known, LOST, project};
use domain::sale::Units;
use domain::sales::Restock;
use stateright::{Checker, HasDiscoveries, Model, Property};
use std::collections::{BTreeMap, BTreeSet};

const VOUCHERS: [usize; 2] = [0, 1];

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    servers: [Server; 2],
    rows: [Rows; 2],
    /// What a failover loses everything after.
    replicas: Option<Box<[Server; 2]>>,
    has_failed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    Command(usize, Action),
    Read(usize),
    Keep(usize),
    Release(usize),
    /// Settling is killed after what it does on the server.
    HalfKeep(usize),
    HalfRelease(usize),
    /// The payment is that of the other order.
    Share(usize),
    Repair(usize),
    /// A held order that the server has lost ends.
    Lose(usize),
    /// A person tells how many units were paid.
    Tell(usize),
    /// A person puts units on sale again that are off it for nobody.
    PutBack(usize),
    Lag,
    Failover,
}

/// What a check overlooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Planted {
    Nothing,
    Lines,
    Payments,
    OtherVoucher,
    /// The units off the sale are taken for those of the rows.
    Outside,
    /// Nobody has told how many units were paid.
    Untold,
}

struct Books {
    planted: Planted,
}

impl State {
    /// What the worker writes of the order and of its payment.
    fn read(&mut self, of: usize) {
        let is_other = self.rows[1 - of].is_paid() && !self.rows[1 - of].has(SHARED);
        let (server, rows) = (&self.servers[of], &mut self.rows[of]);
        let is_shared = is_other && !rows.has(SHARED);
        let book = server.book(0);
        if let Some(paid) = server.world.payments[0]
            && !matches!(paid.outcome, Outcome::First | Outcome::Released)
            && !rows.has(paid.outcome.word())
            && !rows.row.as_ref().is_some_and(|row| row.refunds(Some(&0)))
        {
            rows.lines.push((paid.outcome.word(), 1));
        }
        let stands = rows.is_settled && rows.disputed == said(&book);
        let has_it_after_all = rows.disputed == LOST && matches!(book, Book::Has(_));
        let row = rows.row.as_ref().filter(|_| !has_it_after_all);
        match project(row, None, &book) {
            _ if stands => {}
            Ok(Some(next)) if rows.row.as_ref() != Some(&next) => {
                (rows.disputed, rows.is_settled) = (String::new(), false);
                rows.change(next, is_shared);
            }
            Ok(_) => {}
            Err(_) if rows.disputed == said(&book) => {}
            Err(_) => (rows.disputed, rows.is_settled) = (said(&book), false),
        }
    }

    /// The customer has the order: its units leave the sale, if there are so many. Nothing is kept
    /// that is over on both sides, that nobody can pay, or whose confirmation is to be repeated.
    fn keep(&mut self, of: usize) {
        let (server, rows) = (&mut self.servers[of], &mut self.rows[of]);
        let Some(row) = rows.row.clone() else { return };
        let there = server.world.book[0].filter(|entry| entry.state.is_live());
        let kept: Known<u8> = match there {
            Some(there) if !row.state.is_live() => {
                rows.is_untold = there.reference.is_some();
                let mut kept: Known<u8> = there.into();
                if rows.reduced() > 0 {
                    kept.units = kept.units.min(row.units);
                }
                kept
            }
            Some(there) if there.state != row.state => return,
            None if row.state != OrderState::Sold => return,
            _ => row,
        };
        if rows.is_paid() && (rows.has("cancelled") || rows.is_whole()) {
            return;
        }
        let units = kept.units - there.map_or(0, |entry| entry.units.get());
        rows.row = Some(kept);
        if units > 0 {
            let _ = server.run(Action::Restock(Restock::For { delta: -units, order: 0 }));
        } else if units < 0 {
            let named = Named { user: 0, id: 0, sale: None };
            let _ = server.run(Action::Cancel(named, keeping(Some(Units::ONE))));
        }
        (rows.disputed, rows.is_settled) = (said(&self.servers[of].book(0)), true);
    }

    /// The customer does not have it: what the other order has paid is not refunded.
    fn release(&mut self, of: usize) {
        let is_shared = self.is_shared();
        let (server, rows) = (&mut self.servers[of], &mut self.rows[of]);
        let named = Named { user: 0, id: 0, sale: None };
        let _ = server.run(Action::Cancel(named, keeping(None)));
        if let Some(units) = server.world.outside[0] {
            let _ = server.run(Action::Restock(Restock::For { delta: units.get(), order: 0 }));
        }
        if let Some(row) = rows.row.clone().filter(|row| row.state.is_live()) {
            let released = OrderState::Released(Reason::Cancelled);
            rows.change(Known { state: released, ..row }, is_shared);
            rows.lines.extend(is_shared.then_some((SHARED, UNITS)));
        }
        let book = server.book(0);
        let agrees = project(rows.row.as_ref(), None, &book).is_ok();
        let disputed = if agrees { String::new() } else { said(&book) };
        (rows.disputed, rows.is_settled) = (disputed, !agrees);
    }

    /// Are units off the sale that no kept order has?
    fn are_off_for_nobody(&self, of: usize) -> bool {
        let server = &self.servers[of].world;
        let has = server.book[0].filter(|entry| entry.state.is_live());
        let lacking = self.rows[of].live() - has.map_or(0, |entry| entry.units.get());
        server.outside[0].map_or(0, Units::get) > lacking.max(0)
    }

    /// Do two orders have the payment, of which nobody has said so?
    fn is_shared(&self) -> bool {
        self.rows.iter().all(|rows| rows.is_paid() && !rows.has(SHARED))
    }

    fn judge(&self, of: usize, planted: Planted) -> Verdict {
        let (server, rows) = (&self.servers[of].world, &self.rows[of]);
        let row = rows.row.as_ref().map(text);
        let book = server.book[0].map(|entry| text(&entry.into()));
        let fact = |known| (ORDER, Fact { user: USER, known });
        let outside = match planted {
            Planted::Outside => Some(rows.live()),
            _ => server.outside[0].map(Units::get),
        };
        let other = &self.rows[1 - of];
        let payment = |paid: domain::payments::Payment<u8>| Payment {
            reference: REFERENCE,
            outcome: paid.outcome,
            order: ORDER,
            use_: match paid.outcome {
                Outcome::Unknown if other.is_paid() && planted != Planted::OtherVoucher => {
                    Use::Other(ORDER)
                }
                _ => Use::None,
            },
        };
        let on_record = server.payments[0].filter(|_| planted != Planted::Payments);
        let live = Live {
            paid: BTreeMap::new(),
            is_managed: true,
            orders: book.iter().map(fact).collect(),
            users: BTreeSet::new(),
            total: server.rules.map(|rules| rules.total),
            left: server.stock.unwrap_or(0),
            limit: UNITS,
            buyers: server.buyers.iter().map(|has| i64::from(*has)).sum(),
            outside: outside.map(|units| (ORDER, units)).into_iter().collect(),
            elsewhere: BTreeSet::new(),
            is_steady: true,
        };
        let its = |known| {
            let (fact, disputed) = (Fact { user: USER, known }, &*rows.disputed);
            let is_settled = rows.is_settled;
            let is_untold = rows.is_untold && planted != Planted::Untold;
            (ORDER, Row { fact, is_note: false, disputed, is_settled, is_untold })
        };
        let sale = Sale {
            voucher: "7",
            sale: "1",
            server: judge::Server::On(live),
            rows: row.iter().map(its).collect::<BTreeMap<_, _>>(),
            sum: rows.live(),
            lines: if planted == Planted::Lines { Vec::new() } else { rows.lines() },
            payments: on_record.into_iter().map(payment).collect(),
            is_closed: false,
        };
        match judge::judge(&[sale]).verdict() {
            Verdict::Proved if self.is_shared() && planted != Planted::OtherVoucher => {
                Verdict::Different
            }
            verdict => verdict,
        }
    }

    /// What PROVED claims of a voucher, without the judge.
    fn agrees(&self, of: usize) -> bool {
        let (server, rows) = (&self.servers[of].world, &self.rows[of]);
        let outside = server.outside[0].map_or(0, Units::get);
        let total = server.rules.map_or(0, |rules| rules.total) + outside;
        let is_sold_once = server.stock.unwrap_or(0) + rows.live() == total;
        let is_paid_once = match (rows.is_paid(), rows.has(SHARED)) {
            (true, false) if rows.is_whole() => rows.live() + rows.refunded() == 0,
            (true, false) => rows.live() + rows.refunded() == UNITS,
            _ => true,
        };
        let is_known = match server.payments[0].map(|paid| paid.outcome) {
            Some(Outcome::First | Outcome::Released) => rows.is_paid(),
            Some(_) => rows.is_paid() || rows.is_whole() || rows.has(SHARED),
            None => true,
        };
        is_sold_once && is_paid_once && is_known && !self.is_shared()
    }
}

impl Model for Books {
    type State = State;
    type Action = Move;

    fn init_states(&self) -> Vec<State> {
        let server = || Server::new(created(sale()));
        let rows = [Rows::default(), Rows::default()];
        let servers = [server(), server()];
        vec![State { servers, rows, replicas: None, has_failed: false }]
    }

    fn actions(&self, state: &State, moves: &mut Vec<Move>) {
        let named = Named { user: 0, id: 0, sale: None };
        for of in VOUCHERS {
            let (server, rows) = (&state.servers[of], &state.rows[of]);
            let is_sold = server.world.book[0].is_some_and(|entry| entry.state == OrderState::Sold);
            moves.push(Move::Command(of, Action::Try(order(0, 0, UNITS))));
            moves.push(Move::Command(of, Action::Confirm(named, Some(0))));
            if of == 0 || is_sold {
                moves.push(Move::Command(of, Action::Cancel(named, keeping(None))));
            }
            if of == 0 && is_sold {
                moves.push(Move::Command(of, Action::Cancel(named, keeping(Some(Units::ONE)))));
            }
            moves.push(Move::Read(of));
            moves.extend((!state.is_shared()).then_some(Move::Repair(of)));
            let is_held = rows.row.as_ref().is_some_and(|row| row.state == OrderState::Held);
            let is_lost = is_held && server.book(0) == Book::Lacks;
            if !["", LOST].contains(&&*rows.disputed) {
                let half = [Move::HalfRelease(of), Move::HalfKeep(of)];
                moves.extend(half.iter().take(if is_held { 1 } else { 2 }).filter(|_| of == 0));
                moves.extend((!is_held).then_some(Move::Keep(of)));
                moves.push(Move::Release(of));
            } else if is_lost {
                moves.extend([Move::Lose(of), Move::Release(of)]);
            }
            moves.extend(state.are_off_for_nobody(of).then_some(Move::PutBack(of)));
            moves.extend(rows.is_untold.then_some(Move::Tell(of)));
            if state.is_shared() {
                moves.push(Move::Share(of));
            }
        }
        if state.replicas.is_none() && !state.has_failed {
            moves.push(Move::Lag);
        }
        moves.extend(state.replicas.is_some().then_some(Move::Failover));
    }

    fn next_state(&self, last: &State, action: Move) -> Option<State> {
        let mut next = last.clone();
        match action {
            Move::Command(of, action) => next.servers[of].run(action).ok()?,
            Move::Read(of) => next.read(of),
            Move::Keep(of) => next.keep(of),
            Move::Release(of) => next.release(of),
            Move::HalfKeep(of) => {
                next.keep(of);
                next.rows = last.rows.clone();
            }
            Move::HalfRelease(of) => {
                next.release(of);
                next.rows = last.rows.clone();
            }
            Move::Share(of) => next.rows[of].lines.push((SHARED, UNITS)),
            Move::Repair(of) => {
                let rows = &mut next.rows[of];
                let owed = judge::money(&text(rows.row.as_ref()?), &rows.lines());
                if let Money::Owed(units) = owed {
                    rows.lines.push(("cancelled", units));
                }
            }
            Move::Lose(of) => {
                let rows = &mut next.rows[of];
                let units = rows.row.as_ref()?.units;
                let expired = OrderState::Released(Reason::Expired);
                rows.row = Some(Known::new(expired, None, units, None));
                (rows.disputed, rows.is_settled) = (LOST.to_owned(), true);
            }
            Move::Tell(of) => {
                let rows = &mut next.rows[of];
                rows.is_untold = false;
                let known = text(rows.row.as_ref()?);
                let due = UNITS - rows.live() - judge::refunded(&known, &rows.lines());
                rows.lines.extend((due > 0).then_some(("reduced", due)));
            }
            Move::PutBack(of) => {
                let units = next.servers[of].world.outside[0]?.get();
                let back = Restock::For { delta: units, order: 0 };
                next.servers[of].run(Action::Restock(back)).ok()?;
            }
            Move::Lag => next.replicas = Some(Box::new(next.servers.clone())),
            Move::Failover => {
                next.servers = *next.replicas.take()?;
                next.has_failed = true;
            }
        }
        (next != *last).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("what is proved agrees", |model: &Self, state: &State| {
                let is_proved = |of: &usize| state.judge(*of, model.planted) == Verdict::Proved;
                VOUCHERS.into_iter().filter(is_proved).all(|of| state.agrees(of))
            }),
            Property::always("a payment is refunded once", |_, state: &State| {
                let is_settled = state.rows.iter().any(|rows| rows.has(SHARED));
                is_settled || !state.rows.iter().all(|rows| rows.has("cancelled"))
            }),
            // The exploration reaches what it is for.
            Property::sometimes("proved after a person kept it", |_, state: &State| {
                let is_kept = state.rows[0].is_settled && state.rows[0].live() > 0;
                is_kept && state.judge(0, Planted::Nothing) == Verdict::Proved
            }),
            Property::sometimes("proved with one payment of two", |_, state: &State| {
                let is_shared = state.rows.iter().all(Rows::is_paid);
                is_shared && state.judge(0, Planted::Nothing) == Verdict::Proved
            }),
            Property::sometimes("proved after a held order was lost", |_, state: &State| {
                let is_lost = state.rows[0].disputed == LOST;
                is_lost && state.judge(0, Planted::Nothing) == Verdict::Proved
            }),
            Property::sometimes("unknown, and then first", |_, state: &State| {
                state.rows[0].has("unknown")
                    && state.rows[0].live() > 0
                    && state.judge(0, Planted::Nothing) == Verdict::Proved
            }),
        ]
    }
}

#[test]
fn what_the_judge_proves_agrees() {
    let max = crate::generated_max().min(6_000_000);
    let books = Books { planted: Planted::Nothing };
    let checker = books.checker().target_state_count(max).spawn_bfs().join();
    let (unique, generated) = (checker.unique_state_count(), checker.state_count());
    println!("books: {unique} states, {generated} generated, depth {}", checker.max_depth());
    checker.assert_properties();
}

#[test]
fn planted_faults_of_a_check_are_found() {
    for (planted, name) in [
        (Planted::Lines, "lines are not read"),
        (Planted::Payments, "the record of payments is not read"),
        (Planted::OtherVoucher, "other vouchers are not looked at"),
        (Planted::Outside, "units are believed to be off the sale"),
        (Planted::Untold, "what nobody tells of a payment is taken for nothing"),
    ] {
        let checker = Books { planted }.checker().finish_when(HasDiscoveries::AnyFailures);
        let checker = checker.spawn_bfs().join();
        let path = checker.discovery("what is proved agrees").unwrap_or_else(|| panic!("{name}"));
        println!("{name}: {} steps", path.into_actions().len());
    }
}
