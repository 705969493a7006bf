//! The threat model of SECURITY.md, row by row: each user with a bounded load of its own commands
//! fills what its row says, reads and changes nothing else, and a sale beside it goes on.

use crate::harness::{Client, Server, text};
use crate::security::{recommended, users_of};
use crate::users::login;
use redis::Value;

const MEMORY_MAX: i64 = 12 << 20;
/// What clients, and the last command before the limit, need beside the data.
const SLACK: i64 = 4 << 20;
const ROUNDS: usize = 24;
const COMMANDS: usize = 500;

/// What a row says that its user can fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fills {
    Nothing,
    ToTheLimit,
    BeyondIt,
}

/// The rows of the threat model: who, and what they can read, change, fill and stop.
fn rows() -> Vec<Vec<String>> {
    let rows = kit::pages::rows("docs/SECURITY.md", "| attacker | can read ");
    assert!(rows.iter().all(|cells| cells.len() == 5), "{rows:?}");
    rows
}

/// What the row of a user says.
fn fills(rows: &[Vec<String>], user: &str) -> Fills {
    let row = rows.iter().find(|row| row[0].contains(user));
    let row = row.unwrap_or_else(|| panic!("no row of {user}"));
    match row[3].as_str() {
        "Nothing" => Fills::Nothing,
        // The cell of the last column's row before.
        "As these" => named_in(rows, &row[2]),
        cell if cell.starts_with("As `") => named_in(rows, cell),
        cell if cell.contains("beyond `maxmemory`") => Fills::BeyondIt,
        cell if cell.contains("up to `maxmemory`") => Fills::ToTheLimit,
        cell => panic!("{user}: {cell}"),
    }
}

/// The most that the users in a cell can fill.
fn named_in(rows: &[Vec<String>], cell: &str) -> Fills {
    let named = rows.iter().filter(|row| cell.contains(&row[0]));
    named.map(|row| fills(rows, &row[0])).max().unwrap_or_else(|| panic!("nobody in {cell}"))
}

/// A name of the greatest length.
fn long(name: &str, number: usize) -> String {
    format!("{name}{number:x<length$}", length = 512 - name.len())
}

/// The user's password, and the command of a number.
type Load = (&'static str, &'static str, fn(usize) -> Vec<String>);

/// A read by a consumer with a new and long name.
fn read_as_new(number: usize) -> Vec<String> {
    let name = format!("c{number}").repeat(8_000);
    words(&format!("XREADGROUP GROUP g {name} COUNT 1 STREAMS stream.orders >"))
}

fn words(command: &str) -> Vec<String> {
    command.split(' ').map(str::to_owned).collect()
}

const LOADS: [Load; 14] = [
    ("shop", "change-me-1", |number| match number % 4 {
        0 => words(&format!("SECKILL.STATUS sale:1 {}", long("v", number))),
        _ => {
            let (user, id) = (long("u", number), long("o", number));
            words(&format!("SECKILL.TRY sale:1 {user} {id}"))
        }
    }),
    ("till", "change-me-2", |number| match number % 4 {
        0 => words(&format!("SECKILL.CANCEL sale:1 nobody {}", long("o", number))),
        1 => words(&format!("SECKILL.EXTEND sale:1 nobody {} 1000", long("o", number))),
        _ => {
            let (id, reference) = (long("o", number), format!("r{number:x<127}"));
            words(&format!("SECKILL.CONFIRM sale:1 {} {id} REF {reference}", long("u", 0)))
        }
    }),
    ("office", "change-me-3", |number| {
        words(&format!("SECKILL.CREATE {} 5 HOLD 1000", long("sale:", number)))
    }),
    ("support", "change-me-4", |number| match number % 3 {
        0 => words(&format!("SECKILL.ORDER sale:1 {}", long("o", number))),
        1 => words(&format!("SECKILL.STATUS sale:1 {}", long("u", number))),
        _ => words("SECKILL.AUDIT sale:1"),
    }),
    ("worker", "change-me-5", read_as_new),
    ("locker", "change-me-6", |number| {
        let (key, token) = (long("lock:", number), long("t", 0));
        words(&format!("LOCK.ACQUIRE {key} {token} 86400000 FENCE"))
    }),
    ("watcher", "change-me-7", |_| words("SECKILL.INFO sale:1")),
    ("seckill-worker", "change-me-8", |number| match number % 2 {
        0 => words(&format!("HSET {} a b", long("stream.orders", number))),
        _ => read_as_new(number),
    }),
    ("seckill-top", "change-me-9", |number| match number % 4 {
        0 => words("SCAN 0 COUNT 100"),
        1 => words("XINFO GROUPS stream.orders"),
        2 => words("ZRANGE seckill:hold:sale:1 0 -1"),
        _ => words("SECKILL.INFO sale:1"),
    }),
    ("seckill-shards", "change-me-10", |number| match number % 2 {
        0 => words(&format!("SECKILL.CREATE {} 5 HOLD 1000", long("7#", number))),
        _ => words(&format!("SET {} 5", long("seckill:stock:7#", number))),
    }),
    ("consumer", "change-me-11", |number| match number % 2 {
        0 => words(&format!("XGROUP CREATE stream.orders {} $", long("g", number))),
        _ => read_as_new(number),
    }),
    ("application", "change-me-12", |number| match number % 4 {
        0 => words(&format!("SECKILL.CREATE {} 5", long("phone-", number))),
        1 => words(&format!("LOCK.ACQUIRE {} t 1000", long("lock:", number))),
        2 => words(&format!("SECKILL.CONFIRM phone-1 ann a1 REF r{number:x<127}")),
        _ => read_as_new(number),
    }),
    ("SECKILL.NEXTID", "pw", |number| words(&format!("SECKILL.NEXTID {}", long("id", number)))),
    ("another application", "pw", |number| match number % 2 {
        0 => words(&format!("SET {} x", long("other", number))),
        _ => read_as_new(number),
    }),
];

/// Those whose rules are in no line of the page, as their rows describe them.
const OTHERS: [(&str, &str); 2] =
    [("SECKILL.NEXTID", "~id* +seckill.nextid"), ("another application", "~* +@read +@write")];

/// Keys of others, and what is in them.
const SECRETS: [&str; 3] = ["SET secret SECRET", "HSET others SECRET SECRET", "SADD sale SECRET"];

fn used(server: &Server) -> i64 {
    server.info_number("used_memory")
}

/// One sale more beside the user's; the answer.
fn sells(server: &Server, number: usize) -> String {
    server.say(&format!("SECKILL.TRY beside u{number} o{number}"))
}

fn attack(
    (user, fills): (&str, Fills),
    client: &mut Client,
    server: &Server,
    load: fn(usize) -> Vec<String>,
) {
    let before = used(server);
    for round in 0..ROUNDS {
        let commands: Vec<_> = (0..COMMANDS).map(|at| load(round * COMMANDS + at)).collect();
        for reply in client.together(&commands) {
            let reply = format!("{reply:?}");
            assert!(!reply.contains("SECRET"), "{user}: {reply}");
        }
        let (now, sold) = (used(server), sells(server, round));
        match fills {
            Fills::Nothing => {
                assert!(now < before + (1 << 20), "{user}: {before} bytes became {now}");
                assert_eq!(sold, "0", "{user}");
            }
            Fills::ToTheLimit => {
                assert!(now < MEMORY_MAX + SLACK, "{user}: {now} bytes of {MEMORY_MAX}");
                assert!(
                    sold == "0" || now + SLACK > MEMORY_MAX && sold.starts_with("OOM "),
                    "{sold}"
                );
            }
            Fills::BeyondIt if now > MEMORY_MAX + SLACK => return,
            Fills::BeyondIt => {}
        }
    }
    assert_ne!(fills, Fills::BeyondIt, "{user} stays below maxmemory: {}", used(server));
    // The load was one that fills, where anything can.
    let is_full = used(server) + SLACK > MEMORY_MAX;
    assert_eq!(is_full, fills == Fills::ToTheLimit, "{user}: {} bytes", used(server));
}

#[test]
fn users_fill_and_stop_what_their_rows_say() {
    let rows = rows();
    for row in &rows {
        let loads = LOADS.iter().filter(|load| row[0].contains(load.0)).count();
        assert!(loads > 0, "nobody tries {}", row[0]);
    }
    for (user, password, load) in LOADS {
        let server = Server::with()
            .config(format!("maxmemory {MEMORY_MAX}"))
            .config("maxmemory-policy noeviction")
            .start();
        recommended(&server);
        users_of(&server, "## Users of the programs");
        SECRETS.iter().for_each(|secret| drop(server.run(secret)));
        server.run("SECKILL.CREATE sale:1 1000000 LIMIT 9 HOLD 900000");
        server.run("SECKILL.CREATE beside 1000 HOLD 900000");
        server.run("XGROUP CREATE stream.orders g 0 MKSTREAM");
        // Redis 7.0 makes a consumer of a read only for an entry.
        for number in 0..1_000 {
            server.call(&["XADD", "stream.orders", "*", "n", &number.to_string()]);
        }
        let other = OTHERS.iter().find(|other| other.0 == user);
        let name = if other.is_some() { "other" } else { user };
        if let Some((_, rules)) = other {
            server.check(&format!("> ACL SETUSER other on >{password} {rules}\nOK"));
        }
        let mut client = login(&server, name, password);
        // The row says that it reads the figures of every sale, or all.
        let reads = match user {
            "another application" => 4,
            "seckill-worker" | "seckill-top" => 2,
            _ => 0,
        };
        let foreign = ["SECKILL.INFO beside", "XRANGE beside - +", "GET secret", "HGETALL others"];
        for foreign in foreign.into_iter().skip(reads) {
            assert!(client.say(foreign).starts_with("NOPERM "), "{user}: {foreign}");
        }
        attack((user, fills(&rows, user)), &mut client, &server, load);
        let kept = ["GET secret", "HGET others SECRET"].map(|secret| text(&server.run(secret)));
        assert_eq!(kept, ["SECRET", "SECRET"], "{user}");
        assert_eq!(
            server.run("SMEMBERS sale"),
            Value::Array(vec![Value::BulkString(b"SECRET".to_vec())])
        );
    }
}

/// No worker could make a row of such an order.
#[test]
fn tries_with_names_that_no_database_can_store_are_refused_where_that_is_set() {
    let server = Server::observed().start();
    server.run("SECKILL.CREATE 7 9 LIMIT 9");
    server.run("MSET seckill:stock:8 9 s 9");
    let odd: [&[u8]; 3] = [b"a\0b", b"\xff", b"\xed\xa0\x80"];
    for (number, name) in odd.into_iter().enumerate() {
        let id = format!("o{number}");
        let sold = server.call(&[b"SECKILL.TRY", &b"7"[..], name, id.as_bytes()]);
        assert_eq!(sold, Value::Int(0), "{name:?}");
        server.check("> CONFIG SET seckill.storable-names yes\nOK");
        for (user, id, argument) in [(name, &b"id"[..], "user"), (b"eve", name, "orderid")] {
            for front in [&[&b"SECKILL.TRY"[..], b"7"][..], &[b"SECKILL.TRY", b"8"]] {
                let command = [front, &[user, id]].concat();
                let command: Vec<Vec<u8>> = command.into_iter().map(<[u8]>::to_vec).collect();
                let error = text(&server.silent_argv(&command));
                assert_eq!(error, format!("ERR {argument} must be UTF-8 without a NUL"));
            }
            let keys: [&[u8]; 5] = [b"SECKILL.TRYKEYS", b"s", b"b", b"o", b"7"];
            let error = text(&server.call(&[&keys[..], &[user, id]].concat()));
            assert_eq!(error, format!("ERR {argument} must be UTF-8 without a NUL"));
        }
        // In a batch, alone.
        let mtry: [&[u8]; 6] =
            [b"SECKILL.MTRY", b"7", name, b"x", "\u{7528}".as_bytes(), id.as_bytes()];
        let Value::Array(answers) = server.call(&mtry) else { panic!("no answers") };
        assert_eq!(text(&answers[0]), "ERR user must be UTF-8 without a NUL");
        server.check("> CONFIG SET seckill.storable-names no\nOK");
    }
}
