//! The users of SECURITY.md: what each can do by its table, and what they can't do together.

use crate::harness::{Client, Server, text};
use crate::metadata::calls;
use crate::security::{recommended, users_of};
use kit::pages::rows;
use redis::Value;

const USERS: [&str; 7] = ["shop", "till", "office", "support", "worker", "locker", "watcher"];

/// Keys that some user needs for its work.
const KEYS: [&str; 5] =
    ["sale:1", "lock:1", "stream.orders", "stream.orders.released", "stream.orders.confirmed"];

const FOREIGN: [&str; 5] =
    ["other", "seckill:stock:sale:1", "seckill:book:sale:1", "stream.draws", "sale"];

/// No password is shown to a user without these, and the server is not theirs.
const ADMINISTRATOR: [&str; 21] = [
    "ACL LOG", "EVAL x 0", "EVALSHA x 0", "CONFIG GET *", "CONFIG SET a b", "ACL LIST",
    "ACL GETUSER default", "MODULE LIST", "MONITOR", "SLOWLOG GET", "CLIENT LIST", "CLIENT KILL 1",
    "DEBUG SLEEP 1", "KEYS *", "FLUSHALL", "SWAPDB 0 1", "SHUTDOWN", "REPLICAOF no one",
    "SCRIPT FLUSH", "SCRIPT LOAD x", "FUNCTION LOAD x",
];

/// What a part of a shop needs no more than an administrator's commands.
const OF_THE_SERVER: [&str; 8] = [
    "SCAN 0", "FCALL x 0", "FUNCTION LIST", "INFO", "FLUSHDB", "SELECT 1", "PUBLISH a b",
    "SUBSCRIBE a",
];

fn may(server: &Server, user: &str, command: &str) -> bool {
    let answer = server.say(&format!("ACL DRYRUN {user} {command}"));
    let denied = answer.contains("permission");
    assert!(answer == "OK" || denied, "{user}: {command}: {answer}");
    !denied
}

/// The table of users in SECURITY.md: a user, and the commands that it may send.
fn table() -> Vec<(String, Vec<String>)> {
    let unquoted = |cell: &str| cell.trim_matches('`').to_owned();
    let rows = rows("docs/SECURITY.md", "| user | is for | can run ").into_iter().map(|cells| {
        assert_eq!(cells.len(), 3, "{cells:?}");
        (unquoted(&cells[0]), cells[2].split(", ").map(unquoted).collect())
    });
    rows.collect()
}

#[test]
fn users_can_do_what_the_table_says_and_nothing_else() {
    let server = Server::start();
    assert_eq!(recommended(&server), USERS);
    let table = table();
    assert_eq!(table.iter().map(|(user, _)| user.as_str()).collect::<Vec<_>>(), USERS);
    let said = |user: &str, command: &str| {
        let row = table.iter().find(|row| row.0 == user);
        row.is_some_and(|row| row.1.iter().any(|said| said == command))
    };
    let calls = calls(&server);
    let ours: Vec<String> = calls.iter().map(|(_, sentence)| name_of(sentence)).collect();
    let served = ["XREADGROUP", "XAUTOCLAIM", "XPENDING", "XACK"];
    for command in table.iter().flat_map(|row| &row.1) {
        assert!(ours.contains(command) || served.contains(&command.as_str()), "{command}");
    }
    for (_, sentence) in &calls {
        let name = name_of(sentence);
        for user in USERS {
            let with = |key: &str| {
                let is_key = |word: &&str| ["k", "k1", "k2", "k3"].contains(word);
                let words = sentence.split(' ').map(|word| if is_key(&word) { key } else { word });
                words.collect::<Vec<_>>().join(" ")
            };
            let can = KEYS.into_iter().any(|key| may(&server, user, &with(key)));
            assert_eq!(can, said(user, &name), "{user}: {sentence}");
            for key in FOREIGN {
                assert!(!may(&server, user, &with(key)), "{user}: {sentence} {key}");
            }
        }
    }
    for user in USERS {
        for command in [
            "XREADGROUP GROUP g c STREAMS stream.orders >",
            "XREADGROUP GROUP g c STREAMS stream.orders.released >",
            "XREADGROUP GROUP g c STREAMS stream.orders.confirmed >",
            "XAUTOCLAIM stream.orders g c 0 0",
            "XPENDING stream.orders g",
            "XACK stream.orders g 1-1",
        ] {
            assert_eq!(
                may(&server, user, command),
                said(user, &name_of(command)),
                "{user}: {command}"
            );
        }
        let reads = served.iter().filter(|command| said(user, command)).count();
        assert_eq!(reads, if user == "worker" { served.len() } else { 0 }, "{user}");
    }
}

/// The command of a sentence.
fn name_of(sentence: &str) -> String {
    sentence.split(' ').next().expect("a name").to_uppercase()
}

/// Commands of the server that would show or change keys of others.
#[test]
fn users_have_no_command_of_the_server() {
    let server = Server::start();
    recommended(&server);
    for user in USERS {
        for key in KEYS.into_iter().chain(FOREIGN) {
            for command in [
                "GET @", "SET @ 1", "DEL @", "UNLINK @", "EXISTS @", "TYPE @", "DUMP @",
                "RENAME @ x", "EXPIRE @ 1", "HGETALL @", "SMEMBERS @", "XADD @ * a b",
                "XRANGE @ - +", "XTRIM @ MAXLEN 0", "XGROUP DESTROY @ g", "OBJECT ENCODING @",
            ] {
                let command = command.replace('@', key);
                assert!(!may(&server, user, &command), "{user}: {command}");
            }
        }
        for command in ADMINISTRATOR.into_iter().chain(OF_THE_SERVER) {
            assert!(!may(&server, user, command), "{user}: {command}");
        }
    }
}

#[test]
fn programs_have_no_command_of_an_administrator() {
    let server = Server::start();
    let programs = users_of(&server, "## Users of the programs");
    assert_eq!(programs.len(), 5);
    for user in &programs {
        let keys = ["DUMP stream.orders", "RENAME stream.orders x", "GET secret", "SET sale:1 x"];
        for command in ADMINISTRATOR.into_iter().chain(keys) {
            assert!(!may(&server, user, command), "{user}: {command}");
        }
    }
    for command in [
        "XGROUP CREATE stream.orders.released rows 0 MKSTREAM",
        "XTRIM stream.orders MINID 1795259348145-0",
        "XINFO GROUPS stream.orders.confirmed",
        "SECKILL.REJECT stream.orders g 1-1",
    ] {
        assert!(may(&server, "consumer", command), "{command}");
    }
}

/// Pages of both languages, but for SECURITY.md and its translation.
fn other_pages(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("it"));
    let pages = entries.flat_map(|entry| match entry.path() {
        path if path.is_dir() => other_pages(&path),
        path if path.extension().is_some_and(|end| end == "md") => vec![path],
        _ => Vec::new(),
    });
    pages.filter(|path| !path.ends_with("SECURITY.md")).collect()
}

/// Rights that stand twice differ some day.
#[test]
fn rights_stand_on_one_page() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = other_pages(&root.join("docs"));
    pages.extend(["README.md", "README.zh-CN.md"].map(|name| root.join(name)));
    assert!(pages.len() > 60, "{pages:?}");
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("a page");
        for line in text.lines().filter(|line| line.contains("ACL SETUSER ")) {
            let grants = line.contains(" +") || line.contains("allcommands");
            assert!(!grants, "{}: {line}", page.display());
        }
    }
}

pub fn login(server: &Server, name: &str, password: &str) -> Client {
    server.run(&format!("ACL SETUSER {name} +auth"));
    let mut client = server.client();
    client.check(&format!("> AUTH {name} {password}\nOK"));
    client
}

/// Generated ids are consecutive. That was enough to read all users and cancel all orders.
#[test]
fn the_till_cannot_go_through_the_orders_of_a_sale() {
    let server = Server::start();
    recommended(&server);
    server.run("SECKILL.CREATE sale:1 100 HOLD 900000");
    let mut shop = login(&server, "shop", "change-me-1");
    let mut till = login(&server, "till", "change-me-2");
    let Value::Array(made) = shop.run("SECKILL.TRY sale:1 user-1 *") else { panic!("no answer") };
    let id = text(&made[1]);
    for command in ["CANCEL sale:1 nobody @", "CONFIRM sale:1 nobody @", "EXTEND sale:1 nobody @ 9"]
    {
        let command = format!("SECKILL.{}", command.replace('@', &id));
        assert_eq!(till.run(&command), Value::Int(0), "{command}");
    }
    // Neither can find out whose order an id belongs to.
    for asker in [&mut till, &mut shop] {
        let asked = asker.say(&format!("SECKILL.ORDER sale:1 {id}"));
        assert!(asked.starts_with("NOPERM"), "{asked}");
    }
    let tried = shop.say(&format!("SECKILL.TRY sale:1 nobody {id}"));
    assert!(tried.starts_with("ORDERID") && !tried.contains("user-"), "{tried}");
    server.assert_book("sale:1", [99, 1, 0]);
    till.check(&format!("> SECKILL.CANCEL sale:1 user-1 {id}\n1"));
}
