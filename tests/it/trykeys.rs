//! SECKILL.TRYKEYS: the unmanaged try with its three keys as arguments.

use crate::harness::Server;
use redis::Value;

#[test]
fn configured_names_play_no_part() {
    let server = Server::with()
        .config("seckill.stock-prefix s:")
        .config("seckill.buyers-prefix b:")
        .config("seckill.order-stream \"\"")
        .config("seckill.hash-tags yes")
        .start();
    server.check(
        "
        > SET stock 5 => OK
        > SECKILL.TRYKEYS stock buyers orders a}b alice o1 => 0
        > GET stock => 4
        > SISMEMBER buyers alice => 1
        > XLEN orders => 1
        > DBSIZE => 3
        ",
    );
}

#[test]
fn a_missing_stock_is_what_this_call_says() {
    for configured in ["error", "sold-out"] {
        let server = Server::observed().start();
        server.run(&format!("CONFIG SET seckill.missing-stock {configured}"));
        let with = |rest: &str| format!("SECKILL.TRYKEYS none buyers orders 7 alice o1 {rest}");
        assert_eq!(server.silent(&with("MISSING sold-out")), Value::Int(1));
        assert_eq!(server.silent(&with("missing SOLD-OUT UNITS 2 NOSTREAM")), Value::Int(1));
        server.refused(&with("MISSING error"), "NOVOUCHER");
        server.refused(&with("Missing Error FIELDS u v i"), "NOVOUCHER");
        server.run("SET stock 1");
        let there = "SECKILL.TRYKEYS stock buyers orders 7 alice o1 MISSING sold-out";
        assert_eq!(server.run(there), Value::Int(0));
    }
}
