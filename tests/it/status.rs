//! SECKILL.ORDER, STATUS, INFO and AUDIT: their replies, in both protocols, and that they only
//! read.

use crate::harness::{Client, Server, text};
use redis::Value;

fn shown(client: &mut Client, command: &str, fields: &[&str]) -> String {
    let field = |name: &&str| match client.field(command, name) {
        Value::Nil => "-".to_owned(),
        value => text(&value),
    };
    fields.iter().map(field).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_state_of_a_sale() {
    let server = Server::start();
    let far = server.clock_ms() + 1_000_000;
    let mut client = server.client();
    let mut info = |fields: &[&str]| shown(&mut client, "SECKILL.INFO 7", fields);
    let state = ["state", "left", "held", "sold", "buyers"];
    server.run("SECKILL.CREATE 7 3 LIMIT 2 HOLD 900000");
    assert_eq!(info(&state), "open 3 0 0 0");
    server.run("SECKILL.TRY 7 alice o1 UNITS 2");
    assert_eq!(info(&state), "open 1 2 0 1");
    let deadlines = ["SECKILL.ORDER 7 o1", "SECKILL.STATUS 7 alice"]
        .map(|command| server.field(command, "deadline"));
    assert!(matches!(deadlines[0], Value::Int(_)) && deadlines[0] == deadlines[1], "{deadlines:?}");
    server.run("SECKILL.TRY 7 bob o2");
    server.run("SECKILL.CONFIRM 7 bob o2");
    assert_eq!(info(&state), "soldout 0 2 1 2");
    server.run(&format!("SECKILL.ALTER 7 BEGIN {far}"));
    assert_eq!(info(&state), "scheduled 0 2 1 2");
    server.run("SECKILL.ALTER 7 BEGIN 3 END 4");
    assert_eq!(info(&state), "ended 0 2 1 2");
    assert_eq!(info(&["managed", "total", "begin", "end", "limit", "hold"]), "1 3 3 4 2 900000");
    // Sold units stay known although the limit is lower now.
    server.run("SECKILL.ALTER 7 BEGIN 0 END 0 LIMIT 1");
    assert_eq!(info(&state), "soldout 0 2 1 2");
    server.run("DEL seckill:stock:7");
    assert_eq!(info(&state), "soldout - 2 - 2");
}

#[test]
fn an_unmanaged_voucher_has_less_to_say() {
    let server = Server::start();
    server.run("SET seckill:stock:7 1");
    server.run("SECKILL.TRY 7 alice o1");
    let mut client = server.client();
    let all = "managed state total left held sold buyers begin end limit hold";
    let all: Vec<_> = all.split(' ').collect();
    assert_eq!(shown(&mut client, "SECKILL.INFO 7", &all), "0 soldout - 0 - - 1 - - 1 -");
    server.run("INCR seckill:stock:7");
    assert_eq!(shown(&mut client, "SECKILL.INFO 7", &all), "0 open - 1 - - 1 - - 1 -");
    let status = ["units", "orderid", "state", "deadline"];
    assert_eq!(shown(&mut client, "SECKILL.STATUS 7 alice", &status), "- - - -");
    assert_ne!(client.run("SECKILL.STATUS 7 alice"), Value::Nil);
    client.check(
        "
        > SECKILL.STATUS 7 bob => (nil)
        > SECKILL.ORDER 7 o1 => (nil)
        > SECKILL.INFO 8 => (error) NOVOUCHER ...
        > SECKILL.AUDIT 7 => (error) NOVOUCHER ...
        > SECKILL.ORDER 8 o1 => (nil)
        > SECKILL.STATUS 8 alice => (nil)
        ",
    );
}

/// Units of held orders are counted as orders of several units are placed and end, so that
/// SECKILL.INFO never reads the book.
#[test]
fn figures_that_cannot_be_are_marked() {
    let server = Server::start();
    let consistent = || {
        let Value::Array(reply) = server.run("SECKILL.INFO 7") else { panic!("no map") };
        reply.last().cloned().expect("the last value")
    };
    server.check("> SECKILL.CREATE 7 5 LIMIT 2 HOLD 900000\nOK");
    assert_eq!(consistent(), Value::Int(1));
    server.check("> SECKILL.TRY 7 alice o1 UNITS 2\n0\n> SECKILL.TRY 7 bob o2\n0");
    assert_eq!(consistent(), Value::Int(1));
    // Sold to nobody known; fewer than are held, than buyers; more than there are.
    for (stock, wanted) in [(2, 1), (0, 1), (4, 0), (5, 0), (6, 0), (-1, 0)] {
        server.run(&format!("SET seckill:stock:7 {stock}"));
        assert_eq!(consistent(), Value::Int(wanted), "{stock}");
    }
    server.check("> DEL seckill:stock:7\n1");
    assert_eq!(consistent(), Value::Int(0));
}
