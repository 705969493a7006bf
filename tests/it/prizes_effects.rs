//! The effects of draws, and random histories of draws.

use std::collections::{BTreeMap, VecDeque};
use std::thread;

use crate::aof::shown;
use crate::differential::seed;
use crate::effects::{assert_same, assert_transaction};
use crate::events::assert_like;
use crate::harness::{Client, Server, text};
use crate::hostile::{WORDS, random_arg};
use crate::observe::{bytes_list, integer, words};
use redis::Value;

/// The commands that `act` adds to the file, with the id of the last entry written as ID.
fn written(server: &Server, act: &str) -> Vec<String> {
    let commands = server.aof_of(|| {
        let reply = server.run(act);
        assert!(!matches!(reply, Value::ServerError(_)), "{act}: {reply:?}");
    });
    let last = server.run("XREVRANGE stream.draws + - COUNT 1");
    let last: Vec<(String, Vec<Vec<u8>>)> = redis::from_redis_value(last).expect("entries");
    let id = last.first().map_or("none", |(id, _)| id.as_str());
    commands.iter().map(|line| shown(line).replace(id, "ID")).collect()
}

#[test]
fn draws_are_written_as_plain_commands() {
    let server = Server::with().aof().start();
    server.run("RPUSH seckill:codes:7 a b");
    for (user, code) in [("alice", "a"), ("bob", "b")] {
        let (hset, xadd) = (
            format!("HSET seckill:winners:7 {user} {code}"),
            format!("XADD stream.draws ID userId {user} poolId 7 code {code}"),
        );
        assert_transaction(
            written(&server, &format!("SECKILL.DRAW 7 {user}")),
            vec!["LPOP seckill:codes:7", &hset, &xadd],
        );
    }
    for (user, code) in [("alice", "a"), ("bob", "b")] {
        let (lpush, hdel) =
            (format!("LPUSH seckill:codes:7 {code}"), format!("HDEL seckill:winners:7 {user}"));
        assert_transaction(
            written(&server, &format!("SECKILL.UNDRAW 7 {user}")),
            vec![&lpush, &hdel],
        );
    }
    server.run("CONFIG SET seckill.draw-stream ''");
    assert_transaction(
        written(&server, "SECKILL.DRAW 7 carol"),
        vec!["LPOP seckill:codes:7", "HSET seckill:winners:7 carol b"],
    );
    for lost in ["DRAW 7 carol", "DRAW 8 carol", "UNDRAW 7 zoe", "UNDRAW 8 carol"] {
        assert_eq!(written(&server, &format!("SECKILL.{lost}")), Vec::<String>::new());
    }
}

#[test]
fn a_transaction_is_written_as_one() {
    let server = Server::with().aof().start();
    server.run("RPUSH seckill:codes:7 a b");
    let lines = server.aof_of(|| {
        for command in ["MULTI", "SECKILL.DRAW 7 x", "SECKILL.DRAW 7 y", "SECKILL.UNDRAW 7 x"] {
            server.run(command);
        }
        assert!(matches!(server.run("EXEC"), Value::Array(_)));
    });
    let names: Vec<_> =
        lines.iter().map(|argv| text(&Value::BulkString(argv[0].clone()))).collect();
    let wanted = ["MULTI", "LPOP", "HSET", "XADD", "LPOP", "HSET", "XADD", "LPUSH", "HDEL", "EXEC"];
    assert_eq!(names, wanted);
}

#[test]
fn events_are_those_of_the_plain_commands() {
    let draw = "SECKILL.DRAW 7 alice";
    let drawn = [
        "LPOP seckill:codes:7",
        "HSET seckill:winners:7 alice a",
        "XADD stream.draws * userId alice",
    ];
    let (one, two) = ("RPUSH seckill:codes:7 a", "RPUSH seckill:codes:7 a b");
    let before = ["RPUSH seckill:codes:7 z", "SECKILL.DRAW 7 zoe"];
    assert_like(&[one], draw, &drawn);
    assert_like(&[two], draw, &drawn);
    assert_like(&[before[0], before[1], one], draw, &drawn);
    assert_like(&[two, "CONFIG SET seckill.draw-stream ''"], draw, &drawn[..2]);
    let undraw = "SECKILL.UNDRAW 7 alice";
    let undrawn = ["LPUSH seckill:codes:7 a", "HDEL seckill:winners:7 alice"];
    assert_like(&[one, draw], undraw, &undrawn);
    assert_like(&[two, draw], undraw, &undrawn);
    assert_like(&[before[0], before[1], two, draw], undraw, &undrawn);
}

/// The expected state of a pool: codes not yet drawn, and the winners.
#[derive(Default)]
struct Model {
    codes: VecDeque<String>,
    winners: BTreeMap<String, String>,
    draws: i64,
}

impl Model {
    fn draw(&mut self, user: &str) -> (i64, Option<String>) {
        if let Some(code) = self.winners.get(user) {
            return (2, Some(code.clone()));
        }
        let Some(code) = self.codes.pop_front() else { return (1, None) };
        self.winners.insert(user.to_owned(), code.clone());
        self.draws += 1;
        (0, Some(code))
    }

    fn undraw(&mut self, user: &str) -> i64 {
        let Some(code) = self.winners.remove(user) else { return 0 };
        self.codes.push_front(code);
        1
    }

    fn assert_like(&self, server: &Server, pool: &str, about: &str) {
        let codes = words(server.run(&format!("LRANGE seckill:codes:{pool} 0 -1")));
        assert_eq!(self.codes, codes, "{about}");
        let pairs = words(server.run(&format!("HGETALL seckill:winners:{pool}")));
        let winners: BTreeMap<_, _> =
            pairs.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
        assert_eq!(winners, self.winners, "{about}");
    }
}

/// Runs one history on a server, compared with the model.
fn play(server: &Server, seed: u64, rounds: u32) {
    println!("SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let pools = ["7", "8", "{a}"];
    let mut models = [(); 3].map(|()| Model::default());
    let mut pushed = 0;
    for round in 0..rounds {
        let index = random.usize(..pools.len());
        let (pool, model) = (pools[index], &mut models[index]);
        let user = format!("u{}", random.u8(0..30));
        let about = format!("SEED={seed} {round}: {pool} {user}");
        match random.u8(0..20) {
            0..3 => {
                // Numbers and texts, short and long: lists store each kind differently.
                let code = match random.u8(0..3) {
                    0 => pushed.to_string(),
                    1 => format!("code-{pushed}"),
                    _ => format!("{}-{pushed}", "x".repeat(random.usize(0..9000))),
                };
                pushed += 1;
                server.run(&format!("RPUSH seckill:codes:{pool} {code}"));
                model.codes.push_back(code);
            }
            3..15 => {
                let (outcome, code) = model.draw(&user);
                let code = code.map_or(Value::Nil, |code| Value::BulkString(code.into()));
                let wanted = Value::Array(vec![Value::Int(outcome), code]);
                assert_eq!(server.run(&format!("SECKILL.DRAW {pool} {user}")), wanted, "{about}");
            }
            _ => {
                let wanted = Value::Int(model.undraw(&user));
                assert_eq!(server.run(&format!("SECKILL.UNDRAW {pool} {user}")), wanted, "{about}");
            }
        }
        if round % 50 == 0 {
            model.assert_like(server, pool, &about);
        }
    }
    for (pool, model) in pools.iter().zip(&models) {
        model.assert_like(server, pool, &format!("SEED={seed} {pool}"));
    }
    let draws = models.iter().map(|model| model.draws).sum::<i64>();
    assert!(draws > i64::from(rounds) / 20, "SEED={seed}: {draws} draws");
    assert_eq!(integer(&server.run("XLEN stream.draws")), draws);
    assert_eq!(server.info_number("seckill_prizes_drawn"), draws);
}

#[test]
fn random_histories_are_those_of_the_model_and_are_replayed() {
    let server = Server::with().aof().start();
    play(&server, seed(), 4000);
    server.assert_reload_changes_nothing();
    let copy = Server::with().aof().without_module().data_of(&server).start();
    assert_same(&server, &copy);
    for argv in server.aof() {
        assert!(!shown(&argv).starts_with("SECKILL."), "{}", shown(&argv));
    }
}

#[test]
fn a_replica_without_the_module_has_the_same_data() {
    // Small nodes, compressed: the internal format of a list must not matter.
    let primary =
        Server::with().port().config("list-max-listpack-size 2").config("list-compress-depth 1");
    let primary = primary.start();
    let replica = Server::with().without_module().replica_of(&primary).start();
    primary.wait_for_replica(&replica);
    play(&primary, seed(), 2000);
    primary.wait_for_replica(&replica);
    assert_same(&primary, &replica);
}

#[test]
fn a_crash_keeps_every_acknowledged_draw_and_no_half() {
    let mut server = Server::with().aof().start();
    for block in 0..30 {
        let codes: Vec<_> = (0..100).map(|code| format!("c{}", block * 100 + code)).collect();
        server.run(&format!("RPUSH seckill:codes:7 {}", codes.join(" ")));
    }
    // More draws are sent than replies are read: the server is killed in the middle of a pipeline.
    let mut client = server.client();
    for user in 0..2000 {
        client.send(&["SECKILL.DRAW", "7", &format!("u{user}")]);
    }
    for user in 0..700 {
        let code = Value::BulkString(format!("c{user}").into());
        assert_eq!(client.receive(), Value::Array(vec![Value::Int(0), code]));
    }
    server.kill9();
    server.start_again();
    let drawn = integer(&server.run("HLEN seckill:winners:7"));
    assert!((700..=2000).contains(&drawn), "{drawn} drawn");
    assert_eq!(integer(&server.run("LLEN seckill:codes:7")), 3000 - drawn);
    assert_eq!(integer(&server.run("XLEN stream.draws")), drawn);
    server.check(&format!("> LINDEX seckill:codes:7 0\nc{drawn}"));
    server.check("> SECKILL.DRAW 7 u0\n1) 2\n2) c0");
}

#[test]
fn many_clients_draw_every_code_once() {
    let server = Server::start();
    let codes: Vec<_> = (0..400).map(|code| format!("c{code}")).collect();
    server.run(&format!("RPUSH seckill:codes:7 {}", codes.join(" ")));
    // All clients draw for the same users, each in a different order.
    let draw = |(mut client, seed): (Client, u64)| {
        let mut users: Vec<_> = (0..500).map(|user| format!("u{user}")).collect();
        fastrand::Rng::with_seed(seed).shuffle(&mut users);
        let mut drawn = Vec::new();
        for user in users {
            match client.call(&["SECKILL.DRAW", "7", &user]) {
                Value::Array(pair) if pair[0] == Value::Int(0) => drawn.push(text(&pair[1])),
                Value::Array(pair) => assert!(matches!(pair[0], Value::Int(1 | 2)), "{pair:?}"),
                other => panic!("{other:?}"),
            }
        }
        drawn
    };
    let seed = seed();
    let clients: Vec<_> = (0..8).map(|index| (server.client(), seed.wrapping_add(index))).collect();
    let threads: Vec<_> = clients.into_iter().map(|c| thread::spawn(move || draw(c))).collect();
    let mut drawn: Vec<_> =
        threads.into_iter().flat_map(|thread| thread.join().expect("a client")).collect();
    let mut won = words(server.run("HVALS seckill:winners:7"));
    let mut all = codes;
    for list in [&mut drawn, &mut won, &mut all] {
        list.sort();
    }
    assert_eq!((&drawn, &won), (&all, &all), "SEED={seed}");
    server.check("> EXISTS seckill:codes:7\n0\n> HLEN seckill:winners:7\n400");
}

const KEYS: [&[u8]; 6] = [
    b"seckill:codes:7",
    b"seckill:winners:7",
    b"stream.draws",
    b"seckill:codes:{7}",
    b"seckill:winners:{7}",
    b"stock",
];

/// Gives a key a value of some type, or deletes it.
fn disturb(random: &mut fastrand::Rng, client: &mut Client) {
    let key = KEYS[random.usize(..KEYS.len())];
    let value = WORDS[random.usize(..WORDS.len())];
    if random.u8(0..3) == 0 {
        client.run("FLUSHALL");
        client.run("SET stock 9");
    }
    if random.bool() {
        client.call(&[b"DEL", key]);
    }
    match random.u8(0..8) {
        0 => client.call(&[b"SET", key, value]),
        1 => client.call(&[b"SADD", key, value]),
        2..5 => client.call(&[b"RPUSH", key, value, b"code"]),
        5 | 6 => client.call(&[b"HSET", key, b"user", value]),
        _ => client.call(&[b"XADD", key, b"18446744073709551615-18446744073709551615", b"a", b"b"]),
    };
}

fn random_command(random: &mut fastrand::Rng) -> Vec<Vec<u8>> {
    let all: [&[&[u8]]; 4] = [
        &[b"SECKILL.DRAW", b"7", b"user"],
        &[b"SECKILL.UNDRAW", b"7", b"user"],
        &[b"SECKILL.DEDUCT", b"stock", b"2"],
        &[b"SECKILL.RETURN", b"stock", b"2"],
    ];
    let plausible = random.choice(all).expect("one");
    let mut command = vec![plausible[0].to_vec()];
    for arg in &plausible[1..] {
        let sense = random.u8(0..4) > 0;
        command.push(if sense { arg.to_vec() } else { random_arg(random) });
    }
    if random.u8(0..10) == 0 {
        command.push(random_arg(random));
    }
    command
}

#[test]
fn random_bytes_do_no_harm() {
    let seed = seed();
    println!("SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let server = Server::with().aof().start();
    let mut client = server.client();
    let (mut errors, mut changes) = (0, 0);
    for round in 0..5000 {
        if round % 5 == 0 {
            disturb(&mut random, &mut client);
        }
        if round % 50 == 0 {
            let mode = random.choice(["auto", "yes"]).expect("one");
            client.run(&format!("CONFIG SET seckill.hash-tags {mode}"));
        }
        let before = (server.digest(), server.info("rdb_changes_since_last_save"));
        let command = random_command(&mut random);
        let reply = client.call(&command);
        let after = (server.digest(), server.info("rdb_changes_since_last_save"));
        let refused = matches!(reply, Value::ServerError(_));
        if refused {
            assert_eq!(after, before, "SEED={seed} {round}: {reply:?} to {:.300}", shown(&command));
        }
        errors += u32::from(refused);
        changes += u32::from(after != before);
    }
    assert!(errors > 300 && changes > 300, "SEED={seed}: {errors} errors, {changes} changes");
    server.assert_reload_changes_nothing();
    assert!(!server.log().contains("a bug in the module"), "SEED={seed}: {}", server.log());
    let copy = Server::with().aof().without_module().data_of(&server).start();
    assert_eq!(copy.digest(), server.digest(), "SEED={seed}");
}

#[test]
fn error_replies_carry_no_bytes_of_the_user() {
    let server = Server::with().config("seckill.hash-tags yes").start();
    for mark in [b"mark}-\xff\xfe".as_slice(), b"mark}\r\n+OK\r\n", b"mark}%n%s", b"mark}\0"] {
        server.call(&[b"SET".as_slice(), mark, mark]);
        for command in [
            [b"SECKILL.DRAW".as_slice(), mark, mark],
            [b"SECKILL.UNDRAW", mark, mark],
            [b"SECKILL.DEDUCT", b"stock", mark],
            [b"SECKILL.RETURN", mark, b"1"],
        ] {
            let reply = server.call(&command);
            assert!(matches!(reply, Value::ServerError(_)), "{reply:?}");
            assert!(!text(&reply).contains("mark"), "{reply:?}");
        }
    }
    assert_eq!(bytes_list(server.run("KEYS seckill:*")).len(), 0);
}
