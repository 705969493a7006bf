//! The grammar of the module's commands, from COMMAND DOCS, and random sentences of it.

use crate::company::{self, KEYS, Topic};
use kit::declared::{Argument, Declared};

pub type Argv = Vec<Vec<u8>>;

/// A cursor that a step of an audit could have returned.
const CURSOR: &str = "1:3:9:5:2:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:-:0";

/// Numbers that have a meaning, and some that should not be accepted.
const NUMBERS: [&str; 14] = [
    "0", "1", "2", "3", "5", "15", "-1", "-3", "1000000", "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "1.5", "",
];

/// A random sentence: most are valid, some are damaged.
pub fn sentence(command: &Declared, random: &mut fastrand::Rng, topic: &Topic) -> Argv {
    let mut argv = vec![command.name.clone().into_bytes()];
    let mut options = Vec::new();
    for argument in &command.arguments {
        if argument.kind == "key" && argument.name == "key" && random.u8(0..3) > 0 {
            let is_lock = command.name.starts_with("lock.");
            argv.push(if is_lock { b"lock".to_vec() } else { b"bare".to_vec() });
        } else if argument.is_multiple {
            for _ in 0..random.choice([1, 1, 2, 5, 20]).expect("one") {
                put(argument, &mut argv, random, topic);
            }
        } else if !argument.is_optional {
            put(argument, &mut argv, random, topic);
        } else if random.u8(0..5) < 2 {
            options.push(argument);
        }
    }
    random.shuffle(&mut options);
    for argument in options {
        put(argument, &mut argv, random, topic);
    }
    if random.u8(0..16) == 0 {
        tear(&mut argv, random);
    }
    argv
}

/// Drops, repeats or replaces an argument.
fn tear(argv: &mut Argv, random: &mut fastrand::Rng) {
    let index = random.usize(..argv.len());
    match random.u8(0..4) {
        0 if index > 0 => drop(argv.remove(index)),
        1 => argv.push(argv[index].clone()),
        _ if index > 0 => argv[index] = company::odd(random),
        _ => argv.push(company::odd(random)),
    }
}

/// The token, if there is one, and a value of this kind.
fn put(argument: &Argument, argv: &mut Argv, random: &mut fastrand::Rng, topic: &Topic) {
    if let Some(token) = &argument.token {
        let token = if random.bool() { token.to_lowercase() } else { token.to_uppercase() };
        argv.push(token.into_bytes());
    }
    match argument.kind.as_str() {
        "pure-token" => {}
        "block" => argument.parts.iter().for_each(|part| put(part, argv, random, topic)),
        "oneof" => put(random.choice(&argument.parts).expect("one"), argv, random, topic),
        _ => argv.push(value(argument, random, topic)),
    }
}

fn value(argument: &Argument, random: &mut fastrand::Rng, topic: &Topic) -> Vec<u8> {
    if random.u8(0..40) == 0 {
        return company::odd(random);
    }
    match (argument.name.as_str(), argument.kind.as_str()) {
        ("voucher" | "pool" | "prefix", _) => company::voucher(random),
        ("stock", "key") => one(random, &["seckill:stock:7", "stock", "bare"]),
        ("buyers", _) => one(random, &["seckill:order:7", "buyers"]),
        ("orders" | "stream", _) => {
            one(random, &["stream.orders", "stream.orders", "stream.orders", "orders"])
        }
        (_, "key") => one(random, &KEYS),
        ("user", _) => topic.user(random),
        ("orderid", _) => topic.order_id(random),
        ("group", _) => one(random, &["g", "g", "g", "g", "g", "none"]),
        ("id", _) => topic.entry(random),
        (name, _) if name.ends_with("-field") => one(random, &["u", "v", "o", "userId"]),
        ("cursor", _) => one(random, &["0", "0", CURSOR]),
        ("token", _) => one(random, &["t0", "t0", "t1"]),
        (name, "integer") => match (name, random.u8(0..12)) {
            (_, 0) => one(random, &NUMBERS),
            ("begin" | "end", _) => one(random, &["0", "0", "1", "2", "9999999999999"]),
            ("hold", _) => one(random, &["0", "15", "1000000"]),
            (name, _) if name.starts_with("lease") => one(random, &["1", "15", "1000000"]),
            ("stock", _) => random.u8(0..40).to_string().into_bytes(),
            ("delta", _) => random.i8(-4..9).to_string().into_bytes(),
            _ => random.u8(1..4).to_string().into_bytes(),
        },
        _ => company::odd(random),
    }
}

fn one(random: &mut fastrand::Rng, of: &[&str]) -> Vec<u8> {
    random.choice(of).expect("one").as_bytes().to_vec()
}
