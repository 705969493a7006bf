//! Random bytes for every command, on keys that other clients keep breaking: the server survives,
//! and an error has changed nothing.

use crate::aof::shown;
use crate::commands::{Row, rows};
use crate::differential::seed;
use crate::harness::{Client, Server};
use crate::transcript::argv;
use domain::book::Entry;
use kit::sales::unix_ms;
use redis::Value;
use std::collections::BTreeSet;

const WORDS: [&[u8]; 24] = [
    b"", b"7", b"alice", b"o1", b"*", b"UNITS", b"units", b"NOSTREAM", b"0", b"1", b"-1", b"2",
    b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808", b"1.5", b"\0",
    b"\xff\xfe", b"\r\n", b"%s%n%x", b"{", b"}", b"{}", b"{7}",
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

/// The calls of the table, all on voucher 7 and of one user, and the keys of such commands.
struct Plausible {
    calls: Vec<Vec<String>>,
    keys: Vec<String>,
    /// Commands that only look.
    looks: Vec<&'static str>,
}

impl Plausible {
    fn of_table() -> Self {
        let word = |word: &str| match word.trim_end_matches('~') {
            // The other article of a cart.
            "@4" => "9".to_owned(),
            "@5" | "@6" | "@7" | "@8" | "@9" | "@p" => "7".to_owned(),
            "alice" | "bob" | "carl" | "zoe" => "user".to_owned(),
            "MANAGED" => "5-1".to_owned(),
            "UNMANAGED" => "5-2".to_owned(),
            word => word.trim_start_matches('@').replace("held", "lock"),
        };
        let calls = rows().into_iter().map(|row| row.call.split(' ').map(word).collect());
        let due = "SECKILL.CREATE 7 9 HOLD 1".split(' ').map(str::to_owned).collect();
        let keys = rows().into_iter().flat_map(|row| row.needs).filter(|key| key != "COUNTER");
        let of_seven = |key: String| match key.rsplit_once(':') {
            Some((kind, _)) if kind.starts_with("seckill:") => format!("{kind}:7"),
            _ => key,
        };
        let keys = keys.map(of_seven).chain(["seckill:stock:{7}".to_owned()]);
        let looks =
            |name: &&str| !rows().iter().any(|row| row.name() == *name && !row.writes.is_empty());
        Self {
            calls: calls.chain([due]).collect(),
            keys: keys.collect::<BTreeSet<_>>().into_iter().collect(),
            looks: rows().iter().map(Row::name).filter(looks).collect(),
        }
    }
}

fn random_arg(random: &mut fastrand::Rng, of: &Plausible) -> Vec<u8> {
    match random.u8(0..20) {
        0..13 => WORDS[random.usize(..WORDS.len())].to_vec(),
        13..17 => random.choice(&of.keys).expect("one").clone().into_bytes(),
        17 => vec![random.u8(..); random.usize(0..70_000)],
        _ => (0..random.usize(0..40)).map(|_| random.u8(..)).collect(),
    }
}

fn random_command(random: &mut fastrand::Rng, of: &Plausible) -> Vec<Vec<u8>> {
    let plausible = random.choice(&of.calls).expect("one");
    let mut words = plausible.iter().map(|word| word.clone().into_bytes());
    let mut command: Vec<_> = words.next().into_iter().collect();
    let word = |word| if random.u8(0..5) > 0 { word } else { random_arg(random, of) };
    command.extend(words.map(word));
    if random.u8(0..10) == 0 {
        command.push(random_arg(random, of));
    }
    command
}

/// Gives a key a value of some type, deletes it, or starts again.
fn disturb(random: &mut fastrand::Rng, client: &mut Client, of: &Plausible) {
    if random.u8(0..3) == 0 {
        client.run("FLUSHALL");
        match random.u8(0..3) {
            0 => client.run("MSET seckill:stock:7 9 seckill:stock:{7} 9 stock 9"),
            _ => client.run("SECKILL.CREATE 7 9 LIMIT 5 HOLD 900000"),
        };
        client.run("SECKILL.CREATE 9 9 LIMIT 5 HOLD 900000");
        client.run("RPUSH seckill:codes:7 a b");
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
    let key = random.choice(&of.keys).expect("one").as_bytes();
    let value = *random.choice(VALUES.iter().chain(&WORDS).collect::<Vec<_>>()).expect("one");
    let field: &[u8] = random.choice([b"o1".as_slice(), b"o2", b"user", b""]).expect("one");
    let score: &[u8] = random.choice([b"-inf".as_slice(), b"1.5", b"1e18", b"+inf"]).expect("one");
    if random.bool() {
        client.call(&[b"DEL", key]);
    }
    match random.u8(0..9) {
        0 => client.call(&[b"SET", key, value]),
        1 => client.call(&[b"SET", key, value, b"PX", b"100000"]),
        2 => client.call(&[b"SADD", key, value, field]),
        3 => client.call(&[b"RPUSH", key, value]),
        4 | 5 => client.call(&[b"HSET", key, field, value]),
        6 => client.call(&[b"ZADD", key, score, field]),
        7 => client.call(&[b"XADD", key, b"18446744073709551615-18446744073709551615", b"a", b"b"]),
        _ => client.call(&[b"XADD", key, b"*", value, value]),
    };
}

/// Is an order of voucher 7 overdue, or will it be within a second, by its hold or by the book
/// alone?
fn is_due(client: &mut Client) -> bool {
    let soon = unix_ms() + 1000;
    let looks = ["7", "{7}"].map(|tag| {
        let holds = argv(&format!("ZCOUNT seckill:hold:{tag} -inf {soon}"));
        [holds, argv(&format!("HVALS seckill:book:{tag}"))]
    });
    let is_overdue = |entry: &Value| match entry {
        Value::BulkString(entry) => Entry::parse(entry).is_ok_and(|entry| entry.is_overdue(soon)),
        _ => false,
    };
    client.together(&looks.concat()).iter().any(|found| match found {
        Value::Int(count) => *count > 0,
        Value::Array(book) => book.iter().any(is_overdue),
        _ => false,
    })
}

/// Runs a command between two observations, with no timer in between, and no lock that is over.
/// None if it was refused before it ran.
fn looked_at(client: &mut Client, command: &[Vec<u8>]) -> Option<[Value; 3]> {
    let [begin, over, digest, end] = ["MULTI", "EXISTS lock", "DEBUG DIGEST", "EXEC"].map(argv);
    let all = [begin, over, digest.clone(), command.to_vec(), digest, end];
    match client.together(&all).pop() {
        Some(Value::Array(mut replies)) => {
            replies.remove(0);
            Some(replies.try_into().expect("three replies"))
        }
        aborted => {
            assert!(matches!(aborted, Some(Value::ServerError(_))), "{aborted:?}");
            None
        }
    }
}

/// Does this answer say that nothing was done?
fn is_lost(name: &str, reply: &Value, of: &Plausible) -> bool {
    match (name, reply) {
        (_, Value::ServerError(_)) => true,
        ("SECKILL.TRY" | "SECKILL.TRYKEYS", Value::Int(1..=4)) => true,
        ("SECKILL.TRY" | "SECKILL.DRAW", Value::Array(pair)) => pair[0] != Value::Int(0),
        _ => of.looks.contains(&name),
    }
}

#[test]
fn random_bytes_do_no_harm() {
    let seed = seed();
    println!("SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let of = Plausible::of_table();
    let server = Server::with().aof().config("seckill.lock-wait-ms-max 5").start();
    let mut client = server.client();
    let (mut lost, mut done) = (0, 0);
    for round in 0..10_000 {
        if round % 6 == 0 {
            disturb(&mut random, &mut client, &of);
        }
        if round % 50 == 0 {
            let mode = random.choice(["auto", "yes"]).expect("one");
            client.run(&format!("CONFIG SET seckill.hash-tags {mode}"));
        }
        let command = random_command(&mut random, &of);
        // Who is refused may first release what is due.
        let nothing_due = !is_due(&mut client);
        let Some([before, reply, after]) = looked_at(&mut client, &command) else { continue };
        let name = String::from_utf8_lossy(&command[0]);
        if is_lost(&name, &reply, &of) && (nothing_due || of.looks.contains(&&*name)) {
            assert_eq!(after, before, "SEED={seed} {round}: {reply:?} to {:.300}", shown(&command));
            lost += 1;
        }
        done += u32::from(after != before);
        // Outside of a transaction a client may wait, and is answered.
        if random.u8(0..20) == 0 {
            client.call(&command);
        }
    }
    println!("{lost} refused, {done} done");
    server.wait_for_queue(0);
    assert!(!server.log().contains("a bug in the module"), "SEED={seed}: {}", server.log());
    server.pause_without_short_lives(&["0"], 5_000, false);
    let copy = Server::with().aof().without_module().data_of(&server).start();
    assert_eq!(copy.digest(), server.digest(), "SEED={seed}");
    server.assert_reload_changes_nothing();
}

#[test]
fn random_config_values_do_no_harm() {
    let seed = seed();
    println!("SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let of = Plausible::of_table();
    let server = Server::start();
    let mut client = server.client();
    for _ in 0..2000 {
        let (name, ..) = crate::config::CONFIGS[random.usize(..crate::config::CONFIGS.len())];
        let value = match random.u8(0..3) {
            0 => b"a b c".to_vec(),
            _ => random_arg(&mut random, &of),
        };
        client.call(&[b"CONFIG".as_slice(), b"SET", name.as_bytes(), &value]);
        let pair = crate::observe::bytes_list(client.call(&["CONFIG", "GET", name]));
        assert_eq!(pair.len(), 2, "SEED={seed}: {name}");
        client.call(&random_command(&mut random, &of));
    }
    assert_eq!(client.run("PING"), Value::SimpleString("PONG".into()));
}

#[test]
fn many_arguments_are_refused() {
    let server = Server::observed().start();
    server.run("SET seckill:stock:7 5");
    let mut command: Vec<Vec<u8>> = ["SECKILL.TRY", "7", "a", "o"].map(Vec::from).to_vec();
    command.extend(std::iter::repeat_n(b"UNITS".to_vec(), 100_000));
    server.refused_argv(&command, "ERR");
}
