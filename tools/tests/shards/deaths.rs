//! Programs that are killed at every step or at random moments, or that resume too late.

use std::thread;
use std::time::Duration;

use crate::harness::{Server, text, wait_for};
use crate::program::Program;
use crate::shop::{Shop, seed};

/// Repeats a command, which dies one step later each time, until it succeeds; calls `after` each
/// time. Returns how often it died.
fn die_at_every_step(shop: &Shop, words: &str, mut after: impl FnMut(u32)) -> u32 {
    for moment in 1..100 {
        let output = shop.start(words, Some(moment)).output();
        after(moment);
        if output.status.success() {
            return moment - 1;
        }
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code().is_none(), "it did not die, but said {complaint}");
    }
    panic!("it never got through");
}

#[test]
fn an_opening_that_dies_anywhere_goes_on() {
    for shop in Shop::of_both_kinds(1, 5) {
        let shop = Shop { shards: 5, stock: 23, ..shop };
        assert_eq!(shop.run("drop"), "dropped 1 shards\n");
        let deaths = die_at_every_step(&shop, &shop.opening(), |_| {});
        // Two deaths per shard while it is made, and two while its journal is told that all are.
        assert_eq!(deaths, 20);
        assert_eq!((0..5).map(|shard| shop.left(shard)).collect::<Vec<_>>(), [5, 5, 5, 4, 4]);
        shop.check_finished();
        // The same opening again resets nothing; another sale is refused.
        assert_eq!(shop.try_as("alice"), 0);
        assert_eq!(shop.run(&shop.opening()), "opened 0 of 5 shards\n");
        // A known order id: on a managed shard it is a retry.
        assert_eq!(shop.try_as("alice"), if shop.managed { 0 } else { 2 });
        let other = Shop { stock: 24, ..shop };
        let refused = other.start(&other.opening(), None).refused();
        let told = "the sale was opened with 5 shards and 23 units, you asked for 5 and 24";
        assert!(refused.contains(told), "{refused}");
        Shop { stock: 23, ..other }.check_finished();
    }
}

#[test]
fn a_move_that_dies_anywhere_is_finished_by_the_next() {
    for shop in Shop::of_both_kinds(3, 300) {
        let deaths = die_at_every_step(&shop, "move --from 0 --to 2 --units 7", |moment| {
            shop.check();
            if moment % 2 == 0 {
                shop.run("finish");
                shop.check_finished();
            }
        });
        // Before and after each of three steps, and first the rest of the previous move.
        assert!(deaths >= 6, "{deaths}");
        shop.run("finish");
        shop.check_finished();
        assert_eq!((shop.left(0) + shop.left(2), shop.left(1)), (200, 100));
        assert_eq!(shop.left(0) % 7, 2, "whole moves of 7 units");
        assert_eq!(shop.run("finish"), "finished 0 moves\n");
    }
}

#[test]
fn a_finish_that_dies_anywhere_is_finished_too() {
    for shop in Shop::of_both_kinds(3, 300) {
        // It dies right after the first step; the journal and `show` have the units on their way.
        shop.start("move --from 1 --to 2 --units 50", Some(2)).output();
        assert!(shop.run("show").contains("300 units were put on sale, 50 are on their way"));
        let deaths = die_at_every_step(&shop, "finish", |_| shop.check());
        assert!((2..=4).contains(&deaths), "{deaths}");
        shop.check_finished();
        assert_eq!([0, 1, 2].map(|shard| shop.left(shard)), [100, 50, 150]);
    }
}

#[test]
fn units_that_cannot_be_put_come_back() {
    for shop in Shop::of_both_kinds(2, 100) {
        shop.start("move --from 0 --to 1 --units 20", Some(2)).output();
        // The other shard is closed when they arrive.
        let gone = shop.left(1);
        shop.ask("SET seckill:stock:{7#1} -1");
        let deaths = die_at_every_step(&shop, "finish", |_| {});
        assert!(deaths <= 4, "{deaths}");
        assert_eq!((shop.left(0), gone), (50, 50));
        // The move is finished, even if the stock is open again.
        shop.ask("SET seckill:stock:{7#1} 50");
        shop.run("finish");
        assert_eq!((shop.left(0), shop.left(1)), (50, 50));
    }
}

#[test]
fn a_mover_that_comes_back_from_the_dead_changes_nothing() {
    let seed = seed();
    for shop in Shop::of_both_kinds(4, 400) {
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..25 {
            let (from, to) = (random.u32(0..4), random.u32(1..4));
            let words = format!("move --from {from} --to {} --units 3", (from + to) % 4);
            let mut frozen = shop.start(&words, None);
            let pause = Duration::from_micros(random.u64(0..12_000));
            let start = std::time::Instant::now();
            while start.elapsed() < pause && frozen.is_running() {
                thread::yield_now();
            }
            frozen.freeze();
            // Other programs finish its move, and continue to move units between the same shards.
            shop.run("finish");
            shop.check_finished();
            shop.run(&words);
            frozen.thaw();
            frozen.printed();
            shop.run("finish");
            shop.check_finished();
        }
    }
}

#[test]
fn a_drop_that_dies_anywhere_goes_on() {
    for shop in Shop::of_both_kinds(4, 8) {
        let mut moment = 0;
        let last = loop {
            moment += 1;
            let output = shop.start("drop", Some(moment)).output();
            if output.status.code().is_some() {
                break output;
            }
            // From the first step to the last one, no program puts new units on sale.
            if (2..10).contains(&moment) {
                for words in [shop.opening(), "show".to_owned(), "level --once".to_owned()] {
                    let refused = shop.start(&words, None).refused();
                    assert!(refused.contains("being dropped: run drop again"), "{refused}");
                }
            }
        };
        // Before and after the mark of the drop, and for each of four shards.
        assert_eq!(moment, 11);
        assert!(String::from_utf8_lossy(&last.stderr).contains("no sale of 7 over shards"));
        shop.assert_gone();
        shop.run(&shop.opening());
        shop.check_finished();
        // An interrupted opening can be dropped too.
        shop.run("drop");
        shop.start(&shop.opening(), Some(4)).output();
        assert_eq!(shop.run("drop"), "dropped 2 shards\n");
    }
}

/// Waits until this many clients wait for a replica.
fn wait_for_blocked(shop: &Shop, clients: i64) {
    let told = wait_for("clients that wait for a replica", || {
        (shop.server.info_number("blocked_clients") == clients).then_some(())
    });
    told.expect("clients that wait for a replica");
}

/// A mover that has taken 3 units and resumes after other programs have finished its move and
/// dropped the sale. Returns its error output.
fn wakes_behind_a_drop(shop: &Shop, replica: &Server, then: &str) -> String {
    shop.server.wait_for_replica(replica);
    replica.freeze();
    let mover = shop.start("move --from 0 --to 1 --units 3 --replicas 1", None);
    wait_for_blocked(shop, 1);
    mover.freeze();
    replica.wake();
    wait_for_blocked(shop, 0);
    assert_eq!(shop.run("finish"), "finished 1 moves\n");
    shop.run("drop");
    if !then.is_empty() {
        shop.run(then);
    }
    mover.thaw();
    String::from_utf8_lossy(&mover.output().stderr).into_owned()
}

#[test]
fn a_mover_that_wakes_behind_a_drop_makes_no_units() {
    for shop in Shop::of_both_kinds(2, 10) {
        let replica = Server::with().port().replica_of(&shop.server).start();
        // On a slow machine the replica may be late: then the mover takes no further step.
        let woken = |then: &str| {
            let said = wait_for("a replica in time", || {
                let said = wakes_behind_a_drop(&shop, &replica, then);
                if then.is_empty() {
                    shop.assert_gone();
                    shop.run(&shop.opening());
                }
                shop.check_finished();
                (!said.contains("replicas have acknowledged")).then_some(said)
            });
            said.expect("a replica in time")
        };
        let said = woken(&shop.opening());
        assert!(said.contains("the shard is not of this sale any more"), "{said}");
        // It leaves nothing behind either if there is no sale.
        let said = woken("");
        assert!(said.contains("the shard is not of this sale any more"), "{said}");
        shop.run("move --from 0 --to 1 --units 3");
        shop.check_finished();
        assert_eq!((shop.left(0), shop.left(1)), (2, 8));
    }
}

#[test]
fn a_take_that_a_failover_has_lost_is_put_nowhere() {
    for shop in Shop::of_both_kinds(3, 30) {
        let replica = Server::with().port().replica_of(&shop.server).start();
        let change = |units: i64| {
            shop.ask(&format!("HINCRBY seckill:shard:{{7#1}} units {units}"));
            match shop.managed {
                true => shop.ask(&format!("SECKILL.RESTOCK 7#1 {units}")),
                false => shop.ask(&format!("INCRBY seckill:stock:{{7#1}} {units}")),
            }
        };
        // Two moves are on their way, as two movers would leave them.
        shop.start("move --from 0 --to 2 --units 3", Some(2)).output();
        shop.ask("HSET seckill:shard:{7#1} seq 1 out 1:2:3:another");
        change(-3);
        shop.check();
        shop.server.wait_for_replica(&replica);
        replica.freeze();
        let finish = shop.start("finish --replicas 1", None);
        // It knows both moves, and executes the first. Now the other shard is changed as if a
        // replica without its move had been promoted.
        wait_for_blocked(&shop, 1);
        shop.ask("HDEL seckill:shard:{7#1} out seq");
        change(3);
        replica.wake();
        let output = finish.output();
        shop.check();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() || said.contains("replicas have acknowledged"), "{said}");
        shop.run("finish");
        shop.check_finished();
        assert_eq!([0, 1, 2].map(|shard| shop.left(shard)), [7, 10, 13]);
    }
}

#[test]
fn a_mover_that_lacks_a_right_changes_nothing() {
    for shop in Shop::of_both_kinds(2, 10) {
        let few = format!("redis://few:word@127.0.0.1:{}", shop.server.port());
        let add = if shop.managed { "seckill.restock" } else { "incrby" };
        let try_without = |command: &str, words: &str| {
            shop.ask("ACL DELUSER few");
            shop.ask(&format!("ACL SETUSER few on >word ~* +@all -{command}"));
            let refused = Program::shards(&few, &format!("--voucher 7 {words}"), None).refused();
            let refused = refused.to_lowercase();
            assert!(refused.contains(&format!("the user needs {command} on")), "{refused}");
        };
        let take = if shop.managed { "seckill.restock" } else { "decrby" };
        for command in ["hset", take] {
            try_without(command, "move --from 0 --to 1 --units 1");
            assert_eq!((shop.left(0), shop.left(1)), (5, 5));
        }
        shop.start("move --from 0 --to 1 --units 1", Some(2)).output();
        for command in ["hset", add, "hdel"] {
            try_without(command, "finish");
            shop.check();
        }
        shop.run("finish");
        shop.check_finished();
        // Units that return to their shard.
        shop.start("move --from 0 --to 1 --units 1", Some(2)).output();
        shop.ask("SET seckill:stock:{7#1} -1 KEEPTTL");
        for command in ["hdel", add] {
            try_without(command, "finish");
            assert_eq!((shop.left(0), shop.left(1)), (3, -1));
        }
        shop.run("finish");
        assert_eq!((shop.left(0), shop.left(1)), (4, -1));
        for command in ["hset", "del", "seckill.drop"] {
            try_without(command, "drop");
        }
        shop.run("drop");
        let make = if shop.managed { "seckill.create" } else { "set" };
        for command in [make, "hset", "del"] {
            try_without(command, &shop.opening());
            shop.assert_gone();
        }
    }
}

#[test]
fn no_units_come_to_a_closed_shard() {
    for shop in Shop::of_both_kinds(2, 10) {
        let closed = |shard: u32, stock: &str| {
            shop.ask(&format!("SET seckill:stock:{{7#{shard}}} {stock}"));
            stock.to_owned()
        };
        shop.start("move --from 0 --to 1 --units 3", Some(2)).output();
        // A stock that nobody can read: nothing is moved.
        let stock = closed(1, "many");
        assert!(!shop.start("finish", None).refused().is_empty());
        assert_eq!((shop.left(0), text(&shop.ask("GET seckill:stock:{7#1}"))), (2, stock));
        let stock = closed(1, "-1");
        shop.run("finish");
        assert_eq!((shop.left(0), text(&shop.ask("GET seckill:stock:{7#1}"))), (5, stock));
        // Units do not return to a closed shard either.
        closed(1, "5");
        shop.start("move --from 0 --to 1 --units 3", Some(2)).output();
        closed(0, "-1");
        closed(1, "-1");
        let refused = shop.start("finish", None).refused();
        assert!(refused.contains("neither shard has a stock for 3 units"), "{refused}");
        closed(0, "2");
        shop.run("finish");
        assert_eq!(shop.left(0), 5);
    }
}
