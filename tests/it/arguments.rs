//! Arguments that no command takes: refused before any key is read.

use crate::harness::Server;

const MAX: i64 = i64::MAX;
/// The last moment, and the longest duration.
const MILLIS: i64 = 1 << 48;
/// The greatest id of a sale.
const SALE: i64 = (1 << 53) - 1;

/// Commands with a number at `@`, what errors call it, and its bounds.
const NUMBERS: [(&str, &str, i64, i64); 33] = [
    ("SECKILL.TRY 7 alice o1 UNITS @", "units", 1, MAX),
    ("SECKILL.TRY 7 alice o1 SALE @", "sale", 1, SALE),
    ("SECKILL.TRYKEYS s b o 7 alice o1 UNITS @", "units", 1, MAX),
    ("SECKILL.CREATE 7 @", "stock", 0, MAX),
    ("SECKILL.CREATE 7 5 BEGIN @", "begin", 0, MILLIS),
    ("SECKILL.CREATE 7 5 END @", "end", 0, MILLIS),
    ("SECKILL.CREATE 7 5 LIMIT @", "limit", 1, MAX),
    ("SECKILL.CREATE 7 5 HOLD @", "hold", 0, MILLIS),
    ("SECKILL.CREATE 7 ADOPT LIMIT @", "limit", 1, MAX),
    ("SECKILL.ALTER 7 BEGIN @", "begin", 0, MILLIS),
    ("SECKILL.ALTER 7 END @", "end", 0, MILLIS),
    ("SECKILL.ALTER 7 LIMIT @", "limit", 1, MAX),
    ("SECKILL.ALTER 7 HOLD @", "hold", 0, MILLIS),
    ("SECKILL.ALTER 7 LIMIT 2 SALE @", "sale", 1, SALE),
    ("SECKILL.RESTOCK 7 @", "delta", i64::MIN, MAX),
    ("SECKILL.RESTOCK 7 TOTAL @", "total", 0, MAX),
    ("SECKILL.RESTOCK 7 5 SALE @", "sale", 1, SALE),
    ("SECKILL.RESTOCK 7 @ FOR o1 SALE 5", "delta", i64::MIN, MAX),
    ("SECKILL.RESTOCK 7 5 FOR o1 SALE @", "sale", 1, SALE),
    ("SECKILL.DROP 7 SALE @", "sale", 1, SALE),
    ("SECKILL.CONFIRM 7 alice o1 SALE @", "sale", 1, SALE),
    ("SECKILL.CANCEL 7 alice o1 KEEP @", "keep", 0, MAX),
    ("SECKILL.CANCEL 7 alice o1 SALE @", "sale", 1, SALE),
    ("SECKILL.EXTEND 7 alice o1 @", "ms", 1, MILLIS),
    ("SECKILL.EXTEND 7 alice o1 9 SALE @", "sale", 1, SALE),
    ("SECKILL.DEDUCT stock @", "units", 1, MAX),
    ("SECKILL.RETURN stock @", "units", 1, MAX),
    ("SECKILL.NEXTID order COUNT @", "count", 1, 65_536),
    ("LOCK.ACQUIRE lock ann @", "lease-ms", 1, 5000),
    ("LOCK.ACQUIRE lock ann 5 BLOCK @", "wait-ms", 0, 700),
    ("LOCK.ACQUIRE lock ann 5 FENCE BLOCK @", "wait-ms", 0, 700),
    ("LOCK.RENEW lock ann @", "lease-ms", 1, 5000),
    ("LOCK.ACQUIRE lock ann @ SESSION", "lease-ms", 1, 5000),
];

#[test]
fn numbers_have_one_spelling_and_bounds() {
    let server = Server::observed().start();
    server.run("CONFIG SET seckill.lock-lease-ms-max 5000 seckill.lock-wait-ms-max 700");
    for (command, name, min, max) in NUMBERS {
        let beyond = [min.checked_sub(1), max.checked_add(1)].into_iter().flatten();
        let odd = ["x", "''", "1.5", "+1", "01", "9223372036854775808", "\"1\\x00\""];
        let wrong = odd.into_iter().map(str::to_owned);
        for number in wrong.chain(beyond.map(|number| number.to_string())) {
            let error = server.refused(&command.replace('@', &number), "ERR");
            let is_time = ["begin", "end", "hold", "lease-ms", "wait-ms"].contains(&name);
            let unit = if is_time { " ms" } else { "" };
            let wanted = format!("ERR {name} must be {min} to {max}{unit}");
            assert_eq!(error, wanted, "{command} {number}");
        }
    }
}

/// Options that stand twice, or that the command does not have.
const OPTIONS: [(&str, &[&str]); 19] = [
    (
        "SECKILL.TRY 7 alice o1",
        &["UNITZ 1", "2", "UNITS 1 UNITS 1", "UNITS 1 more", "NOSTREAM", "\"\\xff\" 1"],
    ),
    ("SECKILL.TRY 7 alice o1 WAITLIST", &["WAITLIST", "1", "SALE 5 SALE 5"]),
    ("SECKILL.TRYKEYS s b o 7 alice o1", &["UNITS 1 UNITS 2", "NOSTREAM 1", "STREAM", "2"]),
    (
        "SECKILL.TRYKEYS s b o 7 alice o1",
        &["FIELDS u v i i", "FIELDS u v i FIELDS u v i", "WAITLIST"],
    ),
    ("SECKILL.TRYKEYS s b o 7 alice o1 MISSING error", &["MISSING sold-out", "sold-out"]),
    ("SECKILL.CREATE 7 5", &["LIMIT 1 LIMIT 1", "COLOR 1", "5", "ADOPT"]),
    ("SECKILL.CREATE 7 ADOPT", &["ADOPT", "5", "LIMIT 1 ADOPT", "SALE 5"]),
    ("SECKILL.ALTER 7", &["BEGIN 0 BEGIN 0", "HOLD 1 END 5 HOLD 1", "LIMIT 2 5"]),
    (
        "SECKILL.RESTOCK 7",
        &[
            "TOTAL 1 2",
            "1 2",
            "1 SALE 5 SALE 5",
            "1 FOR o1",
            "TOTAL 1 FOR o1 SALE 5",
            "1 FOR a FOR a SALE 5",
        ],
    ),
    ("SECKILL.DROP 7", &["NOW", "force it", "FORCE FORCE"]),
    (
        "SECKILL.CONFIRM 7 alice o1",
        &[
            "REFUND",
            "REF a REFUND REFUND",
            "REF a REF a",
            "REF a b",
            "a",
            "IF held",
            "SALE 5 SALE 5",
        ],
    ),
    ("SECKILL.CANCEL 7 alice o1", &["IF held sold", "held", "IF held IF held", "KEEP 1 KEEP 1"]),
    ("SECKILL.EXTEND 7 alice o1 1", &["2", "SALE 5 SALE 5"]),
    ("SECKILL.REJECT s g 1-1", &["WHY a", "REASON a b", "UNSOLD UNSOLD", "SOLD"]),
    ("SECKILL.AUDIT 7", &["cursr 0", "CURSOR 0 0", "CURSOR 0 CURSOR 0"]),
    ("SECKILL.DEDUCT stock 1", &["1", "UNITS 1"]),
    ("SECKILL.RETURN stock 1", &["1", "UNITS 1"]),
    ("SECKILL.NEXTID order", &["5", "COUNT 1 COUNT 1", "COUNT 1 x", "NOSTREAM", "''"]),
    (
        "LOCK.ACQUIRE lock ann 5",
        &["BLOCK 5 BLOCK 6", "FENCE FENCE", "SESSION SESSION", "FENCE 5", "NX", "SESSION 1"],
    ),
];

/// Options without their value, and what they need.
const LACKING: [(&str, &str); 23] = [
    ("SECKILL.TRY 7 alice o1 UNITS", "n"),
    ("SECKILL.TRY 7 alice o1 WAITLIST SALE", "n"),
    ("SECKILL.TRYKEYS s b o 7 alice o1 UNITS", "n"),
    ("SECKILL.TRYKEYS s b o 7 alice o1 FIELDS", "user-field voucher-field id-field"),
    ("SECKILL.TRYKEYS s b o 7 alice o1 MISSING", "error|sold-out"),
    ("SECKILL.CREATE 7 5 BEGIN", "ms"),
    ("SECKILL.CREATE 7 5 BEGIN 1 END", "ms"),
    ("SECKILL.CREATE 7 5 HOLD", "ms"),
    ("SECKILL.CREATE 7 ADOPT LIMIT", "n"),
    ("SECKILL.ALTER 7 LIMIT 2 SALE", "n"),
    ("SECKILL.RESTOCK 7 TOTAL", "n"),
    ("SECKILL.RESTOCK 7 1 SALE", "n"),
    ("SECKILL.RESTOCK 7 1 FOR", "orderid"),
    ("SECKILL.DROP 7 SALE", "n"),
    ("SECKILL.CONFIRM 7 alice o1 REF", "reference"),
    ("SECKILL.CONFIRM 7 alice o1 REF a SALE", "n"),
    ("SECKILL.CANCEL 7 alice o1 IF", "held|sold"),
    ("SECKILL.CANCEL 7 alice o1 KEEP", "n"),
    ("SECKILL.EXTEND 7 alice o1 1 SALE", "n"),
    ("SECKILL.REJECT s g 1-1 REASON", "reason"),
    ("SECKILL.AUDIT 7 CURSOR", "cursor"),
    ("SECKILL.NEXTID order COUNT", "n"),
    ("LOCK.ACQUIRE lock ann 5 BLOCK", "ms"),
];

#[test]
fn options_need_their_values() {
    let server = Server::observed().start();
    for (command, needed) in LACKING {
        let word = command.rsplit(' ').next().expect("a word");
        let wanted = format!("ERR {word} needs {needed}");
        assert_eq!(server.refused(command, "ERR"), wanted, "{command}");
    }
    for (command, wanted) in [
        ("SECKILL.TRYKEYS s b o 7 alice o1 FIELDS u v", LACKING[3]),
        ("SECKILL.TRYKEYS s b o 7 alice o1 MISSING 1", LACKING[4]),
        ("SECKILL.CANCEL 7 alice o1 IF cancelled", LACKING[16]),
    ] {
        let error = server.refused(command, "ERR");
        assert!(error.ends_with(&format!(" needs {}", wanted.1)), "{command}: {error}");
    }
}

#[test]
fn options_stand_once() {
    let server = Server::observed().start();
    for (command, options) in OPTIONS {
        for option in options {
            let error = server.refused(&format!("{command} {option}"), "ERR");
            assert_eq!(error, "ERR syntax error", "{command} {option}");
        }
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
    let fields =
        "FIELDS must not use units, deadline, reason, was, sale, ref, payment, kept or waited";
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
