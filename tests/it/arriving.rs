//! Managed sales whose keys come one by one, copied or renamed by other clients: no command changes
//! one until it is whole.

use crate::harness::{Server, in_time};
use crate::observe::{bytes_list, words};
use redis::Value;

/// The keys of the sale that [`dumps`] makes.
const KINDS: [&str; 11] = [
    "voucher", "stock", "order", "book", "units", "hold", "extra", "wait", "payments", "last",
    "outside",
];
/// Those that no unmanaged voucher has, and no dropped one.
const MANAGED: [&str; 6] = ["voucher", "book", "units", "hold", "extra", "wait"];
/// Without these nothing is known to be missing: what is on record elsewhere does not name them.
const LASTING: [&str; 2] = ["last", "outside"];

/// Ways in which a key comes. The key is made from a dump, in another place first.
#[derive(Clone, Copy, Debug)]
enum Way {
    Restore,
    Rename,
    Copy,
    Move,
}

impl Way {
    fn bring(self, server: &Server, key: &str, dump: &[u8]) {
        let restore = |key: &str| {
            let restored = server.call(&[b"RESTORE".as_slice(), key.as_bytes(), b"0", dump]);
            assert_eq!(restored, Value::Okay, "{key}");
        };
        match self {
            Self::Restore => restore(key),
            Self::Rename | Self::Copy => {
                restore("away");
                let is_copy = matches!(self, Self::Copy);
                let command = if is_copy { "COPY" } else { "RENAME" };
                server.run(&format!("{command} away {key}"));
                server.run("DEL away");
            }
            Self::Move => {
                server.check("> SELECT 1\nOK");
                restore(key);
                // Some servers select the other database.
                server.check(&format!("> MOVE {key} 0\n1\n> SELECT 0\nOK"));
            }
        }
    }
}

/// A sale of all kinds of orders, as the values of its keys: `ann` has paid, `dan` is sold, `bob`
/// held, `cid` cancelled, `eve` in the queue, and a unit is outside.
fn dumps(server: &Server) -> Vec<Vec<u8>> {
    server.check(
        "
        > SECKILL.CREATE 7 6 HOLD 900000 LIMIT 3 => OK
        > SECKILL.MTRY 7 ann a1 dan d1 cid c1
        1) 0
        2) 0
        3) 0
        > SECKILL.TRY 7 bob b1 UNITS 2 => 0
        > SECKILL.CONFIRM 7 ann a1 REF p1 => 1
        > SECKILL.CONFIRM 7 dan d1 => 1
        > SECKILL.CANCEL 7 cid c1 => 1
        > SECKILL.TRY 7 eve e1 UNITS 3 WAITLIST => 6
        ",
    );
    server.check(&format!("> SECKILL.RESTOCK 7 -1 FOR ann x1 SALE {}\n1", server.sale_of("7")));
    assert_eq!(server.differences("7"), [""; 0]);
    let dumps = KINDS.map(|kind| server.call(&["DUMP", &format!("seckill:{kind}:7")]));
    bytes_list(Value::Array(dumps.into()))
}

/// Commands that write, or answer as if they knew of all orders.
const COMMANDS: [&str; 23] = [
    "TRY 7 gus g1",
    "TRY 7 gus g1 WAITLIST",
    "TRY 7 bob b1 UNITS 2",
    "TRY 7 ann *",
    "MTRY 7 hal h1 ida i1",
    "CONFIRM 7 bob b1",
    "CONFIRM 7 bob b1 REF p2",
    "CONFIRM 7 ann a1 REF p1",
    "CONFIRM 7 ann a1 REF p3",
    "CONFIRM 7 jim j1 REF p4",
    "CONFIRM 7 jim j1 REF p5 REFUND",
    "EXTEND 7 bob b1 1000000",
    "CANCEL 7 dan d1",
    "CANCEL 7 bob b1 KEEP 1",
    "CANCEL 7 eve e1",
    "CANCEL 7 jim j1",
    "REJECT stream.orders g 5-1",
    "RESTOCK 7 4",
    "RESTOCK 7 1 FOR ann x1 SALE {sale}",
    "TRY 7 kim k1 SALE {sale}",
    "ALTER 7 HOLD 0",
    "ALTER 7 END 1",
    "DROP 7",
];

/// Asks so of a sale that lacks a key: nothing may be changed.
fn refused(server: &Server, command: &str, present: &[(&str, &[u8])]) {
    let reply = server.say(&format!("SECKILL.{command}"));
    let codes = ["INCOMPLETE ", "NOVOUCHER ", "NOTMANAGED "];
    let is_refused = codes.iter().any(|code| reply.starts_with(code));
    let kinds: Vec<_> = present.iter().map(|(kind, _)| kind).collect();
    assert!(is_refused, "{command} with {kinds:?}: {reply}");
    // The elements of a set have no order.
    let is_there = present.iter().any(|(kind, _)| *kind == "order");
    let buyers = words(server.run("SORT seckill:order:7 ALPHA"));
    assert_eq!(buyers, if is_there { vec!["ann", "bob", "dan"] } else { vec![] });
    for kind in KINDS.into_iter().filter(|kind| *kind != "order") {
        let dump = server.call(&["DUMP", &format!("seckill:{kind}:7")]);
        let wanted = present.iter().find(|(name, _)| *name == kind).map(|(_, dump)| dump);
        let wanted = wanted.map_or(Value::Nil, |dump| Value::BulkString(dump.to_vec()));
        assert_eq!(dump, wanted, "seckill:{kind}:7 after {command} with {kinds:?}");
    }
}

#[test]
fn no_command_changes_a_sale_before_it_is_whole() {
    let server = Server::start();
    let dumps = dumps(&server);
    let sale = server.sale_of("7");
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for round in 0..160 {
        let way = [Way::Restore, Way::Rename, Way::Copy, Way::Move][round % 4];
        server.check("> FLUSHALL\nOK\n> XGROUP CREATE stream.orders g 0 MKSTREAM\nOK");
        server.run(&format!("XADD stream.orders 5-1 userId dan voucherId 7 id d1 sale {sale}"));
        server.run("XREADGROUP GROUP g me STREAMS stream.orders >");
        let mut order: Vec<_> = KINDS.into_iter().zip(dumps.iter().map(Vec::as_slice)).collect();
        random.shuffle(&mut order);
        for count in 0..order.len() {
            let (present, missing) = order.split_at(count);
            let is_whole = missing.iter().all(|(kind, _)| LASTING.contains(kind));
            // Until then it is an unmanaged voucher for everybody.
            let is_managed = present.iter().any(|(kind, _)| MANAGED.contains(kind));
            if is_managed && !is_whole {
                for _ in 0..3 {
                    let command = random.choice(COMMANDS).expect("some");
                    refused(&server, &command.replace("{sale}", &sale), present);
                }
                server.check("> SECKILL.CREATE 7 5\n(error) BUSYKEY ...");
            }
            let (kind, dump) = order[count];
            way.bring(&server, &format!("seckill:{kind}:7"), dump);
        }
        let order: Vec<_> = order.iter().map(|(kind, _)| kind).collect();
        assert_eq!(server.differences("7"), [""; 0], "{way:?} {order:?}");
        server.assert_book("7", [1, 2, 2]);
        server.check(
            "
            > SECKILL.CONFIRM 7 bob b1 REF p2 => 1
            > SECKILL.CANCEL 7 dan d1 => 1
            > HGET seckill:book:7 e1 => waiting:3:...
            > SECKILL.CANCEL 7 ann a1 => 1
            > HGET seckill:book:7 e1 => held:3:...
            > SECKILL.TRY 7 dan d2 => 1
            ",
        );
        assert_eq!(server.differences("7"), [""; 0], "{way:?} {order:?}");
    }
}

/// A book that is too large for one command is read by those that are refused.
#[test]
fn a_large_book_is_read_in_steps() {
    let server = Server::start();
    server.check("> SECKILL.CREATE 7 100000 HOLD 900000\nOK");
    for part in 0..100 {
        let pairs: Vec<_> = (0..200).map(|n| format!("u{part}-{n} o{part}-{n}")).collect();
        server.run(&format!("SECKILL.MTRY 7 {}", pairs.join(" ")));
    }
    server.check("> RENAME seckill:hold:7 away\nOK\n> RENAME seckill:voucher:7 rules\nOK");
    server.check("> RENAME rules seckill:voucher:7\nOK");
    // The first orders tell already that there must be holds.
    let missing = server.say("SECKILL.TRY 7 ann a1");
    assert!(missing.contains("INCOMPLETE a key of this sale is missing: holds,"), "{missing}");
    server.check("> RENAME away seckill:hold:7\nOK");
    let unread = server.say("SECKILL.TRY 7 ann a1");
    assert!(unread.starts_with("INCOMPLETE ") && unread.ends_with("still read"), "{unread}");
    server.until("the book to be read", || server.run("SECKILL.TRY 7 ann a1") == Value::Int(0));
    server.check("> ZCARD seckill:hold:7\n20001");
}

/// An order that was held when the book was read may have ended since: then its hold is no key that
/// is yet to come.
#[test]
fn what_an_order_needed_is_looked_at_again() {
    let server = Server::start();
    server.check("> SECKILL.CREATE 7 5 HOLD 900000\nOK\n> SECKILL.TRY 7 ann a1\n0");
    server.check("> DEL seckill:hold:7\n1");
    server.check("> RENAME seckill:book:7 b\nOK\n> RENAME b seckill:book:7\nOK");
    server.check(
        "> SECKILL.TRY 7 bob b1\n(error) INCOMPLETE a key of this sale is missing: holds, ...",
    );
    server.check("> HSET seckill:book:7 a1 sold:1:0:ann\n0");
    server
        .until("its book to be read again", || server.run("SECKILL.TRY 7 bob b1") == Value::Int(0));
    assert_eq!(server.differences("7"), [""; 0]);
}

/// What is remembered of a sale goes with its database.
#[test]
fn a_sale_that_lacks_a_key_is_remembered_with_its_database() {
    let server = Server::start();
    let sale = |is_whole: bool| {
        let confirm = "SECKILL.CONFIRM 7 ann a1";
        if is_whole {
            server.check(&format!("> {confirm}\n1"));
        } else {
            server.check(&format!("> {confirm}\n(error) INCOMPLETE ..."));
        }
    };
    let part = || {
        server.check("> SECKILL.CREATE 7 5 HOLD 900000\nOK\n> SECKILL.TRY 7 ann a1\n0");
        server.check("> DEL seckill:hold:7\n1");
    };
    let arrive = "> RENAME seckill:book:7 b\nOK\n> RENAME b seckill:book:7\nOK";
    for flush in ["FLUSHALL", "FLUSHDB", "FLUSHDB ASYNC"] {
        part();
        server.check(arrive);
        sale(false);
        server.check(&format!("> {flush}\nOK"));
        // Deleted, not to come: the sale goes on.
        part();
        sale(true);
        server.run("FLUSHALL");
    }
    part();
    server.check(arrive);
    server.check("> SWAPDB 0 1\nOK");
    part();
    sale(true);
    server.check("> SWAPDB 0 1\nOK");
    sale(false);
    server.check("> SECKILL.DROP 7\n(error) INCOMPLETE ...\n> SECKILL.DROP 7 FORCE\n1");
    part();
    sale(true);
    // A replica knows it when it is promoted.
    server.run("FLUSHALL");
    part();
    server.check(arrive);
    server.check("> REPLICAOF 127.0.0.1 1\nOK\n> REPLICAOF NO ONE\nOK");
    sale(false);
}

/// In a transaction Valkey 9.1 tells a module of the database that such a key came from.
#[test]
fn a_key_that_comes_to_another_database_in_a_transaction_comes_there() {
    for way in ["MOVE KEY 1", "COPY KEY KEY DB 1"] {
        let server = Server::start();
        let bring = |kind: &str| way.replace("KEY", &format!("seckill:{kind}:7"));
        let at_once = |command: &str| {
            server.check(&format!("> MULTI\nOK\n> {command}\nQUEUED\n> EXEC\n1) 1"));
        };
        server.check("> SECKILL.CREATE 7 5 HOLD 900000\nOK\n> SECKILL.TRY 7 ann a1\n0");
        for kind in ["stock", "order", "book", "units", "voucher"] {
            at_once(&bring(kind));
        }
        server.check("> SELECT 1\nOK\n> SECKILL.CONFIRM 7 ann a1\n(error) INCOMPLETE ...");
        // What is due there is released there, without a command.
        server.check("> SELECT 0\nOK\n> MULTI\nOK\n> ZADD seckill:hold:7 5 a1\nQUEUED");
        server.check(&format!("> {}\nQUEUED\n> EXEC\n1) 0\n2) 1", bring("hold")));
        server.check("> SELECT 1\nOK");
        server.until("the hold to expire", || server.say("GET seckill:stock:7") == "5");
        server.check("> SELECT 0\nOK\n> SECKILL.CREATE 8 5\nOK\n> SECKILL.TRY 8 cat c1\n0");
    }
}

/// Holds that can't be released for lack of a key are released when it comes, not at the next
/// attempt, which would be a second later.
#[test]
fn a_key_that_comes_is_not_waited_for_longer() {
    let server = Server::start();
    let comes = [
        ("stock", "SET seckill:stock:7 1"),
        ("order", "SADD seckill:order:7 ann"),
        ("units", "RENAME away seckill:units:7"),
        ("book", "RENAME away seckill:book:7"),
        ("extra", "HSET seckill:extra:7 orders 1 users 1"),
        ("voucher", "RENAME away seckill:voucher:7"),
    ];
    for (kind, come) in comes {
        let before = in_time(60, |hold_ms| {
            server.run("FLUSHALL");
            server.run(&format!("SECKILL.CREATE 7 3 HOLD {hold_ms}  LIMIT 2"));
            let over = server.place_hold("7 ann a1 UNITS 2");
            server.run(&format!("RENAME seckill:{kind}:7 away"));
            server.wait_until(over);
            // The timer has met the sale: it says so in the log at most once a minute.
            server.wait_until(server.clock_ms() + 50);
            server.check("> ZCARD seckill:hold:7\n1\n> EXISTS stream.orders.released\n0");
            let before = server.clock_ms();
            server.run(come);
            let holds = || server.run("EXISTS seckill:hold:7") == Value::Int(0);
            server.until("the hold to end", holds);
            (server.clock_ms() - before < 500).then_some(before)
        });
        assert!(before > 0, "{kind}");
        server.assert_book("7", [3, 0, 0]);
    }
}
