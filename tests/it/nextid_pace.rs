//! A client that tries to use up the generated ids: SECKILL.NEXTID in a loop, and orders that
//! already have the next ids.

use crate::harness::{Server, text};
use crate::nextid::{EPOCH, next, today, unix_s};

/// A counter too far ahead is refused, whoever moved it, and left to orders. Each second allows
/// more ids, as the tests of `domain` show.
#[test]
fn nextid_leaves_ids_for_orders_and_for_the_day() {
    let server = Server::observed().start();
    server.run("SET seckill:stock:7 5");
    let key = today(&server, "order");
    let far = (1_i64 << 24) + 86_400 * 40_000 + 1;
    server.call(&["SET", &key, &far.to_string()]);
    let error = server.refused("SECKILL.NEXTID order", "TRYAGAIN");
    assert!(error.contains("too fast for the day's counter"), "{error}");
    server.check("> SECKILL.TRY 7 bob *\n1) 0\n2) ...");
    server.call(&["SET", &key, "0"]);
    assert_eq!(next(&server, "order", 65_536) & 0xffff_ffff, 1);
}

/// Orders that already have the ids that `*` tries next don't make it skip the ids of a day.
#[test]
fn used_ids_make_no_order_leave_out_a_day() {
    let server = Server::observed().start();
    server.run("SECKILL.CREATE 7 100 LIMIT 100");
    let key = today(&server, "order");
    let now_s = unix_s(&server) - EPOCH;
    // All ids that are tried in sequence, for this second and the next ones.
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
