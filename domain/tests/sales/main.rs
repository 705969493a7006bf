//! Every course that a sale can take, explored to the end within bounds, over the decisions
//! themselves. `SOAK=1` explores further; `cargo test ... -- --nocapture` prints the numbers.

mod actions;
mod bounds;
mod canonical;
mod extremes;
mod model;
mod planted;
mod properties;
mod state;
mod world;

use bounds::{batches, failover, faults, one_sale, payments, rules, small, two_sales};
use model::{Bounds, Sales};
use planted::PLANTED;
use stateright::{Checker, Model};
use std::time::Instant;

/// Explores everything, and prints how much that was.
fn explore(bounds: Bounds) -> usize {
    let (name, begun) = (bounds.name, Instant::now());
    let checker = Sales::new(bounds.clone(), None).checker().spawn_bfs().join();
    let (unique, generated) = (checker.unique_state_count(), checker.state_count());
    let (depth, seconds) = (checker.max_depth(), begun.elapsed().as_secs_f64());
    println!("{name}: {unique} states, {generated} generated, depth {depth}, {seconds:.1} s");
    println!("  answers: {}", checker.model().answers());
    let found = checker.discovery("nothing is wrong");
    if let Some(found) = found {
        println!("with other names: {found} {:?}", found.last_state());
    }
    if !checker.discoveries().is_empty() {
        // Once more with the names as they are, for a trace to be read.
        let plain = Bounds { symmetry: false, ..bounds };
        Sales::new(plain, None).checker().spawn_bfs().join().assert_properties();
    }
    assert!(checker.is_done());
    unique
}

#[test]
fn one_sale_takes_every_course() {
    explore(one_sale());
}

#[test]
fn payments_take_every_course() {
    explore(payments());
}

#[test]
fn tries_of_one_command_are_tries_one_after_the_other() {
    explore(batches());
}

#[test]
fn one_sale_changes_its_rules() {
    explore(rules());
}

#[test]
fn two_sales_take_every_course() {
    explore(two_sales());
}

#[test]
fn every_suffix_is_lost() {
    explore(failover());
}

#[test]
fn every_question_fails() {
    explore(faults());
}

#[test]
fn planted_faults_are_found() {
    for planted in PLANTED {
        let checker = Sales::new(small(), Some(*planted)).checker();
        let checker = checker.target_state_count(3_000_000).spawn_bfs().join();
        let found = checker.discovery("nothing is wrong");
        let path = found.unwrap_or_else(|| panic!("not found: {}", planted.name));
        let (length, word) = (path.clone().into_actions().len(), path.last_state().bad);
        println!("{}: {length} steps, {}", planted.name, word.unwrap_or_default());
    }
}
