//! Nodes of a cluster with several databases (`cluster-databases` of Valkey 9 and later), whose
//! sales have the same names and nothing else in common. SECKILL_DATABASE runs the other tests of
//! clusters in such a database.

use crate::cluster::{linked, whole};
use crate::harness::{Builder, Server, left_out};
use crate::observe::words;
use crate::slots::{Move, keys_in, slot};
use crate::whole_slots::Mover;
use redis::Value;

/// Two nodes of which the first owns every slot, or None if this server has one database only.
fn two_nodes() -> Option<(Server, Server)> {
    if words(Server::start().run("CONFIG GET cluster-databases")).is_empty() {
        left_out("tests of clusters with several databases: this server has no such");
        return None;
    }
    let node = || -> Builder { Server::with().cluster().config("cluster-databases 16") };
    let (source, target) = (whole(node()), node().start());
    linked(&source, &target);
    Some((source, target))
}

fn select(node: &Server, database: i64) {
    assert_eq!(node.run(&format!("SELECT {database}")), Value::Okay);
}

/// What a node answers to a client that was sent there by `ASK`.
fn asked(node: &Server, database: i64, command: &str) -> String {
    select(node, database);
    node.run("ASKING");
    node.say(command)
}

/// A managed sale with all its keys.
const SALE: [&str; 4] = [
    "SECKILL.CREATE 7 100 LIMIT 1 HOLD 600000",
    "SECKILL.TRY 7 ann a1",
    "SECKILL.TRY 7 bob b1",
    "SECKILL.CANCEL 7 bob b1",
];

/// That all keys of a voucher are here is known of one database only.
#[test]
fn a_sale_that_has_come_says_nothing_of_another_database() {
    let Some((source, target)) = two_nodes() else { return };
    for database in [0, 5] {
        select(&source, database);
        SALE.iter().for_each(|command| drop(source.run(command)));
    }
    let moving = Move::begin(&source, &target, "7");
    for (database, keys) in [(0, keys_in(&source, slot(&source, "7"))), (5, Vec::new())] {
        select(&source, 0);
        let keys = if database == 0 { keys } else { vec!["seckill:stock:{7}".to_owned()] };
        select(&source, database);
        keys.iter().for_each(|key| moving.key_of(database, key));
    }
    assert_eq!(asked(&target, 0, "SECKILL.TRY 7 cid c1"), "0");
    // The rules of this one have not come yet.
    for command in ["SECKILL.TRY 7 dan d1", "SECKILL.TRY 7 dan d1 UNITS 50"] {
        let told = asked(&target, 5, command);
        assert!(told.starts_with("TRYAGAIN "), "{command}: {told}");
    }
    assert_eq!(asked(&target, 0, "SECKILL.TRY 7 eve e1"), "0");
    for database in [0, 5] {
        select(&source, database);
        let keys = keys_in(&source, slot(&source, "7"));
        keys.iter().for_each(|key| moving.key_of(database, key));
    }
    moving.end();
    for (database, left) in [(0, 97), (5, 99)] {
        select(&target, database);
        target.check(&format!("> GET seckill:stock:{{7}}\n{left}"));
        assert_eq!(target.differences("7"), Vec::<String>::new(), "{database}");
    }
}

/// A move of a whole slot takes the sales of all databases along, and their holds expire there.
#[test]
fn a_slot_that_moves_whole_takes_all_databases_along() {
    let Some((source, target)) = two_nodes() else { return };
    let Some(mover) = Mover::of(&source) else { return };
    for database in [0, 5] {
        select(&source, database);
        source.check("> SECKILL.CREATE 7 5 HOLD 3000\nOK\n> SECKILL.TRY 7 ann a1\n0");
        source.check("> SECKILL.TRY 7 bob b1\n0\n> SECKILL.CONFIRM 7 bob b1\n1");
    }
    mover.move_slot(&source, &target, "7");
    for database in [0, 5] {
        select(&target, database);
        target.wait_for_state("7", "a1", "expired");
        target.assert_book("7", [4, 0, 1]);
    }
}

/// Each database has its own counter of ids: SECKILL.NEXTID and `*` say so.
#[test]
fn ids_are_unique_in_their_database() {
    let server = Server::start();
    let ids = [0, 5].map(|database| {
        select(&server, database);
        server.run("SET icr:order:{260251} 0");
        server.say("SECKILL.NEXTID order")
    });
    server.check("> SELECT 0\nOK\n> DBSIZE\n2\n> SELECT 5\nOK\n> DBSIZE\n2");
    let number = |id: &str| id.parse::<i64>().expect("an id") & 0xffff_ffff;
    assert_eq!(ids.map(|id| number(&id)), [1, 1]);
}
