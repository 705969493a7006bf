//! Hash tags, and servers in cluster mode.

use crate::harness::{Builder, Server, text};
use crate::observe::{assert_error, bytes_list};
use crate::slots::slot;
use redis::Value;

/// A cluster of one node that owns every slot.
pub fn whole_cluster() -> Server {
    whole(Server::with().cluster())
}

pub fn whole(node: Builder) -> Server {
    let server = node.start();
    assert_eq!(server.run("CLUSTER ADDSLOTSRANGE 0 16383"), Value::Okay);
    wait_until_ok(&server);
    server
}

fn wait_until_ok(server: &Server) {
    server.until("cluster_state:ok", || server.say("CLUSTER INFO").contains("cluster_state:ok"));
}

#[test]
fn all_keys_of_a_voucher_are_in_its_slot() {
    let server = whole_cluster();
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
        > SET stock:{7} 5 => OK
        > SECKILL.TRYKEYS stock:{7} buyers:{7} orders:{7} 7 alice o1 => 0
        > SECKILL.TRYKEYS stock:{7} buyers:{8} orders:{7} 7 bob o1 => (error) CROSSSLOT ...
        > SECKILL.TRYKEYS stock:{7} buyers:{7} orders 7 bob o1 => (error) CROSSSLOT ...
        > GET stock:{7} => 4
        ",
    );
}

/// Two nodes that know each other; the first owns every slot.
pub fn two_nodes() -> (Server, Server) {
    let (source, target) = (whole_cluster(), Server::with().cluster().start());
    linked(&source, &target);
    (source, target)
}

/// Makes two nodes know each other. Nodes of one epoch would decide later which of them takes the
/// next slot, and could then take back one that has moved meanwhile.
pub fn linked(source: &Server, target: &Server) {
    source.check("> CLUSTER SET-CONFIG-EPOCH 1\nOK");
    target.check("> CLUSTER SET-CONFIG-EPOCH 2\nOK");
    let bus =
        text(&Value::BulkString(bytes_list(target.run("CONFIG GET cluster-port"))[1].clone()));
    let meet = format!("CLUSTER MEET 127.0.0.1 {} {bus}", target.port());
    assert_eq!(source.run(&meet), Value::Okay);
    target.until("the nodes to meet", || {
        let knows = |server: &Server| {
            let nodes = server.say("CLUSTER NODES");
            let epochs = server.say("CLUSTER INFO");
            let is_told = epochs.contains("cluster_current_epoch:2\r\n");
            nodes.lines().count() == 2 && !nodes.contains("handshake") && is_told
        };
        knows(source) && knows(target)
    });
    wait_until_ok(target);
}
