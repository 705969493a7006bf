//! SECKILL.CREATE ... ADOPT: makes a stock that an application has set a managed voucher's stock.

use crate::harness::Server;

#[test]
fn a_voucher_that_somebody_has_bought_is_refused() {
    let server = Server::observed().start();
    server.run("SET seckill:stock:7 5");
    server.run("SECKILL.TRY 7 alice o1");
    server.refused("SECKILL.CREATE 7 ADOPT HOLD 900000", "BUSYKEY");
    server.run("FLUSHALL");
    for (key, make) in [
        ("seckill:order:7", "SADD seckill:order:7 alice"),
        ("seckill:order:7", "SET seckill:order:7 of-another-type"),
        ("seckill:voucher:7", "SET seckill:voucher:7 {}"),
        ("seckill:book:7", "HSET seckill:book:7 o1 x"),
        ("seckill:units:7", "HSET seckill:units:7 alice 1:o1"),
        ("seckill:hold:7", "ZADD seckill:hold:7 1 o1"),
        ("seckill:extra:7", "SET seckill:extra:7 1"),
        ("seckill:outside:7", "HSET seckill:outside:7 o1 1"),
    ] {
        server.run("SET seckill:stock:7 5");
        server.run(make);
        server.refused("SECKILL.CREATE 7 ADOPT", "BUSYKEY");
        server.run(&format!("DEL {key}"));
    }
    server.check("> SECKILL.CREATE 7 ADOPT\nOK");
    server.refused("SECKILL.CREATE 7 ADOPT", "BUSYKEY");
    server.refused("SECKILL.CREATE 7 5", "BUSYKEY");
}
