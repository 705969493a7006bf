//! Arguments that no command takes: refused before any key is read.

use crate::declared::{Argument, Declared};
use crate::harness::Server;
use std::collections::BTreeSet;

const MAX: i64 = i64::MAX;
/// The last moment, and the longest duration.
const MILLIS: i64 = 1 << 48;
/// The greatest id of a sale.
const SALE: i64 = (1 << 53) - 1;

/// The bounds of the numbers that arguments of these names are.
const BOUNDS: [(&str, i64, i64); 14] = [
    ("units", 1, MAX),
    ("sale", 1, SALE),
    ("stock", 0, MAX),
    ("begin", 0, MILLIS),
    ("end", 0, MILLIS),
    ("hold", 0, MILLIS),
    ("limit", 1, MAX),
    ("delta", i64::MIN, MAX),
    ("total", 0, MAX),
    ("keep", 0, MAX),
    ("ms", 1, MILLIS),
    ("count", 1, 65_536),
    ("lease-ms", 1, 5000),
    ("wait-ms", 0, 700),
];

#[test]
fn numbers_have_one_spelling_and_bounds() {
    let server = Server::observed().start();
    server.run("CONFIG SET seckill.lock-lease-ms-max 5000 seckill.lock-wait-ms-max 700");
    let mut seen = BTreeSet::new();
    for declared in Declared::all(&server) {
        for (command, argument) in declared.values() {
            if argument.kind != "integer" {
                continue;
            }
            let row = BOUNDS.into_iter().find(|row| row.0 == argument.name);
            let (name, min, max) = row.unwrap_or_else(|| panic!("{command}"));
            seen.insert(name);
            let beyond = [min.checked_sub(1), max.checked_add(1)].into_iter().flatten();
            let odd = ["x", "''", "1.5", "+1", "01", "9223372036854775808", "\"1\\x00\""];
            let wrong = odd.into_iter().map(str::to_owned);
            for number in wrong.chain(beyond.map(|number| number.to_string())) {
                let error = server.refused(&command.replace('@', &number), "ERR");
                let unit = if argument.is_time() { " ms" } else { "" };
                let wanted = format!("ERR {name} must be {min} to {max}{unit}");
                assert_eq!(error, wanted, "{command} {number}");
            }
        }
    }
    assert_eq!(seen.len(), BOUNDS.len(), "{seen:?}");
}

#[test]
fn options_need_their_values() {
    let server = Server::observed().start();
    let mut seen = 0;
    for declared in Declared::all(&server) {
        for (command, argument) in declared.lacking() {
            let word = command.rsplit(' ').next().expect("a word");
            let wanted = format!("ERR {word} needs {}", argument.needs());
            assert_eq!(server.refused(&command, "ERR"), wanted, "{command}");
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
    for (command, wanted) in [
        ("SECKILL.TRYKEYS s b o 7 alice o1 FIELDS u v", "user-field voucher-field id-field"),
        ("SECKILL.TRYKEYS s b o 7 alice o1 MISSING 1", "error|sold-out"),
        ("SECKILL.CANCEL 7 alice o1 IF cancelled", "held|sold"),
    ] {
        let error = server.refused(command, "ERR");
        assert!(error.ends_with(&format!(" needs {wanted}")), "{command}: {error}");
    }
}

/// What else is no option, or none of these together.
const ODD: [&str; 15] = [
    "SECKILL.TRY 7 alice o1 UNITZ 1",
    "SECKILL.TRY 7 alice o1 NOSTREAM",
    "SECKILL.TRY 7 alice o1 \"\\xff\" 1",
    "SECKILL.TRY 7 alice o1 WAITLIST 1",
    "SECKILL.TRYKEYS s b o 7 alice o1 FIELDS u v i i",
    "SECKILL.TRYKEYS s b o 7 alice o1 MISSING error sold-out",
    "SECKILL.CREATE 7 5 ADOPT",
    "SECKILL.CREATE 7 ADOPT 5",
    "SECKILL.CREATE 7 ADOPT SALE 5",
    "SECKILL.RESTOCK 7 TOTAL 1 2",
    "SECKILL.DROP 7 force it",
    "SECKILL.CONFIRM 7 alice o1 IF held",
    "SECKILL.CANCEL 7 alice o1 IF held sold",
    "SECKILL.NEXTID order ''",
    "LOCK.ACQUIRE lock ann 5 FENCE 5",
];

#[test]
fn options_stand_once() {
    let server = Server::observed().start();
    let mut wrong: Vec<_> = ODD.map(str::to_owned).into();
    let all = Declared::all(&server);
    for declared in all.iter().filter(|it| it.has_options_only()) {
        let options: Vec<_> = declared.options().map(Argument::sample).collect();
        let call = declared.call();
        wrong.extend(options.iter().map(|option| format!("{call} {option} {option}")));
        wrong.push(format!("{call} {} more", options.join(" ")));
    }
    assert!(wrong.len() > ODD.len() + 40, "{wrong:?}");
    for command in wrong {
        let name = command.split(' ').next().unwrap_or_default();
        let declared = all.iter().find(|it| it.name.eq_ignore_ascii_case(name));
        let options: Vec<_> = declared.expect(name).options().flat_map(Argument::tokens).collect();
        let listed = format!(", the options are {}", options.join(", "));
        let wanted = if options.is_empty() { "" } else { listed.as_str() };
        let wanted = format!("ERR syntax error{wanted}");
        assert_eq!(server.refused(&command, "ERR"), wanted, "{command}");
    }
    // In any order, and in any case.
    server.check("> SET s 9\nOK\n> SECKILL.TRYKEYS s b s 7 alice o1 nostream Units 2\n0");
    for options in ["fence wait 700", "BLOCK 5 Session FENCE", "SESSION BLOCK 5", "session"] {
        server.check(&format!("> LOCK.ACQUIRE lock ann 5000 {options}\n..."));
        server.run("DEL lock lock:fence");
    }
}

#[test]
fn what_means_something_else_is_told() {
    let server = Server::observed().start();
    server.run("SECKILL.CREATE 8 5");
    let fields = "FIELDS must not use units, deadline, reason, was, sale, ref, payment, kept, \
                  waited, cart, paid, norestock, refunded or entry";
    let no_reference = "UNITS and REFUND need REF, the reference of the payment";
    let not_sold = "IF held and REFUNDED contradict each other, only sold orders are refunded";
    let bare_for = "FOR needs SALE, and a delta other than 0";
    let no_cursor = "cursor must be 0 or the cursor of the last reply";
    let no_id = "id must be the id of a stream entry, such as 1526919030474-55";
    let in_seconds = |name| format!("{name} must be in milliseconds, this looks like seconds");
    let tries = "SECKILL.TRYKEYS s b o 7 alice";
    let same = "the keys of a voucher must all be different";
    for (command, wanted) in [
        ("SECKILL.CREATE 7 5 BEGIN 1795259000", in_seconds("begin").as_str()),
        ("SECKILL.CREATE 7 ADOPT END 99999999999", &in_seconds("end")),
        ("SECKILL.ALTER 7 BEGIN 1000000000", &in_seconds("begin")),
        ("SECKILL.CREATE 7 5 BEGIN 20 END 20", "END must lie after BEGIN"),
        ("SECKILL.CONFIRM 7 alice o1 REF ''", "reference must not be empty"),
        // Clients that never set their token would all be the holder.
        ("LOCK.ACQUIRE lock '' 1000", "token must not be empty"),
        ("LOCK.RENEW lock '' 1000", "token must not be empty"),
        ("SECKILL.CONFIRM 7 alice o1 REFUND", no_reference),
        ("SECKILL.CONFIRM 7 alice o1 UNITS 1 SALE 5", no_reference),
        ("SECKILL.CANCEL 7 alice o1 REFUNDED IF held", not_sold),
        ("SECKILL.RESTOCK 7 1 FOR ann o1", bare_for),
        ("SECKILL.RESTOCK 7 0 FOR ann o1 SALE 5", bare_for),
        ("SECKILL.RESTOCK 7 TOTAL 1 FOR ann o1 SALE 5", bare_for),
        (&format!("{tries} *"), "orderid * is for SECKILL.TRY and SECKILL.MTRY, give an id here"),
        (&format!("{tries} o1 FIELDS u v u"), "FIELDS must be three different words"),
        (&format!("{tries} o1 FIELDS u v ''"), "FIELDS must be three words that are not empty"),
        (&format!("{tries} o1 FIELDS u deadline i"), fields),
        (&tries.replace("s b o", "s s o").replace("alice", "alice o1"), same),
        (&tries.replace("s b o", "s b b").replace("alice", "alice o1"), same),
        (&tries.replace("s b o", "s s o").replace("alice", "alice o1 NOSTREAM"), same),
        ("SECKILL.REJECT s g ''", no_id),
        ("SECKILL.REJECT s g *", no_id),
        ("SECKILL.REJECT s g 1-", no_id),
        ("SECKILL.REJECT s g 18446744073709551616", no_id),
        ("SECKILL.AUDIT 8 CURSOR x", no_cursor),
        ("SECKILL.AUDIT 8 CURSOR 5:0", no_cursor),
        (&format!("SECKILL.AUDIT 8 CURSOR {}", "9".repeat(600)), no_cursor),
    ] {
        assert_eq!(server.refused(command, "ERR"), format!("ERR {wanted}"), "{command}");
    }
}
