//! The effects of SECKILL.MTRY: few plain commands in one transaction, with their events.

use crate::effects::assert_transaction;
use crate::events::assert_like;
use crate::harness::Server;
use crate::managed_effects::written;

#[test]
fn a_batch_is_written_as_few_plain_commands() {
    let server = Server::with().aof().start();
    server.run("SET seckill:stock:7 9");
    assert_transaction(
        written(&server, "SECKILL.MTRY 7 alice o1 bob o2 alice o3 carol o4"),
        vec![
            "SADD seckill:order:7 alice bob carol",
            "DECRBY seckill:stock:7 3",
            "XADD stream.orders ID userId alice voucherId 7 id o1",
            "XADD stream.orders ID userId bob voucherId 7 id o2",
            "XADD stream.orders ID userId carol voucherId 7 id o4",
        ],
    );
    // A single accepted try is written as by SECKILL.TRY.
    assert_transaction(
        written(&server, "SECKILL.MTRY 7 alice o5 dave o6"),
        vec![
            "SADD seckill:order:7 dave",
            "DECR seckill:stock:7",
            "XADD stream.orders ID userId dave voucherId 7 id o6",
        ],
    );
    server.run("CONFIG SET seckill.order-stream \"\"");
    assert_transaction(
        written(&server, "SECKILL.MTRY 7 eve o7 fay o8"),
        vec!["SADD seckill:order:7 eve fay", "DECRBY seckill:stock:7 2"],
    );
}

#[test]
fn a_managed_batch_is_written_once_per_key() {
    let server = Server::with().aof().start();
    server.run("SECKILL.CREATE 7 9 LIMIT 2 HOLD 900000");
    assert_transaction(
        written(&server, "SECKILL.MTRY 7 alice o1 bob o2 alice o3 alice o4"),
        vec![
            "SADD seckill:order:7 alice bob",
            "DECRBY seckill:stock:7 3",
            "XADD stream.orders ID userId alice voucherId 7 id o1 deadline WHEN sale SALE",
            "XADD stream.orders ID userId bob voucherId 7 id o2 deadline WHEN sale SALE",
            "XADD stream.orders ID userId alice voucherId 7 id o3 deadline WHEN sale SALE",
            "HSET seckill:book:7 o1 held:1:WHEN:alice o2 held:1:WHEN:bob o3 held:1:WHEN:alice",
            "HSET seckill:units:7 alice 1:o1 bob 1:o2 alice 2:o3",
            "ZADD seckill:hold:7 WHEN o1 WHEN o2 WHEN o3",
        ],
    );
    server.run("SECKILL.ALTER 7 HOLD 0");
    assert_transaction(
        written(&server, "SECKILL.MTRY 7 bob o5 bob o6"),
        vec![
            "DECR seckill:stock:7",
            "XADD stream.orders ID userId bob voucherId 7 id o5 sale SALE",
            "HSET seckill:book:7 o5 sold:1:0:bob",
            "HSET seckill:units:7 bob 2:o5",
        ],
    );
}

#[test]
fn ids_are_counted_once() {
    let server = Server::with().aof().start();
    server.run("SET seckill:stock:7 9");
    server.run("SECKILL.NEXTID order");
    let lines = written(&server, "SECKILL.MTRY 7 a * b * a * c o1");
    let counted: Vec<_> = lines.iter().filter(|line| line.starts_with("INCRBY icr:")).collect();
    assert!(counted.len() == 1 && counted[0].ends_with(" 2"), "{lines:?}");
}

#[test]
fn a_batch_fires_the_events_of_its_plain_commands() {
    let plain = [
        "SADD seckill:order:7 a b",
        "DECRBY seckill:stock:7 2",
        "XADD stream.orders * userId a",
        "XADD stream.orders * userId b",
    ];
    let later = ["SET seckill:stock:7 5", "SADD seckill:order:7 zoe", "XADD stream.orders 1-1 a b"];
    for setup in [&later[..1], &later] {
        assert_like(setup, "SECKILL.MTRY 7 a o1 b o2 a o3", &plain);
    }
    let plain = [
        "SADD seckill:order:7 a b",
        "DECRBY seckill:stock:7 2",
        "XADD stream.orders * userId a",
        "XADD stream.orders * userId b",
        "HSET seckill:book:7 o1 a o2 b",
        "HSET seckill:units:7 a o1 b o2",
        "ZADD seckill:hold:7 1 o1 1 o2",
    ];
    let setup = ["SECKILL.CREATE 7 5 HOLD 900000"];
    // The other server would release a hold that is due at once.
    let other = "SECKILL.MTRY 7 a o1 b o2 a o3";
    assert_like(
        &setup,
        other,
        &[&plain[..6], &["ZADD seckill:hold:7 9999999999999 o1 9999999999999 o2"]].concat(),
    );
}

#[test]
fn a_replica_without_the_module_repeats_a_batch() {
    let server = Server::with().port().start();
    let replica = Server::with().without_module().replica_of(&server).start();
    server.run("SET seckill:stock:7 40");
    server.run("SECKILL.CREATE 8 40 LIMIT 2 HOLD 900000");
    server.run("SECKILL.CREATE 9 3 HOLD 20");
    for round in 0..8 {
        let pairs: String = (0..12)
            .map(|number| format!(" u{} o{round}-{number}", (number * round) % 17))
            .collect();
        for voucher in ["7", "8", "9"] {
            server.run(&format!("SECKILL.MTRY {voucher}{pairs} z{round} *"));
        }
        server.wait_until(server.clock_ms() + 5);
    }
    server.run("CLIENT PAUSE 60000 WRITE");
    server.wait_for_replica(&replica);
    assert_eq!(replica.digest(), server.digest());
}
