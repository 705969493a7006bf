//! SECKILL.REJECT on entries of the stream of confirmed orders, and on streams named like it.

use crate::harness::{Server, text};
use redis::Value;

/// Delivers the only entry of a stream to a group and returns its id.
fn deliver(server: &Server, stream: &str) -> String {
    server.call(&["XGROUP", "CREATE", stream, "g", "0"]);
    server.call(&["XREADGROUP", "GROUP", "g", "c", "STREAMS", stream, ">"]);
    let Value::Array(pending) = server.call(&["XPENDING", stream, "g"]) else { panic!("no array") };
    assert_eq!(pending[0], Value::Int(1), "{stream}");
    text(&pending[1])
}

#[test]
fn rejecting_a_confirmation_leaves_the_order_sold() {
    for tags in ["auto", "yes"] {
        for off in [false, true] {
            let server = Server::with().config(format!("seckill.hash-tags {tags}")).start();
            let tail = if tags == "yes" { ":{7}" } else { "" };
            let stream = format!("stream.orders.confirmed{tail}");
            server.run("SECKILL.CREATE 7 5 HOLD 900000");
            server.run("SECKILL.TRY 7 alice o1");
            server.run("SECKILL.CONFIRM 7 alice o1");
            if off {
                // Entries from before these changes can be rejected as well.
                server.run("CONFIG SET seckill.confirmed-stream no");
                server.run("CONFIG SET seckill.order-stream other");
            }
            let id = deliver(&server, &stream);
            let reject = format!("SECKILL.REJECT {stream} g {id} REASON none");
            assert_eq!(server.run(&reject), Value::Int(1));
            assert_eq!(server.run(&reject), Value::Int(0));
            server.assert_book("7", [4, 0, 1]);
            assert_eq!(server.state("7", "o1"), "sold");
            let letters = format!("{:?}", server.run(&format!("XRANGE {stream}.dlq - +")));
            assert!(letters.contains("unknown"), "{letters}");
            // The order itself can still be rejected by the consumer of orders.
            let orders = format!("stream.orders{tail}");
            let id = deliver(&server, &orders);
            server.run("CONFIG SET seckill.order-stream stream.orders");
            assert_eq!(server.run(&format!("SECKILL.REJECT {orders} g {id}")), Value::Int(1));
            assert_eq!(server.state("7", "o1"), "rejected");
        }
    }
}
