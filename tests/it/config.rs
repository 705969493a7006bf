//! Settings: where they are read from, which values are refused, and that they take effect at once.

use crate::harness::{Server, module, text};
use crate::memory::calls;
use crate::observe::{assert_error, words};
use redis::Value;

/// Every setting with its default and another legal value.
pub const CONFIGS: [(&str, &str, &str); 20] = [
    ("seckill.stock-prefix", "seckill:stock:", "s t:"),
    ("seckill.buyers-prefix", "seckill:order:", "buyers:"),
    ("seckill.order-stream", "stream.orders", ""),
    ("seckill.confirmed-stream", "yes", "no"),
    ("seckill.order-fields", "userId voucherId id", "buyer item order"),
    ("seckill.draw-stream", "stream.draws", ""),
    ("seckill.hash-tags", "auto", "yes"),
    ("seckill.missing-stock", "error", "sold-out"),
    ("seckill.unlimited-stock", "no", "yes"),
    ("seckill.id-prefix", "order", "s i"),
    ("seckill.id-epoch", "1640995200", "0"),
    ("seckill.id-utc-offset", "0", "-28800"),
    ("seckill.name-bytes-max", "512", "16"),
    ("seckill.storable-names", "no", "yes"),
    ("seckill.hold-sweep-ms", "50", "1"),
    ("seckill.waitlist-max", "100000", "0"),
    ("seckill.lock-lease-ms-max", "86400000", "1"),
    ("seckill.lock-wait-ms-max", "3600000", "0"),
    ("seckill.lock-waiters-max", "1000 5000 5000", "0 0 0"),
    (
        "seckill.scripts",
        "",
        "a401349bbff2164ec35f9c5f6db8f92ff4519d9d LOCK.RELEASE KEYS[1] ARGV[1]",
    ),
];

pub fn get(server: &Server, name: &str) -> String {
    let pair = words(server.call(&["CONFIG", "GET", name]));
    assert_eq!(pair.len(), 2, "CONFIG GET {name}: {pair:?}");
    pair[1].clone()
}

pub fn set(server: &Server, name: &str, value: &str) {
    assert_eq!(server.call(&["CONFIG", "SET", name, value]), Value::Okay, "{name} {value:?}");
}

fn all(server: &Server) -> Vec<(String, String)> {
    let pairs = words(server.run("CONFIG GET seckill.*"));
    let mut pairs: Vec<_> = pairs.chunks(2).map(|p| (p[0].clone(), p[1].clone())).collect();
    pairs.sort();
    pairs
}

fn sorted(
    column: fn(&(&'static str, &'static str, &'static str)) -> &'static str,
) -> Vec<(String, String)> {
    let mut pairs: Vec<_> =
        CONFIGS.iter().map(|row| (row.0.to_owned(), column(row).to_owned())).collect();
    pairs.sort();
    pairs
}

#[test]
fn there_are_these_configs_at_these_defaults() {
    assert_eq!(all(&Server::start()), sorted(|row| row.1));
}

#[test]
fn every_config_can_be_set_and_set_back() {
    let server = Server::start();
    // When a hold placed afterwards has expired, the timer has run.
    let scans = |voucher: &str| {
        server.check(&format!("> SECKILL.CREATE {voucher} 5 HOLD 20\nOK"));
        server.check(&format!("> SECKILL.TRY {voucher} ann o1\n0"));
        server.wait_for_state(voucher, "o1", "expired");
        calls(&server, "scan")
    };
    let before = scans("7");
    for (name, default, other) in CONFIGS {
        set(&server, name, other);
        assert_eq!(get(&server, name), other);
        set(&server, name, other);
        set(&server, name, default);
        assert_eq!(get(&server, name), default);
    }
    assert_eq!(scans("8"), before, "a setting that changes scans no keys");
    let pairs: Vec<_> = CONFIGS.iter().map(|row| format!("{} '{}'", row.0, row.2)).collect();
    assert_eq!(server.run(&format!("CONFIG SET {}", pairs.join(" "))), Value::Okay);
    assert_eq!(all(&server), sorted(|row| row.2));
}

#[test]
fn a_rewrite_survives_a_restart() {
    let mut server = Server::start();
    for (name, _, other) in CONFIGS {
        set(&server, name, other);
    }
    assert_eq!(server.run("CONFIG REWRITE"), Value::Okay);
    server.restart();
    assert_eq!(all(&server), sorted(|row| row.2));
    for (name, default, _) in CONFIGS {
        set(&server, name, default);
    }
    assert_eq!(server.run("CONFIG REWRITE"), Value::Okay);
    server.restart();
    assert_eq!(all(&server), sorted(|row| row.1));
}

#[test]
fn defaults_are_not_written_by_a_rewrite() {
    let server = Server::start();
    for (name, default, other) in CONFIGS {
        set(&server, name, other);
        set(&server, name, default);
    }
    set(&server, "seckill.missing-stock", "sold-out");
    assert_eq!(server.run("CONFIG REWRITE"), Value::Okay);
    let conf = std::fs::read_to_string(server.dir().join("redis.conf")).expect("redis.conf");
    let ours: Vec<_> = conf.lines().filter(|line| line.starts_with("seckill.")).collect();
    assert_eq!(ours, ["seckill.missing-stock sold-out"]);
}

#[test]
fn redis_conf_sets_before_and_after_loadmodule() {
    let mut builder = Server::with();
    for (name, _, other) in CONFIGS {
        builder = builder.config(format!("{name} '{other}'"));
    }
    assert_eq!(all(&builder.start()), sorted(|row| row.2));
    let loadmodule = format!("loadmodule {}", module().display());
    let after = Server::with().without_module().config(loadmodule);
    let after = after.config("seckill.stock-prefix late:").start();
    assert_eq!(get(&after, "seckill.stock-prefix"), "late:");
}

#[test]
fn loadmodule_arguments_are_configs() {
    // Other values can't be arguments, see below.
    let is_word = |value: &str| !value.is_empty() && !value.contains(' ');
    let (words, texts): (Vec<_>, Vec<_>) =
        CONFIGS.into_iter().partition(|(_, _, other)| is_word(other));
    let pair = |(name, _, other): (&str, _, &str)| format!("{} {other}", &name["seckill.".len()..]);
    let args: Vec<_> = words.into_iter().map(pair).collect();
    let mut builder = Server::with().module_args(&args.join(" "));
    for (name, _, other) in texts {
        builder = builder.config(format!("{name} '{other}'"));
    }
    let mut server = builder.start();
    for _ in 0..2 {
        assert_eq!(all(&server), sorted(|row| row.2));
        assert_eq!(server.run("CONFIG REWRITE"), Value::Okay);
        server.restart();
    }
    server.check(
        "
        > SET 's t:{7}' 1 => OK
        > SECKILL.TRY 7 alice o1 => 0
        > SISMEMBER buyers:{7} alice => 1
        > SECKILL.TRY 8 alice o1 => 1
        ",
    );
}

#[test]
fn redis_conf_wins_over_loadmodule_arguments() {
    let builder = Server::with().module_args("stock-prefix args: buyers-prefix args:");
    let mut server = builder.config("seckill.stock-prefix conf:").start();
    assert_eq!(get(&server, "seckill.stock-prefix"), "conf:");
    assert_eq!(get(&server, "seckill.buyers-prefix"), "args:");
    // A rewritten setting wins, even if its value is the default of a module without arguments.
    set(&server, "seckill.stock-prefix", "seckill:stock:");
    set(&server, "seckill.buyers-prefix", "seckill:order:");
    assert_eq!(server.run("CONFIG REWRITE"), Value::Okay);
    server.restart();
    assert_eq!(get(&server, "seckill.stock-prefix"), "seckill:stock:");
    assert_eq!(get(&server, "seckill.buyers-prefix"), "seckill:order:");
}

/// Values that no setting accepts, as name and bytes.
const BAD: [(&str, &[u8]); 43] = [
    ("seckill.storable-names", b"maybe"),
    ("seckill.waitlist-max", b"-1"),
    ("seckill.waitlist-max", b"10000001"),
    ("seckill.hash-tags", b"maybe"),
    ("seckill.hash-tags", b""),
    ("seckill.missing-stock", b"soldout"),
    ("seckill.missing-stock", b"both"),
    ("seckill.unlimited-stock", b"perhaps"),
    ("seckill.unlimited-stock", b""),
    ("seckill.confirmed-stream", b"maybe"),
    ("seckill.confirmed-stream", b""),
    ("seckill.id-prefix", b"a\0"),
    ("seckill.id-epoch", b"-1"),
    ("seckill.id-epoch", b"4294967296"),
    ("seckill.id-utc-offset", b"1.5"),
    ("seckill.id-utc-offset", b""),
    ("seckill.id-utc-offset", b"86401"),
    ("seckill.name-bytes-max", b"15"),
    ("seckill.name-bytes-max", b"65537"),
    ("seckill.order-fields", b""),
    ("seckill.order-fields", b"a"),
    ("seckill.order-fields", b"a b"),
    ("seckill.order-fields", b"a b "),
    ("seckill.order-fields", b"a b c d"),
    ("seckill.order-fields", b"a b c\0"),
    ("seckill.order-fields", b"\0"),
    ("seckill.order-fields", b"a b a"),
    ("seckill.order-fields", b"a dlqId c"),
    ("seckill.stock-prefix", b"a\0b"),
    ("seckill.buyers-prefix", b"\0"),
    ("seckill.order-stream", b"a\0"),
    ("seckill.draw-stream", b"a\0"),
    ("seckill.lock-lease-ms-max", b"0"),
    ("seckill.lock-lease-ms-max", b"315360000001"),
    ("seckill.lock-wait-ms-max", b"-1"),
    ("seckill.lock-wait-ms-max", b"1s"),
    ("seckill.lock-waiters-max", b"1 2"),
    ("seckill.lock-waiters-max", b"2 1 3"),
    ("seckill.lock-waiters-max", b"0 0 1000001"),
    ("seckill.buyers-prefix", b"seckill:stock:"),
    ("seckill.stock-prefix", b"seckill:book:"),
    ("seckill.scripts", b"a401349bbff2164ec35f9c5f6db8f92ff4519d9d GET KEYS[1]"),
    ("seckill.scripts", b"a401349bbff2164ec35f9c5f6db8f92ff4519d9d LOCK.RELEASE a b\0"),
];

#[test]
fn bad_values_are_refused_and_change_nothing() {
    let server = Server::start();
    server.run("CONFIG SET seckill.buyers-prefix b: seckill.missing-stock sold-out");
    let before = all(&server);
    for (name, value) in BAD {
        let name = name.as_bytes();
        let shown = format!("{} = {}", name.escape_ascii(), value.escape_ascii());
        let one = server.call(&[b"CONFIG".as_slice(), b"SET", name, value]);
        let error = assert_error(&one, "ERR", &shown);
        assert!(error.contains("CONFIG SET failed"), "{shown}: {error}");
        assert_eq!(all(&server), before, "{shown}");
        // A good value in the same command is not kept either.
        let good: [&[u8]; 2] = [b"seckill.buyers-prefix", b"good:"];
        for pairs in [[good, [name, value]], [[name, value], good]] {
            if pairs[0][0] == pairs[1][0] {
                continue;
            }
            let argv = [b"CONFIG".as_slice(), b"SET"].into_iter().chain(pairs.concat());
            assert_error(&server.call(&argv.collect::<Vec<_>>()), "ERR", &shown);
            assert_eq!(all(&server), before, "{shown}");
        }
    }
    server.check("> SET seckill:stock:7 1\nOK\n> SECKILL.TRY 7 a o\n0\n> EXISTS b:7\n1");
    assert!(server.say("CONFIG SET seckill.nosuch 1").starts_with("ERR"));
}

/// Starts that fail with a message in the log, not with a crash.
fn assert_no_start(result: Result<Server, String>, about: &str, what: &str) {
    let Err(log) = result else { panic!("{what} was taken") };
    assert!(!log.contains("BUG REPORT"), "{what} crashed the server:\n{log}");
    assert!(log.contains(about), "{what}: the log says nothing of {about}:\n{log}");
}

#[test]
fn bad_loadmodule_arguments_stop_the_start() {
    for (args, about) in [
        ("nosuch 1", "nosuch"),
        ("stock-prefix", "pairs"),
        ("stock-prefix a: buyers-prefix", "pairs"),
        ("hash-tags maybe", "hash-tags"),
        ("missing-stock no", "missing-stock"),
        ("unlimited-stock 2", "unlimited-stock"),
        ("id-epoch x", "id-epoch must be an integer from"),
        ("id-utc-offset -86401", "id-utc-offset must be an integer from"),
        ("order-fields \"a b\"", "order-fields"),
        ("order-fields \"a b c d\"", "order-fields"),
        ("order-fields a b c", "configuration b"),
        ("order-fields \"a a b\"", "order-fields"),
        ("stock-prefix a: stock-prefix b:", "stock-prefix"),
        ("scripts x", "scripts entry 1: must begin with the sha1"),
        // From arguments without quotes draws would be the stream of orders.
        ("order-stream \"\" draw-stream \"\"", "without its quotes; set it in a seckill.* line"),
        ("scripts \"a b\"", "the argument scripts without its quotes"),
        ("stock-prefix \"a\\tb\"", "the argument stock-prefix without its quotes"),
        ("stock-prefix '\"'", "the argument stock-prefix without"),
        ("stock-prefix \"'\"", "the argument stock-prefix without"),
        ("order-stream s draw-stream s", "the same stream for orders and draws"),
        ("draw-stream d.dlq", "must not end in .released, .confirmed or .dlq"),
        ("stock-prefix s: buyers-prefix s:", "the prefix of stock keys and of buyers keys alike"),
        ("buyers-prefix seckill:units:", "make names that other keys of this module have"),
    ] {
        assert_no_start(Server::with().module_args(args).try_start(), about, args);
    }
}

#[test]
fn bad_arguments_of_module_load_are_refused() {
    let server = Server::with().without_module().start();
    let path = module().to_str().expect("a path").as_bytes();
    let all_bad: [&[&[u8]]; 7] = [
        &[b"nosuch", b"1"],
        &[b"stock-prefix"],
        &[b"stock-prefix\0", b"a"],
        &[b"stock-prefix", b"a\0b"],
        &[b"hash-tags", b"auto\0"],
        &[b"\xff", b"\xff"],
        &[b"", b""],
    ];
    for args in all_bad {
        let argv = [&[b"MODULE".as_slice(), b"LOAD", path], args].concat();
        assert!(text(&server.call(&argv)).starts_with("ERR"), "{args:?}");
        server.check("> PING\nPONG\n> CONFIG GET seckill.*\n(empty array)");
    }
    let argv = [b"MODULE".as_slice(), b"LOAD", path];
    assert_eq!(server.call(&argv), Value::Okay, "a good load after bad ones");
}

#[test]
fn bad_lines_of_redis_conf_stop_the_start() {
    for (line, about) in [
        ("seckill.nosuch 1", "onfiguration"),
        ("seckill.hash-tags maybe", "hash-tags"),
        ("seckill.order-fields \"a b\"", "order-fields"),
        ("seckill.unlimited-stock 7", "unlimited-stock"),
        ("seckill.scripts \"; x LOCK.INFO a\"", "entry 1: must begin with the sha1"),
        ("seckill.order-stream stream.draws", "the same stream for orders and draws"),
        ("seckill.order-stream seckill:book:7", "must not make names that other keys"),
        ("seckill.stock-prefix icr:", "must not make names that other keys"),
        ("seckill.stock-prefix seckill:order:", "stock keys and of buyers keys alike"),
    ] {
        assert_no_start(Server::with().config(line).try_start(), about, line);
    }
}

/// With hash tags a colon follows the name of a stream, as it ends a prefix.
#[test]
fn hash_tags_make_no_stream_of_a_stock_key() {
    let tagged = "hash-tags yes order-stream seckill:stock";
    let about = "must not make names that other keys of this module have";
    for args in [tagged, "draw-stream seckill:units hash-tags yes"] {
        assert_no_start(Server::with().module_args(args).try_start(), about, args);
    }
    let server = Server::with().module_args("order-stream seckill:stock").start();
    server.check("> SET seckill:stock:7 2\nOK\n> SECKILL.TRY 7 ann o1\n0");
    let refused = server.say("CONFIG SET seckill.hash-tags yes");
    assert!(refused.contains(about), "{refused}");
    server.check("> SECKILL.TRY 7 bob o2\n0\n> XLEN seckill:stock\n2");
}
