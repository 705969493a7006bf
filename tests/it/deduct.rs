//! SECKILL.DEDUCT and SECKILL.RETURN: units are taken from and added to a bare stock.

use std::thread;

use crate::aof::shown;
use crate::context::watch_survives;
use crate::differential::seed;
use crate::effects::assert_same;
use crate::events::assert_like;
use crate::harness::{Client, Server, text};
use crate::observe::{assert_error, integer};
use redis::Value;

const MAX: i64 = i64::MAX;

#[test]
fn a_deduction_replies_the_stock_before_it() {
    let server = Server::start();
    server.check(
        "
        > SET stock 5
        OK
        > SECKILL.DEDUCT stock
        (integer) 5
        > SECKILL.DEDUCT stock 3
        (integer) 4
        > SECKILL.DEDUCT stock 2
        (integer) 0
        > SECKILL.DEDUCT stock 1
        (integer) 1
        > SECKILL.DEDUCT stock
        (integer) 0
        > GET stock
        0
        > SECKILL.DEDUCT none
        (integer) -1
        > SET stock -1
        OK
        > SECKILL.DEDUCT stock 1000
        (integer) 1
        > GET stock
        -1
        > DBSIZE
        1
        ",
    );
}

#[test]
fn units_come_back() {
    let server = Server::start();
    server.check(
        "
        > SET stock 0
        OK
        > SECKILL.RETURN stock
        (integer) 1
        > SECKILL.RETURN stock 41
        (integer) 42
        > SECKILL.RETURN none 5
        (integer) -1
        > SET stock -1
        OK
        > SECKILL.RETURN stock 5
        (integer) -1
        > GET stock
        -1
        > DBSIZE
        1
        ",
    );
}

#[test]
fn five_hundred_and_five_tries_on_five_hundred_sell_five_hundred() {
    let server = Server::start();
    server.run("SET stock 500");
    let replies: Vec<_> = (0..505).map(|_| integer(&server.run("SECKILL.DEDUCT stock"))).collect();
    let wanted: Vec<_> = (1..=500).rev().chain([0; 5]).collect();
    assert_eq!(replies, wanted);
    server.check("> GET stock\n0");
}

#[test]
fn many_clients_never_take_more_than_there_is() {
    let server = Server::start();
    server.run("SET stock 500");
    let take = |mut client: Client| {
        (0..101).map(|_| integer(&client.run("SECKILL.DEDUCT stock"))).collect::<Vec<_>>()
    };
    let clients: Vec<_> = (0..5).map(|_| server.client()).collect();
    let threads: Vec<_> =
        clients.into_iter().map(|client| thread::spawn(move || take(client))).collect();
    let mut replies: Vec<_> =
        threads.into_iter().flat_map(|thread| thread.join().expect("a client")).collect();
    replies.sort_unstable();
    assert_eq!(replies, [0; 5].into_iter().chain(1..=500).collect::<Vec<_>>());
    server.check("> GET stock\n0");
}

#[test]
fn the_time_to_live_stays() {
    let server = Server::start();
    server.check(
        "
        > SET stock 100 PXAT 33333333333333
        OK
        > SECKILL.DEDUCT stock 91
        100
        > SECKILL.RETURN stock 991
        1000
        > SECKILL.DEDUCT stock
        1000
        > PEXPIRETIME stock
        33333333333333
        > SECKILL.DEDUCT stock 999
        999
        > GET stock
        0
        > PEXPIRETIME stock
        33333333333333
        > PEXPIREAT stock 1
        1
        > SECKILL.DEDUCT stock
        -1
        > SECKILL.RETURN stock
        -1
        ",
    );
}

#[test]
fn losers_leave_no_trace() {
    let server = Server::observed().start();
    for (stock, command, reply) in [
        ("0", "SECKILL.DEDUCT stock", 0),
        ("5", "SECKILL.DEDUCT stock 6", 0),
        ("5", "SECKILL.DEDUCT stock 9223372036854775807", 0),
        ("-1", "SECKILL.DEDUCT stock 7", 1),
        ("-1", "SECKILL.RETURN stock 7", -1),
    ] {
        server.run(&format!("SET stock {stock}"));
        // The first read turns a number into bytes, which DUMP would show; so it is done here.
        server.run("SECKILL.DEDUCT stock 9223372036854775807");
        assert_eq!(server.silent(command), Value::Int(reply), "{stock} {command}");
    }
    server.run("DEL stock");
    assert_eq!(server.silent("SECKILL.DEDUCT stock"), Value::Int(-1));
    assert_eq!(server.silent("SECKILL.RETURN stock"), Value::Int(-1));
}

#[test]
fn what_is_no_stock_is_refused() {
    let server = Server::observed().start();
    let both = ["SECKILL.DEDUCT stock", "SECKILL.RETURN stock 2"];
    for stock in ["5.5", "' 5'", "+5", "007", "-0", "''", "abc", "9223372036854775808"] {
        server.run(&format!("SET stock {stock}"));
        for command in both {
            let error = server.refused(command, "ERR");
            assert_eq!(error, "ERR stock is not an integer or out of range", "{stock}");
        }
    }
    for stock in ["-2", "-9223372036854775808"] {
        server.run(&format!("SET stock {stock}"));
        for command in both {
            let error = server.refused(command, "ERR");
            assert_eq!(error, "ERR stock is negative, and only -1 is allowed", "{stock}");
        }
    }
    for make in ["RPUSH stock a", "HSET stock f v", "SADD stock a", "ZADD stock 1 a"] {
        server.run("DEL stock");
        server.run(make);
        for command in both {
            server.refused(command, "WRONGTYPE");
        }
    }
}

#[test]
fn what_would_overflow_is_refused() {
    let server = Server::observed().start();
    for (stock, units) in [(MAX, 1), (MAX, MAX), (1, MAX), (MAX - 4, 5)] {
        server.run(&format!("SET stock {stock}"));
        let error = server.refused(&format!("SECKILL.RETURN stock {units}"), "ERR");
        assert_eq!(error, "ERR stock or total would be out of range", "{stock} {units}");
    }
    assert_eq!(server.run("SECKILL.RETURN stock 4"), Value::Int(MAX));
    assert_eq!(server.run(&format!("SECKILL.DEDUCT stock {MAX}")), Value::Int(MAX));
    assert_eq!(server.run(&format!("SECKILL.RETURN stock {MAX}")), Value::Int(MAX));
}

#[test]
fn wrong_requests_are_refused_before_any_key() {
    let server = Server::observed().start();
    server.run("RPUSH stock a");
    for name in ["SECKILL.DEDUCT", "SECKILL.RETURN"] {
        for units in ["0", "-1", "1.5", "+1", "01", "''", "x", "9223372036854775808", "\"1\\x00\""]
        {
            let error = server.refused(&format!("{name} stock {units}"), "ERR");
            assert_eq!(error, "ERR units must be an integer from 1 to 9223372036854775807");
        }
        for rest in ["1 1", "1 UNITS 1"] {
            let error = server.refused(&format!("{name} stock {rest}"), "ERR");
            assert_eq!(error, "ERR syntax error", "{rest}");
        }
        let error = server.refused(name, "ERR");
        let wanted = format!("ERR wrong number of arguments for '{}' command", name.to_lowercase());
        assert_eq!(error, wanted);
    }
}

#[test]
fn effects_are_those_of_decr_and_incrby() {
    let server = Server::with().aof().start();
    server.run("SET stock 10");
    let written = |command: &str| {
        let lines = server.aof_of(|| assert!(matches!(server.run(command), Value::Int(_))));
        lines.iter().map(shown).collect::<Vec<_>>()
    };
    assert_eq!(written("SECKILL.DEDUCT stock"), ["DECR stock"]);
    assert_eq!(written("SECKILL.DEDUCT stock 1"), ["DECR stock"]);
    assert_eq!(written("SECKILL.DEDUCT stock 3"), ["DECRBY stock 3"]);
    assert_eq!(written("SECKILL.RETURN stock"), ["INCRBY stock 1"]);
    assert_eq!(written("SECKILL.RETURN stock 3"), ["INCRBY stock 3"]);
    assert_eq!(written("SECKILL.DEDUCT stock 100"), Vec::<String>::new());
    assert_eq!(written("SECKILL.RETURN none"), Vec::<String>::new());
}

#[test]
fn events_are_those_of_the_plain_commands() {
    let setup = ["SET stock 10 PX 1000000"];
    assert_like(&setup, "SECKILL.DEDUCT stock", &["DECR stock"]);
    assert_like(&setup, "SECKILL.DEDUCT stock 10", &["DECRBY stock 10"]);
    assert_like(&setup, "SECKILL.RETURN stock 5", &["INCRBY stock 5"]);
}

#[test]
fn only_a_change_disturbs_those_who_watch() {
    let server = Server::start();
    server.run("SET stock 5");
    assert!(!watch_survives(&server, "stock", "SECKILL.DEDUCT stock 2"));
    assert!(!watch_survives(&server, "stock", "SECKILL.RETURN stock"));
    assert!(watch_survives(&server, "stock", "SECKILL.DEDUCT stock 9"));
    assert!(watch_survives(&server, "none", "SECKILL.DEDUCT none"));
    assert!(watch_survives(&server, "none", "SECKILL.RETURN none"));
    server.run("SET stock -1");
    assert!(watch_survives(&server, "stock", "SECKILL.DEDUCT stock"));
    assert!(watch_survives(&server, "stock", "SECKILL.RETURN stock"));
}

#[test]
fn transactions_and_scripts_can_deduct() {
    let server = Server::start();
    server.check(
        "
        > SET stock 5
        OK
        > MULTI
        OK
        > SECKILL.DEDUCT stock 2
        QUEUED
        > SECKILL.DEDUCT stock 4
        QUEUED
        > SECKILL.RETURN stock
        QUEUED
        > EXEC
        1) (integer) 5
        2) (integer) 0
        3) (integer) 4
        > EVAL \"return redis.call('SECKILL.DEDUCT', KEYS[1], ARGV[1])\" 1 stock 3
        4
        > EVAL \"return redis.call('SECKILL.RETURN', KEYS[1])\" 1 stock
        2
        > EVAL_RO \"return redis.call('SECKILL.DEDUCT', KEYS[1])\" 1 stock
        (error) ERR ...
        ",
    );
}

#[test]
fn a_replica_refuses_and_repeats() {
    let primary = Server::with().port().start();
    primary.run("SET stock 100 PXAT 33333333333333");
    let replica = Server::with().without_module().replica_of(&primary).start();
    let with_module = Server::with().replica_of(&primary).start();
    primary.wait_for_replica(&replica);
    for round in 1..40 {
        primary.run(&format!("SECKILL.DEDUCT stock {round}"));
        primary.run(&format!("SECKILL.RETURN stock {}", round % 7 + 1));
    }
    primary.wait_for_replica(&replica);
    primary.wait_for_replica(&with_module);
    assert_same(&primary, &replica);
    for command in ["SECKILL.DEDUCT stock", "SECKILL.RETURN stock"] {
        assert!(text(&with_module.run(command)).starts_with("READONLY "), "{command}");
    }
}

#[test]
fn a_full_server_takes_back_but_does_not_sell() {
    let server = Server::with().aof().start();
    server.run("SET stock 5");
    server.refused_when_full("SECKILL.DEDUCT stock");
    server.run("CONFIG SET maxmemory 1");
    server.check("> SECKILL.RETURN stock\n6\n> CONFIG SET maxmemory 0\nOK");
}

#[test]
fn the_key_is_declared_and_configurations_play_no_part() {
    let server = Server::with()
        .config("seckill.stock-prefix s:")
        .config("seckill.hash-tags yes")
        .config("seckill.missing-stock sold-out")
        .start();
    server.check(
        "
        > SET a}b 5
        OK
        > SECKILL.DEDUCT a}b
        5
        > SECKILL.DEDUCT none
        -1
        > SET a}b -1
        OK
        > SECKILL.DEDUCT a}b
        1
        ",
    );
    for key in [&b""[..], b"\0", b"\xff\r\n", "\u{100}".as_bytes()] {
        server.call(&[b"SET".as_slice(), key, b"2"]);
        assert_eq!(server.call(&[b"SECKILL.DEDUCT".as_slice(), key]), Value::Int(2));
        assert_eq!(server.call(&[b"SECKILL.RETURN".as_slice(), key]), Value::Int(2));
    }
}

/// A random history of a few stocks, compared with the expected numbers.
#[test]
fn random_histories_add_up() {
    let seed = seed();
    println!("SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let server = Server::with().aof().start();
    let mut stocks = [None::<i64>; 4];
    for round in 0..4000 {
        let index = random.usize(..stocks.len());
        let stock = &mut stocks[index];
        let units = random.choice([1, 1, 2, 5, 1000, MAX]).expect("one");
        let (command, wanted) = match (random.u8(0..20), *stock) {
            (0, _) => {
                *stock = *random.choice(&[Some(0), Some(7), Some(MAX), Some(-1), None]).expect("1");
                let set = stock.map_or(format!("DEL k{index}"), |to| format!("SET k{index} {to}"));
                server.run(&set);
                continue;
            }
            (1..12, None) => (format!("SECKILL.DEDUCT k{index} {units}"), Some(-1)),
            (1..12, Some(-1)) => (format!("SECKILL.DEDUCT k{index} {units}"), Some(1)),
            (1..12, Some(left)) => {
                let sold = left >= units;
                *stock = Some(if sold { left - units } else { left });
                (format!("SECKILL.DEDUCT k{index} {units}"), Some(if sold { left } else { 0 }))
            }
            (_, None | Some(-1)) => (format!("SECKILL.RETURN k{index} {units}"), Some(-1)),
            (_, Some(left)) => {
                let after = left.checked_add(units);
                *stock = after.or(Some(left));
                (format!("SECKILL.RETURN k{index} {units}"), after)
            }
        };
        let reply = server.run(&command);
        match wanted {
            Some(wanted) => assert_eq!(reply, Value::Int(wanted), "SEED={seed} {round}: {command}"),
            None => drop(assert_error(&reply, "ERR", &command)),
        }
    }
    for (index, stock) in stocks.into_iter().enumerate() {
        let found = server.run(&format!("GET k{index}"));
        let wanted = stock.map_or(Value::Nil, |left| Value::BulkString(left.to_string().into()));
        assert_eq!(found, wanted, "SEED={seed} k{index}");
    }
    let copy = Server::with().aof().without_module().data_of(&server).start();
    assert_same(&server, &copy);
}
