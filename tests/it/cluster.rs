//! Hash tags, and servers in cluster mode.

use crate::harness::{Server, text};
use crate::observe::{assert_error, bytes_list, integer};
use redis::Value;

#[test]
fn tags_can_be_had_without_a_cluster() {
    let server = Server::observed().config("seckill.hash-tags yes").start();
    server.check(
        r#"
        > MSET seckill:stock:{7} 5 seckill:stock:{shop3}:7 5
        OK
        > SECKILL.TRY 7 alice o1
        0
        > SECKILL.TRY {shop3}:7 alice o2
        0
        > MGET seckill:stock:{7} seckill:stock:{shop3}:7
        1) "4"
        2) "4"
        > SISMEMBER seckill:order:{7} alice
        1
        > SISMEMBER seckill:order:{shop3}:7 alice
        1
        > XLEN stream.orders:{7}
        1
        > XRANGE stream.orders:{shop3} - +
        1) 1) "1722509999999-0"
           2) 1) "userId"
              2) "alice"
              3) "voucherId"
              4) "{shop3}:7"
              5) "id"
              6) "o2"
        > DBSIZE
        6
        "#,
    );
    for voucher in ["a}b", "{}x", "{}", "''", "{}{a}"] {
        server.refused(&format!("SECKILL.TRY {voucher} alice o1"), "ERR");
    }
}

/// A cluster of one node that owns every slot.
pub fn whole_cluster() -> Server {
    let server = Server::with().cluster().start();
    assert_eq!(server.run("CLUSTER ADDSLOTSRANGE 0 16383"), Value::Okay);
    wait_until_ok(&server);
    server
}

fn wait_until_ok(server: &Server) {
    server.until("cluster_state:ok", || {
        text(&server.run("CLUSTER INFO")).contains("cluster_state:ok")
    });
}

pub fn slot(server: &Server, key: &[u8]) -> i64 {
    integer(&server.call(&[b"CLUSTER", b"KEYSLOT", key]))
}

#[test]
fn all_keys_of_a_voucher_are_in_its_slot() {
    let server = whole_cluster();
    server.check(
        "
        > SET seckill:stock:{7} 5
        OK
        > SECKILL.TRY 7 alice o1
        0
        > EXISTS seckill:stock:{7} seckill:order:{7} stream.orders:{7}
        3
        > DBSIZE
        3
        > FLUSHALL
        OK
        > SET seckill:stock:{shop3}:7 5
        OK
        > SECKILL.TRY {shop3}:7 alice o1
        0
        > EXISTS seckill:stock:{shop3}:7 seckill:order:{shop3}:7 stream.orders:{shop3}
        3
        > DBSIZE
        3
        ",
    );
    // A try is sold or refused without a trace; no voucher's keys are in another slot.
    let seed = crate::differential::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut sold = 0;
    for _ in 0..400 {
        let length = random.usize(0..6);
        let letters = (0..length).map(|_| random.choice(['{', '}', 'a', 'b']).expect("one"));
        let voucher: String = letters.collect();
        server.run("FLUSHALL");
        let tagged = ["seckill:stock:", "seckill:stock:{"].map(|start| {
            let end = if start.ends_with('{') { "}" } else { "" };
            format!("{start}{voucher}{end}")
        });
        for key in &tagged {
            server.call(&["SET", key, "5"]);
        }
        let reply = server.call(&["SECKILL.TRY", &voucher, "alice", "o1"]);
        let keys = bytes_list(server.run("KEYS *"));
        if reply == Value::Int(0) {
            sold += 1;
            let wanted = slot(&server, voucher.as_bytes());
            let touched: Vec<_> = keys
                .iter()
                .filter(|key| {
                    server.call(&[b"GET".as_slice(), key]) != Value::BulkString(b"5".to_vec())
                })
                .collect();
            assert_eq!(touched.len(), 3, "{voucher}, seed {seed}");
            for key in touched {
                assert_eq!(slot(&server, key), wanted, "{voucher}, seed {seed}");
            }
        } else {
            assert_error(&reply, "ERR", &voucher);
            assert_eq!(keys.len(), 2, "{voucher}, seed {seed}");
        }
    }
    assert!(sold > 100, "only {sold} of 400 vouchers could be sold, seed {seed}");
    for voucher in ["a}b", "{}x", ""] {
        assert_error(&server.call(&["SECKILL.TRY", voucher, "alice", "o1"]), "ERR", voucher);
    }
}

#[test]
fn odd_names_in_a_cluster_never_sell_by_halves() {
    let server = whole_cluster();
    for (name, value) in [
        ("seckill.hash-tags", "auto"),
        ("seckill.stock-prefix", "s{x}:"),
        ("seckill.buyers-prefix", "b{x}:"),
        ("seckill.order-stream", "o{x}"),
        ("seckill.order-stream", "o{"),
        ("seckill.stock-prefix", "s{"),
    ] {
        server.run("FLUSHALL");
        let before = text(&server.call(&["CONFIG", "SET", name, value]));
        for key in ["seckill:stock:7", "seckill:stock:{7}", "s{x}:{7}", "s{{7}", "s{x}:7", "s{7"] {
            server.call(&["SET", key, "5"]);
        }
        let digest = server.digest();
        match server.run("SECKILL.TRY 7 alice o1") {
            Value::Int(0) => {
                assert_eq!(server.run("DBSIZE"), Value::Int(8), "{name} {value} ({before})");
            }
            error => {
                assert!(matches!(error, Value::ServerError(_)), "{name} {value}: {error:?}");
                assert_eq!(server.digest(), digest, "{name} {value}");
            }
        }
        server.run("CONFIG SET seckill.hash-tags auto seckill.stock-prefix seckill:stock:");
        server.run("CONFIG SET seckill.buyers-prefix seckill:order:");
        server.run("CONFIG SET seckill.order-stream stream.orders");
    }
}

#[test]
fn declared_keys_obey_the_cluster() {
    let server = whole_cluster();
    server.check(
        "
        > SET stock:{7} 5
        OK
        > SECKILL.TRYKEYS stock:{7} buyers:{7} orders:{7} 7 alice o1
        0
        > SECKILL.TRYKEYS stock:{7} buyers:{8} orders:{7} 7 bob o1
        (error) CROSSSLOT ...
        > SECKILL.TRYKEYS stock:{7} buyers:{7} orders 7 bob o1
        (error) CROSSSLOT ...
        > GET stock:{7}
        4
        ",
    );
}

/// Makes two nodes know each other; the first owns every slot. Nodes of one epoch would settle
/// later which of them takes the next, and could then take back a slot that has moved meanwhile.
pub fn two_nodes() -> (Server, Server) {
    let source = whole_cluster();
    let target = Server::with().cluster().start();
    source.check("> CLUSTER SET-CONFIG-EPOCH 1\nOK");
    target.check("> CLUSTER SET-CONFIG-EPOCH 2\nOK");
    let bus =
        text(&Value::BulkString(bytes_list(target.run("CONFIG GET cluster-port"))[1].clone()));
    let meet = format!("CLUSTER MEET 127.0.0.1 {} {bus}", target.port());
    assert_eq!(source.run(&meet), Value::Okay);
    target.until("the nodes to meet", || {
        let knows = |server: &Server| {
            let nodes = text(&server.run("CLUSTER NODES"));
            let epochs = text(&server.run("CLUSTER INFO"));
            let is_told = epochs.contains("cluster_current_epoch:2\r\n");
            nodes.lines().count() == 2 && !nodes.contains("handshake") && is_told
        };
        knows(&source) && knows(&target)
    });
    wait_until_ok(&target);
    (source, target)
}

/// A slot that moves key by key.
pub struct Move<'a> {
    nodes: [&'a Server; 2],
    slot: i64,
}

impl<'a> Move<'a> {
    /// Both nodes are told that the slot of this key leaves the first one for the second.
    pub fn begin(source: &'a Server, target: &'a Server, key: &str) -> Self {
        let moving = Self { nodes: [source, target], slot: slot(source, key.as_bytes()) };
        moving.tell(target, "IMPORTING", source);
        moving.tell(source, "MIGRATING", target);
        moving
    }

    fn tell(&self, node: &Server, what: &str, other: &Server) {
        let command = format!("CLUSTER SETSLOT {} {what} {}", self.slot, node_id(other));
        assert_eq!(node.run(&command), Value::Okay, "{command}");
    }

    pub fn key(&self, key: &str) {
        let [source, target] = self.nodes;
        let reply = source.run(&format!("MIGRATE 127.0.0.1 {} {key} 0 5000", target.port()));
        assert_eq!(reply, Value::Okay, "{key}");
    }

    /// The slot is handed over.
    pub fn end(&self) {
        let [source, target] = self.nodes;
        self.tell(target, "NODE", target);
        self.tell(source, "NODE", target);
    }
}

pub fn node_id(server: &Server) -> String {
    text(&server.run("CLUSTER MYID"))
}

#[test]
fn a_slot_on_the_move_sells_nothing_it_cannot_see() {
    let (source, target) = two_nodes();
    source.check("> SET seckill:stock:{7} 5\nOK\n> SET 7 there\nOK");
    let moving = Move::begin(&source, &target, "7");
    let at_source = || text(&source.run("SECKILL.TRY 7 alice o1"));
    let at_target = || {
        target.run("ASKING");
        text(&target.run("SECKILL.TRY 7 alice o1"))
    };
    // If a key with the voucher's own name exists, the source runs the try, although buyers that it
    // can't see may already be on the target.
    let digest = source.digest();
    assert!(at_source().starts_with("TRYAGAIN "), "{}", at_source());
    assert_eq!(source.digest(), digest);
    // Without it, the source redirects, and the target finds no key: no NOVOUCHER, no sale.
    assert_eq!(source.run("DEL 7"), Value::Int(1));
    assert!(at_source().starts_with("ASK "), "{}", at_source());
    assert!(at_target().starts_with("TRYAGAIN "), "{}", at_target());
    target.check("> DBSIZE\n0");

    // The keys have moved, but the slot is not handed over yet: still no sale on either side.
    moving.key("seckill:stock:{7}");
    let digest = target.digest();
    assert!(at_source().starts_with("ASK "), "{}", at_source());
    assert!(at_target().starts_with("TRYAGAIN "), "{}", at_target());
    assert_eq!((source.run("DBSIZE"), target.digest()), (Value::Int(0), digest));

    // The slot is handed over: the target sells, the source redirects.
    moving.end();
    assert!(at_source().starts_with("MOVED "), "{}", at_source());
    target.check("> SECKILL.TRY 7 alice o1\n0\n> GET seckill:stock:{7}\n4\n> DBSIZE\n3");
    source.check("> DBSIZE\n0");
}

#[test]
fn pools_have_tags_like_vouchers() {
    let cluster = whole_cluster();
    let tagged = Server::with().config("seckill.hash-tags yes").start();
    for server in [&cluster, &tagged] {
        for (pool, tagged) in [("7", "{7}"), ("{shop3}:7", "{shop3}:7"), ("{8}", "{8}")] {
            let tag = tagged.split(':').next().expect("a tag");
            server.run("FLUSHALL");
            server.check(&format!(
                "
                > RPUSH seckill:codes:{tagged} a b
                2
                > SECKILL.DRAW {pool} alice
                1) 0
                2) a
                > SECKILL.DRAW {pool} alice
                1) 2
                2) a
                > EXISTS seckill:codes:{tagged} seckill:winners:{tagged} stream.draws:{tag}
                3
                > SECKILL.UNDRAW {pool} alice
                1
                > LRANGE seckill:codes:{tagged} 0 -1
                1) a
                2) b
                > DBSIZE
                2
                "
            ));
            assert_eq!(slot(&cluster, pool.as_bytes()), slot(&cluster, tag.as_bytes()));
        }
        for pool in ["a}b", "{}x", "{}", ""] {
            for name in ["SECKILL.DRAW", "SECKILL.UNDRAW"] {
                let error = assert_error(&server.call(&[name, pool, "alice"]), "ERR", pool);
                assert!(error.contains("pool must not be empty or contain }"), "{error}");
            }
        }
        server.run("CONFIG SET seckill.draw-stream d{x}");
        assert_error(&server.run("SECKILL.DRAW 7 alice"), "ERR", "a brace");
        // Vouchers don't use the stream of draws.
        server.check("> SET seckill:stock:{7} 1\nOK\n> SECKILL.TRY 7 alice o1\n0");
        server.run("CONFIG SET seckill.draw-stream stream.draws");
    }
}

#[test]
fn a_bare_stock_is_where_its_own_slot_is() {
    let server = whole_cluster();
    server.check("> SET stock 5\nOK\n> SECKILL.DEDUCT stock\n5\n> SECKILL.RETURN stock\n5");
    server.check("> SECKILL.DEDUCT a}b\n-1");
    let (source, target) = two_nodes();
    source.run("SET stock 5");
    let moving = Move::begin(&source, &target, "stock");
    source.check("> SECKILL.DEDUCT stock\n5");
    target.check("> SECKILL.DEDUCT stock\n(error) MOVED ...");
    moving.key("stock");
    source.check("> SECKILL.RETURN stock\n(error) ASK ...");
    target.check("> ASKING\nOK\n> SECKILL.DEDUCT stock\n4\n> GET stock\n(error) MOVED ...");
}

#[test]
fn a_slot_on_the_move_gives_no_code_it_cannot_see() {
    let (source, target) = two_nodes();
    source.run("RPUSH seckill:codes:{7} a b c");
    source.check("> SECKILL.DRAW 7 alice\n1) 0\n2) a\n> SET 7 there\nOK");
    let moving = Move::begin(&source, &target, "7");
    // All keys of the pool are still at the source.
    source.check("> SECKILL.DRAW 7 bob\n1) 0\n2) b\n> SECKILL.UNDRAW 7 bob\n1");
    let keys = ["seckill:winners:{7}", "seckill:codes:{7}", "stream.draws:{7}"];
    for key in keys {
        // No user gets a second code, and a pool with codes never seems empty.
        moving.key(key);
        let digests = (source.digest(), target.digest());
        for command in ["SECKILL.DRAW 7 alice", "SECKILL.DRAW 7 bob", "SECKILL.UNDRAW 7 alice"] {
            assert_error(&source.run(command), "TRYAGAIN", command);
            target.run("ASKING");
            let there = target.run(command);
            if key != keys[2] {
                let error = assert_error(&there, "TRYAGAIN", command);
                assert!(error.contains("pool"), "{error}");
            }
        }
        if key != keys[2] {
            assert_eq!((source.digest(), target.digest()), digests, "{key}");
        }
    }
    source.run("DEL 7");
    moving.end();
    // The last try of the loop ran at the target after all three keys had arrived.
    target.check("> SECKILL.DRAW 7 carol\n1) 0\n2) a\n> SECKILL.DRAW 7 bob\n1) 2\n2) b");
    let moved = text(&source.run("SECKILL.DRAW 7 alice"));
    assert!(moved.starts_with("MOVED "), "{moved}");
}
