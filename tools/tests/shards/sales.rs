//! Whole sales over shards, on a server and on a cluster.

use std::time::{Duration, Instant};

use crate::harness::{Server, wait_for};
use crate::nodes::{Nodes, PRIMARIES};
use crate::program::Program;
use crate::shop::{Shop, seed, shard_of};

const RUSH: &str = "--voucher 7 --shards --tries 20000 --connections 8 --json";

pub fn proved(rush: Program) -> serde_json::Value {
    let output = rush.output();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let report = serde_json::from_str(&printed).unwrap_or_else(|error| {
        panic!("{error}: {printed}\n{}", String::from_utf8_lossy(&output.stderr))
    });
    assert!(output.status.success(), "{report:#}");
    report
}

fn expected(report: &serde_json::Value, what: &str) -> Option<i64> {
    let checks = report["checks"].as_array()?;
    checks.iter().find(|check| check["what"] == what)?["expected"].as_i64()
}

/// A rush over 16 shards, opened with these options and dropped afterwards.
fn rush_over_shards(url: &str, opened: &str, rush: &str) -> serde_json::Value {
    let open = format!("--voucher 7 open --shards 16 --stock 1000{opened}");
    Program::shards(url, &open, None).printed();
    let report = proved(Program::rush(url, &format!("{RUSH}{rush}")));
    let shown = Program::shards(url, "--voucher 7 show --json", None).printed();
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!((&shown["stock"], &shown["left"]), (&1_000.into(), &report["stock_left"]));
    assert_eq!(Program::shards(url, "--voucher 7 drop", None).printed(), "dropped 16 shards\n");
    report
}

const HELD: [&str; 2] =
    [" --managed --hold 500ms", " --managed --hold 500ms --pay-share 0.6 --cancel-share 0.2"];

#[test]
fn a_rush_over_shards_is_proved_on_a_server() {
    let server = Server::with().port().start();
    let url = format!("redis://127.0.0.1:{}", server.port());
    let refused = Program::rush(&url, RUSH).refused();
    assert!(refused.contains("seckill-shards opens one"), "{refused}");
    for (voucher, rules) in [("one", ""), ("two", " --managed --cancel-share 0.5")] {
        let words = format!("--voucher {voucher} --tries 5000 --json{rules} --beside-others");
        let report = proved(Program::rush(&url, &words));
        assert_eq!(expected(&report, "units on their way"), None);
    }
    let report = rush_over_shards(&url, "", "");
    assert_eq!(expected(&report, "units sold"), Some(1_000));
    assert_eq!(expected(&report, "orders on a wrong shard"), Some(0));
    let report = rush_over_shards(&url, HELD[0], HELD[1]);
    assert_eq!(expected(&report, "total"), Some(1_000));
}

#[test]
fn a_rush_over_shards_is_proved_on_a_cluster() {
    let nodes = Nodes::start();
    let url = &nodes.urls()[0];
    for [opened, rush] in [["", ""], [" --managed --limit 2", " --managed"], HELD] {
        let report = rush_over_shards(url, opened, rush);
        assert_eq!(expected(&report, "units on their way"), Some(0));
    }
    // All primaries have sold a part.
    let tries = |server: &Server| server.info_number("seckill_tries_accepted");
    assert!(nodes.servers[..3].iter().all(|server| tries(server) > 50));
    // A rush without shards also finds its node.
    proved(Program::rush(url, "--voucher one --tries 2000 --json --beside-others"));
}

#[test]
fn the_mover_sells_on_a_cluster_what_would_lie_idle() {
    let nodes = Nodes::start();
    let url = &nodes.urls()[1];
    for rules in ["", " --managed"] {
        let open = format!("--voucher 7 open --shards 4 --stock 40{rules}");
        Program::shards(url, &open, None).printed();
        // All users of this test belong to shard 2.
        let users = (0..).map(|user| format!("u{user}"));
        let mut users = users.filter(|user| shard_of(user.as_bytes(), 4) == 2);
        let owner = nodes.owner("7#2");
        for _ in 0..3 {
            for user in users.by_ref().take(60) {
                nodes.servers[owner].run(&format!("SECKILL.TRY 7#2 {user} {user}"));
            }
            let moved = Program::shards(url, "--voucher 7 level --once --replicas 1", None);
            assert!(moved.printed().starts_with("moved "));
        }
        let shown = Program::shards(url, "--voucher 7 show --json", None).printed();
        let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
        let sold = nodes.servers[owner].say("SCARD seckill:order:{7#2}");
        let sold: i64 = sold.parse().expect("a number");
        // First 10 units, then repeatedly up to a fair share of the rest.
        assert!(sold >= 22, "{sold}: {shown:#}");
        assert_eq!(shown["left"].as_i64().map(|left| left + sold), Some(40), "{shown:#}");
        assert_eq!(Program::shards(url, "--voucher 7 drop", None).printed(), "dropped 4 shards\n");
    }
}

#[test]
fn a_move_waits_for_replicas_and_can_be_finished_without() {
    let shop = Shop::open(2, 100, true);
    let refused = shop.start("move --from 0 --to 1 --units 5 --replicas 1", None).refused();
    assert!(refused.contains("only 0 of 1 replicas have acknowledged"), "{refused}");
    shop.check();
    assert_eq!((shop.left(0), shop.left(1)), (45, 50));
    assert_eq!(shop.run("finish"), "finished 1 moves\n");
    shop.check_finished();
    assert_eq!((shop.left(0), shop.left(1)), (45, 55));
}

/// The output of `seckill-shards show`, once all shards answer.
fn shown(url: &str) -> serde_json::Value {
    let shown = wait_for("all shards to answer", || {
        let output = Program::shards(url, "--voucher 7 show --json", None).output();
        serde_json::from_slice::<serde_json::Value>(&output.stdout).ok()
    });
    shown.expect("a standing")
}

#[test]
fn a_dead_primary_loses_no_move_that_its_replica_has_heard_of() {
    let mut random = fastrand::Rng::with_seed(seed());
    let builder = Server::with().config("cluster-node-timeout 2000");
    let mut nodes = Nodes::start_with(builder.config("cluster-replica-validity-factor 0"));
    // The URL of a node that stays up.
    let url = nodes.urls()[1].clone();
    Program::shards(&url, "--voucher 7 open --shards 6 --stock 600 --managed", None).printed();
    let dies = nodes.owner("7#0");
    let url = if dies == 1 { nodes.urls()[2].clone() } else { url };
    for turn in 0..12 {
        let to = random.u32(1..6);
        let (from, to) = if random.bool() { (0, to) } else { (to, 0) };
        let words = format!("--voucher 7 move --from {from} --to {to} --units 9 --replicas 1");
        let mover = Program::shards(&url, &words, None);
        if turn == 11 {
            let pause = Duration::from_micros(random.u64(3_000..25_000));
            let start = Instant::now();
            while start.elapsed() < pause {
                std::thread::yield_now();
            }
            nodes.servers[dies].kill9();
        }
        // The last run may have failed.
        mover.output();
    }
    let replica = &nodes.servers[dies + PRIMARIES];
    let promoted = wait_for("the replica to be promoted", || {
        (replica.info("role").as_deref() == Some("master")).then_some(())
    });
    promoted.unwrap_or_else(|late| panic!("{late}\n{}", replica.log()));
    let after = shown(&url);
    let units = |shown: &serde_json::Value, name: &str| shown[name].as_i64().expect("a number");
    assert_eq!(units(&after, "left") + units(&after, "on_the_way"), 600, "{after:#}");
    assert_eq!(after["differences"], serde_json::json!([]), "{after:#}");
    Program::shards(&url, "--voucher 7 finish", None).printed();
    Program::shards(&url, "--voucher 7 move --from 0 --to 3 --units 1", None).printed();
    let after = shown(&url);
    assert_eq!((units(&after, "left"), units(&after, "on_the_way")), (600, 0), "{after:#}");
}

#[test]
fn a_rush_beside_a_mover_is_proved() {
    for shop in Shop::of_both_kinds(16, 500) {
        let mover = shop.start("level --every 1ms --until-sold-out", None);
        let managed = if shop.managed { " --managed" } else { "" };
        let words = format!("--voucher 7 --shards --tries 30000 --connections 4 --json{managed}");
        let report = proved(Program::rush(&shop.url(), &words));
        assert_eq!(report["stock_left"], 0, "{report:#}");
        mover.printed();
        shop.check_finished();
    }
}

#[test]
fn a_shard_that_has_lost_a_move_is_told() {
    let shop = Shop::open(2, 100, false);
    shop.run("move --from 0 --to 1 --units 5");
    // The state after the promotion of a replica that had not received the move.
    shop.ask("HDEL seckill:shard:{7#0} seq");
    shop.ask("HINCRBY seckill:shard:{7#0} units 5");
    shop.ask("INCRBY seckill:stock:{7#0} 5");
    let shown = shop.start("show", None).output();
    assert_eq!(shown.status.code(), Some(1));
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("shard 1 received 5 units by move 1 of shard 0"), "{shown}");
    // No program moves anything, not even one that has not checked: the next move has a number that
    // was used before, and is not mistaken for the lost move.
    let refused = shop.start("move --from 0 --to 1 --units 7", None).output();
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!((shop.left(0), shop.left(1)), (50, 55));
    let refused = shop.start("level --once", None).output();
    assert_eq!(refused.status.code(), Some(1));
    shop.ask("HSET seckill:shard:{7#0} seq 1 out 1:1:7:another");
    shop.ask("DECRBY seckill:stock:{7#0} 7");
    shop.ask("HINCRBY seckill:shard:{7#0} units -7");
    let refused = shop.start("finish", None).refused();
    assert!(refused.contains("its move 1 has a number that was used before"), "{refused}");
    // Fixed as the page says: the units of the lost move are taken, and its number is skipped.
    shop.ask("HSET seckill:shard:{7#0} seq 2 out 2:1:7:another");
    shop.ask("DECRBY seckill:stock:{7#0} 5");
    shop.ask("HINCRBY seckill:shard:{7#0} units -5");
    shop.run("finish");
    shop.check_finished();
    assert_eq!((shop.left(0), shop.left(1)), (38, 62));
}

#[test]
fn a_sale_that_moves_looks_sound_and_stops_at_once() {
    // Fewer units than shards: every check moves some.
    let shop = Shop::open(600, 300, false);
    let mut movers = [1, 2].map(|_| shop.start("level --every 1ms", None));
    let moves = || shop.number("HEXISTS seckill:shard:{7#0} seq") == 1;
    wait_for("the first move", || moves().then_some(())).expect("the first move");
    for _ in 0..10 {
        let shown = shop.run("show");
        assert!(!shown.contains("WRONG"), "{shown}");
    }
    for mover in &mut movers {
        assert!(mover.is_running());
        mover.ask_to_end("INT");
        let ended = wait_for("the mover to end", || (!mover.is_running()).then_some(()));
        ended.expect("Ctrl-C, once");
    }
    for mover in movers {
        let said = mover.printed();
        assert!(said.starts_with("moved "), "{said}");
    }
    shop.check_finished();
}

#[test]
fn a_shard_without_its_stock_is_told() {
    let shop = Shop::open(2, 100, false);
    assert!(!shop.run("show").contains("WRONG"));
    shop.ask("CONFIG SET seckill.hash-tags auto");
    let shown = shop.start("show", None).output();
    assert_eq!(shown.status.code(), Some(1));
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("shard 1 of 2 lost seckill:stock:7#1, "), "{shown}");
    assert!(shown.contains("no shard is sound: "), "{shown}");
    let refused = shop.start("drop --shard 1", None).refused();
    assert!(refused.contains("no shard is sound: "), "{refused}");
    shop.ask("CONFIG SET seckill.hash-tags yes");
    shop.check();
}

#[test]
fn the_rights_that_the_page_names_are_enough() {
    let page = include_str!("../../../docs/SECURITY.md");
    let rights = page.lines().find(|line| line.starts_with("ACL SETUSER seckill-shards "));
    for shop in Shop::of_both_kinds(2, 10) {
        shop.ask(rights.expect("the rights"));
        let url = format!("redis://seckill-shards:change-me-10@127.0.0.1:{}", shop.server.port());
        let start = |words: &str| Program::shards(&url, &format!("--voucher 7 {words}"), None);
        assert_eq!(start("drop").printed(), "dropped 2 shards\n");
        assert_eq!(start(&shop.opening()).printed(), "opened 2 of 2 shards\n");
        assert_eq!(start("move --from 0 --to 1 --units 4").printed(), "moved 4 units\n");
        assert_eq!(start("level --once").printed(), "moved 4 units in 1 moves\n");
        shop.start("move --from 0 --to 1 --units 1", Some(2)).output();
        shop.ask("SET seckill:stock:{7#1} -1");
        assert_eq!(start("finish").printed(), "finished 1 moves\n");
        assert_eq!(shop.left(0), 5);
        start("show").printed();
        // The functions are an administrator's to load.
        shop.ask("FUNCTION FLUSH");
        let lacking = start("move --from 0 --to 1 --units 1").refused();
        assert!(lacking.contains("as an administrator, run seckill-shards load"), "{lacking}");
        assert_eq!(shop.left(0), 5);
        assert!(!start("load").output().status.success());
        assert!(shop.run("load").starts_with("loaded seckill_shards_"));
        let late = start("move --from 0 --to 1 --units 1 --replicas 1").refused();
        assert!(late.contains("only 0 of 1 replicas have acknowledged"), "{late}");
    }
}
