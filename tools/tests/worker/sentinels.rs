//! A server that is found through Sentinels, before and after a failover.

use crate::databases::Database;
use crate::harness::{Server, wait_for};
use crate::shop::Shop;

/// A Sentinel that watches a primary alone, and so decides alone.
fn sentinel(primary: &Server) -> Server {
    Server::with()
        .without_module()
        .port()
        .config(format!("sentinel monitor sale 127.0.0.1 {} 1", primary.port()))
        .config("sentinel failover-timeout sale 5000")
        .start()
}

fn say(server: &Server, command: &str) -> redis::Value {
    server.call(&command.split(' ').collect::<Vec<_>>())
}

#[test]
fn the_worker_follows_the_sentinels() {
    let primary = Server::with().port().start();
    let replica = Server::with().replica_of(&primary).start();
    primary.wait_for_replica(&replica);
    let watching = sentinel(&primary);
    let known = wait_for("the Sentinel to know the replica", || {
        let info = watching.info("master0")?;
        info.contains("status=ok").then_some(())?;
        info.contains("slaves=1").then_some(())
    });
    known.unwrap_or_else(|late| panic!("{late}\n{}", watching.log()));
    let mut shop = Shop::on(primary, Database::sqlite(), &[""]);
    // The first Sentinel in the URL does not exist.
    let gone = crate::harness::Port::free();
    let port = watching.port();
    let url = format!("redis+sentinel://127.0.0.1:{},127.0.0.1:{port}/sale", gone.number);
    shop.sell("phone", 1_000);
    let mut worker = shop.worker_at(&url, &[]);
    shop.buy("phone", "ann", "o1");
    shop.wait_until_drained(&mut worker);
    shop.server.wait_for_replica(&replica);

    let failover =
        || (say(&watching, "SENTINEL FAILOVER sale") == redis::Value::Okay).then_some(());
    wait_for("a failover", failover).unwrap_or_else(|late| panic!("{late}\n{}", watching.log()));
    // The Sentinel disconnects the clients of the promoted server, then names it as primary.
    let promoted = || {
        let told = say(&watching, "SENTINEL GET-MASTER-ADDR-BY-NAME sale");
        format!("{told:?}").contains(&replica.port().to_string()).then_some(())
    };
    wait_for("a new primary", promoted).unwrap_or_else(|late| panic!("{late}\n{}", watching.log()));
    replica.reconnect();
    let old = std::mem::replace(&mut shop.server, replica);
    shop.buy("phone", "ben", "o2");
    shop.wait_until_drained(&mut worker);
    shop.check();
    assert_eq!(shop.row_count(), 2);
    drop(old);
    assert!(worker.terminate().success(), "{}", worker.log());
}

#[test]
fn a_service_that_no_sentinel_knows_is_told() {
    let primary = Server::with().port().start();
    let watching = sentinel(&primary);
    let shop = Shop::on(primary, Database::sqlite(), &[""]);
    let url = format!("redis+sentinel://127.0.0.1:{}/other", watching.port());
    let mut worker = shop.worker_at(&url, &["--once"]);
    assert_eq!(worker.ended().code(), Some(1), "{}", worker.log());
    assert!(worker.log().contains("/other: "), "{}", worker.log());
}
