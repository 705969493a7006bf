//! Generated ids that somebody wants to use up: SECKILL.NEXTID in a loop, and orders whose ids lie
//! in the way.

use redis::Value;

use crate::harness::{Server, text};
use crate::nextid::{EPOCH, next, today, unix_s};

/// Somebody who may ask for ids takes none of the orders', nor those of the rest of the day.
#[test]
fn nextid_leaves_ids_for_orders_and_for_the_day() {
    let server = Server::observed().start();
    server.run("SET seckill:stock:7 5");
    let mut greedy = server.client();
    let refused = (0..).find_map(|given: i64| {
        let answer = greedy.call(&["SECKILL.NEXTID", "order", "COUNT", "65536"]);
        matches!(&answer, Value::ServerError(_)).then(|| (given, text(&answer)))
    });
    let (given, error) = refused.expect("a bound");
    assert!(
        error.starts_with("TRYAGAIN ids are requested too fast for the day's counter"),
        "{error}"
    );
    // 2^24 at once, and 40,000 for each second since midnight.
    assert!((256..=256 + 86_401 * 40_000 / 65_536).contains(&given), "{given}");
    server.check("> SECKILL.TRY 7 alice *\n1) 0\n2) ...");
    // It is the counter that is ahead, whoever has moved it; and each second has more.
    let key = today(&server, "order");
    let far = (1_i64 << 24) + 86_400 * 40_000 + 1;
    server.call(&["SET", &key, &far.to_string()]);
    server.refused("SECKILL.NEXTID order", "TRYAGAIN");
    server.check("> SECKILL.TRY 7 bob *\n1) 0\n2) ...");
    server.call(&["SET", &key, "0"]);
    assert_eq!(next(&server, "order", 65_536) & 0xffff_ffff, 1);
}

/// Orders whose ids lie where `*` will look next don't make it leave out the ids of the day.
#[test]
fn used_ids_make_no_order_leave_out_a_day() {
    let server = Server::observed().start();
    server.run("SECKILL.CREATE 7 100 LIMIT 100");
    let key = today(&server, "order");
    let now_s = unix_s(&server) - EPOCH;
    // For this second and the next ones, all places that are tried one after the other.
    for second in now_s..now_s + 60 {
        let ids = (0..32).map(|power| (second << 32) + 5 + (1_i64 << power));
        let fields = ids.flat_map(|id| [id.to_string(), "sold:1:0:eve".to_owned()]);
        let command = ["HSET".to_owned(), "seckill:book:7".to_owned()].into_iter().chain(fields);
        server.call(&command.collect::<Vec<_>>());
    }
    server.call(&["SET", &key, "5"]);
    let error = server.refused("SECKILL.TRY 7 alice *", "TRYAGAIN");
    assert_eq!(error, "TRYAGAIN the next ids already belong to orders, wait a second");
    assert_eq!(text(&server.call(&["GET", &key])), "5");
}
