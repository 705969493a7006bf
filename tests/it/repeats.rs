//! Repeat buyers: a mark makes their next try cheaper, but never decides its outcome.

use crate::harness::Server;
use crate::observe::bytes_list;
use redis::Value;

/// How often a command ran, whoever called it.
fn calls(server: &Server, command: &str) -> i64 {
    let Some(stats) = server.info(&format!("cmdstat_{command}")) else { return 0 };
    let calls = stats.strip_prefix("calls=").and_then(|rest| rest.split(',').next());
    calls.expect("calls come first").parse().expect("a number")
}

/// Sells to alice and sets her mark.
fn sell_to_alice(server: &Server) {
    server.run("FLUSHALL");
    server.check("> SET seckill:stock:7 5\nOK\n> SECKILL.TRY 7 alice o1\n0");
    server.check("> SECKILL.TRY 7 alice o2\n2");
}

#[test]
fn a_repeat_asks_for_the_buyer_first() {
    let server = Server::observed().start();
    server.check("> SET seckill:stock:7 5\nOK\n> SECKILL.TRY 7 alice o1\n0");
    let before = ["sadd", "sismember"].map(|command| calls(&server, command));
    for _ in 0..20 {
        server.check("> SECKILL.TRY 7 alice o2\n2");
    }
    let keys = "seckill:stock:7 seckill:order:7 stream.orders";
    server.check(&format!("> SECKILL.TRYKEYS {keys} 7 alice o2\n2"));
    let after = ["sadd", "sismember"].map(|command| calls(&server, command));
    assert_eq!([after[0] - before[0], after[1] - before[1]], [0, 21]);
    assert_eq!(server.silent("SECKILL.TRY 7 alice o2"), Value::Int(2));
    // A user whom another client added has no mark: SADD finds the user, and the mark is set.
    server.check("> SADD seckill:order:7 bob\n1");
    assert_eq!(server.silent("SECKILL.TRY 7 bob o2"), Value::Int(2));
    let before = calls(&server, "sadd");
    assert_eq!(server.silent("SECKILL.TRY 7 bob o2"), Value::Int(2));
    assert_eq!(calls(&server, "sadd"), before);
    // Sold out comes first, as in the script.
    server.check("> SET seckill:stock:7 0\nOK\n> SECKILL.TRY 7 alice o2\n1");
    server.check("> DEL seckill:stock:7\n1\n> SECKILL.TRY 7 alice o2\n(error) NOVOUCHER ...");
}

/// Marks of the previous sale cost the buyers of the next one a single check in total.
#[test]
fn a_sale_that_begins_anew_does_not_believe_the_marks_of_the_old() {
    let server = Server::start();
    let users = ["ann", "bob", "cid", "dan"];
    let sell = || {
        for user in users {
            server.check(&format!("> SECKILL.TRY 7 {user} o1\n0"));
        }
    };
    let calls = || ["sadd", "sismember"].map(|command| calls(&server, command));
    server.check("> SET seckill:stock:7 9\nOK");
    sell();
    assert_eq!(calls(), [4, 0]);
    server.check("> DEL seckill:order:7\n1");
    sell();
    assert_eq!(calls(), [8, 1]);
    // After one correct mark, all marks are trusted again.
    for (user, wanted) in [("ann", [9, 1]), ("bob", [9, 2]), ("ann", [9, 3])] {
        server.check(&format!("> SECKILL.TRY 7 {user} o2\n2"));
        assert_eq!(calls(), wanted, "{user}");
    }
}

#[test]
fn a_user_who_is_taken_out_can_buy_at_once() {
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
        // Some servers select the other database: see docs/operating.md.
        &["MOVE seckill:order:7 5", "SELECT 0"],
        &["EVAL redis.call('SREM','seckill:order:7','alice') 0"],
        &["MULTI", "SREM seckill:order:7 alice", "EXEC"],
        &["FLUSHDB", "SET seckill:stock:7 5"],
        &["FLUSHALL ASYNC", "SET seckill:stock:7 5"],
        &["SWAPDB 0 4", "SET seckill:stock:7 5"],
        &["SECKILL.CANCEL 7 alice o1"],
        &["CONFIG SET seckill.buyers-prefix b:", "CONFIG SET seckill.buyers-prefix seckill:order:"],
    ];
    // So that only a read of the key makes it expire.
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
fn users_without_a_mark_are_known_to_the_server() {
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
