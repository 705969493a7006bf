//! `level` when its server disappears, and when it is asked to end.

use crate::harness::{Server, wait_for};
use crate::program::Program;
use crate::shop::Shop;

/// A sale that survives its server's restarts, with units on shards where no user buys.
fn sale() -> Shop {
    let server = Server::with().port().aof().config("seckill.hash-tags yes").start();
    let shop = Shop { server, shards: 2, stock: 100, managed: false };
    shop.run(&shop.opening());
    shop
}

/// Buys everything on shard 0, so that there is something to move. Units that arrive meanwhile
/// stay: a buyer who took those too could buy the whole sale.
fn empty_shard(shop: &Shop, round: u32) {
    let users = (0..).map(|number| format!("r{round}u{number}"));
    let its = users.filter(|user| crate::shop::shard_of(user.as_bytes(), 2) == 0);
    for user in its.take(shop.left(0).try_into().expect("a stock")) {
        assert_eq!(shop.try_as(&user), 0, "{user}");
    }
}

fn wait_for_units(shop: &Shop, mover: &mut Program) {
    let come = wait_for("units on shard 0", || {
        assert!(mover.is_running(), "level has ended");
        (shop.left(0) > 0).then_some(())
    });
    come.unwrap_or_else(|late| panic!("{late}"));
}

/// A fixed fault: it ended at the first lost connection.
#[test]
fn level_goes_on_when_its_server_is_back() {
    let mut shop = sale();
    let mut mover = shop.start("level --every 1ms", None);
    for round in 0..3 {
        empty_shard(&shop, round);
        wait_for_units(&shop, &mut mover);
        shop.server.kill9();
        shop.server.start_again();
    }
    empty_shard(&shop, 3);
    wait_for_units(&shop, &mut mover);
    mover.ask_to_end("TERM");
    let output = mover.output();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("is back after"), "{said}");
    shop.run("finish");
    shop.check_finished();
}

/// A server that never answered is a user's mistake: one sentence, at once.
#[test]
fn level_of_a_server_that_was_never_there_ends() {
    let mut shop = sale();
    shop.server.kill9();
    let refused = shop.start("level", None).refused();
    assert_eq!(refused.lines().count(), 1, "{refused}");
}

#[test]
fn level_ends_in_time_while_its_server_hangs() {
    let shop = sale();
    let mut mover = shop.start("level --every 1ms", None);
    empty_shard(&shop, 0);
    wait_for_units(&shop, &mut mover);
    shop.server.freeze();
    mover.ask_to_end("TERM");
    let output = mover.output();
    assert!(output.status.success(), "{output:?}");
    shop.server.wake();
    shop.run("finish");
    shop.check_finished();
}

/// A full Redis 7.0 queues no command of a transaction, but says how the shards stand.
#[test]
fn the_shards_of_a_full_server_are_shown() {
    for shop in Shop::of_both_kinds(2, 100) {
        assert_eq!(shop.try_as("ann"), 0);
        let shown = shop.run("show");
        shop.ask("CONFIG SET maxmemory 1");
        assert_eq!(shop.run("show"), shown);
        shop.ask("CONFIG SET maxmemory 0");
        shop.check();
    }
}
