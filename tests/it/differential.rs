//! Random histories against the reference scripts: the same replies and the same keys.
//!
//! A failing history is repeated with the seed that its message names: `SEED=<n> cargo test`.

use std::collections::BTreeMap;

use crate::harness::{Client, Server, text};
use crate::observe::{bytes_list, integer};
use domain::scripts::Sha1;
use redis::Value;

/// The seed from the environment, or a new one. The caller prints it.
pub fn seed() -> u64 {
    match std::env::var("SEED") {
        Ok(seed) => seed.parse().expect("SEED is a number"),
        Err(_) => fastrand::u64(..),
    }
}

/// Runs `history` with one seed after the other, `least` times and then on, tenfold at most, until
/// it has counted each wanted answer more than `rare` times: histories without some answer prove
/// nothing about it.
pub fn histories(
    least: u64,
    (rare, wanted): (usize, &[&str]),
    mut history: impl FnMut(u64, &mut BTreeMap<String, usize>),
) {
    let first = seed();
    println!("SEED={first}");
    let mut met = BTreeMap::new();
    for number in 0.. {
        let lacking = wanted.iter().find(|&&answer| met.get(answer).is_none_or(|&met| met <= rare));
        if number >= least && lacking.is_none() {
            break;
        }
        assert!(number < least.saturating_mul(10), "too few of {lacking:?}: {met:?}");
        history(first.wrapping_add(number), &mut met);
    }
}

/// One step of a history, for both sides.
enum Step {
    /// The same command for both servers.
    Plain(Vec<String>),
    /// A try by the module and by the script.
    Try([String; 3]),
    /// A release by the module and by the script.
    Release([String; 2]),
    /// Tries for a voucher in one command, by the module and by the script of the benchmark.
    Batch(Vec<String>),
}

fn random_step(random: &mut fastrand::Rng) -> Step {
    let voucher = random.choice(["7", "8", "{a}", "x y", "9"]).expect("one");
    // Few users, so that many are repeat buyers; spellings of one number are different users.
    let user = random.choice(["1", "01", "1.0", "+1", "2", "u4", "u\u{e9}", "", "5"]).expect("one");
    let order = random.u8(..).to_string();
    let [stock, buyers] = ["stock", "order"].map(|kind| format!("seckill:{kind}:{voucher}"));
    let lock = format!("lock:{}", random.u8(0..3));
    let token = random.choice(["t1", "t2", "0", "00", ""]).expect("one");
    let plain = |words: &[&str]| Step::Plain(words.iter().map(ToString::to_string).collect());
    let amount = random.choice(["0", "1", "2", "3", "10", "-1", "-2"]).expect("one");
    match random.u8(0..100) {
        0..50 => Step::Try([voucher, user, &order].map(str::to_owned)),
        50..60 => {
            let count = random.choice([1, 3, 9, 9, 1024]).expect("one");
            // Some of them twice in a batch, or among the buyers.
            let tries = (0..count).flat_map(|n| [random.u16(..n + 7), n]);
            let tries: Vec<_> = tries.map(|number| number.to_string()).collect();
            Step::Batch([&[voucher.to_owned()], &tries[..]].concat())
        }
        60..65 => plain(&["SET", &stock, amount]),
        65..67 => plain(&["SET", &stock, amount, "PXAT", "33333333333333"]),
        67..69 => plain(&["INCRBY", &stock, amount]),
        69 => plain(&["DEL", &stock]),
        70..72 => plain(&["SREM", &buyers, user]),
        72 => plain(&["PEXPIREAT", &buyers, "33333333333333"]),
        73 => plain(&["XTRIM", "stream.orders", "MAXLEN", "2"]),
        74 => plain(&["PERSIST", &stock]),
        75 => plain(&["DEL", "stream.orders"]),
        76 => plain(&["PEXPIREAT", "stream.orders", "33333333333333"]),
        77..86 => plain(&["SET", &lock, token, "NX", "PXAT", "33333333333333"]),
        _ => Step::Release([lock, token.to_owned()]),
    }
}

/// The reference: a server without the module, driven by the scripts.
struct Reference {
    client: Client,
    scripts: Scripts,
}

impl Reference {
    fn of(server: &Server) -> Self {
        let mut client = server.client();
        let mut load = |script| text(&client.call(&["SCRIPT", "LOAD", script]));
        let [sell, unlock] = [SELL, UNLOCK].map(&mut load);
        let scripts = Scripts { sell, unlock, batch: Some(load(BATCH)) };
        Self { client, scripts }
    }
}

const SELL: &str = include_str!("../../tools/benches/side_by_side/scripts/seckill.lua");
const BATCH: &str = include_str!("../../tools/benches/side_by_side/scripts/try_batch.lua");
const UNLOCK: &str = include_str!("unlock.lua");

/// The sha1 of each script. Without one, a batch is the module's.
struct Scripts {
    sell: String,
    unlock: String,
    batch: Option<String>,
}

impl Scripts {
    /// A step as an application sends it that knows only the scripts.
    fn step(&self, client: &mut Client, step: &Step) -> Value {
        match step {
            Step::Plain(words) => client.call(words),
            Step::Try([voucher, user, order]) => {
                client.call(&["EVALSHA", &self.sell, "0", voucher, user, order])
            }
            Step::Release([lock, token]) => {
                client.call(&["EVALSHA", &self.unlock, "1", lock, token])
            }
            Step::Batch(words) => match &self.batch {
                Some(script) => {
                    let keys =
                        ["stock", "order"].map(|kind| format!("seckill:{kind}:{}", words[0]));
                    let call = ["EVALSHA", script, "3", &keys[0], &keys[1], "stream.orders"];
                    let words = words.iter().map(String::as_str);
                    client.call(&call.into_iter().chain(words).collect::<Vec<_>>())
                }
                None => step_of_module(client, step),
            },
        }
    }
}

fn step_of_module(client: &mut Client, step: &Step) -> Value {
    match step {
        Step::Plain(words) => client.call(words),
        Step::Try([voucher, user, order]) => client.call(&["SECKILL.TRY", voucher, user, order]),
        Step::Release([lock, token]) => client.call(&["LOCK.RELEASE", lock, token]),
        Step::Batch(words) => client.call(&[&["SECKILL.MTRY".to_owned()], &words[..]].concat()),
    }
}

/// Two replies are alike if they are equal or both errors: the texts of errors differ.
fn alike(one: &Value, other: &Value) -> bool {
    one == other || matches!((one, other), (Value::ServerError(_), Value::ServerError(_)))
}

/// Every key with its kind, value and expiry; entries of a stream without their ids. `mask`
/// replaces in each text what differs between servers.
pub fn everything(client: &mut Client, mask: impl Fn(&str) -> String) -> Vec<String> {
    let mut keys = bytes_list(client.run("KEYS *"));
    keys.sort();
    let mut one = |key: &Vec<u8>| {
        let kind = text(&client.call(&[b"TYPE", key.as_slice()]));
        let value = match kind.as_str() {
            "string" => client.call(&[b"GET", key.as_slice()]),
            "set" => client.call(&[b"SMEMBERS", key.as_slice()]),
            "hash" => client.call(&[b"HGETALL", key.as_slice()]),
            "list" => client.call(&[b"LRANGE", key.as_slice(), b"0", b"-1"]),
            "zset" => client.call(&[b"ZRANGE", key.as_slice(), b"0", b"-1"]),
            _ => client.call(&[b"XRANGE", key.as_slice(), b"-", b"+"]),
        };
        let mut shown = match (kind.as_str(), &value) {
            ("stream", Value::Array(entries)) => {
                entries.iter().map(|entry| texts(entry, &mask)[1..].join(" ")).collect()
            }
            ("hash", _) => texts(&value, &mask).chunks(2).map(|pair| pair.join(" ")).collect(),
            _ => texts(&value, &mask),
        };
        if ["set", "hash", "zset"].contains(&kind.as_str()) {
            shown.sort();
        }
        let expiry = mask(&integer(&client.call(&[b"PEXPIRETIME", key.as_slice()])).to_string());
        format!("{} {kind} {shown:?} until {expiry}", key.escape_ascii())
    };
    keys.iter().map(&mut one).collect()
}

/// The strings in a reply, however deep.
fn texts(value: &Value, mask: &impl Fn(&str) -> String) -> Vec<String> {
    match value {
        Value::Array(items) | Value::Set(items) => {
            items.iter().flat_map(|item| texts(item, mask)).collect()
        }
        Value::BulkString(bytes) => vec![mask(&bytes.escape_ascii().to_string())],
        other => vec![text(other)],
    }
}

#[test]
fn histories_are_those_of_the_scripts() {
    compare_histories(&Server::start(), step_of_module);
}

/// The same calls to both servers: the one that answers them natively has neither script loaded.
#[test]
fn histories_by_evalsha_are_those_of_the_scripts() {
    let sha1 = |script: &str| Sha1::of(script.as_bytes()).to_string();
    let scripts = Scripts { sell: sha1(SELL), unlock: sha1(UNLOCK), batch: None };
    let entries = format!(
        "{} SECKILL.TRY ARGV[1] ARGV[2] ARGV[3]; {} LOCK.RELEASE KEYS[1] ARGV[1]",
        scripts.sell, scripts.unlock
    );
    let server = Server::with().config(format!("seckill.scripts '{entries}'")).start();
    compare_histories(&server, |client, step| scripts.step(client, step));
    assert!(server.info_number("seckill_scripts_replaced") > 1000);
    assert_eq!(server.info("cmdstat_evalsha"), None);
}

/// Sends random histories to a server with the module and to one with the scripts.
fn compare_histories(with_module: &Server, step_of: impl Fn(&mut Client, &Step) -> Value) {
    let first = seed();
    println!("SEED={first}");
    let without = Server::with().without_module().start();
    let mut module = with_module.client();
    let mut reference = Reference::of(&without);
    let mut outcomes = [0_usize; 3];
    for history in 0..40 {
        let seed = first.wrapping_add(history);
        let mut random = fastrand::Rng::with_seed(seed);
        module.run("FLUSHALL");
        reference.client.run("FLUSHALL");
        for number in 0..250 {
            let step = random_step(&mut random);
            let ours = step_of(&mut module, &step);
            let theirs = reference.scripts.step(&mut reference.client, &step);
            assert!(alike(&ours, &theirs), "SEED={seed} step {number}: {ours:?}, not {theirs:?}");
            if let (Step::Try(_), Value::Int(outcome)) = (&step, &ours) {
                outcomes[usize::try_from(*outcome).expect("0, 1 or 2")] += 1;
            }
        }
        let clients = [&mut module, &mut reference.client];
        let [ours, theirs] = clients.map(|client| everything(client, str::to_owned));
        assert_eq!(ours, theirs, "SEED={seed}");
        with_module.assert_reload_changes_nothing();
    }
    // A history in which one outcome is rare would prove little.
    assert!(outcomes.iter().all(|count| *count > 100), "{outcomes:?}");
}
