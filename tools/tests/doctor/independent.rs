//! What the doctor promises for the corpus, on servers that it has not seen: replacements are
//! compared with their scripts in random calls, reply by reply and key by key, and sessions are
//! played again.

use std::collections::BTreeMap;
use std::fs;

use redis::Value;

use crate::corpus::said_of;
use crate::doctor::script;
use crate::harness::{Server, text};

const CALLS: usize = 120;

/// The words of a call that the doctor names, each with values for what is in braces.
fn words(call: &str, number: usize, rng: &mut fastrand::Rng) -> Vec<String> {
    let values = [
        ("{voucher}", rng.usize(7..9).to_string()),
        ("{user}", rng.usize(1..6).to_string()),
        ("{orderid}", (9000 + number).to_string()),
        ("{units}", rng.usize(1..4).to_string()),
        ("{token}", ["t1", "t2"][rng.usize(..2)].to_owned()),
        // Of ms or of seconds: it must not end during the test, nor be longer than a day.
        ("{lease}", rng.usize(30_000..80_000).to_string()),
    ];
    let value = |word: &str| {
        let named = |word: String, (name, value): &(&str, String)| word.replace(name, value);
        let word = values.iter().fold(word.to_owned(), named);
        // An argument of unknown meaning may be a time to live in seconds.
        if word.starts_with("{ARGV") { "300000".to_owned() } else { word }
    };
    call.split(' ').skip(2).map(value).collect()
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
fn replacements_do_the_same_on_other_servers() {
    let plain = Server::with().without_module().start();
    let module = Server::start();
    let (mut natives, mut lines) = (0, 0);
    let defaults = [
        ("seckill.stock-prefix", "seckill:stock:"),
        ("seckill.buyers-prefix", "seckill:order:"),
        ("seckill.order-stream", "stream.orders"),
        ("seckill.order-fields", "userId voucherId id"),
        ("seckill.missing-stock", "error"),
        ("seckill.scripts", ""),
    ];
    for (name, said) in said_of("replaceable") {
        let script = fs::read(script(name)).expect("a script");
        let script = script.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&script).to_vec();
        let line = &said["replacement"];
        let own = line["settings"].as_array().expect("settings");
        for (name, value) in defaults {
            let own = own.iter().find(|own| own[0] == name);
            let value = own.map_or(value, |own| own[1].as_str().expect("a text"));
            module.call(&["CONFIG", "SET", name, value]);
        }
        let call = line["compared"]["call"].as_str().expect("a call");
        let lua = line["lua"].as_str().expect("a line of Lua").as_bytes();
        if let Some(native) = line["native"].as_str() {
            natives += 1;
            let entry = format!("{} {native}", said["sha1"].as_str().expect("a sha1"));
            module.call(&["CONFIG", "SET", "seckill.scripts", &entry]);
            same(name, call, &plain, &module, &script, &script);
        }
        lines += 1;
        same(name, call, &plain, &module, &script, lua);
    }
    println!("{natives} lines of seckill.scripts and {lines} of Lua");
    assert!(natives >= 13 && lines >= 22, "{natives}, {lines}");
}

/// Sends the same calls to two servers: one runs the script, the other its replacement.
fn same(name: &str, call: &str, plain: &Server, module: &Server, script: &[u8], put: &[u8]) {
    let mut rng = fastrand::Rng::with_seed(7);
    for server in [plain, module] {
        server.call(&["FLUSHALL"]);
    }
    for number in 0..CALLS {
        let values = words(call, number, &mut rng);
        // Whatever the script reads: a stock or the token of a lock.
        if number == 0 || rng.usize(..6) == 0 {
            let content =
                if call.contains("{token}") { "t1".into() } else { rng.usize(..7).to_string() };
            for server in [plain, module] {
                for key in stocks(&values) {
                    server.call(&["SET", &key, &content]);
                }
            }
        }
        let send = |server: &Server, script: &[u8]| {
            let mut words: Vec<&[u8]> = vec![b"EVAL", script];
            words.extend(values.iter().map(String::as_bytes));
            server.call(&words)
        };
        let (yours, ours) = (send(plain, script), send(module, put));
        assert!(yours == ours || is_error(&yours) && is_error(&ours), "{name}: {yours:?} {ours:?}");
        assert_eq!(held(plain), held(module), "{name}, call {number}: {values:?}");
    }
}

/// Keys that may be the stock or the lock: the first and the last word of the caller, and the names
/// that scripts of the corpus make.
fn stocks(values: &[String]) -> Vec<String> {
    let made = ["shop:left:", "seckill:stock:", "goods:"].into_iter();
    let made = made.flat_map(|prefix| [7, 8].map(|voucher| format!("{prefix}{voucher}")));
    let own = values.get(1).into_iter().chain(values.last()).cloned();
    own.chain(made).collect()
}

#[test]
fn sessions_end_in_the_harm_on_another_server() {
    let server = Server::with().without_module().start();
    for (name, said) in said_of("broken") {
        let harm = said["session"]["harm"].as_str().expect("a harm");
        server.call(&["FLUSHALL"]);
        let mut replies = Vec::new();
        for command in said["session"]["commands"].as_array().expect("commands") {
            let words = command.as_array().expect("words").iter();
            let words: Vec<&str> = words.map(|word| word.as_str().expect("a word")).collect();
            replies.push(server.call(&words));
        }
        let last = replies.last().expect("replies");
        let last = match last {
            Value::Nil => "nil".to_owned(),
            Value::ServerError(_) => "an error".to_owned(),
            Value::Array(_) => format!("{last:?}"),
            other => text(other),
        };
        let fails = replies.iter().any(is_error);
        let is_seen = match harm {
            _ if harm.starts_with("more units") => last.starts_with('-'),
            _ if harm.starts_with("another's lock") => last == "nil",
            _ if harm.starts_with("a unit is gone") => last.parse::<u32>().is_ok() && !fails,
            _ if harm.starts_with("it is written by halves") => fails,
            _ if harm.starts_with("every call fails") => fails,
            _ => panic!("{name}: how is this harm judged? {harm}"),
        };
        assert!(is_seen, "{name}: {harm}: {replies:?}");
    }
}
