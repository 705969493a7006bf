//! Every replacement that the doctor promises for the corpus, compared with its script on servers
//! that the doctor has not seen: random calls, compared reply by reply and key by key.

use std::collections::BTreeMap;
use std::fs;

use redis::Value;

use crate::corpus::{Truth, said_of, truths};
use crate::doctor::script;
use crate::harness::{Server, text};

const CALLS: usize = 120;

/// An argument of the call with the name that the doctor gives it.
struct Slot {
    is_key: bool,
    name: String,
}

fn slots(called_with: &str) -> Vec<Slot> {
    let slot = |word: &str| {
        let name = word.split_once(' ').map_or(word, |(_, name)| name).to_owned();
        Slot { is_key: word.starts_with("KEYS"), name }
    };
    called_with.split(", ").filter(|word| !word.is_empty()).map(slot).collect()
}

fn value(slot: &Slot, at: usize, call: usize, rng: &mut fastrand::Rng) -> String {
    let voucher = rng.usize(7..9);
    match slot.name.as_str() {
        _ if slot.is_key => format!("k{at}"),
        "voucher" => voucher.to_string(),
        "user" => rng.usize(1..6).to_string(),
        "order" => format!("{}", 9000 + call),
        "token" => ["t1", "t2"][rng.usize(..2)].to_owned(),
        "units" => rng.usize(1..4).to_string(),
        // Of ms or of seconds: it must not end during the test, nor be longer than a day.
        "lease" => rng.usize(30_000..80_000).to_string(),
        // This may be a time to live in milliseconds, which must not end during the test.
        _ => ["300000", "400000", "5000000"][rng.usize(..3)].to_owned(),
    }
}

/// The contents of all keys: sorted elements, without ids of entries.
fn held(server: &Server) -> BTreeMap<String, Vec<String>> {
    let dump = "local out = {} for _, k in ipairs(redis.call('KEYS', '*')) do
      local t, v = redis.call('TYPE', k).ok, nil
      if t == 'string' then v = {redis.call('GET', k)}
      elseif t == 'hash' then v = redis.call('HGETALL', k)
      elseif t == 'set' then v = redis.call('SMEMBERS', k)
      elseif t == 'list' then v = redis.call('LRANGE', k, 0, -1)
      elseif t == 'zset' then v = redis.call('ZRANGE', k, 0, -1, 'WITHSCORES')
      else v = {} for _, e in ipairs(redis.call('XRANGE', k, '-', '+')) do
        for _, word in ipairs(e[2]) do v[#v + 1] = word end end end
      out[#out + 1] = {k, v, tostring(redis.call('TTL', k) > 0)} end return out";
    let Value::Array(rows) = server.call(&["EVAL", dump, "0"]) else { panic!("no dump") };
    let row = |row: Value| {
        let Value::Array(parts) = row else { panic!("no row") };
        let Value::Array(items) = &parts[1] else { panic!("no items") };
        let mut items: Vec<String> = items.iter().map(text).collect();
        items.sort();
        items.push(format!("expires: {}", text(&parts[2])));
        (text(&parts[0]), items)
    };
    rows.into_iter().map(row).collect()
}

fn is_error(value: &Value) -> bool {
    matches!(value, Value::ServerError(_))
}

#[test]
fn promised_cures_do_the_same_on_other_servers() {
    // The tests' client can't read an error that is not UTF-8.
    let is_one = |truth: &Truth| truth.verdict == "drop-in" && truth.kind != "bytes";
    let truths = truths().into_iter().filter(|(_, truth)| is_one(truth));
    let names: Vec<String> = truths.map(|(name, _)| name).collect();
    let paths: Vec<_> = names.iter().map(|name| script(name)).collect();
    let plain = Server::with().without_module().start();
    let module = Server::start();
    let (mut natives, mut lines) = (0, 0);
    let defaults = [
        ("seckill.stock-prefix", "seckill:stock:"),
        ("seckill.buyers-prefix", "seckill:order:"),
        ("seckill.order-stream", "stream.orders"),
        ("seckill.order-fields", "userId voucherId id"),
        ("seckill.missing-stock", "error"),
        ("seckill.unlimited-stock", "no"),
    ];
    for (name, said) in said_of(&paths) {
        let script = fs::read(script(&name)).expect("a script");
        for cure in said["cures"].as_array().expect("cures") {
            // Settings affect the whole server: the next script has others.
            let own = cure["settings"].as_object().expect("settings").iter();
            let own = own.map(|(name, value)| (name.as_str(), value.as_str().expect("a text")));
            for (name, value) in defaults.iter().copied().chain(own) {
                module.call(&["CONFIG", "SET", name, value]);
            }
            let native = cure["scripts"].as_str();
            natives += usize::from(native.is_some());
            lines += usize::from(native.is_none());
            module.call(&["CONFIG", "SET", "seckill.scripts", native.unwrap_or_default()]);
            let put: &[u8] = cure["lua"].as_str().map_or(&script, str::as_bytes);
            same(&name, &said, &plain, &module, &script, put);
        }
    }
    println!("{natives} lines of seckill.scripts and {lines} of Lua");
    assert!(natives >= 4 && lines >= 25, "{natives}, {lines}");
}

/// Sends the same calls to two servers: one runs the script, the other its replacement.
fn same(
    name: &str,
    said: &serde_json::Value,
    plain: &Server,
    module: &Server,
    script: &[u8],
    put: &[u8],
) {
    let understood: BTreeMap<&str, &str> = said["understood"]
        .as_array()
        .expect("what is understood")
        .iter()
        .filter_map(|pair| Some((pair[0].as_str()?, pair[1].as_str()?)))
        .collect();
    let slots = slots(understood["called with"]);
    let names = understood.get("stock").or(understood.get("lock")).expect("a stock or a lock");
    let is_lock = understood.contains_key("lock");
    let mut rng = fastrand::Rng::with_seed(7);
    for server in [plain, module] {
        server.call(&["FLUSHALL"]);
    }
    for call in 0..CALLS {
        let values: Vec<String> =
            slots.iter().enumerate().map(|(at, s)| value(s, at, call, &mut rng)).collect();
        let named = |text: &str| {
            let one = |text: String, (slot, value): (&Slot, &String)| {
                text.replace(&format!("<{}>", slot.name), value)
            };
            slots.iter().zip(&values).fold(text.to_owned(), one)
        };
        if call == 0 || rng.usize(..6) == 0 {
            let held = if is_lock { "t1".to_owned() } else { rng.usize(..7).to_string() };
            for server in [plain, module] {
                server.call(&["SET", &named(names), &held]);
            }
        }
        let keys = slots.iter().filter(|slot| slot.is_key).count().to_string();
        let send = |server: &Server, script: &[u8]| {
            let mut words: Vec<&[u8]> = vec![b"EVAL", script, keys.as_bytes()];
            words.extend(values.iter().map(String::as_bytes));
            server.call(&words)
        };
        let (yours, ours) = (send(plain, script), send(module, put));
        assert!(yours == ours || is_error(&yours) && is_error(&ours), "{name}: {yours:?} {ours:?}");
        assert_eq!(held(plain), held(module), "{name}, call {call}: {values:?}");
    }
}
