//! COMMAND INFO, DOCS and GETKEYS, ACL categories, the INFO section.

use crate::declared::{Declared, field, items, texts};
use crate::harness::{Server, text};
use crate::observe::words;
use crate::reject::ordered;
use domain::info::Names;
use redis::Value;

/// Commands of the module as the server shows them: name, arity, flags, first and last key,
/// required arguments, tokens of the optional ones (- for one without).
pub type Row = (&'static str, i64, &'static str, [i64; 2], &'static str, &'static str);

const IN_LINE: &str = "BLOCK FENCE SESSION";
const TRYKEYS: &str = "stock buyers orders voucher user orderid";
const TRY_TOKENS: &str = "UNITS WAITLIST SALE";
const TRYKEYS_TOKENS: &str = "UNITS NOSTREAM FIELDS MISSING";

#[rustfmt::skip]
pub const COMMANDS: [Row; 24] = [
    ("seckill.try", -4, "write denyoom fast", [1, 1], "voucher user orderid", TRY_TOKENS),
    ("seckill.trykeys", -7, "write denyoom fast", [1, 3], TRYKEYS, TRYKEYS_TOKENS),
    ("seckill.mtry", -4, "write denyoom", [1, 1], "voucher order", ""),
    ("seckill.create", -3, "write denyoom fast", [1, 1], "voucher stock", "BEGIN END LIMIT HOLD"),
    ("seckill.alter", -4, "write denyoom fast", [1, 1], "voucher", "BEGIN END LIMIT HOLD SALE"),
    ("seckill.restock", -3, "write denyoom fast", [1, 1], "voucher delta", "FOR SALE"),
    ("seckill.drop", -2, "write fast", [1, 1], "voucher", "FORCE SALE"),
    ("seckill.confirm", -4, "write fast", [1, 1], "voucher user orderid", "REF REFUND SALE"),
    ("seckill.extend", -5, "write fast", [1, 1], "voucher user orderid ms", "SALE"),
    ("seckill.cancel", -4, "write fast", [1, 1], "voucher user orderid", "IF KEEP SALE"),
    ("seckill.reject", -4, "write fast", [1, 1], "stream group id", "UNSOLD REASON"),
    ("seckill.order", 3, "readonly fast", [1, 1], "voucher orderid", ""),
    ("seckill.status", 3, "readonly fast", [1, 1], "voucher user", ""),
    ("seckill.info", 2, "readonly", [1, 1], "voucher", ""),
    ("seckill.audit", -2, "readonly", [1, 1], "voucher", "CURSOR"),
    ("seckill.deduct", -2, "write denyoom fast", [1, 1], "key", "-"),
    ("seckill.return", -2, "write fast", [1, 1], "key", "-"),
    ("seckill.draw", 3, "write denyoom fast", [1, 1], "pool user", ""),
    ("seckill.undraw", 3, "write fast", [1, 1], "pool user", ""),
    ("seckill.nextid", -2, "write denyoom fast", [1, 1], "prefix", "COUNT"),
    ("lock.acquire", -4, "write denyoom fast blocking", [1, 1], "key token lease-ms", IN_LINE),
    ("lock.release", 3, "write fast", [1, 1], "key token", ""),
    ("lock.renew", 4, "write fast", [1, 1], "key token lease-ms", ""),
    ("lock.info", 2, "readonly fast", [1, 1], "key", ""),
];

/// Each of these with a call: all options, and keys that begin with k.
pub fn calls(server: &Server) -> Vec<(Row, String)> {
    let declared = Declared::all(server);
    let of_row = |row: Row| {
        let declared = declared.iter().find(|declared| declared.name == row.0);
        (row, declared.expect(row.0).sentence())
    };
    COMMANDS.into_iter().map(of_row).collect()
}

/// The flags that are compared; others are the server's own.
const FLAGS: &str =
    "write readonly denyoom fast blocking noscript movablekeys no_multi admin loading";

struct Expected {
    name: &'static str,
    arity: i64,
    flags: Vec<&'static str>,
    keys: [i64; 2],
    arguments: Vec<&'static str>,
    tokens: Vec<&'static str>,
}

fn expected() -> impl Iterator<Item = Expected> {
    COMMANDS.into_iter().map(|(name, arity, flags, keys, arguments, tokens)| {
        let [flags, arguments, tokens] =
            [flags, arguments, tokens].map(|text| text.split_whitespace().collect());
        Expected { name, arity, flags, keys, arguments, tokens }
    })
}

#[test]
fn the_module_has_these_commands() {
    let server = Server::start();
    let mut names = words(server.run("COMMAND LIST FILTERBY MODULE seckill"));
    names.sort();
    let mut wanted = COMMANDS.map(|row| row.0);
    wanted.sort();
    assert_eq!(names, wanted);
    let modules = format!("{:?}", server.run("MODULE LIST"));
    assert!(modules.contains("seckill"), "{modules}");
}

#[test]
fn command_info_is_complete() {
    let server = Server::start();
    for expected in expected() {
        let name = expected.name;
        let reply = server.call(&["COMMAND", "INFO", name]);
        let info = items(&items(&reply)[0]);
        assert_eq!(text(&info[0]), name);
        assert_eq!(info[1], Value::Int(expected.arity), "{name}");
        let flags = texts(&info[2]);
        assert!(flags.contains(&"module".to_owned()), "{name}: {flags:?}");
        for flag in FLAGS.split(' ') {
            let has = flags.contains(&flag.to_owned());
            assert_eq!(has, expected.flags.contains(&flag), "{name}, {flag}: {flags:?}");
        }
        let [first, last] = expected.keys;
        assert_eq!(info[3..6], [first, last, 1].map(Value::Int), "{name}");
        let specs = items(&info[8]);
        assert!(!specs.is_empty(), "{name}");
        for spec in specs {
            let flags = texts(field(spec, "flags").expect("flags"));
            let access = ["RO", "RW", "OW", "RM"];
            let count = flags.iter().filter(|flag| access.contains(&flag.as_str())).count();
            assert_eq!(count, 1, "{name}: {flags:?}");
            let reads = expected.flags.contains(&"readonly");
            assert_eq!(flags.contains(&"RO".to_owned()), reads, "{name}: {flags:?}");
        }
    }
}

#[test]
fn command_docs_are_complete() {
    let server = Server::start();
    for expected in expected() {
        let name = expected.name;
        let reply = server.call(&["COMMAND", "DOCS", name]);
        let docs = field(&reply, name).unwrap_or_else(|| panic!("no docs of {name}"));
        let said = |what: &str| {
            let said = field(docs, what).unwrap_or_else(|| panic!("{name} has no {what}"));
            text(said)
        };
        assert!(said("summary").len() > 10, "{name}: {}", said("summary"));
        assert!(said("complexity").starts_with("O("), "{name}: {}", said("complexity"));
        let since = said("since");
        let changes = include_str!("../../CHANGELOG.md").lines();
        let mut versions = changes.filter(|line| line.starts_with("## "));
        assert!(versions.any(|line| line.contains(&since)), "{name}: since {since}");
        assert_eq!(said("module"), "seckill");

        let arguments = items(field(docs, "arguments").expect("arguments"));
        let names: Vec<_> =
            arguments.iter().map(|argument| text(field(argument, "name").expect("name"))).collect();
        let required = expected.arguments.len();
        assert_eq!(names[..required], expected.arguments, "{name}");
        for argument in &arguments[..required] {
            let optional = field(argument, "flags")
                .is_some_and(|flags| texts(flags).contains(&"optional".to_owned()));
            assert!(!optional, "{name}: {argument:?}");
        }
        for (token, argument) in expected.tokens.iter().zip(&arguments[required..]) {
            let shown = field(argument, "token").map(text);
            let wanted = Some(*token).filter(|token| *token != "-");
            assert_eq!(shown.as_deref(), wanted, "{name}: {argument:?}");
            let flags = field(argument, "flags").expect("flags of an optional argument");
            assert!(texts(flags).contains(&"optional".to_owned()), "{name}: {argument:?}");
        }
        assert_eq!(arguments.len(), required + expected.tokens.len(), "{name}");
    }
}

#[test]
fn arguments_of_several_words_name_their_parts() {
    let server = Server::start();
    for (command, argument, kind, parts) in [
        ("seckill.mtry", "order", "block", "user orderid"),
        ("seckill.create", "stock", "oneof", "stock ADOPT"),
        ("seckill.trykeys", "fields", "block", "user-field voucher-field id-field"),
        ("seckill.trykeys", "missing", "oneof", "error sold-out"),
        ("seckill.cancel", "state", "oneof", "held sold"),
    ] {
        let reply = server.call(&["COMMAND", "DOCS", command]);
        let arguments = field(field(&reply, command).expect("docs"), "arguments");
        let arguments = items(arguments.expect("arguments"));
        let is_named = |docs: &&Value| field(docs, "name").map(text).as_deref() == Some(argument);
        let docs = arguments.iter().find(is_named).expect(argument);
        assert_eq!(field(docs, "type").map(text).as_deref(), Some(kind), "{command} {argument}");
        let shown: Vec<_> = items(field(docs, "arguments").expect("parts"))
            .iter()
            .map(|part| text(field(part, "name").expect("a name")))
            .collect();
        assert_eq!(shown.join(" "), parts, "{command} {argument}");
    }
}

#[test]
fn key_arguments_are_keys_in_the_docs() {
    let server = Server::start();
    for expected in expected() {
        let name = expected.name;
        let reply = server.call(&["COMMAND", "DOCS", name]);
        let docs = field(&reply, name).expect("docs");
        let arguments = items(field(docs, "arguments").expect("arguments"));
        let keys = usize::try_from(expected.keys[1]).expect("a count");
        for (index, argument) in arguments.iter().enumerate() {
            let is_key = text(field(argument, "type").expect("type")) == "key";
            assert_eq!(is_key, index < keys, "{name}: {argument:?}");
            if is_key {
                let spec = field(argument, "key_spec_index").expect("key_spec_index");
                let reply = server.call(&["COMMAND", "INFO", name]);
                let specs = items(&items(&items(&reply)[0])[8]).len();
                assert!(matches!(spec, Value::Int(n) if (0..specs as i64).contains(n)), "{name}");
            }
        }
    }
}

#[test]
fn getkeys_finds_the_declared_keys() {
    let server = Server::start();
    let odd = ["seckill.trykeys k1 k2 k1 7 alice o1 NOSTREAM", "seckill.create k ADOPT HOLD 1"];
    let calls = calls(&server).into_iter().map(|(_, call)| call);
    for sentence in calls.chain(odd.map(str::to_owned)) {
        let wanted: Vec<_> = sentence.split(' ').filter(|word| word.starts_with('k')).collect();
        assert_eq!(words(server.run(&format!("COMMAND GETKEYS {sentence}"))), wanted, "{sentence}");
    }
}

/// Does this server let modules make ACL categories (Redis 7.4, Redict 7.3, Valkey 8)?
fn makes_categories(server: &Server) -> bool {
    let version = |field| {
        let version = server.info(field)?;
        let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
        Some((parts.next()?, parts.next()?))
    };
    version("valkey_version").is_some_and(|version| version >= (8, 0))
        || version("redict_version").is_some_and(|version| version >= (7, 3))
        || version("redis_version").is_some_and(|version| version >= (7, 4))
}

/// The categories of a command with these flags.
pub fn categories(name: &str, flags: &[&str]) -> Vec<String> {
    let own = name.split('.').next().expect("a family");
    let kind = if flags.contains(&"write") { "write" } else { "read" };
    let others = ["fast", "blocking"].into_iter().filter(|flag| flags.contains(flag));
    [own, kind].into_iter().chain(others).map(|category| format!("@{category}")).collect()
}

#[test]
fn commands_are_in_acl_categories_where_modules_can_make_them() {
    let server = Server::start();
    let known = words(server.run("ACL CAT"));
    if !makes_categories(&server) {
        assert!(!known.contains(&"seckill".to_owned()) && !known.contains(&"lock".to_owned()));
        return;
    }
    // On some servers ACL CAT <category> omits commands of modules; COMMAND INFO doesn't.
    for Expected { name, flags, .. } in expected() {
        let own = name.split('.').next().expect("a family");
        assert!(known.contains(&own.to_owned()), "no category {own}: {known:?}");
        let reply = server.call(&["COMMAND", "INFO", name]);
        let mut shown = texts(&items(&items(&reply)[0])[6]);
        shown.sort();
        let mut wanted = categories(name, &flags);
        wanted.sort();
        assert_eq!(shown, wanted, "{name}");
    }
    server.run("SET seckill:stock:7 1");
    server.run("ACL SETUSER bob on >pw ~* +@seckill");
    let mut bob = server.client();
    bob.check("> AUTH bob pw\nOK\n> SECKILL.TRY 7 alice o1\n0");
    bob.check("> LOCK.RELEASE k t\n(error) NOPERM ...\n> GET k\n(error) NOPERM ...");
}

#[test]
fn info_counts_outcomes() {
    let server = Server::start();
    server.run("MSET seckill:stock:7 2 seckill:stock:r 1 s 1 lock t");
    for command in [
        "SECKILL.TRY 7 alice o1",
        "SECKILL.TRY 7 alice o1",
        "SECKILL.TRY 7 bob o1",
        "SECKILL.TRY 7 carol o1",
        "SECKILL.TRYKEYS s b o 7 alice o1",
        "SECKILL.TRYKEYS s b o 7 bob o1",
        "SECKILL.TRY 8 alice o1",
        "SECKILL.TRY 7 alice o1 UNITS 0",
        "SECKILL.CREATE m 3 HOLD 900000",
        // Two accepted, one repeated, one at the limit.
        "SECKILL.MTRY m a o1 b o2 a o1 a o3",
        "SECKILL.TRY m a o1",
        "SECKILL.CONFIRM m a o1 REF p1",
        "SECKILL.CONFIRM m a o1 REF p2",
        "SECKILL.CANCEL m b o2",
        "SECKILL.TRY m c o4",
        "SECKILL.TRY m d o5",
        "SECKILL.TRY m e o6 WAITLIST",
        "SECKILL.CANCEL m c o4",
        "SECKILL.ALTER m BEGIN 9999999999999",
        "SECKILL.TRY m f o7",
        "SECKILL.ALTER m BEGIN 0 END 1",
        "SECKILL.TRY m f o7",
        "LOCK.ACQUIRE lock u 1000000",
        "LOCK.RELEASE lock u",
        "LOCK.ACQUIRE lock t 1000000",
        "LOCK.RELEASE lock t",
        "LOCK.RELEASE lock t",
        "LOCK.ACQUIRE lock u 1000000",
        "LOCK.ACQUIRE lock u 1000000",
        "RPUSH seckill:codes:p a b",
        "SECKILL.DRAW p alice",
        "SECKILL.DRAW p alice",
        "SECKILL.DRAW p bob",
        "SECKILL.DRAW p carol",
        "SECKILL.DEDUCT seckill:stock:7",
    ] {
        server.run(command);
    }
    let entry = ordered(&server, "SECKILL.TRY r zoe o1");
    server.run(&format!("SECKILL.REJECT stream.orders g {entry}"));
    let section = server.say("INFO seckill");
    let mut lines: Vec<_> = section.lines().map(str::trim_end).collect();
    lines.retain(|line| !line.is_empty());
    assert_eq!(lines.first(), Some(&"# seckill"), "{section}");
    for line in [
        "seckill_tries_accepted:8",
        "seckill_tries_sold_out:2",
        "seckill_tries_at_limit:2",
        "seckill_tries_repeated:2",
        "seckill_tries_waiting:1",
        "seckill_tries_not_started:1",
        "seckill_tries_ended:1",
        "seckill_orders_confirmed:1",
        "seckill_orders_cancelled:2",
        "seckill_orders_served:1",
        "seckill_orders_expired:0",
        "seckill_orders_rejected:1",
        "seckill_payments_to_refund:1",
        "seckill_locks_acquired:1",
        "seckill_locks_refused:1",
        "seckill_locks_released:1",
        "seckill_locks_waiting:0",
        "seckill_prizes_drawn:2",
        "seckill_scripts_replaced:0",
    ] {
        assert!(lines.contains(&line), "no {line} in:\n{section}");
    }
    for section in ["modules", "everything"] {
        let shown = server.say(&format!("INFO {section}"));
        assert!(shown.contains("seckill_tries_accepted:8"), "INFO {section}:\n{shown}");
    }
}

/// A name can't end its line and fake another.
#[test]
fn info_shows_the_names_in_force() {
    let server = Server::start();
    let names = || Names::read(&server.say("INFO seckill"));
    assert_eq!(names(), Some(Names::default()));
    let odd = b"a\r\nseckill_tries_accepted:9\r\n\\ \xff ";
    for (setting, value) in [
        ("stock-prefix", odd.as_slice()),
        ("order-stream", b""),
        ("order-fields", b"u v i"),
        ("confirmed-stream", b"no"),
        ("hash-tags", b"yes"),
    ] {
        let name = format!("seckill.{setting}");
        let reply = server.call(&[b"CONFIG".as_slice(), b"SET", name.as_bytes(), value]);
        assert_eq!(reply, Value::Okay, "{setting}");
    }
    let wanted = Names {
        stock_prefix: odd.into(),
        order_stream: Vec::new(),
        order_fields: b"u v i".into(),
        keeps_confirmed: false,
        hash_tags: true,
        ..Names::default()
    };
    assert_eq!(names(), Some(wanted));
    assert_eq!(server.info_number("seckill_tries_accepted"), 0);
    assert_eq!(server.say("INFO seckill").lines().count(), 1 + domain::info::FIELDS.len());
    let cluster = crate::cluster::whole_cluster();
    let names = Names::read(&cluster.say("INFO seckill")).expect("the module");
    assert!(names.hash_tags);
}

#[test]
fn refusals_are_counted_by_their_code_words() {
    let server = Server::start();
    server.run("RPUSH seckill:stock:9 a");
    server.run("SECKILL.TRY 7 alice o1");
    server.run("SECKILL.TRY 9 alice o1");
    server.run("SECKILL.TRY 9 alice o1 UNITS 0");
    for code in ["NOVOUCHER", "WRONGTYPE", "ERR"] {
        assert!(server.info(&format!("errorstat_{code}")).is_some(), "no errorstat_{code}");
    }
}
