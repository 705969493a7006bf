//! The effects of a managed sale: plain commands, absolute, complete, with their events.

use crate::harness::Server;
use crate::written::{Pair, assert_written};

#[test]
fn an_order_of_several_and_one_that_is_sold_at_once() {
    Pair::start().check(
        "
        > SECKILL.CREATE 7 9 LIMIT 3 HOLD 900000 => ...
        > SECKILL.TRY 7 alice o1 UNITS 2
        DECRBY seckill:stock:7 2
        SADD seckill:order:7 alice
        XADD stream.orders ID userId alice voucherId 7 id o1 units 2 deadline WHEN sale SALE
        HSET seckill:book:7 o1 held:2:WHEN:alice
        HSET seckill:units:7 alice 2:o1
        ZADD seckill:hold:7 WHEN o1
        HSET seckill:extra:7 orders 1 users 1
        > SECKILL.TRY 7 alice o2 UNITS 1
        DECR seckill:stock:7
        XADD stream.orders ID userId alice voucherId 7 id o2 deadline WHEN sale SALE
        HSET seckill:book:7 o2 held:1:WHEN:alice
        HSET seckill:units:7 alice 3:o2
        ZADD seckill:hold:7 WHEN o2
        HSET seckill:extra:7 orders 1 users 2
        > CONFIG SET seckill.confirmed-stream no
        > SECKILL.TRY 7 bob o3 => ...
        > SECKILL.CONFIRM 7 bob o3
        HSET seckill:book:7 o3 sold:1:0:bob
        ZREM seckill:hold:7 o3
        > SECKILL.ALTER 7 HOLD 0 => ...
        > SECKILL.TRY 7 carol o4
        DECR seckill:stock:7
        SADD seckill:order:7 carol
        XADD stream.orders ID userId carol voucherId 7 id o4 sale SALE
        HSET seckill:book:7 o4 sold:1:0:carol
        HSET seckill:units:7 carol 1:o4
        ",
    );
}

#[test]
fn an_expiry_is_written_as_one_transaction() {
    let server = Server::with().aof().start();
    server.run("SECKILL.CREATE 7 9 HOLD 40");
    let lines = server.aof_of(|| {
        server.run("SECKILL.TRY 7 alice o1");
        server.wait_for_state("7", "o1", "expired");
    });
    // After the transaction of the try.
    let end = lines.iter().position(|line| line[0] == b"EXEC").expect("the end of the try");
    let wanted = [
        "INCRBY seckill:stock:7 1",
        "HSET seckill:book:7 o1 expired:1:0:alice",
        "HDEL seckill:units:7 alice",
        "SREM seckill:order:7 alice",
        "ZREM seckill:hold:7 o1",
        "XADD stream.orders.released ID userId alice voucherId 7 id o1 sale SALE \
         reason expired was held",
    ];
    assert_written("the expiry", &lines[end + 1..], &wanted);
}

#[test]
fn payments_and_a_part_of_an_order() {
    Pair::start().check(
        "
        > SECKILL.CREATE 7 9 LIMIT 5 HOLD 900000 => ...
        > SECKILL.TRY 7 alice o1 UNITS 2 => ...
        > SECKILL.TRY 7 bob o2 => ...
        > SECKILL.CONFIRM 7 alice o1 REF pay-1 => ...
        > SECKILL.CONFIRM 7 bob o2 => ...
        > SECKILL.CONFIRM 7 bob o2 REF pay-2
        XADD stream.orders.confirmed ID userId bob voucherId 7 id o2 sale SALE ref pay-2 \
        payment first
        HSET seckill:book:7 o2 sold:1:0,ref5:pay-2:bob
        HSET seckill:payments:7 pay-2 first:SALE,user3:bob:o2
        > SECKILL.CANCEL 7 alice o1 KEEP 1
        XADD stream.orders.released ID userId alice voucherId 7 id o1 sale SALE ref pay-1 \
        reason cancelled was sold kept 1
        HSET seckill:book:7 o1 sold:1:0,asked2,ref5:pay-1:alice
        HSET seckill:units:7 alice 1:o1
        DEL seckill:extra:7
        INCRBY seckill:stock:7 1
        > SECKILL.CANCEL 7 alice o1
        XADD stream.orders.released ID userId alice voucherId 7 id o1 sale SALE ref pay-1 \
        reason cancelled was sold
        HSET seckill:book:7 o1 cancelled:1:0,sold,asked2,ref5:pay-1:alice
        HSET seckill:payments:7 pay-1 released:SALE,user5:alice:o1
        HDEL seckill:units:7 alice
        SREM seckill:order:7 alice
        INCRBY seckill:stock:7 1
        ",
    );
}

#[test]
fn orders_in_queue() {
    Pair::start().check(
        "
        > SECKILL.CREATE 7 2 LIMIT 3 HOLD 900000 => ...
        > SECKILL.TRY 7 ann o1 UNITS 2 => ...
        > SECKILL.TRY 7 bob o2 UNITS 2 WAITLIST
        HSET seckill:book:7 o2 waiting:2:WHEN:bob
        HSET seckill:units:7 bob 2,waiting2:o2
        ZADD seckill:wait:7 1 o2
        > SECKILL.TRY 7 ann o3 WAITLIST => ...
        > SECKILL.CANCEL 7 ann o1
        INCRBY seckill:stock:7 2
        XADD stream.orders.released ID userId ann voucherId 7 id o1 units 2 sale SALE \
        reason cancelled was held
        HSET seckill:book:7 o1 cancelled:2:0:ann
        HSET seckill:units:7 ann 1,waiting1:o3
        ZREM seckill:hold:7 o1
        SREM seckill:order:7 ann
        DEL seckill:extra:7
        SADD seckill:order:7 bob
        DECRBY seckill:stock:7 2
        XADD stream.orders ID userId bob voucherId 7 id o2 units 2 deadline WHEN sale SALE \
        waited ...
        HSET seckill:book:7 o2 held:2:WHEN:bob
        HSET seckill:units:7 bob 2:o2
        ZADD seckill:hold:7 WHEN o2
        ZREM seckill:wait:7 o2
        HSET seckill:extra:7 orders 1 users 1
        > SECKILL.CANCEL 7 ann o3 => ...
        > SECKILL.TRY 7 cid o4 WAITLIST => ...
        > SECKILL.ALTER 7 END 1
        SET seckill:voucher:7 ...
        HSET seckill:book:7 o4 expired:1:0,waiting:cid
        HDEL seckill:units:7 cid
        ZREM seckill:wait:7 o4
        ",
    );
}

#[test]
fn a_rejection_of_an_order_that_is_over() {
    Pair::start().check(
        "
        > XGROUP CREATE stream.orders g $ MKSTREAM => ...
        > SECKILL.CREATE 7 9 LIMIT 3 HOLD 900000 => ...
        > SECKILL.TRY 7 bob o2 => ...
        > SECKILL.CANCEL 7 bob o2 => ...
        > XREADGROUP GROUP g c STREAMS stream.orders > => ...
        > SECKILL.REJECT stream.orders g LAST REASON 'no address'
        XACK stream.orders g ID
        XADD stream.orders.dlq ID userId bob voucherId 7 id o2 deadline WHEN sale SALE \
        dlqStream stream.orders dlqGroup g dlqId ID dlqDeliveries 1 dlqReason no address \
        dlqOrder released
        > SECKILL.REJECT stream.orders g LAST => XACK stream.orders g ID
        ",
    );
}
