//! Random batches of SECKILL.MTRY compared with the same SECKILL.TRYs in sequence: the same answers
//! and the same keys.
//!
//! A failing history is repeated with the seed that its message names: `SEED=<n> cargo test`.

use std::collections::BTreeMap;

use crate::aof::without_sale_ids;
use crate::differential::{everything, histories};
use crate::harness::{Client, Server, text};
use crate::transcript::argv;
use redis::Value;

/// A batch, or a command that both sides run.
enum Step {
    Batch(Vec<[String; 2]>),
    Other(String),
}

/// The highest id of a stream, and one that leaves room for three entries.
const FULL: &str = "18446744073709551615-18446744073709551615";
const NEARLY_FULL: &str = "18446744073709551615-18446744073709551612";

fn batch(random: &mut fastrand::Rng, number: u32) -> Step {
    let len = random.choice([1, 2, 3, 8, 20, 20, 40]).expect("one");
    let pair = |_| {
        let user = random.u32(0..24);
        // Most order ids are new, some are repeats, some belong to another user.
        let id = match random.u8(0..10) {
            0 => "*".to_owned(),
            1..4 => format!("o{user}"),
            4 => format!("o{}", random.u32(0..24)),
            _ => format!("o{number}-{user}"),
        };
        [format!("u{user}"), id]
    };
    Step::Batch((0..len).map(pair).collect())
}

fn other(random: &mut fastrand::Rng) -> String {
    let (user, id) = (random.u32(0..24), random.u32(0..24));
    match random.u8(0..72) {
        0..8 => format!("SET seckill:stock:7 {}", random.i32(0..30)),
        8..11 => format!("SREM seckill:order:7 u{user}"),
        11 => "DEL seckill:stock:7".to_owned(),
        12 => "SET seckill:stock:7 -1".to_owned(),
        13 => "SET seckill:stock:7 five".to_owned(),
        14 => "SET seckill:order:7 text".to_owned(),
        15 => "SET stream.orders text".to_owned(),
        16 => format!("XADD stream.orders {FULL} a b"),
        17..19 => format!("XADD stream.orders {NEARLY_FULL} a b"),
        19..22 => "DEL seckill:order:7 stream.orders seckill:book:7 seckill:units:7".to_owned(),
        22 => format!("HSET seckill:book:7 o{id} garbled"),
        23 => format!("HSET seckill:units:7 u{user} garbled"),
        24 => "SET seckill:book:7 text".to_owned(),
        25 => "SET seckill:units:7 text".to_owned(),
        // A server doesn't hear of a SET, and then goes on to answer what it knew of the holds.
        // What that is differs: single tries have looked at them between others.
        26 => "COPY seckill:stock:7 seckill:hold:7 REPLACE".to_owned(),
        27 => "FLUSHALL".to_owned(),
        28 => format!("SECKILL.RESTOCK 7 {}", random.i32(-5..20)),
        29 => format!("SECKILL.ALTER 7 LIMIT {}", random.i32(1..4)),
        30 => format!("SECKILL.ALTER 7 HOLD {}", random.choice([0, 900_000]).expect("one")),
        31 | 66.. => {
            let window =
                ["BEGIN 0 END 0", "BEGIN 0 END 0", "BEGIN 0 END 1", "BEGIN 9999999999999 END 0"];
            format!("SECKILL.ALTER 7 {}", random.choice(window).expect("one"))
        }
        32 => "SET icr:order:2022:01:01 4294967290".to_owned(),
        33 => format!("SECKILL.TRY 7 u{user} o{id}"),
        _ => format!("SECKILL.CANCEL 7 u{user} o{user}"),
    }
}

/// The commands that start a sale.
fn new_sale(random: &mut fastrand::Rng) -> Vec<String> {
    let stock = random.choice([0, 5, 30, 30, 300]).expect("one");
    let limit = random.choice([1, 1, 2, 9]).expect("one");
    let hold = random.choice(["", "", " HOLD 900000"]).expect("one");
    let policy = |random: &mut fastrand::Rng, words: [&str; 2]| {
        words[usize::from(random.u8(0..4) == 0)].to_owned()
    };
    vec![
        "FLUSHALL".to_owned(),
        match random.bool() {
            true => format!("SET seckill:stock:7 {stock}"),
            false => format!("SECKILL.CREATE 7 {stock} LIMIT {limit}{hold}"),
        },
        format!("CONFIG SET seckill.missing-stock {}", policy(random, ["error", "sold-out"])),
        format!("CONFIG SET seckill.unlimited-stock {}", policy(random, ["no", "yes"])),
        format!("CONFIG SET seckill.order-stream \"{}\"", policy(random, ["stream.orders", ""])),
        format!("CONFIG SET seckill.hash-tags {}", policy(random, ["auto", "yes"])),
    ]
}

/// Replaces what differs between two servers: ids of sales, the seconds of ids, and deadlines.
fn masked(text: &str) -> String {
    let part = |part: &str| match (part.len(), part.parse::<u64>()) {
        (15.., Ok(id)) => (id & 0xffff_ffff).to_string(),
        (13, Ok(_)) => "WHEN".to_owned(),
        _ => part.to_owned(),
    };
    without_sale_ids(text).split(':').map(part).collect::<Vec<_>>().join(":")
}

/// A reply or a value, with the differences between servers replaced.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(" "))
        }
        Value::BulkString(bytes) => masked(&String::from_utf8_lossy(bytes)),
        Value::Nil => "nil".to_owned(),
        other => text(other),
    }
}

fn run(client: &mut Client, line: &str) -> String {
    shown(&client.call(&argv(line)))
}

/// Compares the answers to a batch by one command and by many. Counts each answer.
fn compare(
    [one, many]: [&mut Client; 2],
    pairs: &[[String; 2]],
    at: &str,
    met: &mut BTreeMap<String, usize>,
) {
    let mut command = vec!["SECKILL.MTRY", "7"];
    command.extend(pairs.iter().flatten().map(String::as_str));
    let together = one.call(&command);
    pairs.iter().for_each(|[user, id]| many.send(&["SECKILL.TRY", "7", user, id]));
    let alone: Vec<String> = pairs.iter().map(|_| shown(&many.receive())).collect();
    let what = match &together {
        Value::Array(answers) => {
            let answers: Vec<String> = answers.iter().map(shown).collect();
            assert_eq!(answers, alone, "{at}: {command:?}");
            for answer in answers {
                *met.entry(answer.split(' ').next().expect("a word").to_owned()).or_default() += 1;
            }
            return;
        }
        Value::ServerError(_) => shown(&together),
        other => panic!("{at}: {other:?}"),
    };
    // The whole command is refused for the reason for which each try that gets this far is refused.
    assert!(alone.contains(&what), "{at}: {command:?} gave {what}, alone {alone:?}");
    *met.entry(format!("whole {}", what.split(' ').next().expect("a word"))).or_default() += 1;
}

#[test]
fn batches_are_answered_as_the_same_tries() {
    let [together, alone] = [(); 2].map(|()| Server::start());
    let [mut one, mut many] = [together.client(), alone.client()];
    // Other tests cover rarer answers.
    const WANTED: [&str; 12] = [
        "0", "1", "2", "4", "[0", "[1", "[2", "ORDERID", "ERR", "whole NOVOUCHER", "whole ERR",
        "whole WRONGTYPE",
    ];
    histories(80, (0, &WANTED), |seed, met| {
        let mut random = fastrand::Rng::with_seed(seed);
        let start = new_sale(&mut random);
        for line in &start {
            assert_eq!(run(&mut one, line), run(&mut many, line), "{line}");
        }
        for number in 0..24 {
            let at = format!("SEED={seed} step {number} after {start:?}");
            let step = match random.u8(0..5) {
                0..3 => batch(&mut random, number),
                _ => Step::Other(other(&mut random)),
            };
            match step {
                Step::Batch(pairs) => {
                    compare([&mut one, &mut many], &pairs, &at, met);
                    let [ours, theirs] =
                        [&mut one, &mut many].map(|client| everything(client, masked));
                    assert_eq!(ours, theirs, "{at}: {pairs:?}");
                }
                Step::Other(line) if line == "FLUSHALL" => {
                    for line in &start {
                        assert_eq!(run(&mut one, line), run(&mut many, line), "{line}");
                    }
                }
                Step::Other(line) => {
                    assert_eq!(run(&mut one, &line), run(&mut many, &line), "{at}: {line}");
                }
            }
        }
    });
}
