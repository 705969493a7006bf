//! Sales that are dropped, by the program and by another client.

use redis::Value;

use crate::shop::{Shop, shard_of};

#[test]
fn held_orders_are_not_dropped_but_by_force() {
    let shop = Shop { stock: 300, ..Shop::open(2, 2, true) };
    shop.run("drop");
    shop.run("open --shards 2 --stock 300 --managed --hold 15m");
    // More orders than one call of SECKILL.DROP releases.
    let mut held = 0;
    for user in 0..150 {
        let voucher = format!("7#{}", shard_of(format!("u{user}").as_bytes(), 2));
        held +=
            i64::from(shop.ask(&format!("SECKILL.TRY {voucher} u{user} o{user}")) == Value::Int(0));
    }
    for user in 150..270 {
        held += i64::from(shop.ask(&format!("SECKILL.TRY 7#1 u{user} o{user}")) == Value::Int(0));
    }
    let refused = shop.start("drop", None).refused();
    let words = format!("{held} units are held for buyers who have yet to pay");
    assert!(refused.contains(&words), "{refused}");
    // The sale goes on.
    assert_eq!(shop.ask("SECKILL.TRY 7#0 late late"), Value::Int(0));
    assert_eq!(shop.run("drop --force"), "dropped 2 shards\n");
    let released: i64 = (0..2)
        .map(|shard| shop.number(&format!("XLEN stream.orders.released:{{7#{shard}}}")))
        .sum();
    assert_eq!(released, held + 1);
    assert_eq!(shop.number("EXISTS seckill:stock:{7#0} seckill:stock:{7#1}"), 0);
}

/// Another client drops a shard's voucher and creates a new one with its name.
#[test]
fn a_voucher_that_somebody_else_made_is_left_alone() {
    let shop = Shop::open(2, 100, true);
    shop.start("move --from 0 --to 1 --units 7", Some(2)).output();
    shop.ask("SECKILL.DROP 7#1");
    shop.ask("SECKILL.CREATE 7#1 30");
    // The units on their way return.
    shop.run("finish");
    assert_eq!((shop.left(0), shop.left(1)), (50, 30));
    for (from, to) in [(0, 1), (1, 0)] {
        let moved = shop.run(&format!("move --from {from} --to {to} --units 5"));
        assert_eq!(moved, "moved 0 units\n");
        assert_eq!((shop.left(0), shop.left(1)), (50, 30));
    }
    assert_eq!(shop.run("drop"), "dropped 1 shards\n");
    assert_eq!(shop.left(1), 30);
    assert_eq!(shop.number("EXISTS seckill:shard:{7#0} seckill:shard:{7#1}"), 0);
}
