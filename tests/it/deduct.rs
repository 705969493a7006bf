//! SECKILL.DEDUCT and SECKILL.RETURN: units are taken from and added to a bare stock.

use crate::harness::Server;
use redis::Value;

#[test]
fn losers_leave_no_trace() {
    let server = Server::observed().start();
    for (stock, command, reply) in [
        ("0", "SECKILL.DEDUCT stock", 0),
        ("5", "SECKILL.DEDUCT stock 6", 0),
        ("5", "SECKILL.DEDUCT stock 9223372036854775807", 0),
        ("-1", "SECKILL.DEDUCT stock 7", 1),
        ("-1", "SECKILL.RETURN stock 7", -1),
    ] {
        server.run(&format!("SET stock {stock}"));
        // The first read turns a number into bytes, which DUMP would show; so it is done here.
        server.run("SECKILL.DEDUCT stock 9223372036854775807");
        assert_eq!(server.silent(command), Value::Int(reply), "{stock} {command}");
    }
    server.run("DEL stock");
    assert_eq!(server.silent("SECKILL.DEDUCT stock"), Value::Int(-1));
    assert_eq!(server.silent("SECKILL.RETURN stock"), Value::Int(-1));
}

#[test]
fn the_key_is_declared_and_configurations_play_no_part() {
    let server = Server::with()
        .config("seckill.stock-prefix s:")
        .config("seckill.hash-tags yes")
        .config("seckill.missing-stock sold-out")
        .start();
    server.check(
        "
        > SET a}b 5 => OK
        > SECKILL.DEDUCT a}b => 5
        > SECKILL.DEDUCT none => -1
        > SET a}b -1 => OK
        > SECKILL.DEDUCT a}b => 1
        ",
    );
    for key in [&b""[..], b"\0", b"\xff\r\n", "\u{100}".as_bytes()] {
        server.call(&[b"SET".as_slice(), key, b"2"]);
        assert_eq!(server.call(&[b"SECKILL.DEDUCT".as_slice(), key]), Value::Int(2));
        assert_eq!(server.call(&[b"SECKILL.RETURN".as_slice(), key]), Value::Int(2));
    }
}
