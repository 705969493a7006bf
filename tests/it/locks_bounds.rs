//! How many clients may wait for locks: `seckill.lock-waiters-max`.

use crate::harness::{Client, Server, wait_for};
use redis::Value;

const PER_LOCK: &str = "ERR 2 clients already wait for this lock, and no more may";
const IN_ALL: &str = "ERR 3 clients already wait for locks, and no more may";

/// Two waiters per lock and three in all are allowed; three locks are held.
fn bounded() -> Server {
    let server = Server::observed().start();
    server.check("> CONFIG SET seckill.lock-waiters-max '2 3 3'\nOK");
    for lock in ["a", "b", "c"] {
        server.check(&format!("> LOCK.ACQUIRE {lock} ann 1000000\n1"));
    }
    server
}

#[test]
fn a_full_line_refuses_and_changes_nothing() {
    let server = bounded();
    let mut first = server.waiter("LOCK.ACQUIRE a bob 1000000 BLOCK 60000");
    let _second = server.waiter("LOCK.ACQUIRE a cid 1000000 BLOCK 60000 FENCE");
    for request in [
        "LOCK.ACQUIRE a dan 1000000 BLOCK 60000",
        "LOCK.ACQUIRE a dan 1000000 BLOCK 60000 FENCE",
        "LOCK.ACQUIRE a dan 1000000 BLOCK 60000 SESSION",
    ] {
        assert_eq!(server.refused(request, "ERR"), PER_LOCK);
        assert_eq!(server.in_queue(), 2);
    }
    // A client that does not wait is answered as before, and so is the holder.
    assert_eq!(server.silent("LOCK.ACQUIRE a dan 1000000"), Value::Int(0));
    server.check("> LOCK.ACQUIRE a ann 1000000 BLOCK 60000\n1");
    // No client waits in a transaction, so the bound does not apply there.
    server.check(
        "
        > MULTI => OK
        > LOCK.ACQUIRE a dan 1000000 BLOCK 60000 => QUEUED
        > EXEC => 1) 0
        ",
    );
    // Another lock has its own line.
    let _third = server.waiter("LOCK.ACQUIRE b dan 1000000 BLOCK 60000");
    // A lock that is handed over makes room in its line.
    server.check("> LOCK.RELEASE a ann\n1");
    assert_eq!(first.receive(), Value::Int(1));
    let _fourth = server.waiter("LOCK.ACQUIRE a dan 1000000 BLOCK 60000");
    assert_eq!(server.refused("LOCK.ACQUIRE a eve 1000000 BLOCK 60000", "ERR"), PER_LOCK);
}

#[test]
fn all_queues_together_have_a_bound() {
    let server = bounded();
    let _waiters: Vec<Client> = ["a", "a", "b"]
        .iter()
        .enumerate()
        .map(|(n, lock)| server.waiter(&format!("LOCK.ACQUIRE {lock} w{n} 1000000 BLOCK 60000")))
        .collect();
    assert_eq!(server.refused("LOCK.ACQUIRE c dan 1000000 BLOCK 60000", "ERR"), IN_ALL);
    assert_eq!(server.refused("LOCK.ACQUIRE b dan 1000000 BLOCK 60000", "ERR"), IN_ALL);
    // Free locks are acquired regardless of the bound.
    server.check("> LOCK.ACQUIRE d dan 1000000 BLOCK 60000\n1");
    // A greater bound is valid at once; a smaller one removes no waiter.
    server.check("> CONFIG SET seckill.lock-waiters-max '2 4 4'\nOK");
    let _another = server.waiter("LOCK.ACQUIRE c dan 1000000 BLOCK 60000");
    server.check("> CONFIG SET seckill.lock-waiters-max '0 0 0'\nOK");
    assert_eq!(server.in_queue(), 4);
    let nobody = "ERR 0 clients already wait for this lock, and no more may";
    assert_eq!(server.refused("LOCK.ACQUIRE d eve 1000000 BLOCK 60000", "ERR"), nobody);
}

/// A thousand clients wait with the longest names and tokens, and leave.
#[test]
fn the_memory_of_waiters_comes_back() {
    let server = Server::start();
    let lock = "k".repeat(512);
    server.check(&format!("> LOCK.ACQUIRE {lock} ann 1000000\n1"));
    let used = || server.info_number("used_memory");
    // Newer servers keep buffers for answers to waiters, so only the second crowd counts.
    crowd(&server, &lock);
    let before = used();
    crowd(&server, &lock);
    let kept = || used() - before;
    let given_back = wait_for("the memory", || (kept() < 500_000).then_some(()));
    given_back.unwrap_or_else(|late| panic!("{late}: {} bytes are kept", kept()));
}

/// A thousand clients connect, wait and disconnect.
fn crowd(server: &Server, lock: &str) {
    let used = || server.info_number("used_memory");
    let mut waiters: Vec<Client> = (0..1000).map(|_| server.client()).collect();
    // The server allocates a client's query buffer at its first read.
    waiters.iter_mut().for_each(|client| client.check("> PING\nPONG"));
    let connected = used();
    for (n, client) in waiters.iter_mut().enumerate() {
        client.send(&["LOCK.ACQUIRE", lock, &format!("{n:0>512}"), "1000000", "BLOCK", "60000"]);
    }
    server.wait_for_queue(1000);
    // The server gives two reply buffers of 16 KB to every client that a module blocks; the rest is
    // the request and a place in the queue.
    let each = (used() - connected) / 1000;
    assert!(each < 40_000, "{each} bytes for each waiter");
    let error = server.say(&format!("LOCK.ACQUIRE {lock} bob 1000000 BLOCK 60000"));
    assert_eq!(error, "ERR 1000 clients already wait for this lock, and no more may");
    drop(waiters);
    server.wait_for_queue(0);
    let alone = || server.info_number("connected_clients") == 1;
    wait_for("the connections' end", || alone().then_some(())).expect("closed");
}
