//! Random bytes for the commands of managed sales, on keys that other clients keep breaking.

use crate::aof::shown;
use crate::differential::seed;
use crate::harness::{Client, Server, text};
use crate::hostile::{WORDS, random_arg};
use redis::Value;

const KEYS: [&[u8]; 10] = [
    b"seckill:voucher:7",
    b"seckill:stock:7",
    b"seckill:order:7",
    b"seckill:book:7",
    b"seckill:units:7",
    b"seckill:hold:7",
    b"seckill:extra:7",
    b"stream.orders",
    b"stream.orders.released",
    b"stream.orders.dlq",
];

/// Values that are valid in one of the keys, or nearly.
const VALUES: [&[u8]; 14] = [
    br#"{"total":9,"begin":null,"end":null,"limit":3,"hold":900000}"#,
    br#"{"total":9,"begin":null,"end":null,"limit":3,"hold":1}"#,
    br#"{"total":9223372036854775807,"begin":1,"end":null,"limit":1,"hold":281474976710656}"#,
    br#"{"total":0,"begin":null,"end":1,"limit":1,"hold":null}"#,
    b"held:1:5:user",
    b"held:9223372036854775807:9999999999999:user",
    b"sold:1:0:user",
    b"sold:9223372036854775807:0:",
    b"cancelled:1:0:user",
    b"1:o1",
    b"9223372036854775807:o1",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"9",
];

/// Names of the commands with plausible arguments by position.
const COMMANDS: [(&[u8], &[&[u8]]); 15] = [
    (b"SECKILL.CREATE", &[b"7", b"9", b"HOLD", b"1"]),
    (b"SECKILL.CREATE", &[b"7", b"9", b"LIMIT", b"3", b"HOLD", b"900000"]),
    (b"SECKILL.ALTER", &[b"7", b"HOLD", b"900000"]),
    (b"SECKILL.RESTOCK", &[b"7", b"2"]),
    (b"SECKILL.DROP", &[b"7"]),
    (b"SECKILL.TRY", &[b"7", b"user", b"o1"]),
    (b"SECKILL.TRY", &[b"7", b"user", b"o2", b"UNITS", b"2"]),
    (b"SECKILL.CONFIRM", &[b"7", b"user", b"o1"]),
    (b"SECKILL.CANCEL", &[b"7", b"user", b"o1"]),
    (b"SECKILL.REJECT", &[b"stream.orders", b"g", b"5-1"]),
    (b"SECKILL.REJECT", &[b"stream.orders", b"g", b"5-2", b"REASON", b"none"]),
    (b"SECKILL.ORDER", &[b"7", b"o1"]),
    (b"SECKILL.STATUS", &[b"7", b"user"]),
    (b"SECKILL.INFO", &[b"7"]),
    (b"SECKILL.AUDIT", &[b"7"]),
];

fn random_command(random: &mut fastrand::Rng) -> Vec<Vec<u8>> {
    let (name, sensible) = *random.choice(&COMMANDS).expect("one");
    let mut command = vec![name.to_vec()];
    for arg in sensible {
        let sense = random.u8(0..5) > 0;
        command.push(if sense { arg.to_vec() } else { random_arg(random) });
    }
    if random.u8(0..10) == 0 {
        command.push(random_arg(random));
    }
    command
}

/// Gives a key a value of some type, deletes it, or starts again.
fn disturb(random: &mut fastrand::Rng, client: &mut Client) {
    if random.u8(0..3) == 0 {
        client.run("FLUSHALL");
        client.run("SECKILL.CREATE 7 9 LIMIT 5 HOLD 900000");
        client.run("XADD stream.orders 5-1 userId user voucherId 7 id o1");
        let mut odd = [b"userId", b"user".as_slice(), b"voucherId", b"7", b"id", b"o2"].to_vec();
        odd[random.usize(0..6)] = random.choice(WORDS).expect("one");
        client.call(&[&[b"XADD", b"stream.orders".as_slice(), b"5-2"], &odd[..]].concat());
        client.run("XGROUP CREATE stream.orders g 0");
        client.run("XREADGROUP GROUP g c STREAMS stream.orders >");
        if random.bool() {
            client.run("SECKILL.TRY 7 user o1");
        }
        return;
    }
    let key = KEYS[random.usize(..KEYS.len())];
    let value = *random.choice(VALUES.iter().chain(&WORDS).collect::<Vec<_>>()).expect("one");
    let field: &[u8] = random.choice([b"o1".as_slice(), b"o2", b"user", b""]).expect("one");
    let score: &[u8] = random.choice([b"-inf".as_slice(), b"1.5", b"1e18", b"+inf"]).expect("one");
    if random.bool() {
        client.call(&[b"DEL", key]);
    }
    match random.u8(0..8) {
        0 => client.call(&[b"SET", key, value]),
        1 => client.call(&[b"SADD", key, value, field]),
        2 => client.call(&[b"RPUSH", key, value]),
        3 | 4 => client.call(&[b"HSET", key, field, value]),
        5 => client.call(&[b"ZADD", key, score, field]),
        6 => client.call(&[b"XADD", key, b"18446744073709551615-18446744073709551615", b"a", b"b"]),
        _ => client.call(&[b"XADD", key, b"*", value, value]),
    };
}

/// Runs a command between two observations, with no timer in between. None if it was refused before
/// it ran.
fn looked_at(client: &mut Client, command: &[Vec<u8>]) -> Option<[Value; 4]> {
    let soon = (client.clock_ms() + 1000).to_string();
    client.run("MULTI");
    client.run("DEBUG DIGEST");
    client.call(&["ZCOUNT", "seckill:hold:7", "-inf", &soon]);
    if client.call(command) != Value::SimpleString("QUEUED".into()) {
        client.run("DISCARD");
        return None;
    }
    client.run("DEBUG DIGEST");
    match client.run("EXEC") {
        Value::Array(replies) => Some(replies.try_into().expect("four replies")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn random_bytes_do_no_harm() {
    let seed = seed();
    println!("SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let server = Server::with().aof().start();
    let mut client = server.client();
    let (mut errors, mut answers) = (0, 0);
    for round in 0..5000 {
        if round % 6 == 0 {
            disturb(&mut random, &mut client);
        }
        let command = random_command(&mut random);
        let Some([before, due, reply, after]) = looked_at(&mut client, &command) else { continue };
        let looks = [b"ORDER".as_slice(), b"STATUS", b"INFO", b"AUDIT"];
        let looks =
            looks.contains(&command[0].rsplit(|byte| *byte == b'.').next().expect("a name"));
        let refused = matches!(reply, Value::ServerError(_));
        // A try that is refused may first release what is due.
        let nothing_due = matches!(due, Value::Int(0) | Value::ServerError(_));
        if looks || refused && nothing_due {
            assert_eq!(after, before, "SEED={seed} {round}: {reply:?} to {:.300}", shown(&command));
        }
        errors += u32::from(refused);
        answers += u32::from(!refused);
    }
    assert!(errors > 500 && answers > 500, "SEED={seed}: {errors} errors, {answers} answers");
    assert!(!server.log().contains("a bug in the module"), "SEED={seed}: {}", server.log());
    client.check("> CLIENT PAUSE 60000 WRITE\nOK");
    let copy = Server::with().aof().without_module().data_of(&server).start();
    assert_eq!(copy.digest(), server.digest(), "SEED={seed}");
    server.assert_reload_changes_nothing();
}

#[test]
fn error_replies_carry_no_bytes_of_the_user() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 5 HOLD 900000");
    server.run("SECKILL.TRY 7 alice o1");
    for mark in [b"mark-\xff\xfe".as_slice(), b"mark\r\n+OK\r\n", b"mark%n%s%n", b"mark\0"] {
        server.call(&[b"SET".as_slice(), b"seckill:voucher:8", mark]);
        server.call(&[b"SET".as_slice(), b"seckill:stock:9", mark]);
        server.call(&[b"HSET".as_slice(), b"seckill:book:7", b"o2", mark]);
        server.call(&[b"DEL".as_slice(), b"s"]);
        server.call(&[b"XADD".as_slice(), b"s", b"1-1", mark, mark]);
        let commands: [&[&[u8]]; 19] = [
            &[b"SECKILL.REJECT", mark, mark, b"1-1"],
            &[b"SECKILL.REJECT", b"s", mark, b"1-1"],
            &[b"SECKILL.REJECT", b"s", b"g", mark],
            &[b"SECKILL.REJECT", b"s", b"g", b"1-1", mark, mark],
            &[b"SECKILL.CREATE", mark, mark],
            &[b"SECKILL.CREATE", b"new", b"5", mark, b"1"],
            &[b"SECKILL.CREATE", b"new", b"5", b"HOLD", mark],
            &[b"SECKILL.ALTER", mark, b"HOLD", b"1"],
            &[b"SECKILL.ALTER", b"7", mark, mark],
            &[b"SECKILL.RESTOCK", b"7", mark],
            &[b"SECKILL.RESTOCK", mark, b"1"],
            &[b"SECKILL.CONFIRM", mark, mark, mark],
            &[b"SECKILL.TRY", b"7", mark, b"o1"],
            &[b"SECKILL.TRY", b"7", mark, b"o2"],
            &[b"SECKILL.TRY", b"8", mark, mark],
            &[b"SECKILL.INFO", mark],
            &[b"SECKILL.INFO", b"9"],
            &[b"SECKILL.ORDER", b"7", b"o2"],
            &[b"SECKILL.AUDIT", mark],
        ];
        for command in commands {
            let reply = server.call(command);
            assert!(matches!(reply, Value::ServerError(_)), "{command:?}: {reply:?}");
            assert!(!text(&reply).contains("mark"), "{reply:?}");
        }
    }
    server.check("> PING\nPONG");
}
