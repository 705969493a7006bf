//! Everything that can happen to a voucher, in bounds.

use crate::actions::{Action, Answer, Late, Run};
use crate::canonical::{canonical, plain};
use crate::planted::Planted;
use crate::properties::Step;
use crate::state::State;
use crate::world::{Error, NOW, World, Written};
use domain::book::{Reason, State as OrderState};
use domain::facts::Refusal;
use domain::rules::Rules;
use domain::sale::TryOutcome;
use domain::sales::Restock;
use stateright::{Model, Property};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// An action, and whether the client then waits until the replicas know what it wrote.
pub type Move = (Action, bool);

/// How far the exploration goes.
#[derive(Clone)]
pub struct Bounds {
    pub name: &'static str,
    pub worlds: Vec<World>,
    pub moves: Vec<Move>,
    /// The rules of later sales, and how many sales there are.
    pub rules: Rules,
    pub sales: u8,
    pub total_max: i64,
    /// Remember the answers about each order.
    pub told: bool,
    /// How many orders of the queue a step promotes.
    pub promotes: usize,
    /// Let every question of every step fail.
    pub faults: bool,
    pub symmetry: bool,
}

pub struct Sales {
    pub bounds: Bounds,
    pub planted: Option<Planted>,
    /// Some of the moves are payments.
    pays: bool,
    /// The answers that were given, by action and code.
    pub seen: [[AtomicBool; 8]; 9],
}

impl Sales {
    pub fn new(bounds: Bounds, planted: Option<Planted>) -> Self {
        let pays = |it: &Move| it.0.pays().is_some_and(|(_, reference)| reference.is_some());
        let pays = bounds.moves.iter().any(pays);
        Self { bounds, planted, pays, seen: Default::default() }
    }

    fn run(&self, last: &State, action: Action, fails: usize) -> Run<'_> {
        let late = match action {
            Action::Reject(id) | Action::RejectUnsold(id) => {
                let entry = last.world.entry(id);
                let sale = last.world.sale();
                entry.map(|entry| Late::of(&entry, sale))
            }
            Action::RejectLate(which, id) => last.late[which][usize::from(id)],
            _ => None,
        };
        // The clock stands, and the ids of sales grow all the same.
        let new_rules = self.bounds.rules;
        Run {
            world: last.world,
            written: Written::default(),
            bad: None,
            asked: Cell::new(0),
            fails,
            knows_buyers: false,
            promotes: self.bounds.promotes,
            planted: self.planted.as_ref(),
            action,
            new_rules,
            late,
        }
    }

    /// Is there anything to be done?
    fn is_possible(&self, last: &State, (action, waits): Move) -> bool {
        let world = &last.world;
        let total = world.rules.map_or(0, |rules| rules.total);
        (!waits || last.replica.is_some())
            && match action {
                Action::Reject(id) | Action::RejectUnsold(id) => {
                    world.entry(id).is_some_and(|it| it.state != OrderState::Waiting)
                }
                Action::Promote => world.queue.iter().any(Option::is_some),
                Action::RejectLate(which, id) => last.late[which][usize::from(id)].is_some(),
                Action::Timer(id) => world.holds[usize::from(id)].is_some_and(|it| it <= NOW),
                Action::Create | Action::Adopt => last.created < self.bounds.sales,
                Action::Restock(Restock::By(delta) | Restock::For { delta, .. }) => {
                    total + delta <= self.bounds.total_max
                }
                Action::Restock(Restock::To(to)) => to <= self.bounds.total_max,
                Action::SetStock(_) => world.rules.is_none() && world.stock.is_none(),
                Action::Overwrite(_) => world.rules.is_some(),
                Action::Lag => last.replica.is_none() && !last.has_failed,
                Action::Failover => last.replica.is_some(),
                _ => true,
            }
    }

    fn step(&self, last: &State, (action, waits): Move) -> State {
        let mut run = self.run(last, action, usize::MAX);
        let answer = run.run();
        let mut next = State { world: run.world, bad: run.bad, ..last.clone() };
        let step = Step {
            before: &last.world,
            after: &run.world,
            action: &action,
            answer: &answer,
            written: &run.written,
            late: run.late,
        };
        let mut checked = step.check();
        if self.bounds.faults && self.planted.is_none() {
            checked = checked.and_then(|()| self.check_faults(last, action, &run, &answer));
            checked = checked.and_then(|()| self.check_same(last, action, &run, &answer));
        } else if matches!(action, Action::Pair(..)) {
            checked = checked.and_then(|()| self.check_same(last, action, &run, &answer));
        }
        next.bad = next.bad.or(checked.err());
        self.note(&action, &answer);
        next.remember(&self.bounds, action, &answer, &run, last);
        if waits && answer.is_ok() {
            next.wait(&action, &answer, run.written.anything);
        }
        next
    }

    /// With any question failing, nothing is changed but overdue orders, or all is as without.
    fn check_faults(
        &self,
        last: &State,
        action: Action,
        normal: &Run<'_>,
        answer: &Result<Answer, Error>,
    ) -> Result<(), &'static str> {
        for fails in 0..normal.asked.get() {
            let mut run = self.run(last, action, fails);
            let failed = run.run();
            let (before, after) = (&last.world, &run.world);
            run.bad.map_or(Ok(()), Err)?;
            after.check()?;
            if failed.is_ok() && action == (Action::Drop { forced: true, sale: None }) && fails == 1
            {
                // Rules that can't be read don't prevent the end of a sale.
                if *after == before.without_sale() { continue } else { return Err("not dropped") }
            }
            // By rules that can't be read, no wait has ended.
            let is_held = failed == Err(Error::Refused(Refusal::Held));
            if is_held && last.world.is_over() && after == before && fails == 1 {
                continue;
            }
            let answer_of = &failed;
            let (action, written, late) = (&action, &run.written, run.late);
            Step { before, after, action, answer: answer_of, written, late }.check_changes()?;
            let may_end = matches!(action, Action::Drop { .. });
            let only_ended = before.book.iter().zip(&after.book).all(|(before, after)| {
                before == after
                    || after.is_some_and(|it| match it.state {
                        OrderState::Released(Reason::Expired) => true,
                        OrderState::Released(Reason::Cancelled) => may_end,
                        // Without the units of an overdue order.
                        OrderState::Waiting => before.is_none(),
                        // With them.
                        OrderState::Held => {
                            before.is_some_and(|it| it.state == OrderState::Waiting)
                        }
                        _ => false,
                    })
            });
            let is_lost = |it: &Answer| match it {
                Answer::Try(it) => {
                    matches!(
                        it.outcome,
                        TryOutcome::SoldOut | TryOutcome::AtLimit | TryOutcome::Waiting
                    )
                }
                _ => false,
            };
            let is_right = match &failed {
                Err(Error::Fault) => only_ended && after.rules == before.rules,
                _ if failed == *answer && *after == normal.world => true,
                Ok(Answer::Pair(_)) => true,
                // It expired as many orders as it could.
                Ok(Answer::Try(_)) if failed == *answer => {
                    let both = before.book.iter().zip(&normal.world.book);
                    both.zip(&after.book).all(|((old, new), is)| is == old || is == new)
                }
                Ok(it) if is_lost(it) && before.rules.is_some() => only_ended,
                // What is refused in the queue refuses no command.
                Ok(_) if failed == *answer && run.written.has_failed => {
                    let both = normal.world.book.iter().zip(&after.book);
                    let mut both = both.zip(&before.book);
                    both.all(|((new, is), old)| is == new || is == old)
                }
                Ok(_) | Err(Error::Refused(_)) => false,
            };
            if !is_right {
                return Err("a fault is taken for an answer");
            }
        }
        Ok(())
    }

    /// A pair is two tries one after the other, and a buyer who is known beforehand is no other.
    fn check_same(
        &self,
        last: &State,
        action: Action,
        run: &Run<'_>,
        answer: &Result<Answer, Error>,
    ) -> Result<(), &'static str> {
        let (first, second) = match action {
            Action::Try(order) if last.world.rules.is_none() => (order, None),
            Action::Pair(first, second) => (first, Some(second)),
            _ => return Ok(()),
        };
        let mut one = self.run(last, Action::Try(first), usize::MAX);
        one.knows_buyers = true;
        let mut answers = [one.run(), Err(Error::Fault)];
        if let Some(order) = second {
            one.action = Action::Try(order);
            answers[1] = one.run();
        }
        let is_same = match answer {
            Ok(Answer::Pair(pair)) => pair.map(|it| it.map(Answer::Try)) == answers,
            answer => *answer == answers[0],
        };
        let is_same = is_same && one.world == run.world;
        let appended = (one.written.ordered, one.written.released);
        if is_same && appended == (run.written.ordered, run.written.released) {
            Ok(())
        } else {
            Err("two tries of one command are not two tries")
        }
    }

    /// The answers that were given, by command; 7 is an error.
    pub fn answers(&self) -> Vec<String> {
        let names =
            ["TRY", "CONFIRM", "EXTEND", "CANCEL", "REJECT", "RESTOCK", "DROP", "CREATE", "ADOPT"];
        let queues = names.iter().zip(&self.seen).map(|(name, seen)| {
            let seen = seen.iter().zip(0..).filter(|(seen, _)| seen.load(Ordering::Relaxed));
            seen.fold(name.to_string(), |line, (_, code)| format!("{line} {code}"))
        });
        queues.filter(|queue| queue.contains(' ')).collect()
    }

    fn note(&self, action: &Action, answer: &Result<Answer, Error>) {
        let action = match action {
            Action::Try(_) | Action::TryFor(..) | Action::Wait(_) => 0,
            Action::Confirm(..) | Action::Paid(..) | Action::Refund(..) => 1,
            Action::Extend(..) => 2,
            Action::Cancel(..) => 3,
            Action::Reject(_) | Action::RejectUnsold(_) | Action::RejectLate(..) => 4,
            Action::Restock(_) => 5,
            Action::Drop { .. } => 6,
            Action::Create => 7,
            Action::Adopt => 8,
            _ => return,
        };
        let code = match answer {
            Ok(Answer::Try(answer)) => answer.outcome.code(),
            Ok(Answer::Confirm(answer)) => *answer as i64,
            Ok(Answer::Cancel(answer)) => *answer as i64,
            Ok(Answer::Reject(fate)) => fate.map_or(3, |fate| fate as i64),
            Ok(Answer::Number(number)) => *number,
            Ok(Answer::Pair(_)) => return,
            Err(_) => 7,
        };
        let seen = &self.seen[action][usize::try_from(code).unwrap_or(6).min(7)];
        if !seen.load(Ordering::Relaxed) {
            seen.store(true, Ordering::Relaxed);
        }
    }
}

impl Model for Sales {
    type State = State;
    type Action = Move;

    fn init_states(&self) -> Vec<State> {
        self.bounds.worlds.iter().map(|world| State::of(*world)).collect()
    }

    fn actions(&self, state: &State, actions: &mut Vec<Move>) {
        actions.extend(self.bounds.moves.iter().filter(|it| self.is_possible(state, **it)));
    }

    fn next_state(&self, last: &State, action: Move) -> Option<State> {
        let next = match action.0 {
            Action::Lag => State { replica: Some(Box::new(last.world)), ..last.clone() },
            Action::Tick => {
                let mut next = last.clone();
                next.world.tick();
                next.replica.iter_mut().for_each(|replica| replica.tick());
                next
            }
            Action::Failover => {
                let mut next = last.clone();
                next.fail_over(self.planted.is_some_and(|planted| planted.tears));
                next
            }
            _ => self.step(last, action),
        };
        if next == *last {
            return None;
        }
        let pays = self.pays;
        Some(if self.bounds.symmetry { canonical(&next, pays) } else { plain(&next, pays) })
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("nothing is wrong", |_, state: &State| state.bad.is_none())]
    }
}
