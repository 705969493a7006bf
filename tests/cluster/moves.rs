//! Slots that move, key by key and by `redis-cli`, while users try. What a client sees meanwhile:
//! `memory::moves` and `slots_move` of tests/it.

use crate::buyers::{Answers, Buyers, Goods, LONG_MS, redirected};
use crate::cli::{redis_cli, wait_for_agreement};
use crate::nodes::{Nodes, PRIMARIES};
use crate::slots::{Move, node_id, slot};

pub fn goods(stock: i64) -> Goods {
    Goods {
        managed: "m".to_owned(),
        bare: "b".to_owned(),
        keys: "k".to_owned(),
        stock,
        hold_ms: LONG_MS,
    }
}

pub fn report(nodes: &Nodes, answers: &Answers) {
    println!(
        "{} commands, ASK or TRYAGAIN {} times, {} tried again by the buyers, {:?} at most",
        answers.commands,
        redirected(nodes),
        answers.tried_again,
        answers.longest
    );
}

#[test]
fn a_sale_goes_on_while_its_slots_move_key_by_key() {
    let nodes = Nodes::start();
    let goods = goods(1_500);
    goods.open(&nodes);
    let buyers = Buyers::start(&nodes, &goods, 4);
    for _ in 0..PRIMARIES {
        for voucher in [&goods.managed, &goods.bare, &goods.keys] {
            buyers.wait_for_more(60, &nodes.servers[0]);
            let from = nodes.owner(voucher);
            let (source, target) = (&nodes.servers[from], &nodes.servers[(from + 1) % PRIMARIES]);
            let moving = Move::begin(source, target, voucher);
            let keys = moving.keys();
            let half = keys.len() / 2;
            for (moved, key) in keys.iter().enumerate() {
                moving.key(key);
                if moved == half {
                    // A user tries while half of the keys is on each node.
                    let before = redirected(&nodes);
                    source.until("a try", || redirected(&nodes) > before);
                }
            }
            // Keys made meanwhile would be left behind. There must be none.
            assert_eq!(moving.keys(), [""; 0]);
            moving.end();
            // The third primary learns of it anyway, a little later.
            moving.tell(&nodes.servers[(from + 2) % PRIMARIES], "NODE", target);
        }
    }
    buyers.wait_for_more(300, &nodes.servers[0]);
    let answers = buyers.end();
    report(&nodes, &answers);
    assert!(answers.cancelled.len() > 20 && answers.confirmed.len() > 20);
    goods.check(&nodes, &answers);
}

#[test]
fn a_sale_goes_on_while_redis_cli_moves_slots() {
    let nodes = Nodes::start();
    // redis-cli moves the first slots of a node, so vouchers in these slots are needed.
    let mut names = (0..).map(|number| format!("v{number}"));
    let mut early = || {
        let first = |name: &String| slot(&nodes.servers[0], name) < 60;
        names.find(first).expect("there is one")
    };
    let goods =
        Goods { managed: early(), bare: early(), keys: early(), stock: 1_500, hold_ms: LONG_MS };
    goods.open(&nodes);
    let buyers = Buyers::start(&nodes, &goods, 4);
    // Away and back, twice: each time the slots are the first ones of their node.
    for (from, to) in [(0, 1), (1, 0), (0, 1), (1, 0)] {
        buyers.wait_for_more(100, &nodes.servers[0]);
        let door = format!("127.0.0.1:{}", nodes.servers[2].port());
        let (from, to) = (node_id(&nodes.servers[from]), node_id(&nodes.servers[to]));
        wait_for_agreement(&nodes.servers[2]);
        redis_cli(
            &nodes.servers[2],
            &[
                "--cluster", "reshard", &door, "--cluster-from", &from, "--cluster-to", &to,
                "--cluster-slots", "60", "--cluster-yes",
            ],
        );
        assert_eq!(nodes.servers[2].say("PING"), "PONG");
    }
    buyers.wait_for_more(300, &nodes.servers[0]);
    let answers = buyers.end();
    report(&nodes, &answers);
    goods.check(&nodes, &answers);
    let checked = redis_cli(
        &nodes.servers[0],
        &["--cluster", "check", &format!("127.0.0.1:{}", nodes.servers[0].port())],
    );
    assert!(checked.contains("All 16384 slots covered"), "{checked}");
}
