//! Every course that a sale can take, explored to the end within bounds, over the decisions
//! themselves. `SOAK=1` explores further, `BRIEF=1` less; `-- --nocapture` prints the numbers.

mod actions;
mod arrivals;
mod bounds;
mod canonical;
mod carts;
mod confirmations;
mod extremes;
mod flat;
mod foreign;
mod model;
mod overlays;
mod plans;
mod planted;
mod planted_carts;
mod planted_paid;
mod planted_queue;
mod planted_words;
mod properties;
mod queue;
mod releases;
mod requests;
mod state;
mod waits;
mod words;
mod world;

use bounds::{
    batches, failover, faults, faults_of_sales, foreign, is_set, one_sale, payments,
    payments_of_sales, queue, queue_faults, queue_told, rules, small, small_foreign, small_queue,
    two_sales, words,
};
use model::{Bounds, Sales};
use planted::{PLANTED, Planted};
use planted_paid::PLANTED_PAID;
use planted_queue::{PLANTED_FOREIGN, PLANTED_LINE};
use planted_words::PLANTED_WORDS;
use stateright::{Checker, Model};
use std::time::Instant;

/// How many states of a model are generated at most: with `SOAK=1` a number that fits into memory.
fn generated_max() -> usize {
    if is_set("SOAK") { 60_000_000 } else { usize::MAX }
}

/// Explores everything, or with `SOAK=1` what the bound lets it, the shortest courses first, and
/// prints how much that was. The answers by command, 7 for errors, tell that nothing was left out.
fn explore(bounds: Bounds, answers: &[&str]) {
    let (name, begun) = (bounds.name, Instant::now());
    let max = generated_max();
    let checker = Sales::new(bounds.clone(), None).checker();
    let checker = checker.target_state_count(max).spawn_bfs().join();
    let (unique, generated) = (checker.unique_state_count(), checker.state_count());
    let (depth, seconds) = (checker.max_depth(), begun.elapsed().as_secs_f64());
    let end = if generated < max { "complete" } else { "not to the end" };
    println!(
        "{name}: {unique} states, {generated} generated, depth {depth}, {seconds:.1} s, {end}"
    );
    if let Some(found) = checker.discovery("nothing is wrong") {
        println!("with other names: {found} {:?}", found.last_state());
        // Once more with the names as they are, for a trace to be read.
        let plain = Bounds { symmetry: false, ..bounds };
        Sales::new(plain, None).checker().spawn_bfs().join().assert_properties();
        panic!("found with symmetry only");
    }
    assert!(checker.is_done());
    if generated < max && !is_set("BRIEF") {
        assert_eq!(checker.model().answers(), answers, "{name}");
    }
}

const ORDERS: [&str; 4] = ["TRY 0 1 2 5 7", "CONFIRM 0 1 2 3", "EXTEND 0 1 2 3", "CANCEL 0 1 2 3"];
/// All of them, and refused for another order's payment, or without rules.
const PAID: &str = "CONFIRM 0 1 2 3 4 5 7";
const CONFIRMED: &str = "CONFIRM 0 1 2 3 7";
/// With one reference there is no duplicate payment.
const ONE_PAID: &str = "CONFIRM 0 1 2 3 4 7";
const RELEASED: &str = "CANCEL 0 1 2 3 7";

#[test]
fn one_sale_takes_every_course() {
    let [tries, confirm, extend, cancel] = ORDERS;
    let confirm = if is_set("SOAK") { ONE_PAID } else { confirm };
    explore(one_sale(), &[tries, confirm, extend, cancel, "REJECT 0 1 3"]);
}

#[test]
fn payments_take_every_course() {
    let [tries, _, extend, cancel] = ORDERS;
    explore(payments(), &[tries, PAID, extend, cancel, "REJECT 0 1"]);
}

#[test]
fn payments_of_two_sales_take_every_course() {
    let orders = ["TRY 0 1 5 7", PAID, "CANCEL 0 1 2"];
    let sales = ["RESTOCK 0 1 2 7", "DROP 1 2", "CREATE 0 7"];
    explore(payments_of_sales(), &[&orders[..], &sales].concat());
}

#[test]
fn units_are_paid_and_leave_a_sale_on_every_course() {
    explore(words(), &["TRY 0 1 5 6 7", PAID, "CANCEL 0 1 2 3", "RESTOCK 1 2"]);
}

#[test]
fn tries_of_one_command_are_tries_one_after_the_other() {
    explore(batches(), &[ORDERS[0], CONFIRMED, RELEASED, "REJECT 0 1"]);
}

#[test]
fn one_sale_changes_its_rules() {
    let (tries, ends) = ("TRY 0 1 2 3 4 5 7", "DROP 1 2 7");
    explore(rules(), &[tries, ONE_PAID, RELEASED, "REJECT 0 1", "RESTOCK 0 1 2 3 7", ends]);
}

#[test]
fn two_sales_take_every_course() {
    let confirm = if is_set("SOAK") { ONE_PAID } else { CONFIRMED };
    let orders = ["TRY 0 1 2 4 5 7", confirm, RELEASED, "REJECT 0 1 2"];
    explore(two_sales(), &[&orders[..], &["DROP 1 2 7", "CREATE 0 7", "ADOPT 0 7"]].concat());
}

#[test]
fn a_queue_takes_every_course() {
    let orders = ["TRY 0 1 2 4 5 6 7", ONE_PAID, "EXTEND 0 1 2 3 7", RELEASED, "REJECT 0 1"];
    explore(queue(), &[&orders[..], &["RESTOCK 0 1 2 3 7", "DROP 1 2 7"]].concat());
}

#[test]
fn whoever_writes_the_stock_no_more_than_the_total_is_sold() {
    let orders = ["TRY 0 1 2 5 6 7", "CONFIRM 0 1 2 3", "CANCEL 0 1 2 3", "REJECT 0 1"];
    explore(foreign(), &[&orders[..], &["RESTOCK 0 1 2 3 4 5 6 7"]].concat());
}

#[test]
fn repeats_in_a_queue_are_answered_alike() {
    let orders = ["TRY 0 1 2 4 5 6 7", "CONFIRM 0 1 2 3", "CANCEL 0 1 2 3", "REJECT 0 1"];
    explore(queue_told(), &orders);
}

#[test]
fn every_question_about_a_queue_fails() {
    let orders = ["TRY 0 1 2 4 5 6 7", CONFIRMED, RELEASED, "REJECT 0 1"];
    explore(queue_faults(), &[&orders[..], &["RESTOCK 1 2 3 7", "DROP 1 7"]].concat());
}

#[test]
fn every_suffix_is_lost() {
    let [tries, _, extend, cancel] = ORDERS;
    explore(failover(), &[tries, PAID, extend, cancel, "REJECT 0 1 2"]);
}

#[test]
fn every_question_fails() {
    let orders = ["TRY 0 1 2 4 5 7", ONE_PAID, "EXTEND 0 1 2 3 7", RELEASED, "REJECT 0 1"];
    explore(faults(), &[&orders[..], &["DROP 1 2"]].concat());
}

#[test]
fn every_question_about_sales_fails() {
    // The limit is that of two orders.
    let tries = if is_set("SOAK") { "TRY 0 1 2 3 4 5 7" } else { "TRY 0 1 3 4 5 7" };
    let orders = [tries, ONE_PAID, "EXTEND 0 1 2 3 7", RELEASED, "REJECT 0 1 2"];
    let sales = ["RESTOCK 0 1 2 7", "DROP 1 2 7", "CREATE 0 7", "ADOPT 0 7"];
    explore(faults_of_sales(), &[&orders[..], &sales].concat());
}

fn find(bounds: fn() -> Bounds, all: &[Planted]) {
    for planted in all {
        let checker = Sales::new(bounds(), Some(*planted)).checker();
        let checker = checker.target_state_count(3_000_000).spawn_bfs().join();
        let found = checker.discovery("nothing is wrong");
        let path = found.unwrap_or_else(|| panic!("not found: {}", planted.name));
        let (length, word) = (path.clone().into_actions().len(), path.last_state().bad);
        println!("{}: {length} steps, {}", planted.name, word.unwrap_or_default());
    }
}

#[test]
fn planted_faults_are_found() {
    find(small, PLANTED);
}

#[test]
fn planted_faults_of_a_queue_are_found() {
    find(small_queue, PLANTED_LINE);
}

#[test]
fn planted_faults_of_a_stock_that_others_write_are_found() {
    find(small_foreign, PLANTED_FOREIGN);
}

#[test]
fn planted_faults_of_payments_are_found() {
    find(payments_of_sales, PLANTED_PAID);
}

#[test]
fn planted_faults_of_words_are_found() {
    find(words, PLANTED_WORDS);
}
