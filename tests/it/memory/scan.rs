//! Whatever happens while a module that was just loaded scans for holds: it finds all of them.

use crate::cluster::{linked, whole_cluster};
use crate::harness::{Client, Server, module, wait_for};
use crate::observe::integer;
use crate::slots::{keys_in, node_id, slot};
use crate::transcript::argv;
use redis::Value;

/// Half of the vouchers are in database 1, half in database 0.
const VOUCHERS: usize = 64;

const KINDS: [&str; 6] = ["voucher", "stock", "order", "book", "units", "hold"];

/// A server without the module. Each voucher has a due hold, and database 0 has enough other keys
/// that a scan takes several ticks. Other servers are started from its file.
pub fn holds_among_other_keys() -> Server {
    let first = Server::start();
    let mut client = first.client();
    for voucher in 0..VOUCHERS {
        client.run(&format!("SELECT {}", voucher % 2));
        client.check(&format!("> SECKILL.CREATE {voucher} 5 HOLD 900000\nOK"));
        client.check(&format!("> SECKILL.TRY {voucher} alice o1\n0"));
    }
    first.check("> DEBUG POPULATE 40000 filler 8\nOK\n> SAVE\nOK");
    let second = Server::with().without_module().data_of(&first).start();
    let mut client = second.client();
    for voucher in 0..VOUCHERS {
        client.run(&format!("SELECT {}", voucher % 2));
        client.run(&format!("ZADD seckill:hold:{voucher} 5 o1"));
    }
    second.check("> SAVE\nOK");
    second
}

/// Loads the module and sends commands immediately after, so that they run before the first tick.
pub fn load_and(server: &Server, commands: &[String]) -> Vec<Value> {
    let load = format!("MODULE LOAD {}", module().display());
    let all: Vec<_> = [&load].into_iter().chain(commands).map(|line| argv(line)).collect();
    let mut replies = server.client().together(&all);
    assert_eq!(replies.remove(0), Value::Okay);
    replies
}

/// How many holds are due, in all databases.
fn count_due(client: &mut Client) -> i64 {
    const COUNT: &str = "local count = 0 \
        for voucher = 0, ARGV[1] - 1 do \
            count = count + redis.call('ZCOUNT', 'seckill:hold:' .. voucher, '-inf', 1000) \
        end return count";
    let mut count = 0;
    for db in 0..3 {
        client.run(&format!("SELECT {db}"));
        count += integer(&client.call(&["EVAL", COUNT, "0", &VOUCHERS.to_string()]));
    }
    count
}

pub fn wait_until_all_have_expired(server: &Server, what: &str) {
    let mut client = server.client();
    let mut left = 0;
    let expired = wait_for("all holds to expire", || {
        left = count_due(&mut client);
        (left == 0).then_some(())
    });
    expired.unwrap_or_else(|late| panic!("{what}: {late}: {left} are held\n{}", server.log()));
}

fn on_one(way: &[&str]) -> Vec<String> {
    way.iter().map(|command| (*command).to_owned()).collect()
}

/// These commands for each of the vouchers.
fn on_each(vouchers: impl Iterator<Item = usize>, way: &[&str]) -> Vec<String> {
    let of = |voucher: usize| {
        way.iter().map(move |command| command.replace("<v>", &voucher.to_string()))
    };
    vouchers.flat_map(of).collect()
}

#[test]
fn nothing_that_happens_during_the_scan_hides_a_hold() {
    let file = holds_among_other_keys();
    let even = || (0..VOUCHERS).step_by(2);
    let moved = KINDS.map(|kind| format!("MOVE seckill:{kind}:<v> 2"));
    let moved: Vec<&str> =
        moved.iter().flat_map(|command| [command.as_str(), "SELECT 0"]).collect();
    let cases: [(&str, Vec<String>); 15] = [
        ("nothing", Vec::new()),
        ("a new key", on_one(&["SET x 1", "ZADD seckill:hold:x 5 y"])),
        (
            "keys that go and come back",
            on_each(even(), &["RENAME seckill:hold:<v> x", "RENAME x seckill:hold:<v>"]),
        ),
        ("keys that go to another database", on_each(even(), &moved)),
        (
            "holds that change",
            on_each(
                even(),
                &["ZADD seckill:hold:<v> 9000000000000 o1", "ZADD seckill:hold:<v> 6 o1"],
            ),
        ),
        ("keys that are deleted", on_each((0..20).step_by(2), &["DEL seckill:hold:<v>"])),
        ("a key that expires", on_one(&["PEXPIRE seckill:hold:0 1", "PEXPIREAT seckill:hold:2 1"])),
        (
            "a key that is evicted",
            on_one(&[
                "EXPIRE seckill:hold:0 1000",
                "CONFIG SET maxmemory-policy volatile-ttl maxmemory 1",
                "PING",
                "CONFIG SET maxmemory 0",
            ]),
        ),
        ("a flush", on_one(&["FLUSHDB"])),
        ("a flush elsewhere", on_one(&["SELECT 2", "SET x 1", "FLUSHDB"])),
        ("a swap and back", on_one(&["SWAPDB 0 2", "SWAPDB 2 0"])),
        ("a reload", on_one(&["DEBUG RELOAD"])),
        ("another role", on_one(&["REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"])),
        (
            "other names",
            on_one(&["CONFIG SET seckill.hash-tags yes", "CONFIG SET seckill.hash-tags auto"]),
        ),
        ("another setting", on_one(&["CONFIG SET seckill.hold-sweep-ms 100"])),
    ];
    for (what, commands) in &cases {
        let server = Server::with().without_module().data_of(&file).start();
        let replies = load_and(&server, commands);
        let refused = replies.iter().find(|reply| matches!(reply, Value::ServerError(_)));
        assert!(refused.is_none(), "{what}: {refused:?}");
        wait_until_all_have_expired(&server, what);
    }
}

/// Other names that are set while the scan runs, and reset only after it.
#[test]
fn a_scan_under_other_names_overlooks_nothing() {
    let file = holds_among_other_keys();
    let server = Server::with().without_module().data_of(&file).start();
    load_and(&server, &on_one(&["CONFIG SET seckill.hash-tags yes"]));
    server.check("> SECKILL.CREATE x 5 HOLD 1\nOK\n> SECKILL.TRY x ann o\n0");
    server.wait_for_state("x", "o", "expired");
    server.wait_until(server.clock_ms() + 200);
    assert_eq!(count_due(&mut server.client()), VOUCHERS as i64);
    server.check("> CONFIG SET seckill.hash-tags auto\nOK");
    wait_until_all_have_expired(&server, "names that came back");
}

/// A replica expires nothing; the holds that it has found count when it is promoted.
#[test]
fn a_scan_that_a_demotion_meets_goes_on() {
    let file = holds_among_other_keys();
    let server = Server::with().without_module().data_of(&file).start();
    load_and(&server, &on_one(&["REPLICAOF 127.0.0.1 1"]));
    let before = count_due(&mut server.client());
    server.wait_until(server.clock_ms() + 200);
    assert_eq!(count_due(&mut server.client()), before);
    assert!(before > 0);
    server.check("> REPLICAOF NO ONE\nOK");
    wait_until_all_have_expired(&server, "a demotion during the scan");
}

/// A slot leaves key by key while its old owner scans for holds: they expire at the new owner, and
/// the old one keeps none of them.
#[test]
fn holds_that_move_away_during_the_scan_expire_once() {
    let first = whole_cluster();
    first.check("> SECKILL.CREATE {t}v 5 HOLD 900000\nOK\n> SECKILL.TRY {t}v alice o1\n0");
    first.run("SAVE");
    let source = Server::with().cluster().without_module().data_of(&first).start();
    let target = Server::with().cluster().start();
    // It has taken the slot of its keys, and is given the others.
    let own = slot(&source, b"{t}");
    source.check(&format!("> CLUSTER ADDSLOTSRANGE 0 {} {} 16383\nOK", own - 1, own + 1));
    linked(&source, &target);
    source.check("> ZADD seckill:hold:{t}v 5 o1\n0");
    source.check("> DEBUG POPULATE 40000 filler 8\nOK");
    let (from, to, moving) = (node_id(&source), node_id(&target), own);
    target.run(&format!("CLUSTER SETSLOT {moving} IMPORTING {from}"));
    let keys = keys_in(&source, moving).join(" ");
    let node = format!("CLUSTER SETSLOT {moving} NODE {to}");
    let migrate = format!("MIGRATE 127.0.0.1 {} \"\" 0 5000 KEYS {keys}", target.port());
    let migrating = format!("CLUSTER SETSLOT {moving} MIGRATING {to}");
    let replies = load_and(&source, &[migrating, migrate]);
    assert_eq!(replies, [Value::Okay, Value::Okay]);
    for server in [&target, &source] {
        assert_eq!(server.run(&node), Value::Okay);
    }
    target.wait_for_state("{t}v", "o1", "expired");
    target.assert_book("{t}v", [5, 0, 0]);
    source.until("no hold", || source.info_number("seckill_holds_open") == 0);
    assert!(!source.log().contains("holds were not released"), "{}", source.log());
}
