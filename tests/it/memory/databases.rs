//! Events of whole databases: flushed, swapped, loaded.

use std::fs;

use super::primed::{LASTS, Last, OVER, Primed, RULES, each, each_at_once};
use super::slots::wait_for_open_holds;
use crate::harness::Server;
use redis::Value;

const CREATE: &str = "SECKILL.CREATE {t}m 1 HOLD 900000";
const SELL: &str = "SECKILL.TRY {t}m ann a1";
const DUE: &str = "ZADD seckill:hold:{t}m 5 a1";

#[test]
fn a_flush_ends_all_that_was_known() {
    let ways: [&[&'static str]; 8] = [
        &["FLUSHALL"],
        &["FLUSHDB"],
        &["FLUSHDB ASYNC", "SET seckill:stock:{t}u 1"],
        &["FLUSHALL ASYNC", "SET seckill:stock:{t}u 1", OVER],
        &["FLUSHALL", CREATE],
        &["FLUSHDB", CREATE, SELL],
        &["FLUSHALL", CREATE, SELL, DUE],
        &["FLUSHDB ASYNC", CREATE, SELL, DUE, "SET {t}lock zoe PX 50"],
    ];
    each_at_once(Primed::cluster(), &ways);
    each_at_once(Primed::single(), &ways);
    // Flushing another database ends nothing here, and nothing of that one is remembered.
    let elsewhere: [&[&'static str]; 2] = [
        &["SELECT 1", CREATE, SELL, DUE, "FLUSHDB", "SELECT 0"],
        &["SELECT 1", CREATE, SELL, DUE, "FLUSHDB ASYNC", CREATE, "SELECT 0"],
    ];
    each_at_once(Primed::single(), &elsewhere);
}

#[test]
fn databases_that_change_places_take_what_is_known_along() {
    let ways: [&[&'static str]; 7] = [
        &["SWAPDB 0 1"],
        &["SWAPDB 0 1", "SWAPDB 1 0"],
        &["SELECT 1", "SET seckill:stock:{t}u 5", OVER, "SELECT 0", "SWAPDB 0 1"],
        &["SELECT 1", CREATE, SELL, DUE, "SELECT 0", "SWAPDB 1 0"],
        &["SELECT 1", CREATE, SELL, "SELECT 0", "SWAPDB 1 0", DUE],
        &["SELECT 1", "SET {t}lock zoe PX 50", "SELECT 0", "SWAPDB 0 1"],
        // Neither database is the selected one.
        &["SELECT 2", CREATE, SELL, DUE, "SELECT 0", "SWAPDB 2 1"],
    ];
    each_at_once(Primed::single(), &ways);
    // The keys that the swap brings existed before it: no event of a key ends what is known.
    let before = ["SELECT 1", "SET seckill:stock:{t}u 5", OVER, CREATE, SELL, "SELECT 0"];
    let mut primed = Primed::single();
    for last in LASTS {
        primed.again_after(&before, "SWAPDB, with keys that were there before", last);
        primed.at_once(&["SWAPDB 0 1"]);
        primed.check();
    }
    // A hold that is due only after the swap, in a step in which no timer fires. `TIME` may not
    // advance in a step, so the expected answer can't be computed from the keys.
    primed.again_after(&before, "SWAPDB, and a hold that falls due", Last::Managed);
    let soon = primed.server.clock_ms() + 150;
    primed.run(&["SELECT 1", &format!("ZADD seckill:hold:{{t}}m {soon} a1"), "SELECT 0"]);
    primed.server.check("> SECKILL.TRY {t}m cat c2\n1\n> MULTI\nOK");
    primed.run(&["SWAPDB 0 1", "DEBUG SLEEP 0.2", "SECKILL.TRY {t}m cat c2"]);
    primed.server.check("> EXEC\n1) OK\n2) OK\n3) 0");
    primed.check();
    // The old data is in the other database now, and the tries are made there.
    each(Primed::single(), &[&["SWAPDB 0 1"], &["SWAPDB 0 1", DUE]], |primed, way| {
        let way: Vec<&str> = way.iter().copied().chain(["SELECT 1"]).collect();
        primed.at_once(&way[..way.len() - 1]);
        primed.run(&["SELECT 1"]);
        primed.at_once(&[DUE]);
        primed.check_tries();
        primed.check_holds();
        primed.run(&["SELECT 0"]);
        primed.check_line();
    });
}

/// A file in which the unmanaged voucher has rules, and a hold of the managed one is due.
fn other_data() -> Server {
    let first = Server::start();
    for command in ["SET seckill:stock:{t}u 5", OVER, CREATE, SELL, "SAVE"] {
        first.run(&command.replace("RULES", RULES));
    }
    // Without the module no hold expires.
    let second = Server::with().without_module().data_of(&first).port().start();
    second.check(&format!("> {DUE}\n0\n> SAVE\nOK"));
    second
}

#[test]
fn data_that_is_loaded_ends_all_that_was_known() {
    let other = other_data();
    let file = other.dir().join("dump.rdb");
    for mut primed in [Primed::single(), Primed::cluster()] {
        for last in LASTS {
            primed.again("data is loaded", last);
            fs::copy(&file, primed.server.dir().join("dump.rdb")).expect("copy");
            // Some servers select another database: see docs/operating.md.
            primed.run(&["DEBUG RELOAD NOSAVE", "SELECT 0"]);
            primed.check();
            assert_eq!(primed.server.state("{t}m", "a1"), "expired", "{last:?}");
            primed.again("data is loaded again", last);
            primed.run(&["DEBUG RELOAD", "SELECT 0"]);
            primed.check();
        }
    }
}

/// Loaded by a full synchronization with a new primary that has different data.
#[test]
fn data_of_a_primary_ends_all_that_was_known() {
    let other = other_data();
    let mut primed = Primed::on(Server::with().port().start());
    for last in LASTS {
        primed.again("a full synchronization", last);
        primed.run(&[format!("REPLICAOF 127.0.0.1 {}", other.port())]);
        primed.check_line_ended("UNBLOCKED");
        other.wait_for_replica(&primed.server);
        primed.run(&["REPLICAOF NO ONE"]);
        primed.check_tries();
        primed.check_holds();
        assert_eq!(primed.server.state("{t}m", "a1"), "expired", "{last:?}");
    }
}

/// A replica that loads new data next to its old data and then replaces the old data.
#[test]
fn data_that_is_loaded_beside_the_old_ends_what_was_known_of_the_old() {
    let primary = Server::with().port().config("repl-backlog-size 16384").start();
    let replica = Server::with().config("repl-diskless-load swapdb").replica_of(&primary).start();
    let sell = |voucher: &str| {
        primary.check(&format!("> SECKILL.CREATE {voucher} 5 HOLD 900000\nOK"));
        primary.check(&format!("> SECKILL.TRY {voucher} ann a1\n0"));
    };
    ["stays", "goes", "sooner", "paid"].iter().for_each(|voucher| sell(voucher));
    primary.wait_for_replica(&replica);
    replica.freeze();
    primary.run("CLIENT KILL TYPE replica");
    sell("comes");
    primary.check("> SECKILL.CANCEL goes ann a1\n1\n> SECKILL.DROP goes\n1");
    primary.check("> SECKILL.CONFIRM paid ann a1\n1");
    let soon = primary.clock_ms() + 2500;
    primary.check(&format!("> ZADD seckill:hold:sooner {soon} a1\n0"));
    // More than fits into the backlog.
    let large = "x".repeat(100_000);
    primary.call(&["SET", "filler", &large]);
    replica.wake();
    replica.until("another full synchronization", || primary.info_number("sync_full") >= 2);
    primary.wait_for_replica(&replica);
    replica.check("> REPLICAOF NO ONE\nOK");
    replica.wait_for_state("sooner", "a1", "expired");
    wait_for_open_holds(&replica, 2);
    for (voucher, book) in [("stays", [4, 1, 0]), ("comes", [4, 1, 0]), ("paid", [4, 0, 1])] {
        replica.assert_book(voucher, book);
    }
    // The keys that stayed are still known.
    replica.run("ZADD seckill:hold:stays 5 a1");
    replica.run("ZADD seckill:hold:comes 5 a1");
    replica.wait_for_state("stays", "a1", "expired");
    replica.wait_for_state("comes", "a1", "expired");
    assert_eq!(replica.run("EXISTS seckill:hold:goes"), Value::Int(0));
}
