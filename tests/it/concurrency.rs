//! Many clients at once, on one voucher.

use std::thread;

use crate::harness::{Client, Server};
use crate::observe::{bytes_list, integer};
use crate::replayed::assert_replayed;
use redis::Value;

const CLIENTS: usize = 16;
const TRIES: usize = 500;
const STOCK: i64 = 1500;

/// Sends tries in a pipeline and returns the accepted users, one entry per acceptance.
fn rush(mut client: Client, seed: u64) -> Vec<String> {
    let mut random = fastrand::Rng::with_seed(seed);
    // All clients draw from the same 3000 users, so most users try on several clients.
    let users: Vec<String> = (0..TRIES).map(|_| format!("u{}", random.u32(0..3000))).collect();
    for user in &users {
        match random.u8(0..3) {
            0 => client.send(&[
                "EVAL",
                "return redis.call('SECKILL.TRY', ARGV[1], ARGV[2], ARGV[3])",
                "0",
                "7",
                user,
                "o",
            ]),
            1 => client.send(&[
                "SECKILL.TRYKEYS", "seckill:stock:7", "seckill:order:7", "stream.orders", "7",
                user, "o",
            ]),
            _ => client.send(&["SECKILL.TRY", "7", user, "o"]),
        }
    }
    let mut accepted = Vec::new();
    for user in users {
        match client.receive() {
            Value::Int(0) => accepted.push(user),
            Value::Int(1 | 2) => {}
            other => panic!("{other:?}"),
        }
    }
    accepted
}

#[test]
fn a_rush_never_oversells() {
    let server = Server::with().aof().start();
    server.run(&format!("SET seckill:stock:7 {STOCK}"));
    let seed = crate::differential::seed();
    println!("SEED={seed}");
    let clients: Vec<_> = (0..CLIENTS).map(|_| server.client()).collect();
    let threads: Vec<_> = clients
        .into_iter()
        .zip(0..)
        .map(|(client, number)| thread::spawn(move || rush(client, seed.wrapping_add(number))))
        .collect();
    let mut accepted: Vec<String> = Vec::new();
    for thread in threads {
        accepted.extend(thread.join().expect("a client that got all its replies"));
    }
    let sold = i64::try_from(accepted.len()).expect("a count");
    let mut buyers: Vec<String> = bytes_list(server.run("SMEMBERS seckill:order:7"))
        .into_iter()
        .map(|user| String::from_utf8(user).expect("a user"))
        .collect();
    accepted.sort();
    buyers.sort();
    assert_eq!(accepted, buyers, "SEED={seed}: nobody twice, nobody forgotten");
    assert_eq!(sold, STOCK, "SEED={seed}: sold out");
    assert_eq!(integer(&server.run("XLEN stream.orders")), sold);
    server.check("> GET seckill:stock:7\n0");
    assert_eq!(server.info_number("seckill_tries_accepted"), sold);
    let tries = ["accepted", "sold_out", "at_limit"];
    let tries = tries.map(|what| server.info_number(&format!("seckill_tries_{what}")));
    assert_eq!(tries.iter().sum::<i64>(), (CLIENTS * TRIES) as i64);
    server.assert_reload_changes_nothing();
    assert_replayed(&server);
}
