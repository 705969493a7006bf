//! SECKILL.TRY: outcomes, their order, the keys of a sale.

use crate::harness::Server;
use crate::observe::{bytes_list, integer};
use redis::Value;

#[test]
fn a_stock_written_by_any_command_is_read() {
    let server = Server::start();
    for fill in ["SET {} 5", "APPEND {} 5", "INCRBY {} 5", "SETRANGE {} 0 5", "INCRBYFLOAT {} 5"] {
        server.run("FLUSHALL");
        server.run(&fill.replace("{}", "seckill:stock:7"));
        server.check("> SECKILL.TRY 7 alice o1\n0\n> INCRBY seckill:stock:7 0\n4");
    }
}

#[test]
fn ids_are_bytes() {
    let server = Server::start();
    let long = vec![b'x'; 512];
    let ids: [&[u8]; 10] = [
        b"",
        b"\0",
        b"a\0b",
        b"\xff\xfe",
        "\u{100}\u{65e5}".as_bytes(),
        b"a\r\nb",
        b"  ",
        b"-1",
        b"007",
        &long,
    ];
    for (round, id) in ids.iter().enumerate() {
        let stock = [b"seckill:stock:", *id].concat();
        let buyers = [b"seckill:order:", *id].concat();
        assert_eq!(server.call(&[b"SET", stock.as_slice(), b"2"]), Value::Okay);
        let try_it: [&[u8]; 4] = [b"SECKILL.TRY", id, id, id];
        assert_eq!(server.call(&try_it), Value::Int(0), "{}", id.escape_ascii());
        assert_eq!(bytes_list(server.call(&[b"SMEMBERS", buyers.as_slice()])), [id.to_vec()]);
        let orders = [b"o", *id].concat();
        let by_keys: [&[u8]; 7] =
            [b"SECKILL.TRYKEYS", &stock, &buyers, &orders, id, b"another user", id];
        assert_eq!(server.call(&by_keys), Value::Int(0), "{}", id.escape_ascii());
        assert_eq!(integer(&server.call(&[b"XLEN", orders.as_slice()])), 1);
        assert_eq!(server.call(&[b"GET", stock.as_slice()]), Value::BulkString(b"0".to_vec()));
        let last = server.run("XREVRANGE stream.orders + - COUNT 1");
        assert_eq!(fields_of_first(last), [b"userId", *id, b"voucherId", id, b"id", id]);
        assert_eq!(integer(&server.run("XLEN stream.orders")), round as i64 + 1);
    }
}

fn fields_of_first(entries: Value) -> Vec<Vec<u8>> {
    let entries: Vec<(String, Vec<Vec<u8>>)> =
        redis::from_redis_value(entries).expect("stream entries");
    entries.into_iter().next().expect("an entry").1
}
