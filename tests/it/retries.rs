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
