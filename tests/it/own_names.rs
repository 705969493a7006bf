//! Names that are refused: one stream for orders and draws, a stream that belongs to another one,
//! and locks that are keys of a sale.

use crate::config::{get, set};
use crate::declared::Declared;
use crate::harness::{Server, text};
use crate::observe::{assert_error, words};
use redis::Value;

const SAME: &str = "must not name the same stream for orders and draws";
const DERIVED: &str = "must not end in .released, .confirmed or .dlq";

/// Pairs of order stream and draw stream that are refused, and why.
const REFUSED: [(&str, &str, &str); 9] = [
    ("s", "s", SAME),
    ("stream.orders", "stream.orders", SAME),
    ("stream.draws", "stream.draws", SAME),
    ("s.dlq", "d", DERIVED),
    ("s.released", "d", DERIVED),
    ("s.confirmed", "d", DERIVED),
    ("s.released.dlq", "d", DERIVED),
    ("s", "d.dlq", DERIVED),
    ("s", "s.released", DERIVED),
];

fn streams(server: &Server) -> [String; 2] {
    ["seckill.order-stream", "seckill.draw-stream"].map(|name| get(server, name))
}

#[test]
fn streams_that_would_be_one_are_refused_by_config_set() {
    let server = Server::start();
    for (orders, draws, why) in REFUSED {
        let both = [["seckill.order-stream", orders], ["seckill.draw-stream", draws]];
        for order in [[0, 1], [1, 0]] {
            let command = [vec!["CONFIG", "SET"], both[order[0]].into(), both[order[1]].into()];
            let error = assert_error(&server.call(&command.concat()), "ERR", why);
            assert!(error.contains(why), "{orders} {draws}: {error}");
            assert_eq!(streams(&server), ["stream.orders", "stream.draws"], "{orders} {draws}");
            // Set one by one, the second is refused, or already the first.
            let refused = order.map(|one| {
                let command = [vec!["CONFIG", "SET"], both[one].into()].concat();
                matches!(server.call(&command), Value::ServerError(_))
            });
            assert!(refused.contains(&true), "{orders} {draws}");
            set(&server, "seckill.order-stream", "away");
            set(&server, "seckill.draw-stream", "stream.draws");
            set(&server, "seckill.order-stream", "stream.orders");
        }
    }
    server.check("> SET seckill:stock:7 1\nOK\n> SECKILL.TRY 7 a o\n0\n> XLEN stream.orders\n1");
}

#[test]
fn streams_that_differ_are_taken_in_any_order() {
    let server = Server::start();
    // Both names are swapped in one step.
    let swap = "CONFIG SET seckill.order-stream stream.draws seckill.draw-stream stream.orders";
    assert_eq!(server.run(swap), Value::Okay);
    assert_eq!(streams(&server), ["stream.draws", "stream.orders"]);
    // Streams that are switched off can't be the same stream.
    assert_eq!(
        server.run("CONFIG SET seckill.order-stream '' seckill.draw-stream ''"),
        Value::Okay
    );
    for name in ["s", "orders.dlq.7", "confirmed", "s.confirmed:7"] {
        set(&server, "seckill.order-stream", name);
    }
}

/// A lock could delete or create a stock, or set back a counter of ids.
#[test]
fn keys_of_sales_are_no_locks() {
    let server = Server::observed().start();
    server.run("SET seckill:stock:7 5");
    server.run("SECKILL.CREATE 8 5 HOLD 900000");
    server.run("SECKILL.NEXTID order");
    server.run("SET seckill:stock t");
    server.run("LOCK.ACQUIRE lock:1 ann 86400000 FENCE");
    // What else is, is in the tests of `domain`. A fence key is not to be of a sale either.
    let sales = "ERR key must not have a name that sales, prizes or ids use";
    let fences = "ERR key must not end in :fence, where fencing tokens are kept";
    let own = [
        ("seckill:stock:7", sales),
        ("seckill:book:8", sales),
        ("seckill:winners:p", sales),
        ("icr:order:{260251}", sales),
        ("stream.orders.dlq", sales),
        ("seckill:stock", sales),
        ("icr", sales),
        ("lock:1:fence", fences),
        ("{lock:3}:fence", fences),
    ];
    let mut locking = Declared::calls_with(&server, "key");
    locking.retain(|call| call.starts_with("LOCK.") && !call.starts_with("LOCK.INFO "));
    locking.push("LOCK.ACQUIRE @ t 1000 BLOCK 1000 FENCE SESSION".to_owned());
    assert!(locking.len() > 3, "{locking:?}");
    for (lock, wanted) in own {
        for command in &locking {
            let error = server.refused(&command.replace('@', lock), "ERR");
            assert_eq!(error, wanted, "{command} {lock}");
        }
        server.silent(&format!("LOCK.INFO {lock}1"));
    }
    // Nor is a key of a sale shown as the fence of a lock.
    server.run("SET seckill:stock:fence 100");
    let info = format!("{:?}", server.silent("LOCK.INFO seckill:stock"));
    assert!(info.contains("nil") && !info.contains("100"), "{info}");
    // Nor is one without an end extended with the lock.
    server.check("> SET other:fence 5\nOK\n> LOCK.ACQUIRE other t 1000000\n1");
    server.check("> LOCK.RENEW other t 2000000\n1\n> PTTL other:fence\n-1");
    // The configured names are refused; other keys are free.
    for free in ["lock:seckill:stock:7", "seckill:lock:7", "stream.ordersx", "lock:fences"] {
        server.check(&format!("> LOCK.ACQUIRE {free} t 1000000\n1\n> LOCK.RELEASE {free} t\n1"));
    }
    set(&server, "seckill.stock-prefix", "s:");
    set(&server, "seckill.order-stream", "");
    server.refused("LOCK.ACQUIRE s:7 t 1000", "ERR");
    server.check("> LOCK.ACQUIRE seckill:stock:9 t 1000000\n1");
    set(&server, "seckill.stock-prefix", "");
    server.check("> LOCK.ACQUIRE anything t 1000000\n1\n> LOCK.ACQUIRE stream.orders t 1000000\n1");
}

/// With a short prefix, the name of a voucher could be that of any key. Tries would then sell held
/// units, generated ids or fencing tokens.
#[test]
fn vouchers_whose_keys_are_taken_sell_nothing() {
    let server = Server::observed().start();
    server.run("SECKILL.CREATE 7 9 LIMIT 5 HOLD 900000");
    server.run("SECKILL.TRY 7 ann o1 UNITS 4");
    server.run("SECKILL.NEXTID order");
    server.run("LOCK.ACQUIRE lock t 900000 FENCE");
    server.run("LOCK.RELEASE lock t");
    server.run("SET lock:fence 5");
    let counter = words(server.run("KEYS icr:*")).swap_remove(0);
    let mut on_vouchers = Declared::calls_with(&server, "voucher");
    // It names its keys.
    on_vouchers.retain(|call| !call.starts_with("SECKILL.TRYKEYS "));
    assert!(on_vouchers.len() > 12, "{on_vouchers:?}");
    for (prefix, voucher) in [
        ("seckill:", "last:7"),
        ("seckill:l", "ast:7"),
        ("", "seckill:last:7"),
        ("", "lock:fence"),
        ("", counter.as_str()),
    ] {
        for setting in ["stock-prefix", "buyers-prefix"] {
            set(&server, &format!("seckill.{setting}"), prefix);
            let stock = if setting == "stock-prefix" { prefix } else { "seckill:stock:" };
            let own = format!("{stock}{voucher}");
            if setting == "buyers-prefix" {
                server.call(&["SET", &own, "5"]);
            }
            let told = |command: &&String| {
                let error = text(&server.silent(&command.replace('@', voucher)));
                error.contains("the name of another key")
            };
            let told: Vec<_> = on_vouchers.iter().filter(told).collect();
            for command in ["SECKILL.TRY ", "SECKILL.MTRY ", "SECKILL.CREATE "] {
                let is_told = told.iter().any(|told| told.starts_with(command));
                assert!(is_told, "{setting} {prefix:?} {voucher}: {told:?}");
            }
            set(&server, "seckill.stock-prefix", "seckill:stock:");
            set(&server, "seckill.buyers-prefix", "seckill:order:");
        }
    }
    // An entry that names one is rejected like any that names no voucher.
    set(&server, "seckill.stock-prefix", "seckill:");
    let entry = server.say("XADD stream.orders * userId ann voucherId extra:7 id o1");
    server.run("XGROUP CREATE stream.orders g 0");
    server.run("XREADGROUP GROUP g c STREAMS stream.orders >");
    server.check(&format!("> SECKILL.REJECT stream.orders g {entry}\n1"));
    set(&server, "seckill.stock-prefix", "seckill:stock:");
    // A voucher may end in :fence where no lock can have that name.
    server.check("> SECKILL.CREATE a:fence 5\nOK\n> SECKILL.TRY a:fence ann o1\n0");
    server.check("> HGET seckill:extra:7 orders\n3");
}
