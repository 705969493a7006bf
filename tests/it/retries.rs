//! Repeated answers: a client that got no answer sends its command again, perhaps on another
//! connection, and then waits for the replicas.

use crate::harness::{Server, left_out, text};
use crate::reject::nothing_to_reject;
use redis::Value;

/// A held, a sold and a cancelled order.
const SALE: [&str; 6] = [
    "SECKILL.CREATE 7 9 LIMIT 3 HOLD 900000",
    "SECKILL.TRY 7 alice held UNITS 2",
    "SECKILL.TRY 7 bob sold",
    "SECKILL.CONFIRM 7 bob sold",
    "SECKILL.TRY 7 carol gone",
    "SECKILL.CANCEL 7 carol gone",
];

fn sale(server: &Server) {
    for command in SALE {
        let reply = server.run(command);
        assert!(!matches!(reply, Value::ServerError(_)), "{command}: {reply:?}");
    }
}

/// Only the unchanged entry of the book is replicated: no event, no key that a WATCH notices.
#[test]
fn what_is_asked_again_is_replicated_as_it_is() {
    let server = Server::observed().start();
    sale(&server);
    let held = server.say("HGET seckill:book:7 held");
    for (command, answer, line) in [
        ("SECKILL.TRY 7 alice held UNITS 2", 0, format!("held {held}")),
        ("SECKILL.TRY 7 bob sold", 0, "sold sold:1:0:bob".to_owned()),
        ("SECKILL.CONFIRM 7 bob sold", 2, "sold sold:1:0:bob".to_owned()),
        ("SECKILL.CANCEL 7 carol gone", 2, "gone cancelled:1:0:carol".to_owned()),
        ("SECKILL.CANCEL 7 bob sold IF HELD", 3, "sold sold:1:0:bob".to_owned()),
        ("SECKILL.TRY 7 carol gone", 5, "gone cancelled:1:0:carol".to_owned()),
        ("SECKILL.CONFIRM 7 carol gone", 3, "gone cancelled:1:0:carol".to_owned()),
        ("SECKILL.EXTEND 7 carol gone 9", 3, "gone cancelled:1:0:carol".to_owned()),
    ] {
        let (reply, replicated) = server.replicated_again(command);
        assert_eq!(reply, Value::Int(answer), "{command}");
        assert_eq!(replicated, format!("HSETNX seckill:book:7 {line}"), "{command}");
    }
    // One entry stands for all of a batch.
    let batch = "SECKILL.MTRY 7 bob sold carol gone zoe sold carol sold";
    let (_, replicated) = server.replicated_again(batch);
    assert_eq!(replicated, "HSETNX seckill:book:7 sold sold:1:0:bob");
    server.run("SECKILL.TRY 7 erin e1");
    server.run("SECKILL.CONFIRM 7 erin e1");
    let (_, replicated) = server.replicated_again("SECKILL.MTRY 7 erin e1 bob sold bob sold");
    assert_eq!(replicated, "HSETNX seckill:book:7 e1 sold:1:0:erin");
}

/// Answers of losing tries, and those that find nothing, replicate nothing.
#[test]
fn only_what_is_asked_again_is_replicated() {
    let server = Server::observed().start();
    sale(&server);
    for (command, answer) in [
        ("SECKILL.TRY 7 zoe o9 UNITS 7", 2),
        ("SECKILL.TRY 7 alice o9 UNITS 2", 2),
        ("SECKILL.CONFIRM 7 zoe sold", 0),
        ("SECKILL.CANCEL 7 zoe gone", 0),
        ("SECKILL.CANCEL 7 carol none", 0),
    ] {
        assert_eq!(server.silent(command), Value::Int(answer), "{command}");
    }
    server.refused("SECKILL.TRY 7 zoe sold", "ORDERID");
    // An unmanaged voucher has no record of an answer to repeat.
    server.run("SET seckill:stock:8 5");
    server.run("SECKILL.TRY 8 alice o1");
    assert_eq!(server.silent("SECKILL.TRY 8 alice o1"), Value::Int(2));
    server.run("SECKILL.CANCEL 8 alice o1");
    assert_eq!(server.silent("SECKILL.CANCEL 8 alice o1"), Value::Int(0));
    server.run("XGROUP CREATE stream.orders g $");
    nothing_to_reject(&server, "SECKILL.REJECT stream.orders g 1-1");
}

/// Tries of users whose holds are due, before any other command released these: all in one
/// transaction with the tries that placed them.
#[test]
fn what_is_overdue_of_a_user_does_not_count_against_them() {
    // Commands before the pause, commands after it, and the answers.
    let rows: [(u8, &[&str], &[&str], &str); 3] = [
        (1, &["TRY 7 alice o1", "TRY 7 bob o2"], &["MTRY 7 carol o3 bob o4 alice o5"], "0 0 0"),
        // Several orders, of which the users' units name the latest.
        (2, &["TRY 7 alice o1", "TRY 7 alice o2"], &["MTRY 7 alice o3 alice o4 alice o5"], "0 0 2"),
        // Holds of other users, and paid orders, don't help.
        (1, &["TRY 7 alice o1", "CONFIRM 7 alice o1", "TRY 7 bob o2"], &["TRY 7 alice o3"], "2"),
    ];
    for (limit, before, after, answers) in rows {
        let server = Server::start();
        let mut client = server.client();
        client.run(&format!("SECKILL.CREATE 7 9 LIMIT {limit} HOLD 20"));
        client.run("MULTI");
        before.iter().for_each(|line| drop(client.run(&format!("SECKILL.{line}"))));
        client.run("SECKILL.ALTER 7 HOLD 900000");
        client.run("DEBUG SLEEP 0.03");
        after.iter().for_each(|line| drop(client.run(&format!("SECKILL.{line}"))));
        let Value::Array(replies) = client.run("EXEC") else { panic!("no transaction") };
        let flat = replies[before.len() + 2..].iter().flat_map(|reply| match reply {
            Value::Array(replies) => replies.clone(),
            reply => vec![reply.clone()],
        });
        let got: Vec<_> = flat.map(|reply| text(&reply)).collect();
        assert_eq!(got.join(" "), answers, "{before:?} {after:?}");
        assert_eq!(server.differences("7"), Vec::<String>::new());
    }
}

/// A field of a hash can have a time to live, on Redis 7.4 and Valkey 9 and later. A repeat leaves
/// it on the server, on replicas and in files.
#[test]
fn a_repeat_leaves_a_fields_time_to_live() {
    let primary = Server::with().port().aof().start();
    let replica = Server::with().without_module().replica_of(&primary).start();
    primary.check("> SECKILL.CREATE 7 5 HOLD 600000\nOK\n> SECKILL.TRY 7 ann o1\n0");
    primary.check("> SECKILL.CONFIRM 7 ann o1 REF r1\n1\n> SECKILL.TRY 7 bob o2\n0");
    let fields = [("book", "o1"), ("book", "o2"), ("payments", "r1")];
    for (key, field) in fields {
        let expire = format!("HPEXPIRE seckill:{key}:7 600000 FIELDS 1 {field}");
        if matches!(primary.run(&expire), Value::ServerError(_)) {
            return left_out("TTLs of fields: this server has none");
        }
    }
    let ends = |server: &Server| {
        fields.map(|(key, field)| {
            server.run(&format!("HPEXPIRETIME seckill:{key}:7 FIELDS 1 {field}"))
        })
    };
    let before = ends(&primary);
    for (command, answer) in [
        ("TRY 7 ann o1", 0),
        ("CONFIRM 7 ann o1 REF r1", 2),
        ("CONFIRM 7 ann o1", 2),
        ("CANCEL 7 ann o1 IF HELD", 3),
        ("EXTEND 7 bob o2 1", 1),
        ("TRY 7 bob o2", 0),
    ] {
        primary.check(&format!("> SECKILL.{command}\n{answer}"));
    }
    primary.run("SECKILL.MTRY 7 ann o1 bob o2");
    primary.wait_for_replica(&replica);
    assert_eq!((ends(&primary), ends(&replica)), (before.clone(), before.clone()));
    let from_file = Server::with().without_module().aof().data_of(&primary).start();
    assert_eq!(ends(&from_file), before);
}
