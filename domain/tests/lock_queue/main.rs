//! The queue of a lock, explored exhaustively: every order of commands, ends of leases and waits,
//! clients that vanish and keys that others change, within bounds. The decisions and the queue are
//! those of the module.
//!
//! `SOAK=1` explores more.

mod checks;
mod faults;
mod model;
mod view;

use faults::Fault;
use model::{Action, START, World};
use stateright::{Checker, Model, Property};

struct Lock {
    fault: Fault,
    tokens: u8,
    leases: &'static [i64],
    waits: &'static [i64],
    time_max: i64,
}

impl Lock {
    fn actions_of(&self, token: u8) -> impl Iterator<Item = Action> {
        let fences = || [false, true].into_iter();
        let leases = || self.leases.iter().copied();
        let waits = || self.waits.iter().copied();
        let acquire = leases().flat_map(move |lease| {
            waits().flat_map(move |wait| {
                fences().map(move |with_fence| Action::Acquire { token, lease, wait, with_fence })
            })
        });
        let others = leases().map(move |lease| Action::Renew { token, lease });
        acquire.chain(others).chain([Action::Release { token }])
    }
}

impl Model for Lock {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new()]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        if world.bad.is_some() {
            return;
        }
        if world.idle().is_some() {
            actions.extend((0..self.tokens).flat_map(|token| self.actions_of(token)));
        }
        if world.key.is_some() {
            actions.push(Action::Delete);
        }
        actions.push(Action::Overwrite);
        let places = 0..=world.queue.len();
        let vanish = places.filter(|place| world.can_vanish(*place));
        actions.extend(vanish.map(|place| Action::Vanish { place }));
        actions.extend([true, false].map(|is_heard| Action::EndTurn { is_heard }));
        if world.now < self.time_max {
            actions.push(Action::Tick);
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        next.act(action, self.fault);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("nothing is wrong", |_, world: &World| world.bad.is_none())]
    }
}

/// If there are more, the bounds don't bound what they should.
const GENERATED_MAX: usize = 5_000_000;
const GENERATED_MAX_OF_SOAK: usize = 500_000_000;

/// The bounds of every run, and those of a long one.
fn bounds(fault: Fault) -> Lock {
    match std::env::var_os("SOAK") {
        None => Lock { fault, tokens: 2, leases: &[1], waits: &[0, 2], time_max: START + 3 },
        Some(_) => Lock { fault, tokens: 3, leases: &[1], waits: &[0, 2], time_max: START + 3 },
    }
}

#[test]
fn nobody_is_forgotten_or_overtaken_and_no_lock_has_two_owners() {
    let is_soak = std::env::var_os("SOAK").is_some();
    let (max, threads) = if is_soak { (GENERATED_MAX_OF_SOAK, 2) } else { (GENERATED_MAX, 1) };
    let checker = bounds(Fault::None).checker().threads(threads);
    let checker = checker.target_state_count(max).spawn_bfs().join();
    if let Some(path) = checker.discovery("nothing is wrong") {
        let what = path.last_state().bad;
        panic!("{what:?}: {:#?}", path.into_actions());
    }
    let (states, generated) = (checker.unique_state_count(), checker.state_count());
    println!("{states} states, {generated} generated, {} deep, complete", checker.max_depth());
    assert!(generated < max, "not complete");
}

#[test]
fn what_is_planted_is_found() {
    let bounds =
        |fault| Lock { fault, tokens: 2, leases: &[1], waits: &[0, 2], time_max: START + 3 };
    for fault in Fault::PLANTED {
        let checker = bounds(fault).checker().spawn_bfs().join();
        let path = checker.discovery("nothing is wrong");
        let path = path.unwrap_or_else(|| panic!("{fault:?} is not found"));
        let what = path.last_state().bad.unwrap_or_default();
        let actions = path.into_actions();
        println!("{fault:?}: {what}, after {} steps: {actions:?}", actions.len());
    }
}
