//! Repeated answers: a client that got no answer sends its command again, perhaps on another
//! connection, and then waits for the replicas.

use crate::harness::{Server, text};
use crate::reject::{nothing_to_reject, ordered};
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

/// `WAIT` waits only for what its connection has replicated before, so there must be something.
#[test]
fn who_asks_again_can_wait_for_replicas() {
    for (again, answer) in [
        ("SECKILL.TRY 7 alice held UNITS 2", 0),
        ("SECKILL.TRY 7 bob sold", 0),
        ("SECKILL.CONFIRM 7 bob sold", 2),
        ("SECKILL.CANCEL 7 carol gone", 2),
    ] {
        let primary = Server::with().port().start();
        let replica = Server::with().replica_of(&primary).start();
        primary.wait_for_replica(&replica);
        replica.freeze();
        sale(&primary);
        let mut other = primary.client();
        assert_eq!(other.run(again), Value::Int(answer), "{again}");
        assert_eq!(other.run("WAIT 1 200"), Value::Int(0), "{again}");
        replica.wake();
        assert_eq!(other.run("WAIT 1 20000"), Value::Int(1), "{again}");
        assert_eq!(
            replica.run("HGET seckill:book:7 sold"),
            Value::BulkString("sold:1:0:bob".into())
        );
    }
}

#[test]
fn batches_and_rejections_can_be_waited_for_too() {
    let primary = Server::with().port().start();
    let replica = Server::with().replica_of(&primary).start();
    primary.wait_for_replica(&replica);
    replica.freeze();
    primary.run("SECKILL.CREATE 7 9 LIMIT 3");
    let id = ordered(&primary, "SECKILL.TRY 7 dave o1");
    let reject = format!("SECKILL.REJECT stream.orders g {id}");
    let batch = "SECKILL.MTRY 7 erin o2 erin o3";
    for (command, first, again) in [(&*reject, "1", "0"), (batch, "1) 0\n2) 0", "1) 0\n2) 0")] {
        primary.check(&format!("> {command}\n{first}"));
        let mut other = primary.client();
        other.check(&format!("> {command}\n{again}"));
        assert_eq!(other.run("WAIT 1 200"), Value::Int(0), "{command}");
    }
    replica.wake();
    primary.wait_for_replica(&replica);
    let [here, there] = [&primary, &replica].map(|server| server.run("HGETALL seckill:book:7"));
    assert_eq!(format!("{here:?}").len(), format!("{there:?}").len());
}

/// Only the unchanged entry of the book is replicated: no event, no key that a WATCH notices.
#[test]
fn what_is_asked_again_is_replicated_as_it_is() {
    let server = Server::observed().start();
    sale(&server);
    let held = text(&server.run("HGET seckill:book:7 held"));
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
        assert_eq!(replicated, format!("HSET seckill:book:7 {line}"), "{command}");
    }
    // The entries come in the order of the batch's tries, all in one command.
    let batch = "SECKILL.MTRY 7 bob sold carol gone zoe sold carol sold";
    let (_, replicated) = server.replicated_again(batch);
    assert_eq!(replicated, "HSET seckill:book:7 sold sold:1:0:bob gone cancelled:1:0:carol");
    server.run("SECKILL.TRY 7 erin e1");
    server.run("SECKILL.CONFIRM 7 erin e1");
    let (_, replicated) = server.replicated_again("SECKILL.MTRY 7 erin e1 bob sold bob sold");
    let (erin, bob) = ("e1 sold:1:0:erin", "sold sold:1:0:bob");
    assert_eq!(replicated, format!("HSET seckill:book:7 {erin} {bob} {bob}"));
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

/// Another order with a known id is refused, and the first one stays unchanged.
#[test]
fn a_retry_with_other_units_is_another_order() {
    let server = Server::observed().start();
    sale(&server);
    for units in ["", " UNITS 1", " UNITS 3", " UNITS 9223372036854775807"] {
        server.refused(&format!("SECKILL.TRY 7 alice held{units}"), "ORDERID");
    }
    server.refused("SECKILL.TRY 7 bob sold UNITS 2", "ORDERID");
    server.check("> SECKILL.MTRY 7 alice held bob sold\n1) (error) ORDERID ...\n2) 0");
    // A released order never sells again, whatever the try asks for.
    assert_eq!(server.unchanged("SECKILL.TRY 7 carol gone UNITS 2"), Value::Int(5));
    server.assert_book("7", [6, 2, 1]);
}

/// Tries of users whose holds are due, before any other command released these: all in one
/// transaction with the tries that placed them.
#[test]
fn what_is_overdue_of_a_user_does_not_count_against_them() {
    // Commands before the pause, commands after it, and the answers.
    let rows: [(u8, &[&str], &[&str], &str); 7] = [
        (1, &["TRY 7 alice o1"], &["TRY 7 alice o2"], "0"),
        (1, &["TRY 7 alice o1"], &["MTRY 7 alice o2 alice o3 alice o1"], "0 2 5"),
        (1, &["TRY 7 alice o1", "TRY 7 bob o2"], &["MTRY 7 carol o3 bob o4 alice o5"], "0 0 0"),
        // Several orders, of which the users' units name the latest.
        (2, &["TRY 7 alice o1", "TRY 7 alice o2"], &["TRY 7 alice o3 UNITS 2"], "0"),
        (2, &["TRY 7 alice o1", "TRY 7 alice o2"], &["MTRY 7 alice o3 alice o4 alice o5"], "0 0 2"),
        (
            2,
            &["TRY 7 alice o1", "TRY 7 alice o2", "CANCEL 7 alice o2"],
            &["TRY 7 alice o3 UNITS 2"],
            "0",
        ),
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

/// A release that is refused changes nothing for its user: the timer logs the reason.
#[test]
fn what_cannot_be_released_still_counts() {
    let server = Server::observed().start();
    server.run("SECKILL.CREATE 7 9 HOLD 20");
    server.run("SET stream.orders.released spoiled");
    let deadline = server.place_hold("7 alice o1");
    server.wait_until(deadline);
    assert_eq!(server.silent("SECKILL.TRY 7 alice o2"), Value::Int(2));
    server.run("DEL stream.orders.released");
    assert_eq!(server.run("SECKILL.TRY 7 alice o2"), Value::Int(0));
}

/// A job that cancels unpaid orders, and a payment that was slightly earlier.
#[test]
fn a_cancellation_can_name_the_state() {
    let server = Server::observed().start();
    sale(&server);
    for command in ["SECKILL.CANCEL 7 bob sold IF held", "SECKILL.CANCEL 7 alice held IF SOLD"] {
        assert_eq!(server.unchanged(command), Value::Int(3), "{command}");
    }
    for command in ["SECKILL.CANCEL 7 zoe sold IF held", "SECKILL.CANCEL 7 bob none if sold"] {
        assert_eq!(server.silent(command), Value::Int(0), "{command}");
    }
    let (reply, _) = server.replicated_again("SECKILL.CANCEL 7 carol gone IF sold");
    assert_eq!(reply, Value::Int(2));
    for wrong in ["IF", "IF cancelled", "IF held sold", "held", "IF held IF held"] {
        server.refused(&format!("SECKILL.CANCEL 7 bob sold {wrong}"), "ERR");
    }
    server.run("SET seckill:stock:8 5");
    server.run("SECKILL.TRY 8 alice o1");
    server.refused("SECKILL.CANCEL 8 alice o1 IF sold", "NOVOUCHER");
    server
        .check("> SECKILL.CANCEL 7 bob sold IF sold\n1\n> SECKILL.CANCEL 7 alice held IF held\n1");
    server.assert_book("7", [9, 0, 0]);
    let released = server.run("XRANGE stream.orders.released - +");
    let last: Vec<_> = crate::reject::entries(&server, "stream.orders.released")
        .iter()
        .map(|(_, fields)| String::from_utf8_lossy(&fields.join(&b' ')).into_owned())
        .collect();
    assert_eq!(last.len(), 3, "{released:?}");
    let sale = server.sale_of("7");
    assert!(
        last[1].ends_with(&format!("id sold sale {sale} reason cancelled was sold")),
        "{last:?}"
    );
    let held = format!("id held units 2 sale {sale} reason cancelled was held");
    assert!(last[2].ends_with(&held), "{last:?}");
}

#[test]
fn a_dead_letter_says_what_its_order_was() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 9 LIMIT 3 HOLD 900000");
    server.run("SET seckill:stock:8 5");
    for (make, was) in [
        ("SECKILL.TRY 7 alice o1", Some("held")),
        ("SECKILL.TRY 7 alice o2", Some("sold")),
        ("SECKILL.TRY 7 alice o3", None),
        ("SECKILL.TRY 8 alice o4", None),
    ] {
        let id = ordered(&server, make);
        server.run("SECKILL.CONFIRM 7 alice o2");
        server.run("SECKILL.CANCEL 7 alice o3");
        server.run(&format!("SECKILL.REJECT stream.orders g {id}"));
        let (_, letter) = crate::reject::entries(&server, "stream.orders.dlq").pop().expect("one");
        let found = letter.chunks(2).find(|pair| pair[0] == b"dlqWas");
        let found = found.map(|pair| String::from_utf8_lossy(&pair[1]).into_owned());
        assert_eq!(found.as_deref(), was, "{make}");
    }
    // An overdue order has expired before it is rejected.
    let id = ordered(&server, "SECKILL.TRY 7 alice o5");
    let reject = format!("SECKILL.REJECT stream.orders g {id}");
    for command in ["MULTI", "HSET seckill:book:7 o5 held:1:1:alice", &reject, "EXEC"] {
        server.run(command);
    }
    let (_, letter) = crate::reject::entries(&server, "stream.orders.dlq").pop().expect("one");
    let has = |word: &[u8]| letter.iter().any(|text| text == word);
    assert!(has(b"released") && !has(b"dlqWas"), "{letter:?}");
    assert_eq!(server.state("7", "o5"), "expired");
}
