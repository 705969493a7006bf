//! A server that is found through Sentinels, before and after a failover.

use crate::databases::Database;
use crate::harness::Server;
use crate::shop::Shop;
use crate::worker::until;

/// A Sentinel that watches a primary alone, and so decides alone.
fn sentinel(primary: &Server) -> Server {
    Server::with()
        .without_module()
        .port()
        .config(format!("sentinel monitor sale 127.0.0.1 {} 1", primary.port()))
        .config("sentinel failover-timeout sale 5000")
        .start()
}

#[test]
fn the_worker_follows_the_sentinels() {
    let primary = Server::with().port().start();
    let replica = Server::with().replica_of(&primary).start();
    primary.wait_for_replica(&replica);
    let watching = sentinel(&primary);
    let says = |info: String| ["status=ok", "slaves=1"].iter().all(|word| info.contains(word));
    until("the Sentinel to know the replica", || watching.info("master0").is_some_and(says));
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

    until("a failover", || watching.run("SENTINEL FAILOVER sale") == redis::Value::Okay);
    // The Sentinel disconnects the clients of the promoted server, then names it as primary.
    until("a new primary", || {
        let told = watching.run("SENTINEL GET-MASTER-ADDR-BY-NAME sale");
        format!("{told:?}").contains(&replica.port().to_string())
    });
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
