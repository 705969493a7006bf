//! The grammar of the module's commands, from COMMAND DOCS, and random sentences of it.

use crate::company::{self, KEYS, Topic};
use crate::harness::{Server, text};
use redis::Value;

pub type Argv = Vec<Vec<u8>>;

/// A command as COMMAND DOCS describes it.
pub struct Command {
    name: String,
    arguments: Vec<Argument>,
}

struct Argument {
    name: String,
    kind: String,
    token: Option<String>,
    is_optional: bool,
    /// May it be given several times?
    is_multiple: bool,
    /// Its parts, or its alternatives.
    parts: Vec<Argument>,
}

/// Every command of the module on this server.
pub fn commands(server: &Server) -> Vec<Command> {
    let names = server.call(&["COMMAND", "LIST", "FILTERBY", "MODULE", "seckill"]);
    let names: Vec<String> = redis::from_redis_value(names).expect("names");
    let commands: Vec<Command> = names.into_iter().map(|name| command(server, name)).collect();
    assert!(commands.len() >= 24, "only {} commands", commands.len());
    commands
}

fn command(server: &Server, name: String) -> Command {
    let docs = server.call(&["COMMAND", "DOCS", &name]);
    let arguments = arguments(pair(&docs, &name).expect("docs"));
    Command { name, arguments }
}

fn arguments(docs: &Value) -> Vec<Argument> {
    pair(docs, "arguments").map(items).unwrap_or_default().iter().map(argument).collect()
}

fn argument(docs: &Value) -> Argument {
    let said = |what: &str| pair(docs, what).map(text);
    let flags = pair(docs, "flags").map(items).unwrap_or_default();
    let has_flag = |wanted: &str| flags.iter().any(|flag| text(flag) == wanted);
    Argument {
        name: said("name").expect("a name"),
        kind: said("type").expect("a type"),
        token: said("token"),
        is_optional: has_flag("optional"),
        is_multiple: has_flag("multiple"),
        parts: arguments(docs),
    }
}

fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) | Value::Set(items) => items,
        other => panic!("no list: {other:?}"),
    }
}

fn pair<'v>(pairs: &'v Value, name: &str) -> Option<&'v Value> {
    items(pairs).chunks(2).find(|pair| text(&pair[0]) == name).map(|pair| &pair[1])
}

/// A cursor that a step of an audit could have returned.
const CURSOR: &str = "1:3:9:5:2:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:-:0";

/// Numbers that have a meaning, and some that should not be accepted.
const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "2",
    "3",
    "5",
    "15",
    "-1",
    "-3",
    "1000000",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "1.5",
    "",
];

impl Command {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A random sentence: most are valid, some are damaged.
    pub fn sentence(&self, random: &mut fastrand::Rng, topic: &Topic) -> Argv {
        let mut argv = vec![self.name.clone().into_bytes()];
        let mut options = Vec::new();
        for argument in &self.arguments {
            if argument.kind == "key" && argument.name == "key" && random.u8(0..3) > 0 {
                let is_lock = self.name.starts_with("lock.");
                argv.push(if is_lock { b"lock".to_vec() } else { b"bare".to_vec() });
            } else if argument.is_multiple {
                for _ in 0..random.choice([1, 1, 2, 5, 20]).expect("one") {
                    argument.put(&mut argv, random, topic);
                }
            } else if !argument.is_optional {
                argument.put(&mut argv, random, topic);
            } else if random.u8(0..5) < 2 {
                options.push(argument);
            }
        }
        random.shuffle(&mut options);
        for argument in options {
            argument.put(&mut argv, random, topic);
        }
        if random.u8(0..16) == 0 {
            tear(&mut argv, random);
        }
        argv
    }
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

impl Argument {
    /// The token, if there is one, and a value of this kind.
    fn put(&self, argv: &mut Argv, random: &mut fastrand::Rng, topic: &Topic) {
        if let Some(token) = &self.token {
            let token = if random.bool() { token.to_lowercase() } else { token.to_uppercase() };
            argv.push(token.into_bytes());
        }
        match self.kind.as_str() {
            "pure-token" => {}
            "block" => self.parts.iter().for_each(|part| part.put(argv, random, topic)),
            "oneof" => random.choice(&self.parts).expect("one").put(argv, random, topic),
            _ => argv.push(self.value(random, topic)),
        }
    }

    fn value(&self, random: &mut fastrand::Rng, topic: &Topic) -> Vec<u8> {
        if random.u8(0..40) == 0 {
            return company::odd(random);
        }
        match (self.name.as_str(), self.kind.as_str()) {
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
}

fn one(random: &mut fastrand::Rng, of: &[&str]) -> Vec<u8> {
    random.choice(of).expect("one").as_bytes().to_vec()
}
