//! Slots that move, key by key and by `redis-cli`, while users try; what a client sees meanwhile.

use crate::buyers::{Answers, Buyers, Goods, LONG_MS, orders_in, redirected};
use crate::cli::{redis_cli, wait_for_agreement};
use crate::harness::Server;
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

/// The answers of both sides of a move to a client that follows no redirection.
fn both(source: &Server, target: &Server, command: &str) -> [String; 2] {
    let word = |reply: String| reply.split(' ').next().unwrap_or_default().to_owned();
    let at_source = word(source.say(command));
    target.run("ASKING");
    [at_source, word(target.say(command))]
}

#[test]
fn a_managed_voucher_is_sold_as_soon_as_its_keys_have_come() {
    let nodes = Nodes::start();
    let from = nodes.owner("m");
    let (source, target) = (&nodes.servers[from], &nodes.servers[(from + 1) % PRIMARIES]);
    source.run("SECKILL.CREATE m 9 HOLD 900000");
    for user in ["alice", "bob", "erin"] {
        assert_eq!(source.say(&format!("SECKILL.TRY m {user} {user}")), "0");
    }
    assert_eq!(source.say("SECKILL.CANCEL m bob bob"), "1");
    assert_eq!(source.say("SECKILL.CONFIRM m erin erin"), "1");
    let moving = Move::begin(source, target, "m");
    let keys = moving.keys();
    assert_eq!(keys.len(), 10, "{keys:?}");
    // The streams of released and of confirmed orders move last, because a sale does not use them,
    // nor the id of the last sale.
    let (released, confirmed) = ("stream.orders.released:{m}", "stream.orders.confirmed:{m}");
    let unused = [released, confirmed, "seckill:last:{m}"];
    let touched = keys.iter().filter(|key| !unused.contains(&key.as_str()));
    for (moved, key) in touched.enumerate() {
        let digests = (source.digest(), target.digest());
        let answers = both(source, target, "SECKILL.TRY m carol carol");
        assert_eq!(answers, ["ASK", "TRYAGAIN"], "{moved} keys moved");
        assert_eq!((source.digest(), target.digest()), digests);
        moving.key(key);
    }
    // The slot is still moving.
    assert_eq!(both(source, target, "SECKILL.TRY m carol carol"), ["ASK", "0"]);
    let cancel = "SECKILL.CANCEL m carol carol";
    assert_eq!(both(source, target, cancel), ["ASK", "TRYAGAIN"]);
    moving.key(released);
    assert_eq!(both(source, target, cancel), ["ASK", "1"]);
    let confirm = "SECKILL.CONFIRM m alice alice";
    assert_eq!(both(source, target, confirm), ["ASK", "TRYAGAIN"]);
    moving.key(confirmed);
    assert_eq!(both(source, target, confirm), ["ASK", "1"]);
    moving.key("seckill:last:{m}");
    moving.end();
    assert_eq!(both(source, target, "SECKILL.TRY m dave dave"), ["MOVED", "0"]);
}

/// The line is the last key that comes. What was released before is then given to the first in it.
#[test]
fn a_queue_is_promoted_where_its_slot_has_gone() {
    let nodes = Nodes::start();
    let from = nodes.owner("w");
    let (source, target) = (&nodes.servers[from], &nodes.servers[(from + 1) % PRIMARIES]);
    for (command, answer) in [
        ("SECKILL.CREATE w 1 HOLD 900000", "OK"),
        ("SECKILL.TRY w eve eve", "0"),
        ("SECKILL.CANCEL w eve eve", "1"),
        ("SECKILL.TRY w ann ann", "0"),
        ("SECKILL.TRY w bob bob WAITLIST", "6"),
        ("SECKILL.TRY w cid cid WAITLIST", "6"),
    ] {
        assert_eq!(source.say(command), answer, "{command}");
    }
    let moving = Move::begin(source, target, "w");
    let keys = moving.keys();
    assert_eq!(keys.len(), 10, "{keys:?}");
    let (line, others): (Vec<_>, Vec<_>) =
        keys.into_iter().partition(|key| key == "seckill:wait:{w}");
    others.iter().for_each(|key| moving.key(key));
    // Who joins or leaves the queue must see it.
    let digests = (source.digest(), target.digest());
    for command in ["SECKILL.TRY w dan dan WAITLIST", "SECKILL.CANCEL w bob bob"] {
        assert_eq!(both(source, target, command), ["ASK", "TRYAGAIN"], "{command}");
    }
    assert_eq!((source.digest(), target.digest()), digests);
    assert_eq!(both(source, target, "SECKILL.CANCEL w ann ann"), ["ASK", "1"]);
    moving.key(&line[0]);
    moving.end();
    assert_eq!(both(source, target, "SECKILL.TRY w dan dan WAITLIST"), ["MOVED", "6"]);
    let promoted = || orders_in(target.run("XRANGE stream.orders:{w} - +"));
    target.until("the first in the queue", || promoted() == ["eve", "ann", "bob"]);
    assert_eq!(target.say("SECKILL.RESTOCK w 2"), "0");
    assert_eq!(promoted(), ["eve", "ann", "bob", "cid", "dan"]);
    assert_eq!(target.audited("w").differences(), [""; 0]);
}

#[test]
fn a_release_needs_to_see_more_than_a_sale() {
    let nodes = Nodes::start();
    let from = nodes.owner("n");
    let (source, target) = (&nodes.servers[from], &nodes.servers[(from + 1) % PRIMARIES]);
    source.run("SECKILL.CREATE n 2");
    assert_eq!(source.say("SECKILL.TRY n alice a1"), "0");
    let moving = Move::begin(source, target, "n");
    // No order was ever held and none was released, so two of the eight keys never exist.
    moving.keys().iter().for_each(|key| moving.key(key));
    let both = |command: &str| both(source, target, command);
    assert_eq!(both("SECKILL.TRY n bob b1"), ["ASK", "0"]);
    let digest = target.digest();
    for command in [
        // It may have to release an order before the sale is sold out.
        "SECKILL.TRY n dave d1", "SECKILL.CANCEL n alice a1",
        // A sale with holds from now on needs the key of the holds.
        "SECKILL.ALTER n HOLD 5000",
    ] {
        assert_eq!(both(command), ["ASK", "TRYAGAIN"], "{command}");
    }
    assert_eq!(target.digest(), digest);
    moving.end();
    assert_eq!(both("SECKILL.TRY n dave d1"), ["MOVED", "1"]);
    assert_eq!(both("SECKILL.CANCEL n alice a1"), ["MOVED", "1"]);
    assert_eq!(both("SECKILL.TRY n dave d1"), ["MOVED", "0"]);
}
