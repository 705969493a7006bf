//! Orders, payments, losses and operators, explored over the rules themselves: the module's own
//! decisions on the server's side; rows, homes of units, rulings and resolve on the shop's.
//!
//! Every end of a course is checked as a whole: all entries that are left are read, a check asks,
//! and all questions are answered in each way until there is none. Nothing may be said to be
//! consistent whose money differs from the provider's books, which are kept apart.
//!
//! `SOAK=1` explores further; `-- --nocapture` prints the numbers.

mod bounds;
mod check;
mod ends;
mod facts;
mod join;
mod model;
mod operator;
mod planted;
mod provider;
mod server;
mod shop;
mod state;

use bounds::{
    BOTH, BOTH_ONCE, CART, CART_UNSTATED, DATABASE, DATABASE_RESOLVE, DATABASE_UNSTATED, DROPPED,
    HELD, LOSSES, MISSTATED, ONCE, RESOLVE, RESOLVE_TWICE, SALES, SALES_DATABASE, SALES_UNNAMED,
    TWO, TWO_ONCE, UNSTATED, USERS, USERS_ONCE, further, of_text,
};
use model::{Bounds, Money};
use planted::{PLANTED, Planted};
use stateright::{Checker, Model};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// How many states of a model are generated at most, with `SOAK=1`.
const SOAK_MAX: usize = 40_000_000;

fn explore(bounds: Bounds) {
    let bounds = if std::env::var_os("SOAK").is_some() { further(bounds) } else { bounds };
    run(bounds, Planted::Nothing);
}

fn run(bounds: Bounds, planted: Planted) {
    let (name, begun) = (bounds.name, Instant::now());
    let checker = Money::new(bounds, planted).checker().target_state_count(SOAK_MAX);
    let checker = checker.spawn_bfs().join();
    let seconds = begun.elapsed().as_secs_f64();
    let model = checker.model();
    let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
    println!(
        "{name}: {} states, {} generated, depth {}, {} ends, {} resolves of at most {} answers, \
         {} consistent, {seconds:.1} s",
        checker.unique_state_count(),
        checker.state_count(),
        checker.max_depth(),
        load(&model.ends),
        load(&model.resolved),
        load(&model.longest),
        load(&model.consistent),
    );
    if let Some(found) = checker.discovery("nothing is wrong") {
        let last = found.last_state().clone();
        println!("{:?}", found.into_actions());
        panic!("{planted:?}: {}", model.words(&last));
    }
    // The exploration reaches what it is for.
    assert!(load(&model.consistent) > 0 && load(&model.longest) > 1);
}

#[test]
fn a_held_order_takes_every_course() {
    explore(HELD);
}

#[test]
fn an_order_sold_at_once_takes_every_course() {
    explore(ONCE);
}

#[test]
fn two_losses_take_every_course() {
    explore(LOSSES);
}

#[test]
fn payments_without_units_take_every_course() {
    explore(UNSTATED);
}

#[test]
fn two_orders_of_one_reference_take_every_course() {
    explore(TWO);
    explore(TWO_ONCE);
}

#[test]
fn a_cart_takes_every_course() {
    explore(CART);
    explore(CART_UNSTATED);
}

#[test]
fn payments_of_which_the_shop_says_other_units_take_every_course() {
    explore(MISSTATED);
}

#[test]
fn two_users_of_one_order_id_take_every_course() {
    explore(USERS);
    explore(USERS_ONCE);
}

#[test]
fn a_resolve_stops_anywhere_and_the_server_is_lost() {
    explore(RESOLVE);
    explore(RESOLVE_TWICE);
}

#[test]
fn a_database_returns_to_a_backup() {
    explore(DATABASE);
    explore(DATABASE_UNSTATED);
    explore(DATABASE_RESOLVE);
}

#[test]
fn server_and_database_return_to_backups() {
    explore(BOTH);
    explore(BOTH_ONCE);
}

#[test]
fn a_sale_is_dropped_and_another_one_created() {
    explore(DROPPED);
    explore(SALES);
    explore(SALES_DATABASE);
    explore(SALES_UNNAMED);
}

/// Bounds as text: `BOUNDS="one held u2 t3 stated c4 l1 r0 p1 keeps" PLANTED=LastSold`.
#[test]
fn bounds_of_the_environment_are_explored() {
    let Ok(text) = std::env::var("BOUNDS") else { return };
    let planted = std::env::var("PLANTED").unwrap_or_default();
    let planted = PLANTED.iter().find(|it| format!("{:?}", it.0) == planted);
    run(of_text(&text), planted.map_or(Planted::Nothing, |it| it.0));
}

#[test]
fn planted_faults_are_found() {
    let mut missed = Vec::new();
    for (planted, bounds) in PLANTED {
        let begun = Instant::now();
        let checker = Money::new(of_text(bounds), planted).checker().spawn_bfs().join();
        let Some(found) = checker.discovery("nothing is wrong") else {
            println!("{planted:?}: not found in {} states", checker.unique_state_count());
            missed.push(planted);
            continue;
        };
        let last = found.last_state().clone();
        let (words, seconds) = (checker.model().word(&last), begun.elapsed().as_secs_f64());
        let actions = found.into_actions();
        println!("{planted:?}: {words}, {} steps, {seconds:.1} s: {actions:?}", actions.len());
    }
    assert!(missed.is_empty(), "{missed:?}");
}
