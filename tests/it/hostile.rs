//! Random bytes for every command: the server survives, and an error has changed nothing.

use crate::differential::seed;
use crate::harness::{Client, Server};
use redis::Value;

pub const WORDS: [&[u8]; 24] = [
    b"",
    b"7",
    b"alice",
    b"o1",
    b"*",
    b"UNITS",
    b"units",
    b"NOSTREAM",
    b"0",
    b"1",
    b"-1",
    b"2",
    b"9223372036854775807",
    b"9223372036854775808",
    b"-9223372036854775808",
    b"1.5",
    b"\0",
    b"\xff\xfe",
    b"\r\n",
    b"%s%n%x",
    b"{",
    b"}",
    b"{}",
    b"{7}",
];

const KEYS: [&[u8]; 8] = [
    b"seckill:stock:7",
    b"seckill:order:7",
    b"stream.orders",
    b"stock",
    b"buyers",
    b"orders",
    b"seckill:stock:",
    b"seckill:order:{7}",
];

pub fn random_arg(random: &mut fastrand::Rng) -> Vec<u8> {
    match random.u8(0..20) {
        0..11 => WORDS[random.usize(..WORDS.len())].to_vec(),
        11..17 => KEYS[random.usize(..KEYS.len())].to_vec(),
        17 => vec![random.u8(..); random.usize(0..70_000)],
        _ => (0..random.usize(0..40)).map(|_| random.u8(..)).collect(),
    }
}

fn random_command(random: &mut fastrand::Rng) -> Vec<Vec<u8>> {
    let name: &[u8] = match random.u8(0..10) {
        0..4 => b"SECKILL.TRY",
        4..6 => b"SECKILL.TRYKEYS",
        6 => b"SECKILL.MTRY",
        7 => b"SECKILL.NEXTID",
        _ => b"LOCK.RELEASE",
    };
    let args = match (name, random.u8(0..4)) {
        (_, 0) => random.usize(0..12),
        (b"SECKILL.TRY", _) => *random.choice(&[3, 5]).expect("one"),
        (b"SECKILL.TRYKEYS", _) => *random.choice(&[6, 7, 8, 9]).expect("one"),
        (b"SECKILL.MTRY", _) => 1 + 2 * random.usize(0..6),
        (b"SECKILL.NEXTID", _) => *random.choice(&[1, 3]).expect("one"),
        _ => 2,
    };
    let mut command = vec![name.to_vec()];
    command.extend((0..args).map(|_| random_arg(random)));
    // Some arguments must be valid, or nothing is ever sold.
    let plausible: &[&[u8]] = match name {
        b"SECKILL.TRY" | b"SECKILL.MTRY" => &[b"7", b"user"],
        b"SECKILL.TRYKEYS" => &[b"stock", b"buyers", b"orders"],
        _ => &[],
    };
    if random.bool() {
        for (arg, plausible) in command.iter_mut().skip(1).zip(plausible) {
            *arg = plausible.to_vec();
        }
    }
    if name == b"SECKILL.NEXTID" && command.len() == 4 {
        command[2] = b"COUNT".to_vec();
    }
    if command.len() > 5 && random.bool() {
        let end = command.len() - 2;
        command[end] = b"UNITS".to_vec();
    }
    command
}

/// Gives a random key a random value of a random type, deletes it, or gives all stocks some units.
fn disturb(random: &mut fastrand::Rng, client: &mut Client) {
    let key = KEYS[random.usize(..KEYS.len())];
    let value = WORDS[random.usize(..WORDS.len())];
    client.call(&[b"DEL", key]);
    if random.u8(0..3) == 0 {
        client.run("FLUSHALL");
        client.run("MSET seckill:stock:7 9 seckill:stock:{7} 9 stock 9 seckill:stock: 9");
    }
    match random.u8(0..11) {
        0..4 => client.call(&[b"SET", key, value]),
        4 => client.call(&[b"SET", key, value, b"PX", b"100000"]),
        5 => client.call(&[b"SADD", key, value]),
        6 => client.call(&[b"RPUSH", key, value]),
        7 => client.call(&[b"HSET", key, value, value]),
        8 => client.call(&[b"ZADD", key, b"1", value]),
        9 => client.call(&[b"XADD", key, b"18446744073709551615-18446744073709551615", b"a", b"b"]),
        _ => client.call(&[b"XADD", key, b"*", value, value]),
    };
}

#[test]
fn random_bytes_do_no_harm() {
    let seed = seed();
    println!("SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let server = Server::observed().start();
    let mut client = server.client();
    let mut accepted = 0;
    for round in 0..6000 {
        if round % 8 == 0 {
            disturb(&mut random, &mut client);
        }
        if round % 50 == 0 {
            let mode = random.choice(["auto", "yes"]).expect("one");
            client.run(&format!("CONFIG SET seckill.hash-tags {mode}"));
        }
        let before = (server.digest(), server.info("rdb_changes_since_last_save"));
        let command = random_command(&mut random);
        let reply = client.call(&command);
        let lost = match (command[0].as_slice(), &reply) {
            (b"LOCK.RELEASE", Value::Int(1)) | (b"SECKILL.NEXTID", Value::BulkString(_)) => false,
            (b"SECKILL.TRY" | b"SECKILL.TRYKEYS", Value::Int(0)) => {
                accepted += 1;
                false
            }
            // The order id was an asterisk: the reply is the outcome and the generated id.
            (b"SECKILL.TRY", Value::Array(pair)) => match pair.as_slice() {
                [Value::Int(0), Value::BulkString(_)] => {
                    accepted += 1;
                    false
                }
                [Value::Int(1..=2), Value::Nil] => true,
                other => panic!("SEED={seed} round {round}: {other:?}"),
            },
            (b"SECKILL.MTRY", Value::Array(answers)) => {
                let is_accepted = |answer: &&Value| match answer {
                    Value::Array(pair) => pair[0] == Value::Int(0),
                    answer => **answer == Value::Int(0),
                };
                let count = answers.iter().filter(is_accepted).count();
                accepted += count;
                count == 0
            }
            (_, Value::Int(0..=2) | Value::ServerError(_)) => true,
            other => panic!("SEED={seed} round {round}: {other:?}"),
        };
        if lost {
            let after = (server.digest(), server.info("rdb_changes_since_last_save"));
            let shown = crate::aof::shown(&command);
            assert_eq!(after, before, "SEED={seed} round {round}: {reply:?} to {shown:.300}");
        }
    }
    assert!(accepted > 20, "SEED={seed}: only {accepted} tries accepted");
    server.assert_reload_changes_nothing();
    let copy = Server::with().aof().without_module().data_of(&server).start();
    assert_eq!(copy.digest(), server.digest(), "SEED={seed}");
}

#[test]
fn random_config_values_do_no_harm() {
    let seed = seed();
    println!("SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let server = Server::start();
    let mut client = server.client();
    for _ in 0..2000 {
        let (name, ..) = crate::config::CONFIGS[random.usize(..crate::config::CONFIGS.len())];
        let value = match random.u8(0..3) {
            0 => b"a b c".to_vec(),
            _ => random_arg(&mut random),
        };
        client.call(&[b"CONFIG".as_slice(), b"SET", name.as_bytes(), &value]);
        let pair = crate::observe::bytes_list(client.call(&["CONFIG", "GET", name]));
        assert_eq!(pair.len(), 2, "SEED={seed}: {name}");
        client.call(&random_command(&mut random));
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

#[test]
fn error_replies_carry_no_bytes_of_the_user() {
    let server = Server::start();
    server.run("SET seckill:stock:8 x");
    let marks = [b"mark-\xff\xfe".as_slice(), b"mark\r\n+OK\r\n", b"mark%n%s%n", b"mark\0"];
    for mark in marks {
        let commands: [&[&[u8]]; 10] = [
            &[b"SECKILL.TRY", mark, mark, mark],
            &[b"SECKILL.TRY", b"8", mark, mark],
            &[b"SECKILL.TRY", b"7", mark, mark, mark],
            &[b"SECKILL.TRY", b"7", mark, mark, b"UNITS", mark],
            &[b"SECKILL.TRYKEYS", mark, mark, mark, mark, mark, mark],
            &[b"SECKILL.TRYKEYS", b"8", mark, b"o", mark, mark, mark, mark],
            &[b"SECKILL.MTRY", mark, mark, mark, mark, mark],
            &[b"SECKILL.MTRY", b"7", mark, mark, mark],
            &[b"SECKILL.NEXTID", b"order", mark],
            &[b"SECKILL.NEXTID", mark, b"COUNT", mark],
        ];
        for command in commands {
            let reply = server.call(command);
            assert!(matches!(reply, Value::ServerError(_)), "{reply:?}");
            let error = crate::harness::text(&reply);
            assert!(!error.contains("mark"), "{error:?}");
        }
    }
    server.check("> PING\nPONG");
}
