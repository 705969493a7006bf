//! Every command, sent by a cluster client and by `redis-cli -c`.

use std::collections::BTreeSet;

use redis::cluster::{ClusterClient, ClusterConnection};
use redis::{RedisResult, Value};

use crate::cli::redis_cli;
use crate::harness::text;
use crate::nodes::{Nodes, PRIMARIES};

/// A session as a client sends it, with the answers. V is the voucher or the pool, K its form in
/// names of keys, S the end of names of streams. The answer `*` is anything but an error.
const SESSION: &[(&str, &str)] = &[
    ("SET seckill:stock:K 2", "OK"),
    ("SECKILL.TRY V alice o1", "0"),
    ("SECKILL.TRY V alice o2", "2"),
    ("SECKILL.TRY V bob o3", "0"),
    ("SECKILL.TRY V carol o4", "1"),
    ("SECKILL.CANCEL V bob o3", "1"),
    ("XLEN stream.ordersS", "2"),
    ("XLEN stream.orders.releasedS", "1"),
    ("SECKILL.DROP V", "1"),
    ("SECKILL.CREATE V 3 LIMIT 2 HOLD 900000", "OK"),
    ("SECKILL.TRY V alice p1", "0"),
    ("SECKILL.TRY V alice p1", "0"),
    ("SECKILL.TRY V bob p2", "0"),
    ("SECKILL.TRY V carol p3", "0"),
    ("SECKILL.TRY V dave p4", "1"),
    ("SECKILL.MTRY V alice p1 dave p4", "0 1"),
    ("SECKILL.EXTEND V alice p1 1000000", "1"),
    ("SECKILL.CONFIRM V alice p1 SALE 1", "0"),
    ("SECKILL.CONFIRM V alice p1 REF pay-1", "1"),
    ("XLEN stream.orders.confirmedS", "1"),
    ("SECKILL.CANCEL V bob p2", "1"),
    ("SECKILL.TRY V dave *", "0 *"),
    ("SECKILL.ALTER V LIMIT 5", "OK"),
    ("SECKILL.RESTOCK V 4", "4"),
    ("SECKILL.ORDER V p1", "user alice units 1 state sold deadline ref pay-1 sale *"),
    ("SECKILL.STATUS V alice", "units 1 orderid p1 state sold deadline waiting 0"),
    ("SECKILL.INFO V", "*"),
    ("SECKILL.AUDIT V", "total 7 left 4 held 2 sold 1 orders 4 buyers 3 waiting 0 differences"),
    ("XGROUP CREATE stream.ordersS g 0", "OK"),
    ("XREADGROUP GROUP g me STREAMS stream.ordersS >", "*"),
    ("SECKILL.REJECT stream.ordersS g 5-5", "0"),
    ("SECKILL.TRYKEYS tk:stockS tk:buyersS tk:ordersS V alice o1", "(error) NOVOUCHER"),
    ("SET tk:stockS 5", "OK"),
    ("SECKILL.TRYKEYS tk:stockS tk:buyersS tk:ordersS V alice o1", "0"),
    ("SECKILL.TRYKEYS tk:stockS tk:buyersS tk:ordersS V alice o2", "2"),
    ("SECKILL.TRYKEYS tk:stockS tk:buyers:{else} tk:ordersS V bob o2", "(error) CROSSSLOT"),
    ("SECKILL.DEDUCT tk:stockS 3", "4"),
    ("SECKILL.RETURN tk:stockS 3", "4"),
    ("RPUSH seckill:codes:K red blue", "2"),
    ("SECKILL.DRAW V alice", "0 red"),
    ("SECKILL.DRAW V alice", "2 red"),
    ("SECKILL.UNDRAW V alice", "1"),
    ("SECKILL.NEXTID V COUNT 2", "*"),
    ("LOCK.ACQUIRE V token 60000 FENCE", "*"),
    ("LOCK.ACQUIRE V other 60000", "0"),
    ("LOCK.RENEW V token 50000", "1"),
    ("LOCK.INFO V", "*"),
    ("LOCK.RELEASE V token", "1"),
    ("SECKILL.DROP V", "(error) HELD"),
    ("SECKILL.DROP V FORCE", "1"),
    ("SECKILL.TRY V alice o9", "(error) NOVOUCHER"),
];

/// Vouchers with and without a tag, and the names of their keys and streams.
const VOUCHERS: &[[&str; 3]] = &[
    ["7", "{7}", ":{7}"],
    ["8", "{8}", ":{8}"],
    ["phone", "{phone}", ":{phone}"],
    ["{shop3}:7", "{shop3}:7", ":{shop3}"],
    ["{7#3}", "{7#3}", ":{7#3}"],
];

fn session([voucher, key, stream]: [&str; 3]) -> impl Iterator<Item = (Vec<String>, String)> {
    SESSION.iter().map(move |(command, answer)| {
        let words = command.split(' ').map(|word| match word {
            "V" => voucher.to_owned(),
            _ if word.starts_with("seckill:") => word.replace('K', key),
            _ => match word.strip_suffix('S') {
                Some(name) if name.starts_with(char::is_lowercase) => format!("{name}{stream}"),
                _ => word.to_owned(),
            },
        });
        (words.collect(), (*answer).to_owned())
    })
}

/// Checks an answer. Both texts are words with one space between them.
fn check(words: &[String], answer: &str, got: &str) {
    // redis-cli prints errors into a pipe without a prefix.
    let code = got.strip_prefix("(error) ").unwrap_or(got);
    let is_wanted = match answer {
        "*" => code == got && !got.starts_with(char::is_uppercase) && !got.is_empty(),
        _ if answer.starts_with("(error) ") => code.starts_with(&answer[8..]),
        _ => match answer.strip_suffix(" *") {
            Some(start) => got.starts_with(start) && got.len() > start.len() + 1,
            None => got == answer,
        },
    };
    assert!(is_wanted, "{words:?} was answered {got}, not {answer}");
}

fn words_of(value: &Value) -> String {
    match value {
        Value::Nil => String::new(),
        // A null is an empty text, as in the output of redis-cli.
        Value::Array(items) => {
            let words = items.iter().map(words_of).filter(|word| !word.is_empty());
            words.collect::<Vec<_>>().join(" ")
        }
        other => text(other),
    }
}

/// The answer to a client that follows redirections, in words.
fn answered(reply: RedisResult<Value>) -> String {
    let shown = match reply {
        Ok(value) => words_of(&value),
        Err(error) => format!("(error) {}", error.code().unwrap_or("lost")),
    };
    shown.trim_end().to_owned()
}

fn connect(nodes: &Nodes) -> ClusterConnection {
    let client = ClusterClient::new(nodes.urls()).expect("a cluster client");
    client.get_connection().expect("a connection")
}

#[test]
fn every_command_by_a_cluster_client_and_by_redis_cli() {
    let nodes = Nodes::start();
    let mut connection = connect(&nodes);
    let mut owners = BTreeSet::new();
    let mut used = BTreeSet::new();
    for voucher in VOUCHERS {
        owners.insert(nodes.owner(voucher[0]));
        for (words, answer) in session(*voucher) {
            let mut command = redis::cmd(&words[0]);
            // The client routes unknown commands by their first argument: ours have the key there.
            let got = answered(command.arg(&words[1..]).query::<Value>(&mut connection));
            check(&words, &answer, &got);
            used.insert(words[0].to_lowercase());
        }
        nodes.servers[..PRIMARIES].iter().for_each(|server| drop(server.run("FLUSHALL")));
    }
    assert_eq!(owners.len(), PRIMARIES, "the vouchers are on all primaries");
    // Through any node, wherever the voucher is: redis-cli follows redirections.
    for (voucher, door) in VOUCHERS.iter().zip([0, 1, 2, 0, 4]) {
        for (words, answer) in session(*voucher) {
            let mut arguments = vec!["-c"];
            arguments.extend(words.iter().map(String::as_str));
            let printed = redis_cli(&nodes.servers[door], &arguments);
            let got = printed.split_whitespace().collect::<Vec<_>>().join(" ");
            check(&words, &answer, &got);
        }
    }
    // No command was left out.
    let Value::Array(all) = nodes.servers[0].run("COMMAND LIST FILTERBY MODULE seckill") else {
        panic!("no list")
    };
    let all: BTreeSet<_> = all.iter().map(text).collect();
    let missing: Vec<_> = all.difference(&used).collect();
    assert!(missing.is_empty() && all.len() > 20, "not in the session: {missing:?}");
    // Replicas get all data, and redirect clients.
    for (primary, replica) in nodes.servers.iter().zip(&nodes.servers[PRIMARIES..]) {
        primary.wait_for_replica(replica);
        assert_eq!(primary.digest(), replica.digest());
        assert!(replica.say("SECKILL.TRY 7 alice o1").starts_with("MOVED "));
    }
}
