//! The right to each command by name and key; the contents of errors; and the ACL rules that
//! SECURITY.md recommends.

use crate::harness::{Client, Server, text};
use crate::metadata::{Row, calls};
use crate::observe::{integer, words};
use redis::Value;

/// Every command with a call, and whether it only reads.
fn sentences(server: &Server) -> Vec<(&'static str, String, bool)> {
    let of_row = |(row, sentence): (Row, String)| (row.0, sentence, row.2.contains("readonly"));
    calls(server).into_iter().map(of_row).collect()
}

/// Do these rules let a user send this?
fn allows(server: &Server, rules: &str, sentence: &str) -> bool {
    server.run("ACL DELUSER ann");
    let set = server.run(&format!("ACL SETUSER ann on nopass {rules}"));
    assert_eq!(set, Value::Okay, "{rules}");
    let answer = server.say(&format!("ACL DRYRUN ann {sentence}"));
    let denied = answer.to_lowercase().contains("permission");
    assert!(answer == "OK" || denied, "{sentence}: {answer}");
    !denied
}

#[test]
fn every_command_is_a_right_of_its_own() {
    let server = Server::start();
    let sentences = sentences(&server);
    for (name, sentence, _) in &sentences {
        assert!(allows(&server, &format!("~* +{name}"), sentence), "{name}");
        assert!(!allows(&server, &format!("~* +@all -{name}"), sentence), "{name}");
        for (other, foreign, _) in sentences.iter().filter(|(other, ..)| other != name) {
            assert!(!allows(&server, &format!("~* +{name}"), foreign), "{name} grants {other}");
        }
        // The command itself is refused too, not only the dry run.
        let reply = text(&user(&server, &format!("~* +@all -{name}")).run(sentence));
        assert!(reply.starts_with("NOPERM"), "{name}: {reply}");
    }
    server.check("> DBSIZE\n0");
}

#[test]
fn every_key_of_a_command_is_checked() {
    let server = Server::start();
    for (name, sentence, reads) in &sentences(&server) {
        let rules = |keys: &str| format!("{keys} +{name}");
        assert!(allows(&server, &rules("~k*"), sentence), "{name}");
        for keys in ["", "~other", "%W~k*"] {
            assert!(!allows(&server, &rules(keys), sentence), "{name} with {keys}");
        }
        assert_eq!(allows(&server, &rules("%R~k*"), sentence), *reads, "{name} with %R");
        let reply = text(&user(&server, &rules("~other")).run(sentence));
        assert!(reply.starts_with("NOPERM"), "{name}: {reply}");
    }
    server.check("> DBSIZE\n0");
}

/// Whatever is wrong with a command, its error repeats no argument.
#[test]
fn no_error_carries_bytes_of_a_user() {
    let server = Server::start();
    server.run("SECKILL.CREATE k 1");
    server.run("SET seckill:voucher:bad junk");
    server.run("RPUSH seckill:stock:list mark");
    server.run("XGROUP CREATE stream.orders g 0 MKSTREAM");
    let marks = [b"mark-\xff\xfe".as_slice(), b"mark}\r\n+OK\r\n", b"mark%n%s%n", b"mark\0"];
    let mut errors = 0;
    let sentences = sentences(&server);
    for mark in marks {
        server.call(&[b"RPUSH".as_slice(), mark, mark]);
        for (name, sentence, _) in &sentences {
            let words: Vec<&[u8]> = sentence.split(' ').map(str::as_bytes).collect();
            for index in 1..=words.len() {
                for key in [&b"k"[..], b"bad", b"list", b"none", mark] {
                    let mut argv = words.clone();
                    argv[1] = key;
                    match argv.get_mut(index) {
                        Some(word) => *word = mark,
                        None => argv.push(mark),
                    }
                    let reply = server.call(&argv);
                    if matches!(reply, Value::ServerError(_)) {
                        errors += 1;
                        let error = text(&reply);
                        assert!(!error.contains("mark"), "{name}: {error:?}");
                    }
                }
            }
        }
    }
    assert!(errors > 300, "only {errors} errors");
}

/// A right to a voucher is a right to the keys made from it, and to no other key.
#[test]
fn a_voucher_grants_its_own_keys_and_no_other() {
    let server = Server::start();
    let voucher = ["try", "confirm", "cancel", "create", "alter", "restock", "order", "status"];
    let rules: Vec<_> = voucher.iter().map(|name| format!("+seckill.{name}")).collect();
    let mut ann = user(&server, &format!("~sale:1 {}", rules.join(" ")));
    server.run("SECKILL.CREATE sale:2 5");
    ann.check("> SECKILL.CREATE sale:1 9 LIMIT 2 HOLD 900000\nOK\n> SECKILL.TRY sale:1 ann o1\n0");
    ann.check("> SECKILL.TRY sale:1 eve o2 UNITS 2\n0");
    ann.check("> SECKILL.TRY sale:1 bob *\n1) 0\n2) ...\n> SECKILL.CONFIRM sale:1 ann o1\n1");
    ann.check("> SECKILL.CANCEL sale:1 ann o1\n1");
    let mut keys = words(server.run("KEYS *"));
    keys.retain(|key| !key.ends_with("sale:2") && !key.starts_with("icr:order:"));
    keys.sort();
    let wanted = [
        "seckill:book:sale:1", "seckill:extra:sale:1", "seckill:hold:sale:1",
        "seckill:last:sale:1", "seckill:order:sale:1", "seckill:stock:sale:1",
        "seckill:units:sale:1", "seckill:voucher:sale:1", "stream.orders",
        "stream.orders.confirmed", "stream.orders.released",
    ];
    assert_eq!(keys, wanted);
    for key in keys {
        let reply = ann.say(&format!("TYPE {key}"));
        assert!(reply.starts_with("NOPERM"), "{key}: {reply}");
    }
    let sentences = sentences(&server);
    for name in voucher {
        let is_it = |row: &&(&str, String, bool)| row.0.strip_prefix("seckill.") == Some(name);
        let (_, sentence, _) = sentences.iter().find(is_it).expect("a sentence");
        let foreign = sentence.replacen(" k", " sale:2", 1);
        let reply = ann.say(&foreign);
        assert!(reply.starts_with("NOPERM"), "{foreign}: {reply}");
    }
}

/// The users of a part of a shop in SECURITY.md, as they are listed there.
pub fn recommended(server: &Server) -> Vec<String> {
    users_of(server, "## Users")
}

/// The users that a section of SECURITY.md lists.
pub fn users_of(server: &Server, heading: &str) -> Vec<String> {
    let names = kit::pages::users(heading).into_iter().map(|line| {
        assert_eq!(server.run(&line), Value::Okay, "{line}");
        line.split(' ').nth(2).expect("a name").to_owned()
    });
    names.collect()
}

/// A holder of a lock has no way to learn the token of another lock.
#[test]
fn nobody_learns_tokens_without_the_right() {
    let server = Server::with().config("slowlog-log-slower-than 0").start();
    server.run("LOCK.ACQUIRE lock:1 very-secret 100000 FENCE");
    // A user that may read everything sees the arguments of these commands, as of all others. No
    // user of the page may: see `users`.
    let seen = format!("{:?}", server.run("SLOWLOG GET 10"));
    assert!(seen.contains("LOCK.ACQUIRE"), "{seen}");
    for name in recommended(&server) {
        let answer = server.say(&format!("ACL DRYRUN {name} LOCK.INFO lock:1"));
        assert_ne!(answer, "OK", "{name}");
    }
    // The only answer about another token is that the client does not own the lock.
    let set = "ACL SETUSER bob on >pw ~lock:* +auth +lock.acquire +lock.renew +lock.release";
    server.run(set);
    let mut bob = server.client();
    bob.check("> AUTH bob pw\nOK\n> LOCK.ACQUIRE lock:1 guess 1000\n0");
    bob.check("> LOCK.RENEW lock:1 guess 1000\n0\n> LOCK.RELEASE lock:1 guess\n0");
    // A list of clients has names of commands, and no arguments.
    assert!(!server.say("CLIENT LIST").contains("very-secret"));
}

/// A client of an ACL user that has only these rules.
pub fn user(server: &Server, rules: &str) -> Client {
    let set = server.run(&format!("ACL SETUSER bob reset on >pw +auth {rules}"));
    assert_eq!(text(&set), "OK", "{rules}");
    let mut client = server.client();
    client.check("> AUTH bob pw\nOK");
    client
}

#[test]
fn who_may_release_hands_over_a_lock_with_a_fence_key_of_others() {
    let server = Server::start();
    server.run("LOCK.ACQUIRE lock ann 1000000 FENCE");
    let mut bob = server.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 60000 FENCE");
    user(&server, "+lock.release ~lock").check(
        "
        > GET lock:fence => (error) NOPERM ...
        > LOCK.INFO lock => (error) NOPERM ...
        > LOCK.RELEASE lock ann => 1
        ",
    );
    assert!(integer(&bob.receive()) > 1);
    assert_eq!(server.owner("lock"), "bob");
}
