//! Scripts that commands replace, under load: I/O threads, changes of the setting, loading, long
//! scripts. The scripts are the usual ones, so an answer by Lua is correct too.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use redis::Value;

use crate::harness::{Builder, Client, Server, module, text};
use crate::observe::integer;
use crate::scripts::{SELL, entries, replaced, sha1};

const USUAL: &str = include_str!("../../tools/benches/side_by_side/scripts/seckill.lua");
const UNLOCK: &str = include_str!("unlock.lua");

fn usual_entries() -> String {
    // One command has more arguments than the call, the other has fewer.
    let keys = "seckill:stock:7 seckill:order:7 stream.orders";
    format!(
        "{} SECKILL.TRYKEYS {keys} ARGV[1] ARGV[2] ARGV[3];{} LOCK.RELEASE KEYS[1] ARGV[1]",
        sha1(USUAL),
        sha1(UNLOCK)
    )
}

const STOCK: i64 = 1_000_000;

/// A server with the scripts loaded, their vouchers and their locks.
fn loaded(builder: Builder) -> Server {
    let server = builder.start();
    server.run(&format!("SET seckill:stock:7 {STOCK}"));
    for script in [USUAL, UNLOCK] {
        server.call(&["SCRIPT", "LOAD", script]);
    }
    server
}

/// Sends batches of calls of both scripts, with other commands in between, until it is stopped.
/// Returns the number of accepted tries.
fn traffic(mut client: Client, number: usize, stop: &AtomicBool) -> i64 {
    let (sell, unlock) = (sha1(USUAL), sha1(UNLOCK));
    let (mut accepted, mut round) = (0, 0);
    while !stop.load(Ordering::Relaxed) {
        round += 1;
        let (user, lock) = (format!("u{number}-{round}"), format!("lock{number}"));
        client.send(&["SET", &lock, &user]);
        for _ in 0..2 {
            client.send(&["EVALSHA", &sell, "0", "7", &user, "o"]);
            client.send(&["EVAL", USUAL, "0", "7", &user, "o"]);
            client.send(&["EVALSHA", &unlock, "1", &lock, &user]);
        }
        // Other commands for a while.
        (0..50).for_each(|_| client.send(&["PING"]));
        let replies: Vec<Value> = (0..57).map(|_| client.receive()).collect();
        let numbers: Vec<i64> = replies[1..7].iter().map(integer).collect();
        assert_eq!(numbers, [0, 2, 1, 2, 2, 0], "{user}");
        assert!(replies[7..].iter().all(|reply| text(reply) == "PONG"));
        accepted += 1;
    }
    accepted
}

/// Stops the traffic when it is dropped, also by a panic.
struct Stops<'s>(&'s AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` while clients send calls; then all sums must be right.
fn under_load(server: &Server, work: impl FnOnce()) {
    let stop = AtomicBool::new(false);
    let accepted: i64 = thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|number| {
                let (client, stop) = (server.client(), &stop);
                scope.spawn(move || traffic(client, number, stop))
            })
            .collect();
        let stops = Stops(&stop);
        work();
        drop(stops);
        clients.into_iter().map(|client| client.join().expect("a client")).sum()
    });
    let left: i64 = server.say("GET seckill:stock:7").parse().expect("units");
    assert_eq!(left, STOCK - accepted);
    assert_eq!(integer(&server.run("SCARD seckill:order:7")), accepted);
    assert_eq!(integer(&server.run("XLEN stream.orders")), accepted);
    assert!(!server.log().contains("a bug in"), "{}", server.log());
}

/// Waits until this many more calls have become commands.
fn wait_for_more(server: &Server, more: i64) {
    let before = replaced(server);
    server.until("calls that become commands", || replaced(server) >= before + more);
}

#[test]
fn threads_that_read_and_write_for_the_server() {
    let mut builder = Server::with().config("io-threads 3");
    // Newer servers always read on threads.
    let reads = builder.clone().config("io-threads-do-reads yes");
    if reads.clone().try_start().is_ok() {
        builder = reads;
    }
    let builder = builder.config(format!("seckill.scripts '{}'", usual_entries()));
    let server = loaded(builder);
    under_load(&server, || wait_for_more(&server, 2_000));
}

#[test]
fn the_module_comes_under_load() {
    let server = loaded(Server::with().without_module());
    let path = module().display().to_string();
    under_load(&server, || {
        let name = "seckill.scripts";
        let load = ["MODULE", "LOADEX", &path, "CONFIG", name, &usual_entries()];
        assert_eq!(server.call(&load), Value::Okay);
        wait_for_more(&server, 200);
    });
}

#[test]
fn calls_leave_no_memory_behind() {
    let server = Server::start();
    let inserted = format!("{} SECKILL.TRY ARGV[1] ARGV[1] ARGV[1] UNITS 1", sha1("return 1"));
    let setting = format!("{};{inserted}", entries());
    server.call(&["CONFIG", "SET", "seckill.scripts", &setting]);
    server.run("SET seckill:stock:7 0");
    let user = "u".repeat(400);
    let mut client = server.client();
    let mut batch = |calls: usize| {
        for _ in 0..calls {
            client.send(&["EVALSHA", &sha1(SELL), "0", "7", &user, &user, "z"]);
            client.send(&["EVAL", SELL, "0", "7", &user, &user]);
            client.send(&["EVALSHA", &sha1("return 1"), "0", "7"]);
        }
        for _ in 0..calls * 3 {
            assert_eq!(client.receive(), Value::Int(1));
        }
        server.info_number("used_memory")
    };
    let before = (0..5).map(|_| batch(200)).max().expect("a batch");
    let after = (0..20).map(|_| batch(200)).min().expect("a batch");
    // Losing one string per call would add 600 kB or more.
    assert!(after < before + 200_000, "{before} bytes, then {after}");
}
