//! COMMAND INFO, DOCS and GETKEYS, ACL categories, the INFO section.

use crate::declared::{Declared, field, items, texts};
use crate::harness::{Server, text};
use crate::observe::words;
use crate::reject::ordered;
use domain::info::Names;
use redis::Value;

/// Commands of the module as the server shows them: name, arity, flags, last key; negative if it is
/// counted from the end, and every second word before is one. Their arguments
/// are on their pages, which `docs_tables` compares with the server.
pub type Row = (&'static str, i64, &'static str, i64);

#[rustfmt::skip]
pub const COMMANDS: [Row; 25] = [
    ("seckill.try", -4, "write denyoom fast", 1),
    ("seckill.trykeys", -7, "write denyoom fast", 3),
    ("seckill.mtry", -4, "write denyoom", 1),
    ("seckill.tryall", -5, "write denyoom", -4),
    ("seckill.create", -3, "write denyoom fast", 1),
    ("seckill.alter", -4, "write denyoom fast", 1),
    ("seckill.restock", -3, "write denyoom fast", 1),
    ("seckill.drop", -2, "write fast", 1),
    ("seckill.confirm", -4, "write fast", 1),
    ("seckill.extend", -5, "write fast", 1),
    ("seckill.cancel", -4, "write fast", 1),
    ("seckill.reject", -4, "write fast", 1),
    ("seckill.order", 3, "readonly fast", 1),
    ("seckill.status", 3, "readonly fast", 1),
    ("seckill.info", 2, "readonly", 1),
    ("seckill.audit", -2, "readonly", 1),
    ("seckill.deduct", -2, "write denyoom fast", 1),
    ("seckill.return", -2, "write fast", 1),
    ("seckill.draw", 3, "write denyoom fast", 1),
    ("seckill.undraw", 3, "write fast", 1),
    ("seckill.nextid", -2, "write denyoom fast", 1),
    ("lock.acquire", -4, "write denyoom fast blocking", 1),
    ("lock.release", 3, "write fast", 1),
    ("lock.renew", 4, "write fast", 1),
    ("lock.info", 2, "readonly fast", 1),
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

#[test]
fn command_info_and_docs_are_complete() {
    let server = Server::start();
    let mut names = words(server.run("COMMAND LIST FILTERBY MODULE seckill"));
    names.sort();
    let mut listed = COMMANDS.map(|row| row.0);
    listed.sort();
    assert_eq!(names, listed);
    for (name, arity, wanted, keys) in COMMANDS {
        let reply = server.call(&["COMMAND", "INFO", name]);
        let info = items(&items(&reply)[0]);
        assert_eq!(text(&info[0]), name);
        assert_eq!(info[1], Value::Int(arity), "{name}");
        let flags = texts(&info[2]);
        assert!(flags.contains(&"module".to_owned()), "{name}: {flags:?}");
        let wanted: Vec<_> = wanted.split(' ').collect();
        for flag in FLAGS.split(' ') {
            let has = flags.contains(&flag.to_owned());
            assert_eq!(has, wanted.contains(&flag), "{name}, {flag}: {flags:?}");
        }
        let (step, keys_of_its_own) = if keys < 0 { (2, 1) } else { (1, keys) };
        assert_eq!(info[3..6], [1, keys, step].map(Value::Int), "{name}");
        let specs = items(&info[8]);
        assert!(!specs.is_empty(), "{name}");
        for spec in specs {
            let flags = texts(field(spec, "flags").expect("flags"));
            let access = ["RO", "RW", "OW", "RM"];
            let count = flags.iter().filter(|flag| access.contains(&flag.as_str())).count();
            assert_eq!(count, 1, "{name}: {flags:?}");
            let reads = wanted.contains(&"readonly");
            assert_eq!(flags.contains(&"RO".to_owned()), reads, "{name}: {flags:?}");
        }

        let reply = server.call(&["COMMAND", "DOCS", name]);
        let docs = field(&reply, name).unwrap_or_else(|| panic!("no docs of {name}"));
        let said = |what: &str| text(field(docs, what).expect(what));
        assert!(said("summary").len() > 10, "{name}: {}", said("summary"));
        assert!(said("complexity").starts_with("O("), "{name}: {}", said("complexity"));
        let mut changes = include_str!("../../CHANGELOG.md").lines();
        let since = format!("## {}", said("since"));
        assert!(changes.any(|line| line.starts_with(&since)), "{name}: since {since}");
        assert_eq!(said("module"), "seckill");
        let arguments = items(field(docs, "arguments").expect("arguments")).iter();
        let arguments = arguments.flat_map(|argument| match field(argument, "arguments") {
            Some(parts) => items(parts).iter().collect(),
            None => vec![argument],
        });
        for (argument, number) in arguments.zip(0..) {
            let is_key = text(field(argument, "type").expect("type")) == "key";
            assert_eq!(is_key, number < keys_of_its_own, "{name}: {argument:?}");
            let spec = field(argument, "key_spec_index");
            let is_known = |n: &i64| (0..specs.len() as i64).contains(n);
            let has_spec = matches!(spec, Some(Value::Int(n)) if is_known(n));
            assert_eq!(has_spec, is_key, "{name}: {argument:?}");
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
    for (name, _, flags, _) in COMMANDS {
        let own = name.split('.').next().expect("a family");
        assert!(known.contains(&own.to_owned()), "no category {own}: {known:?}");
        let reply = server.call(&["COMMAND", "INFO", name]);
        let mut shown = texts(&items(&items(&reply)[0])[6]);
        shown.sort();
        let mut wanted = categories(name, &flags.split(' ').collect::<Vec<_>>());
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
        "SECKILL.CREATE c1 2 LIMIT 2",
        "SECKILL.CREATE c2 2",
        "SECKILL.TRYALL c1 1 c2 1 a o1",
        "SECKILL.TRYALL c1 1 c2 1 a o1",
        "SECKILL.TRYALL c1 2 c2 1 b o2",
        "SECKILL.TRYALL c1 1 c2 1 b o1",
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
        "seckill_tries_accepted:10", "seckill_tries_sold_out:3", "seckill_tries_at_limit:2",
        "seckill_tries_repeated:4", "seckill_tries_waiting:1", "seckill_tries_not_started:1",
        "seckill_tries_ended:1", "seckill_orders_confirmed:1", "seckill_orders_cancelled:2",
        "seckill_orders_promoted:1", "seckill_orders_expired:0", "seckill_orders_rejected:1",
        "seckill_payments_to_refund:1", "seckill_locks_acquired:1", "seckill_locks_refused:1",
        "seckill_locks_released:1", "seckill_locks_waiting:0", "seckill_prizes_drawn:2",
        "seckill_scripts_replaced:0", "seckill_carts_accepted:1", "seckill_carts_refused:1",
    ] {
        assert!(lines.contains(&line), "no {line} in:\n{section}");
    }
    for section in ["modules", "everything"] {
        let shown = server.say(&format!("INFO {section}"));
        assert!(shown.contains("seckill_tries_accepted:10"), "INFO {section}:\n{shown}");
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
