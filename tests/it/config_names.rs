//! Settings of names: prefixes, streams, fields, hash tags, and their effect.

use redis::Value;

use crate::harness::Server;

#[test]
fn names_take_effect_at_once() {
    let server = Server::start();
    server.check(
        r#"
        > MSET seckill:stock:7 9 s:7 9 => OK
        > SECKILL.TRY 7 alice o1 => 0
        > CONFIG SET seckill.stock-prefix s: => OK
        > SECKILL.TRY 7 bob o2 => 0
        > MGET seckill:stock:7 s:7
        1) "8"
        2) "8"
        > CONFIG SET seckill.buyers-prefix b: => OK
        > SECKILL.TRY 7 bob o3 => 0
        > SMEMBERS b:7 => 1) "bob"
        > CONFIG SET seckill.order-stream o => OK
        > SECKILL.TRY 7 carol o4 => 0
        > XLEN o => 1
        > CONFIG SET seckill.order-fields "u v i" => OK
        > SECKILL.TRY 7 dave o5 UNITS 2 => 0
        > XREVRANGE o + - COUNT 1
        1) 1) "1722509999999-0"
           2) 1) "u"
              2) "dave"
              3) "v"
              4) "7"
              5) "i"
              6) "o5"
              7) "units"
              8) "2"
        > CONFIG SET seckill.order-stream "" => OK
        > SECKILL.TRY 7 erin o6 => 0
        > XLEN o => 2
        > XLEN stream.orders => 3
        > GET s:7 => 3
        > CONFIG SET seckill.hash-tags yes => OK
        > SECKILL.TRY 7 frank o7
        (error) NOVOUCHER no stock key for this voucher, whose name has a hash tag here, ...
        > SECKILL.TRYKEYS none:7 b:7 o 7 frank o7 => (error) NOVOUCHER no stock key for this voucher
        > CONFIG SET seckill.missing-stock sold-out => OK
        > SECKILL.TRY 7 frank o7 => 1
        > CONFIG SET seckill.hash-tags auto => OK
        > SET s:7 -1 => OK
        > SECKILL.TRY 7 frank o7 => 1
        > CONFIG SET seckill.unlimited-stock yes => OK
        > SECKILL.TRY 7 frank o7 => 0
        "#,
    );
}

#[test]
fn names_that_meet_in_one_key_sell_nothing() {
    let rules = r#"{"total":5,"begin":null,"end":null,"limit":1,"hold":1000,"sale":7}"#;
    for stream in ["seckill:stock:7", "seckill:order:7"] {
        let server = Server::observed().config(format!("seckill.order-stream {stream}")).start();
        server.refused("SECKILL.CREATE 7 5 HOLD 1000", "ERR");
        server.call(&["SET", "seckill:voucher:7", rules]);
        server.run("SET seckill:stock:7 5");
        let reply = server.silent("SECKILL.TRY 7 alice o1");
        assert!(matches!(reply, Value::ServerError(_)), "{stream}: {reply:?}");
    }
}
