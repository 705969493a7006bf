//! The checks of this crate can fail: they notice every change of the keys or the answers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::evidence::assert_suffix_lost;
use crate::harness::Server;
use crate::load::{Load, Log, Sent};
use crate::whole::assert_whole;
use crate::world::{State, make, wait_for_holds};
use crate::{acknowledged, locks, queues};
use redis::Value;

fn fails<T>(check: impl FnOnce() -> T) -> bool {
    catch_unwind(AssertUnwindSafe(check)).is_err()
}

fn check_all(server: &Server, logs: &[Log]) {
    let state = assert_whole(server);
    acknowledged::check(server, &state, logs);
}

/// Commands that each spoil something that was right.
fn tamperings(state: &State) -> Vec<String> {
    let [order, back] = [&state.orders[0], &state.released[0]].map(|entry| &entry.id);
    let unmanaged = state.buyers.first().expect("a buyer");
    let (winner, _) = state.winners.first_key_value().expect("a winner");
    let sold = state.books["s"].iter().find(|(_, order)| order.state == "sold");
    let (id, one) = sold.expect("a sold order");
    let unpromoted = state.books["m"].iter().find(|(_, order)| order.had_no_units);
    let (left, _) = unpromoted.expect("an order that has left the queue");
    let pending = state.pending.first().expect("a pending entry");
    vec![
        "INCR seckill:stock:m".to_owned(),
        "DECR seckill:stock:u".to_owned(),
        "DECRBY bare 1000000".to_owned(),
        "INCR k.stock".to_owned(),
        "INCR b.stock".to_owned(),
        "SECKILL.RESTOCK m 100000".to_owned(),
        format!("XDEL stream.orders {order}"),
        format!("XDEL stream.orders.released {back}"),
        format!("XDEL stream.orders.confirmed {}", state.confirmed[0].id),
        "XADD stream.orders.confirmed * userId nobody voucherId m id onone".to_owned(),
        format!("XDEL stream.orders.dlq {}", state.letters[0].id),
        format!("XACK stream.orders g {pending}"),
        format!("SECKILL.REJECT stream.orders g {pending}"),
        "XADD stream.orders.dlq * id onone dlqId 5-5".to_owned(),
        format!("XDEL k.orders {}", state.by_keys[0].id),
        format!("SREM seckill:order:u {unmanaged}"),
        format!("HDEL seckill:winners:p {winner}"),
        format!("HDEL seckill:book:s {id}"),
        format!("HDEL seckill:book:m {left}"),
        // Complete, but no client requested it.
        format!("SECKILL.CANCEL s {} {id}", one.user),
        "SECKILL.TRY u nobody onone".to_owned(),
        "SECKILL.TRY s nobody onone".to_owned(),
        "SECKILL.TRYKEYS k.stock k.buyers k.orders k nobody onone".to_owned(),
        format!("SECKILL.UNDRAW p {winner}"),
        "SECKILL.DRAW p nobody".to_owned(),
    ]
}

/// A history in which somebody has left the queue: not in every one does that happen.
fn history(seed: u64) -> Option<(Server, Vec<Log>, State)> {
    let server = Server::start();
    // So long holds that nobody is promoted by the end of one: a queue that some leave.
    make(&server, 600_000);
    let logs = Load::beginning(1500, &server, seed);
    wait_for_holds(&server, 600_000);
    check_all(&server, &logs);
    assert_eq!(server.run("SAVE"), Value::Okay);
    let state = State::read(&server);
    state.books["m"].values().any(|order| order.had_no_units).then_some((server, logs, state))
}

#[test]
fn every_tampering_is_noticed() {
    let (server, logs, state) = (7..27).find_map(history).expect("a queue that somebody has left");
    for tampering in tamperings(&state) {
        let copy = Server::with().data_of(&server).start();
        let reply = copy.run(&tampering);
        assert!(!matches!(reply, Value::ServerError(_)), "{tampering}: {reply:?}");
        assert!(fails(|| check_all(&copy, &logs)), "not noticed: {tampering} ({reply:?})");
    }
    // One whole sale in the middle is missing: that is not the end of the history.
    let copy = Server::with().data_of(&server).start();
    let gone = &state.by_keys[0];
    copy.run(&format!("XDEL k.orders {}", gone.id));
    copy.run(&format!("SREM k.buyers {}", gone.of("userId")));
    copy.run(&format!("INCRBY k.stock {}", gone.units()));
    let state = assert_whole(&copy);
    assert!(fails(|| assert_suffix_lost(&state, &logs)), "not noticed: a sale undone");
    let turned = State { orders: state.orders.iter().rev().cloned().collect(), ..state };
    assert!(
        fails(|| queues::check(&turned, &logs)),
        "not noticed: the last in the queue promoted first"
    );
}

/// An acquisition for one second, sent and answered this many ms after the start.
fn acquired(start: Instant, token: &str, [sent, answered]: [u64; 2], fence: i64) -> Log {
    let words = ["LOCK.ACQUIRE", "lock0", token, "1000", "FENCE"].map(str::to_owned).to_vec();
    let at = |ms| start + Duration::from_millis(ms);
    vec![Sent { words, at: at(sent), back: Some((at(answered), Value::Int(fence))) }]
}

#[test]
fn two_owners_of_a_lock_are_noticed() {
    let start = Instant::now();
    let pair = |times: [u64; 2], fence| {
        let logs = [acquired(start, "t1", [0, 5], 70), acquired(start, "t2", times, fence)];
        fails(|| locks::check(&logs))
    };
    assert!(!pair([1100, 1105], 71));
    assert!(pair([500, 505], 71), "within the lease");
    assert!(pair([1100, 1105], 70), "the same fencing token");
    assert!(pair([1100, 1105], 69), "a smaller fencing token");
    // It was sent within the lease, and answered after its end.
    assert!(!pair([500, 1105], 71));
}
