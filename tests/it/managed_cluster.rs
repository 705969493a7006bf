//! Managed sales with hash tags and in clusters: one slot per voucher, and holds that move with it.

use crate::cluster::{two_nodes, whole_cluster};
use crate::declared::Declared;
use crate::harness::{Server, in_time};
use crate::observe::{assert_error, words};
use crate::reject::deliver;
use crate::slots::{Move, slot};

/// All keys of the server, in the one slot of a tag.
fn keys_in_slot(server: &Server, cluster: &Server, tag: &str) -> Vec<String> {
    let keys = words(server.run("KEYS *"));
    let wanted = slot(cluster, tag.as_bytes());
    let is_there = |key: &String| slot(cluster, key.as_bytes()) == wanted;
    assert!(keys.iter().all(is_there), "{tag}: {keys:?}");
    keys
}

#[test]
fn every_key_of_a_voucher_or_a_pool_is_in_its_slot() {
    let cluster = whole_cluster();
    let tagged = Server::with().config("seckill.hash-tags yes").start();
    for server in [&cluster, &tagged] {
        for (voucher, name, tag) in
            [("7", "{7}", "{7}"), ("{shop3}:7", "{shop3}:7", "{shop3}"), ("{8}", "{8}", "{8}")]
        {
            server.run("FLUSHALL");
            let orders = format!("stream.orders:{tag}");
            server.check(&format!(
                "
                > SECKILL.CREATE {voucher} 5 HOLD 900000 => OK
                > SECKILL.MTRY {voucher} ann o3 bob o2
                1) 0
                2) 0
                > SECKILL.CONFIRM {voucher} bob o2 REF pay-1 => 1
                "
            ));
            let entry = deliver(server, &orders).swap_remove(0);
            server.check(&format!(
                "
                > SECKILL.REJECT {orders} g {entry} => 1
                > SECKILL.ALTER {voucher} HOLD 400 => OK
                > SECKILL.TRY {voucher} alice o1 => 0
                "
            ));
            server.wait_for_state(voucher, "o1", "expired");
            server.assert_book(voucher, [4, 0, 1]);
            // Rules, stock, buyers, book, units, payments, the last sale, four streams.
            assert_eq!(keys_in_slot(server, &cluster, tag).len(), 11);
            server.check(&format!("> SECKILL.DROP {voucher}\n1\n> DBSIZE\n6\n> FLUSHALL\nOK"));
            server.check(&format!(
                "
                > SET seckill:stock:{name} 5 => OK
                > SECKILL.TRY {voucher} alice o1 => 0
                > RPUSH seckill:codes:{name} a b => 2
                > SECKILL.DRAW {voucher} alice
                1) 0
                2) a
                > EXISTS stream.orders:{tag} stream.draws:{tag} seckill:winners:{name} => 3
                "
            ));
            assert_eq!(keys_in_slot(server, &cluster, tag).len(), 6);
            server.check(&format!("> DEL seckill:order:{name}\n1"));
            server.check(&format!("> SECKILL.CREATE {voucher} ADOPT\nOK"));
            keys_in_slot(server, &cluster, tag);
        }
        server.run("FLUSHALL");
        let calls = ["voucher", "pool"].map(|name| Declared::calls_with(server, name)).concat();
        assert!(calls.len() > 15, "{calls:?}");
        // The keys of TRYKEYS have names of their own.
        for call in calls.iter().filter(|call| !call.starts_with("SECKILL.TRYKEYS ")) {
            for voucher in ["a}b", "{}x", "''"] {
                let call = call.replace('@', voucher);
                let error = assert_error(&server.run(&call), "ERR", &call);
                assert!(error.ends_with("must not be empty or contain } outside a hash tag"));
            }
        }
        server.check("> DBSIZE\n0");
        server.run("CONFIG SET seckill.draw-stream d{x}");
        assert_error(&server.run("SECKILL.DRAW 7 alice"), "ERR", "a brace");
        // Vouchers don't use the stream of draws.
        server.check("> SET seckill:stock:{7} 1\nOK\n> SECKILL.TRY 7 alice o1\n0");
        server.run("CONFIG SET seckill.draw-stream stream.draws");
    }
}

/// Moves the keys of a voucher in this order. A hold becomes due in the middle.
fn move_with_a_hold(source: &Server, target: &Server, voucher: &str, keys: &[&str]) {
    let migrate = |moving: &Move<'_>, keys: &[&str]| {
        keys.iter().for_each(|key| moving.key(&key.replace('V', &format!("{{{voucher}}}"))));
    };
    let (first, last) = keys.split_at(3);
    let (moving, over) = in_time(200, |hold_ms| {
        for server in [source, target] {
            server.check("> FLUSHALL\nOK");
            server.check(&format!(
                "> CLUSTER SETSLOT {} STABLE\nOK",
                slot(source, voucher.as_bytes())
            ));
        }
        let over = place_two_holds(source, voucher, hold_ms);
        let moving = Move::begin(source, target, voucher);
        migrate(&moving, first);
        (source.clock_ms() < over).then_some((moving, over))
    });
    // Half of the keys is on each node, and the hold is due: no node may release it.
    target.wait_until(over + 80);
    migrate(&moving, last);
    moving.end();
    target.wait_for_state(voucher, "due", "expired");
    target.assert_book(voucher, [4, 1, 0]);
    target.check(&format!("> SECKILL.CONFIRM {voucher} bob kept\n1"));
}

/// A sale with a long hold and a short one; returns the deadline of the short one.
fn place_two_holds(source: &Server, voucher: &str, hold_ms: u64) -> i64 {
    source.check(&format!(
        "
        > SECKILL.CREATE {voucher} 5 LIMIT 2 HOLD 900000 => OK
        > SECKILL.TRY {voucher} bob kept => 0
        > SECKILL.ALTER {voucher} HOLD {hold_ms} => OK
        "
    ));
    source.place_hold(&format!("{voucher} alice due UNITS 2"))
}

#[test]
fn a_hold_that_falls_due_on_the_move_comes_back_once() {
    let (source, target) = two_nodes();
    let keys = [
        "seckill:hold:V", "seckill:voucher:V", "seckill:stock:V", "seckill:book:V",
        "seckill:units:V", "seckill:order:V", "stream.orders:V", "seckill:extra:V",
        "seckill:last:V",
    ];
    let mut backwards = keys;
    backwards.reverse();
    let [a, b, c, d, e, f, g, h, i] = keys;
    move_with_a_hold(&source, &target, "7", &keys);
    move_with_a_hold(&source, &target, "8", &backwards);
    // The rules and the holds first, the book last.
    move_with_a_hold(&source, &target, "9", &[b, a, c, f, h, i, g, e, d]);
    source.check("> DBSIZE\n0");
}
