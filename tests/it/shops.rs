//! The way of a shop from its script to the module, as docs/moving.md says, in three shapes: a
//! script and a consumer of its stream, a script that gets its keys as KEYS, and one with two
//! arguments whose application fills a queue. Answers, what the consumer has stored, and what the
//! server says are compared by order id. The way on to payments, and back: the worker's tests.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use redis::Value;

use crate::harness::{Client, Server};
use crate::observe::{assert_error, integer};
use crate::scripts::sha1;

const KEYS: &str = "if tonumber(redis.call('GET', KEYS[1])) <= 0 then return 1 end
if redis.call('SISMEMBER', KEYS[2], ARGV[2]) == 1 then return 2 end
redis.call('DECR', KEYS[1]) redis.call('SADD', KEYS[2], ARGV[2])
redis.call('XADD', KEYS[3], '*', 'userId', ARGV[2], 'voucherId', ARGV[1], 'id', ARGV[3]) return 0";
const TWO: &str = "local stock, buyers = 'seckill:stock:' .. ARGV[1], 'seckill:order:' .. ARGV[1]
if tonumber(redis.call('GET', stock)) <= 0 then return 1 end
if redis.call('SISMEMBER', buyers, ARGV[2]) == 1 then return 2 end
redis.call('DECR', stock) redis.call('SADD', buyers, ARGV[2]) return 0";

/// What an application sends to buy.
#[derive(Clone, Copy)]
struct Shape {
    script: &'static str,
    /// Its line of `seckill.scripts`, behind the sha1.
    command: &'static str,
    /// Whether the keys are passed as KEYS.
    has_keys: bool,
    /// Whether the order id is passed.
    has_order: bool,
}

const STREAM: Shape = Shape {
    script: include_str!("../../tools/benches/side_by_side/scripts/seckill.lua"),
    command: "SECKILL.TRY ARGV[1] ARGV[2] ARGV[3]",
    has_keys: false,
    has_order: true,
};
const REDISSON: Shape = Shape { script: KEYS, has_keys: true, ..STREAM };
const QUEUE: Shape = Shape {
    script: TWO,
    command: "SECKILL.TRY ARGV[1] ARGV[2] none",
    has_keys: false,
    has_order: false,
};

impl Shape {
    fn line(self) -> String {
        format!("{} {}", sha1(self.script), self.command)
    }

    /// As Spring and Redisson do it: by EVALSHA, and by EVAL when the server lacks the script.
    fn buy(self, client: &mut Client, voucher: &str, user: &str, order: &str) -> Value {
        let keys = [format!("seckill:stock:{voucher}"), format!("seckill:order:{voucher}")];
        let mut args: Vec<&str> = vec!["0"];
        if self.has_keys {
            args = vec!["3", &keys[0], &keys[1], "stream.orders"];
        }
        args.extend([voucher, user]);
        if self.has_order {
            args.push(order);
        }
        let sha1 = sha1(self.script);
        let told = client.call(&[&["EVALSHA", sha1.as_str()], &*args].concat());
        match &told {
            Value::ServerError(error) if error.code() == "NOSCRIPT" => {
                client.call(&[&["EVAL", self.script], &*args].concat())
            }
            _ => told,
        }
    }
}

/// Sells by four instances, while somebody sets and empties the line; the ids of accepted orders.
fn sell_while_switching(server: &Server, shape: Shape, voucher: &str) -> BTreeSet<String> {
    let is_over = AtomicBool::new(false);
    server.call(&["CONFIG", "SET", "seckill.scripts", &shape.line()]);
    std::thread::scope(|scope| {
        let instances: Vec<_> = (0..4)
            .map(|instance| {
                let mut client = server.client();
                scope.spawn(move || {
                    let buy = |user: usize| {
                        let (user, order) = (format!("u{user}"), format!("o{instance}-{user}"));
                        let told = shape.buy(&mut client, voucher, &user, &order);
                        (integer(&told) == 0).then_some(order)
                    };
                    // Two instances get each user's requests.
                    (0..200).map(|user| user * 2 + instance % 2).filter_map(buy).collect()
                })
            })
            .collect();
        let mut operator = server.client();
        let is_over = &is_over;
        let switches = scope.spawn(move || {
            for round in 0.. {
                let line = if round % 2 == 1 { shape.line() } else { String::new() };
                let told = operator.call(&["CONFIG", "SET", "seckill.scripts", &line]);
                assert_eq!(told, Value::Okay);
                if is_over.load(Relaxed) && round >= 40 {
                    return;
                }
            }
        });
        let sold = instances
            .into_iter()
            .flat_map(|instance| -> Vec<String> { instance.join().expect("an instance") });
        let sold: Vec<String> = sold.collect();
        is_over.store(true, Relaxed);
        switches.join().expect("the operator");
        let unique: BTreeSet<String> = sold.iter().cloned().collect();
        assert_eq!(unique.len(), sold.len());
        assert!(server.info_number("seckill_scripts_replaced") > 0);
        unique
    })
}

/// The order ids of the entries that the usual consumer reads and acknowledges, from `>` or `0`.
fn stored(client: &mut Client, stream: &str, from: &str) -> BTreeSet<String> {
    let read = ["XREADGROUP", "GROUP", "g1", "c1", "COUNT", "100000", "STREAMS", stream, from];
    type Streams = Option<Vec<(String, Vec<(String, Vec<String>)>)>>;
    let streams: Streams = redis::from_redis_value(client.call(&read)).expect("streams");
    let mut orders = BTreeSet::new();
    for (id, fields) in streams.into_iter().flatten().flat_map(|(_, entries)| entries) {
        let at = fields.iter().position(|field| field == "id").expect("an order id");
        assert!(orders.insert(fields[at + 1].clone()), "{fields:?} is there twice");
        assert_eq!(client.call(&["XACK", stream, "g1", &id]), Value::Int(1));
    }
    orders
}

#[test]
fn a_shop_moves_and_goes_back_whatever_its_script_gets() {
    for shape in [STREAM, REDISSON] {
        let server = Server::start();
        server.run("XGROUP CREATE stream.orders g1 0 MKSTREAM");
        server.run("SET seckill:stock:7 300");
        let accepted = sell_while_switching(&server, shape, "7");
        assert_eq!(accepted.len(), 300);
        assert_eq!(server.run("GET seckill:stock:7"), Value::BulkString(b"0".to_vec()));
        assert_eq!(stored(&mut server.client(), "stream.orders", ">"), accepted);
    }
}

/// What a listener has left is given to the usual consumer, which looks at its own pending entries
/// only after its blocked read has failed.
#[test]
fn what_a_listener_has_left_is_stored_by_the_old_consumer() {
    let server = Server::start();
    server.run("XGROUP CREATE stream.orders g1 0 MKSTREAM");
    server.run("SET seckill:stock:7 5");
    server.run("SECKILL.TRY 7 alice o1");
    server.run("XREADGROUP GROUP g1 returned STREAMS stream.orders >");
    let mut consumer = server.client();
    let id = integer(&consumer.run("CLIENT ID"));
    consumer
        .send(&["XREADGROUP", "GROUP", "g1", "c1", "BLOCK", "0", "STREAMS", "stream.orders", ">"]);
    server.until("the consumer's read", || server.info_number("blocked_clients") == 1);
    server.run("XAUTOCLAIM stream.orders g1 c1 0 0-0");
    assert_eq!(server.run(&format!("CLIENT UNBLOCK {id} ERROR")), Value::Int(1));
    assert_error(&consumer.receive(), "UNBLOCKED", "the read");
    let orders = BTreeSet::from(["o1".to_owned()]);
    assert_eq!(stored(&mut consumer, "stream.orders", "0"), orders);
}

/// The third shape: the application sends the message itself, as soon as the script answers 0.
#[test]
fn a_shop_with_a_queue_passes_order_ids_before_its_first_managed_voucher() {
    let server = Server::with().config("seckill.order-stream ''").start();
    server.run("SET seckill:stock:7 300");
    assert_eq!(sell_while_switching(&server, QUEUE, "7").len(), 300);
    assert_eq!(server.run("SCARD seckill:order:7"), Value::Int(300));
    // The trap: the line's constant is the id of every order, and a managed voucher sells it once.
    server.call(&["CONFIG", "SET", "seckill.scripts", &QUEUE.line()]);
    server.run("SECKILL.CREATE 8 50");
    let mut app = server.client();
    assert_eq!(QUEUE.buy(&mut app, "8", "u0", ""), Value::Int(0));
    for user in 1..50 {
        let told = QUEUE.buy(&mut app, "8", &format!("u{user}"), "");
        assert_error(&told, "ORDERID", "a constant");
    }
    // The way of the page: order ids from every instance, then the managed voucher.
    server.call(&["CONFIG", "SET", "seckill.scripts", &STREAM.line()]);
    server.run("SECKILL.CREATE 9 50");
    for user in 0..50 {
        let order = format!("o{user}");
        assert_eq!(STREAM.buy(&mut app, "9", &format!("u{user}"), &order), Value::Int(0));
    }
}
