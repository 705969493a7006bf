//! Everything that can happen to orders and their money, in bounds: commands, payments, a worker
//! that reads entries in any order, losses of the server, operators who stop at any step.

use crate::operator::Resolve;
use crate::planted::Planted;
use crate::provider::Provider;
use crate::server::{REFERENCES, Voucher};
use crate::shop::{Asked, Kind, Shop};
use domain::resolve::Answer;
use domain::rows::Report;
use stateright::{Model, Property};
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// An entry that is not read yet: its number, the order, what it says.
pub type Unread = (u8, usize, Report<u8>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server {
    pub vouchers: Vec<Voucher>,
    pub unread: Vec<Unread>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub server: Server,
    /// What a loss goes back to.
    pub replica: Option<Box<Server>>,
    pub shop: Shop,
    /// What the database goes back to.
    pub backup: Option<Box<Shop>>,
    pub provider: Provider,
    pub resolves: [Option<Resolve>; 2],
    pub commands_left: u8,
    pub losses_left: u8,
    pub databases_left: u8,
    pub resolves_left: u8,
    pub losses: u8,
    pub has_created: bool,
    pub bad: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Buy(usize),
    Expire(usize),
    /// Units kept, REFUNDED, NORESTOCK.
    Cancel(usize, i64, bool, bool),
    /// The provider is paid for what an order has; of a cart, for all; so many units fewer.
    Pay(u8, usize, i64),
    /// With so many units more than were paid.
    Confirm(u8, usize, i64),
    /// Another buyer takes what is left.
    SellOut(usize),
    /// HOLD 0, or HOLD again.
    Alter,
    /// The sale is ended, and a check finds it consistent.
    Close,
    Drop,
    Create,
    Read(usize),
    Lag,
    Lose,
    BackUp,
    /// The lines since are worked off, or are not.
    Restore(bool),
    Start(usize, usize, Answer),
    Step(usize),
}

/// How far the exploration goes.
#[derive(Clone, Debug)]
pub struct Bounds {
    pub name: &'static str,
    pub kind: Kind,
    pub is_held: bool,
    pub units: i64,
    pub total: i64,
    /// The shop says UNITS.
    pub is_stated: bool,
    pub commands: u8,
    pub losses: u8,
    /// Databases that return to a backup.
    pub databases: u8,
    pub resolves: u8,
    pub references: u8,
    /// Commands with KEEP, REFUNDED, NORESTOCK, another buyer, payments of fewer units, and UNITS
    /// that are not what was paid.
    pub keeps: bool,
    pub refunds: bool,
    pub norestock: bool,
    pub others: bool,
    pub fewer: bool,
    pub wrong: bool,
    /// HOLD changes; the sale is dropped, and created again; confirmations name their sale.
    pub alters: bool,
    pub drops: bool,
    pub named: bool,
}

/// How the questions are answered until there is none.
pub const POLICIES: [Answer; 4] =
    [Answer::Keep(None), Answer::Keep(Some(1)), Answer::Release, Answer::Refunded { kept: 0 }];

pub struct Money {
    pub bounds: Bounds,
    pub planted: Planted,
    /// Ends that were looked at.
    pub seen: Mutex<HashSet<u64>>,
    pub ends: AtomicU64,
    pub resolved: AtomicU64,
    pub longest: AtomicU64,
    pub consistent: AtomicU64,
    pub is_traced: AtomicBool,
}

impl Money {
    pub fn new(bounds: Bounds, planted: Planted) -> Self {
        Self {
            bounds,
            planted,
            seen: Mutex::default(),
            ends: AtomicU64::new(0),
            resolved: AtomicU64::new(0),
            longest: AtomicU64::new(0),
            consistent: AtomicU64::new(0),
            is_traced: AtomicBool::new(false),
        }
    }

    fn next(&self, last: &State, action: Action) -> Result<Option<State>, &'static str> {
        let mut next = last.clone();
        match action {
            Action::Read(at) => {
                let unread = next.server.unread.remove(at);
                next.forget(unread.0);
                next.shop.read(unread.1, unread.0, &unread.2, self.planted)?;
                return Ok(Some(next));
            }
            Action::Lag => {
                next.replica = Some(Box::new(next.server.clone()));
                return Ok(Some(next));
            }
            Action::Lose => {
                let Some(replica) = next.replica.take() else { return Ok(None) };
                next.server = *replica;
                next.losses_left -= 1;
                next.losses += 1;
                return Ok(Some(next));
            }
            Action::BackUp => {
                next.backup = Some(Box::new(next.shop.clone()));
                return Ok(Some(next));
            }
            // Its entries are read again, as docs/backup.md says: no course of its own.
            Action::Restore(_) if last.would_lose_of_a_closed_sale() => return Ok(None),
            Action::Restore(are_paid) => {
                next.restore(are_paid);
                next.databases_left -= 1;
                return Ok(Some(next));
            }
            Action::Close => {
                let is_new = next.close(self.planted) && next.shop != last.shop;
                next.commands_left -= 1;
                return Ok(Some(next).filter(|_| is_new));
            }
            Action::Start(operator, slot, answer) => {
                let vouchers = &next.server.vouchers;
                let resolve =
                    Resolve::start(&next.shop, vouchers, slot, answer, false, self.planted);
                next.resolves[operator] = Some(resolve);
                next.resolves_left -= 1;
                return Ok(Some(next));
            }
            Action::Step(operator) => {
                let Some(mut resolve) = next.resolves[operator].take() else { return Ok(None) };
                if next.step(&mut resolve, self.planted)? {
                    next.resolves[operator] = Some(resolve);
                }
                return Ok(Some(next));
            }
            command => next.command(command, &self.bounds),
        }
        if next.server == last.server && next.provider == last.provider {
            return Ok(None);
        }
        next.commands_left -= 1;
        next.sound(&self.bounds)?;
        Ok(Some(next))
    }
}

impl Model for Money {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let bounds = &self.bounds;
        let vouchers = if bounds.kind == Kind::Cart { 2 } else { 1 };
        let mut voucher = Voucher::new(bounds.total, bounds.is_held);
        voucher.notes_ids = self.planted == Planted::OutsideById;
        let vouchers = vec![voucher; vouchers];
        vec![State {
            server: Server { vouchers, unread: Vec::new() },
            replica: None,
            shop: Shop::new(bounds.kind),
            backup: None,
            provider: Provider { is_stated: bounds.is_stated, ..Provider::default() },
            resolves: [None, None],
            commands_left: bounds.commands,
            losses_left: bounds.losses,
            databases_left: bounds.databases,
            resolves_left: bounds.resolves,
            losses: 0,
            has_created: false,
            bad: None,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.bad.is_some() {
            return;
        }
        let bounds = &self.bounds;
        actions.extend((0..state.server.unread.len()).map(Action::Read));
        if state.commands_left > 0 {
            for slot in 0..state.shop.orders.len() {
                actions.extend([Action::Buy(slot), Action::Cancel(slot, 0, false, false)]);
                let holds = bounds.is_held || bounds.alters;
                actions.extend(holds.then_some(Action::Expire(slot)));
                let keeps = bounds.keeps && bounds.units > 1;
                actions.extend(keeps.then_some(Action::Cancel(slot, 1, false, false)));
                actions.extend(bounds.refunds.then_some(Action::Cancel(slot, 0, true, false)));
                let keeps = keeps && bounds.refunds;
                actions.extend(keeps.then_some(Action::Cancel(slot, 1, true, false)));
                actions.extend(bounds.norestock.then_some(Action::Cancel(slot, 0, false, true)));
                for reference in 0..bounds.references {
                    if state.provider.paid[usize::from(reference)].is_some() {
                        actions.push(Action::Confirm(reference, slot, 0));
                        let wrong = [1, -1].map(|more| Action::Confirm(reference, slot, more));
                        actions.extend(wrong.into_iter().filter(|_| bounds.wrong));
                    } else {
                        actions.push(Action::Pay(reference, slot, 0));
                        actions.extend(bounds.fewer.then_some(Action::Pay(reference, slot, 1)));
                    }
                }
            }
            actions.extend(bounds.others.then_some(Action::SellOut(0)));
            actions.extend(bounds.alters.then_some(Action::Alter));
            let ends = [Action::Close, Action::Drop, Action::Create];
            actions.extend(ends.into_iter().filter(|_| bounds.drops));
        }
        if state.databases_left > 0 {
            match &state.backup {
                None => actions.push(Action::BackUp),
                Some(_) => actions.extend([true, false].map(Action::Restore)),
            }
        }
        if state.losses_left > 0 {
            let is_new = state.replica.is_none();
            actions.push(if is_new { Action::Lag } else { Action::Lose });
        }
        for operator in 0..2 {
            if state.resolves[operator].is_some() {
                actions.push(Action::Step(operator));
            } else if state.resolves_left > 0 && (operator == 0 || state.resolves[0].is_some()) {
                let asked = state.shop.check(&state.server.vouchers, None, self.planted);
                for asked in asked {
                    if let Asked::Order(slot, _) = asked {
                        actions.extend(POLICIES.map(|it| Action::Start(operator, slot, it)));
                    }
                }
            }
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        match self.next(last, action) {
            Ok(next) => next,
            Err(bad) => Some(State { bad: Some(bad), ..last.clone() }),
        }
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("nothing is wrong", |model: &Self, state: &State| {
            state.bad.is_none() && model.end(state).is_ok()
        })]
    }
}

impl Money {
    /// The same, and prints how it came to it.
    pub fn words(&self, state: &State) -> &'static str {
        self.is_traced.store(true, Ordering::Relaxed);
        println!("{}", state.brief());
        self.word(state)
    }

    /// What is wrong with a state, in words.
    pub fn word(&self, state: &State) -> &'static str {
        self.seen.lock().unwrap().clear();
        state.bad.or(self.end(state).err()).unwrap_or("nothing")
    }
}

const _: () = assert!(REFERENCES == 2);
