//! Who comes back again and again is answered from memory, and is still never told what is wrong.

use crate::cluster::whole_cluster;
use crate::harness::{Server, wait_for};
use crate::observe::bytes_list;
use redis::Value;

/// How often the server was asked for a member of a set.
pub fn asked(server: &Server) -> i64 {
    let Some(stats) = server.info("cmdstat_sismember") else { return 0 };
    let calls = stats.strip_prefix("calls=").and_then(|rest| rest.split(',').next());
    calls.expect("calls come first").parse().expect("a number")
}

/// Lets a user who has bought come back until the module answers by itself.
fn answer_from_memory(server: &Server, again: &[&str]) {
    // A tick of the server's cron between two tries makes it ask once more.
    let is_known = (0..20).any(|_| {
        let before = asked(server);
        assert_eq!(server.call(again), Value::Int(2), "{again:?}");
        asked(server) == before
    });
    assert!(is_known, "asked each time: {again:?}");
}

fn sell_to_alice(server: &Server) {
    server.run("FLUSHALL");
    server.check("> SET seckill:stock:7 5\nOK\n> SECKILL.TRY 7 alice o1\n0");
    answer_from_memory(server, &["SECKILL.TRY", "7", "alice", "o2"]);
}

#[test]
fn the_server_is_not_asked_each_time() {
    let server = Server::observed().start();
    server.check("> SET seckill:stock:7 5\nOK\n> SECKILL.TRY 7 alice o1\n0");
    let mut client = server.client();
    let before = asked(&server);
    for _ in 0..2000 {
        assert_eq!(client.run("SECKILL.TRY 7 alice o2"), Value::Int(2));
    }
    let keys = "seckill:stock:7 seckill:order:7 stream.orders";
    for _ in 0..2000 {
        assert_eq!(client.run(&format!("SECKILL.TRYKEYS {keys} 7 alice o2")), Value::Int(2));
    }
    let asked_now = asked(&server) - before;
    assert!(asked_now < 400, "asked {asked_now} times in 4,000 tries");
    // As without it: no trace, and others may add whom they like.
    assert_eq!(server.silent("SECKILL.TRY 7 alice o2"), Value::Int(2));
    server.check("> SADD seckill:order:7 bob\n1\n> SECKILL.TRY 7 alice o2\n2");
    assert_eq!(server.silent("SECKILL.TRY 7 bob o2"), Value::Int(2));
    assert_eq!(server.info_number("seckill_tries_already_bought"), 4000 + 3);
    // Sold out comes first, as in the script.
    server.check("> SET seckill:stock:7 0\nOK\n> SECKILL.TRY 7 alice o2\n1");
    server.check("> DEL seckill:stock:7\n1\n> SECKILL.TRY 7 alice o2\n(error) NOVOUCHER ...");
}

#[test]
fn a_uuid_is_not_too_long() {
    let server = Server::start();
    let uuid = "00000000-0000-4000-8000-000000000001";
    for prefix in ["seckill:order:", "shop:production:seckill:order:"] {
        for (tags, stock) in [("no", uuid.into()), ("yes", format!("{{{uuid}}}"))] {
            server.check(&format!("> CONFIG SET seckill.buyers-prefix {prefix}\nOK"));
            server.check(&format!("> CONFIG SET seckill.hash-tags {tags}\nOK"));
            server.check(&format!("> SET seckill:stock:{stock} 5\nOK"));
            server.check(&format!("> SECKILL.TRY {uuid} {uuid} o1\n0"));
            answer_from_memory(&server, &["SECKILL.TRY", uuid, uuid, "o2"]);
            server.check(&format!("> SREM {prefix}{stock} {uuid}\n1"));
            server.check(&format!("> SECKILL.TRY {uuid} {uuid} o3\n0"));
        }
    }
}

#[test]
fn whoever_is_taken_out_can_buy_at_once() {
    let server = Server::start();
    // A set without alice.
    server.run("SADD donor bob");
    let dump = bytes_list(Value::Array(vec![server.run("DUMP donor")])).remove(0);
    let ways: &[&[&str]] = &[
        &["SREM seckill:order:7 alice"],
        &["SADD seckill:order:7 bob", "SREM seckill:order:7 alice bob"],
        &["SPOP seckill:order:7"],
        &["SPOP seckill:order:7 5"],
        &["SMOVE seckill:order:7 other alice"],
        &["DEL seckill:order:7"],
        &["DEL seckill:order:7", "SADD seckill:order:7 bob"],
        &["UNLINK seckill:order:7", "SADD seckill:order:7 bob"],
        &["RENAME seckill:order:7 other"],
        &["SADD other bob", "RENAME other seckill:order:7"],
        &["SADD other bob", "COPY other seckill:order:7 REPLACE"],
        &["SADD other bob", "SUNIONSTORE seckill:order:7 other"],
        &["SADD other bob", "SINTERSTORE seckill:order:7 other"],
        &["SADD other alice", "SDIFFSTORE seckill:order:7 seckill:order:7 other"],
        &["SDIFFSTORE seckill:order:7 nothing"],
        &["SET seckill:order:7 x", "DEL seckill:order:7", "SADD seckill:order:7 bob"],
        &["SET seckill:order:7 x", "SUNIONSTORE seckill:order:7 donor"],
        &["SET seckill:order:7 x PX 1", "DEBUG SLEEP 0.01"],
        &["SET seckill:order:7 x", "GETDEL seckill:order:7", "SADD seckill:order:7 bob"],
        &["LPUSH list 1", "SORT list STORE seckill:order:7", "LPOP seckill:order:7"],
        &["EXPIRE seckill:order:7 -1"],
        &["PEXPIREAT seckill:order:7 1"],
        &["PEXPIRE seckill:order:7 1", "DEBUG SLEEP 0.01"],
        // Some servers go along: see docs/operating.md.
        &["MOVE seckill:order:7 5", "SELECT 0"],
        &["EVAL redis.call('SREM','seckill:order:7','alice') 0"],
        &["MULTI", "SREM seckill:order:7 alice", "EXEC"],
        &["FLUSHDB", "SET seckill:stock:7 5"],
        &["FLUSHALL ASYNC", "SET seckill:stock:7 5"],
        &["SWAPDB 0 4", "SET seckill:stock:7 5"],
        &["SECKILL.CANCEL 7 alice o1"],
        &["CONFIG SET seckill.buyers-prefix b:", "CONFIG SET seckill.buyers-prefix seckill:order:"],
    ];
    // So that a time to live that is over is seen by whoever looks, and not before.
    server.run("DEBUG SET-ACTIVE-EXPIRE 0");
    for way in ways {
        sell_to_alice(&server);
        server.call(&[b"RESTORE".as_slice(), b"donor", b"0", &dump]);
        for command in *way {
            let reply = server.run(command);
            assert!(!matches!(reply, Value::ServerError(_)), "{command}: {reply:?}");
        }
        let is_in = server.run("SISMEMBER seckill:order:7 alice") == Value::Int(1);
        let is_configuring = way[0].starts_with("CONFIG");
        assert_eq!(is_in, is_configuring, "{way:?} takes her out");
        let wanted = if is_in { Value::Int(2) } else { Value::Int(0) };
        assert_eq!(server.run("SECKILL.TRY 7 alice o3"), wanted, "after {way:?}");
        server.check("> SECKILL.TRY 7 alice o4\n2\n> SISMEMBER seckill:order:7 alice\n1");
    }
    sell_to_alice(&server);
    server.call(&[b"RESTORE".as_slice(), b"seckill:order:7", b"0", &dump, b"REPLACE"]);
    server.check("> SECKILL.TRY 7 alice o3\n0");
    for (command, other_type) in [("SET seckill:order:7 x", "x"), ("HSET seckill:order:7 a b", "")]
    {
        sell_to_alice(&server);
        if other_type.is_empty() {
            server.run("DEL seckill:order:7");
        }
        server.run(command);
        server.check("> SECKILL.TRY 7 alice o3\n(error) WRONGTYPE ...");
    }
}

#[test]
fn within_a_transaction_and_a_script_too() {
    let server = Server::start();
    sell_to_alice(&server);
    server.check(
        "
        > MULTI
        OK
        > SECKILL.TRY 7 alice o2
        QUEUED
        > SREM seckill:order:7 alice
        QUEUED
        > SECKILL.TRY 7 alice o2
        QUEUED
        > SECKILL.TRY 7 alice o2
        QUEUED
        > EXEC
        1) (integer) 2
        2) (integer) 1
        3) (integer) 0
        4) (integer) 2
        ",
    );
    let script = "
        local one = redis.call('SECKILL.TRY', '7', 'alice', 'o2')
        redis.call('SPOP', 'seckill:order:7')
        return {one, redis.call('SECKILL.TRY', '7', 'alice', 'o2')}";
    answer_from_memory(&server, &["SECKILL.TRY", "7", "alice", "o2"]);
    let both = server.call(&["EVAL", script, "0"]);
    assert_eq!(both, Value::Array(vec![Value::Int(2), Value::Int(0)]));
}

#[test]
fn what_is_remembered_is_asked_anew_before_long() {
    let server = Server::start();
    sell_to_alice(&server);
    // Nothing happens to the key, and yet the server is asked again.
    let before = asked(&server);
    let is_asked = wait_for("the server to be asked", || {
        server.check("> SECKILL.TRY 7 alice o2\n2");
        (asked(&server) > before).then_some(())
    });
    is_asked.unwrap_or_else(|late| panic!("{late}"));
}

#[test]
fn users_and_keys_are_never_taken_for_each_other() {
    let server = Server::start();
    let long = "x".repeat(46);
    let users: Vec<Vec<u8>> = [
        b"".as_slice(),
        b"\0",
        b"\0\0",
        b"a",
        b"a\0",
        &[0xff; 8],
        long.as_bytes(),
        format!("{long}y").as_bytes(),
        format!("{long}yz").as_bytes(),
        format!("{long}ya").as_bytes(),
        format!("{long}\0").as_bytes(),
        b"00000000-0000-4000-8000-000000000001",
        b"00000000-0000-4000-8000-000000000002",
    ]
    .map(<[u8]>::to_vec)
    .into();
    // The buyers keys of some are as long as can be remembered, and one or two bytes longer.
    let prefix = "v".repeat(100);
    let vouchers = [
        "",
        "7",
        "7\0",
        "71",
        &prefix,
        &format!("{prefix}w"),
        &format!("{prefix}x"),
        &format!("{prefix}xw"),
        &format!("{prefix}xx"),
    ];
    let attempt = |voucher: &str, user: &[u8]| {
        server.call(&[b"SECKILL.TRY".as_slice(), voucher.as_bytes(), user, b"o"])
    };
    // Each user but the last of the voucher buys, and comes back often.
    for round in 0..4 {
        for (number, voucher) in vouchers.iter().enumerate() {
            server.call(&["SET", &format!("seckill:stock:{voucher}"), "1000"]);
            for (place, user) in users.iter().enumerate() {
                let key = format!("seckill:order:{voucher}");
                let command = [b"SISMEMBER".as_slice(), key.as_bytes(), user];
                let has_bought = server.call(&command) == Value::Int(1);
                assert!(!has_bought || round > 0);
                if has_bought || (place + number) % 3 == round {
                    let wanted = if has_bought { 2 } else { 0 };
                    assert_eq!(attempt(voucher, user), Value::Int(wanted), "{voucher:?} {user:?}");
                }
            }
        }
    }
}

#[test]
fn sets_that_are_too_many_to_be_remembered_put_each_other_out() {
    let server = Server::start();
    let mut random = fastrand::Rng::new();
    // Some share a place with another for sure.
    let vouchers: Vec<String> = (0..100).map(|voucher| voucher.to_string()).collect();
    let mut has_bought = [false; 100];
    for voucher in &vouchers {
        server.call(&["SET", &format!("seckill:stock:{voucher}"), "1000"]);
    }
    for step in 0..6000 {
        // Now in turn, now again and again.
        let number = if step % 300 < 200 { step % 100 } else { random.usize(..2) };
        let voucher = &vouchers[number];
        if random.u8(..) < 20 {
            server.call(&["SREM", &format!("seckill:order:{voucher}"), "alice"]);
            has_bought[number] = false;
        }
        let wanted = if has_bought[number] { 2 } else { 0 };
        let said = server.call(&["SECKILL.TRY", voucher, "alice", "o"]);
        assert_eq!(said, Value::Int(wanted), "step {step}, voucher {voucher}");
        has_bought[number] = true;
    }
}

#[test]
fn whoever_no_longer_fits_into_memory_is_still_known_to_the_server() {
    let server = Server::start();
    server.run("SET seckill:stock:7 1000000");
    let mut pipeline = redis::pipe();
    let all = |pipeline: &mut redis::Pipeline| {
        for user in 0..40_000 {
            pipeline.cmd("SECKILL.TRY").arg("7").arg(user).arg("o");
        }
    };
    all(&mut pipeline);
    let mut client = server.client();
    for wanted in [0, 2, 2] {
        let replies: Vec<i64> = pipeline.query(client.raw()).expect("replies");
        assert!(replies.iter().all(|reply| *reply == wanted), "not all {wanted}");
    }
}

#[test]
fn a_sale_that_is_opened_anew_asks_for_hardly_anyone() {
    let server = Server::start();
    let sell = |wanted: i64| {
        for user in 0..500 {
            let reply = server.call(&["SECKILL.TRY", "7", &user.to_string(), "o"]);
            assert_eq!(reply, Value::Int(wanted), "{user}");
        }
    };
    for _ in 0..3 {
        server.run("SET seckill:stock:7 1000");
        let before = asked(&server);
        sell(0);
        assert!(asked(&server) - before < 10, "asked for {}", asked(&server) - before);
        // And when they come back, one after the other, for each.
        let before = asked(&server);
        sell(2);
        assert!(asked(&server) - before > 490, "asked for {}", asked(&server) - before);
        server.run("DEL seckill:order:7");
    }
}

#[test]
fn a_cluster_asks_each_time() {
    let server = whole_cluster();
    server.check("> SET seckill:stock:{7} 5\nOK\n> SECKILL.TRY 7 alice o1\n0");
    let before = asked(&server);
    for _ in 0..10 {
        server.check("> SECKILL.TRY 7 alice o1\n2");
    }
    // A slot can leave without an event.
    assert_eq!(asked(&server), before + 10);
}

#[test]
fn what_a_primary_says_counts_once_the_replica_is_one() {
    let primary = Server::with().port().start();
    let server = Server::with().port().start();
    sell_to_alice(&server);
    primary.run("SET seckill:stock:7 5");
    server.run(&format!("REPLICAOF 127.0.0.1 {}", primary.port()));
    primary.wait_for_replica(&server);
    server.check("> REPLICAOF NO ONE\nOK\n> SECKILL.TRY 7 alice o3\n0");
    answer_from_memory(&server, &["SECKILL.TRY", "7", "alice", "o2"]);
    assert_eq!(server.run("DEBUG RELOAD"), Value::Okay);
    server.check("> SECKILL.TRY 7 alice o3\n2\n> SREM seckill:order:7 alice\n1");
    server.check("> SECKILL.TRY 7 alice o3\n0");
}
