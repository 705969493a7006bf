//! SECKILL.TRYALL: several articles in one order, all of them or none. What it answers.

use crate::harness::Server;
use crate::observe::assert_error;
use kit::sales::pairs;
use redis::Value;

/// Vouchers a, b and c with three units each.
pub fn three(server: &Server, options: &str) {
    for voucher in ["a", "b", "c"] {
        server.check(&format!("> SECKILL.CREATE {voucher} 3 LIMIT 2 {options}\nOK"));
    }
}

pub fn codes(server: &Server, articles: &str) -> Vec<i64> {
    let reply = server.run(&format!("SECKILL.TRYALL {articles}"));
    redis::from_redis_value(reply.clone()).unwrap_or_else(|_| panic!("{articles}: {reply:?}"))
}

pub fn books(server: &Server, wanted: [[i64; 3]; 3]) {
    for (voucher, book) in ["a", "b", "c"].iter().zip(wanted) {
        server.assert_book(voucher, book);
    }
}

#[test]
fn arguments_are_read_before_anything_else() {
    let server = Server::observed().start();
    three(&server, "");
    let pairs = |count: usize| (0..count).map(|it| format!(" v{it} 1")).collect::<String>();
    let arity = "wrong number of arguments for 'seckill.tryall' command";
    let long = "x".repeat(513);
    for (articles, wanted) in [
        ("a 1 b ann o1".to_owned(), arity),
        (format!("{} x ann o1", pairs(32)), arity),
        (format!("{} ann o1", pairs(33)), "at most 32 vouchers are allowed"),
        ("a 0 ann o1".to_owned(), "units must be 1 to 9223372036854775807"),
        ("a 1 b 9223372036854775808 ann o1".to_owned(), "units must be 1 to 9223372036854775807"),
        (format!("a 1 {long} 1 ann o1"), "voucher must be at most 512 bytes long"),
        (format!("a 1 b 1 {long} o1"), "user must be at most 512 bytes long"),
        (format!("a 1 b 1 ann {long}"), "orderid must be at most 512 bytes long"),
        (
            "a 1 b 1 ann *".to_owned(),
            "orderid * is for SECKILL.TRY and SECKILL.MTRY, give an id here",
        ),
        // Whatever keys there are.
        (
            "a 1 a 1 ann *".to_owned(),
            "orderid * is for SECKILL.TRY and SECKILL.MTRY, give an id here",
        ),
        ("a 1 a 1 ann o1".to_owned(), "a voucher can be named once"),
        ("none 1 a 1 none 1 ann o1".to_owned(), "a voucher can be named once"),
    ] {
        let error = server.refused(&format!("SECKILL.TRYALL {articles}"), "ERR");
        assert_eq!(error, format!("ERR {wanted}"), "{articles}");
    }
    server.run("CONFIG SET seckill.storable-names yes");
    let error = server.refused("SECKILL.TRYALL a 1 b 1 ann \"\\xff\"", "ERR");
    assert_eq!(error, "ERR orderid must be UTF-8 without a NUL");
    for number in 0..32 {
        server.run(&format!("SECKILL.CREATE v{number} 1"));
    }
    assert_eq!(codes(&server, &format!("{} ann o1", pairs(32))), [0; 32]);
}

/// Where names may be long: else a cart of the longest ones would stop the server for 35 ms.
#[test]
fn a_cart_has_no_more_bytes_of_names_than_a_batch() {
    let server = Server::observed().config("seckill.name-bytes-max 65536").start();
    server.check("> SECKILL.CREATE v0 3\nOK\n> SECKILL.CREATE v1 3\nOK");
    let (user, id) = ("u".repeat(65_536), "o".repeat(65_534));
    let error = server.refused(&format!("SECKILL.TRYALL v0 1 v1 1 {user} {id}o"), "ERR");
    let wanted = "ERR at most 262144 bytes of vouchers, users and orderids together are allowed";
    assert_eq!(error, wanted);
    assert_eq!(codes(&server, &format!("v0 1 v1 1 {user} {id}")), [0, 0]);
}

/// By tags or by prefixes.
#[test]
fn no_two_articles_have_a_key_in_common() {
    let server = Server::observed().config("seckill.hash-tags yes").start();
    server.check("> SECKILL.CREATE 7 3\nOK\n> SECKILL.CREATE 8 3\nOK");
    let same = "ERR a voucher can be named once";
    for articles in ["7 1 {7} 1 ann o1", "8 1 {7} 1 7 1 ann o1"] {
        assert_eq!(server.refused(&format!("SECKILL.TRYALL {articles}"), "ERR"), same);
    }
    assert_eq!(codes(&server, "{8} 1 7 1 ann o1"), [0, 0]);
    // The stock of one is the buyers of the other.
    let server = Server::observed().start();
    server.run("CONFIG SET seckill.stock-prefix s: seckill.buyers-prefix s:b:");
    server.check("> SECKILL.CREATE b:7 3\nOK\n> SECKILL.CREATE 9 3\nOK");
    for articles in ["b:7 1 7 1 ann o1", "7 1 9 1 b:7 1 ann o1"] {
        assert_eq!(server.refused(&format!("SECKILL.TRYALL {articles}"), "ERR"), same);
    }
}

#[test]
fn all_articles_are_sold_or_none() {
    let server = Server::observed().start();
    three(&server, "");
    assert_eq!(codes(&server, "a 2 b 1 ann o1"), [0, 0]);
    books(&server, [[1, 0, 2], [2, 0, 1], [3, 0, 0]]);
    // Each article is answered as a try of it, and those that could be had by 7.
    for (articles, wanted) in [
        ("c 1 a 2 b 1 bob o2", [7, 1, 7]),
        ("a 1 b 2 c 1 ann o2", [2, 2, 7]),
        ("b 1 c 3 a 2 bob o2", [7, 2, 1]),
    ] {
        let reply = server.silent(&format!("SECKILL.TRYALL {articles}"));
        assert_eq!(reply, Value::Array(wanted.map(Value::Int).to_vec()), "{articles}");
    }
    server.run("SECKILL.ALTER c BEGIN 9999999999999");
    assert_eq!(codes(&server, "c 1 a 1 bob o2"), [3, 7]);
    server.run("SECKILL.ALTER c BEGIN 0 END 1");
    assert_eq!(codes(&server, "a 2 c 1 bob o2"), [1, 4]);
    let counted = ["carts_accepted", "carts_refused", "tries_accepted", "tries_sold_out"];
    let counted = counted.map(|name| server.info_number(&format!("seckill_{name}")));
    assert_eq!(counted, [1, 5, 2, 3]);
    books(&server, [[1, 0, 2], [2, 0, 1], [3, 0, 0]]);
}

#[test]
fn the_first_error_of_an_article_is_that_of_the_cart() {
    let server = Server::observed().start();
    three(&server, "");
    server.run("SECKILL.CREATE sold-out 0");
    server.run("SECKILL.CREATE empty 3");
    server.run("DEL seckill:stock:empty");
    server.run("SECKILL.CREATE bad 3");
    server.run("SET seckill:stock:bad x");
    server.run("SECKILL.CREATE list 3");
    server.run("RPUSH seckill:book:list x");
    server.run("SET seckill:stock:bare 9");
    server.check("> SECKILL.TRY c bob o1\n0");
    let not_managed = "NOVOUCHER this voucher is not managed, see SECKILL.CREATE";
    let taken = "ORDERID this orderid is already used by another user or for other units";
    let wrong = "WRONGTYPE Operation against a key holding the wrong kind of value";
    for (articles, wanted) in [
        ("a 1 bare 1 ann o1", not_managed),
        ("sold-out 1 none 1 ann o1", not_managed),
        ("c 1 bare 1 ann o1", taken),
        ("bare 1 c 1 ann o1", not_managed),
        ("a 1 list 1 bare 1 ann o1", wrong),
        ("sold-out 1 bad 1 list 1 ann o1", "ERR stock is not an integer or out of range"),
        ("a 1 empty 1 bad 1 ann o1", "NOVOUCHER no stock key for this voucher"),
        // The order is bob's in one book, and in no other.
        ("a 1 c 1 bob o1", taken),
        ("sold-out 1 c 1 bob o1", taken),
        ("c 1 a 1 bob o1", taken),
        // Other units than those that were asked for.
        ("c 2 bob o1", taken),
    ] {
        let code = wanted.split(' ').next().expect("a code");
        let error = server.refused(&format!("SECKILL.TRYALL {articles}"), code);
        assert_eq!(error, wanted, "{articles}");
    }
    assert_eq!(codes(&server, "c 1 bob o1"), [0]);
}

#[test]
fn a_repeat_is_answered_from_the_books() {
    let server = Server::observed().start();
    three(&server, "HOLD 900000");
    assert_eq!(codes(&server, "a 2 b 1 ann o1"), [0, 0]);
    // Whatever is sold out, over or full by now.
    server.run("SECKILL.TRY a bob o2");
    server.run("SECKILL.ALTER b END 1");
    let again = server.unchanged("SECKILL.TRYALL a 2 b 1 ann o1");
    assert_eq!(again, Value::Array(vec![Value::Int(0); 2]));
    let lines = server.aof_of(|| drop(codes(&server, "b 1 a 2 ann o1")));
    let lines: Vec<_> = lines.iter().map(crate::aof::masked).collect();
    let wanted = [
        "MULTI",
        "HSETNX seckill:book:b o1 held:1:WHEN:ann",
        "HSETNX seckill:book:a o1 held:2:WHEN:ann",
        "EXEC",
    ];
    assert_eq!(lines, wanted);
    // A part is released: its id never sells again.
    server.check("> SECKILL.CANCEL a ann o1\n1\n> SECKILL.CONFIRM b ann o1\n1");
    assert_eq!(codes(&server, "a 2 b 1 ann o1"), [5, 0]);
    // A cart with one article more is another cart, and is not completed.
    let error = server.refused("SECKILL.TRYALL a 2 b 1 c 1 ann o1", "ORDERID");
    assert!(error.contains("already used"), "{error}");
    assert_eq!(codes(&server, "b 1 ann o1"), [0]);
    let counted = ["tries_repeated", "carts_accepted", "carts_refused"];
    let counted = counted.map(|name| server.info_number(&format!("seckill_{name}")));
    assert_eq!(counted, [7, 1, 0]);
    books(&server, [[2, 1, 0], [2, 0, 1], [3, 0, 0]]);
}

#[test]
fn parts_are_held_until_one_moment() {
    let server = Server::start();
    server.run("SECKILL.CREATE a 3 HOLD 900000");
    server.run("SECKILL.CREATE b 3 HOLD 60000");
    server.run("SECKILL.CREATE c 3");
    let error = assert_error(&server.run("SECKILL.TRYALL a 1 c 1 ann o1"), "ERR", "a mix");
    assert_eq!(error, "ERR all vouchers of a cart need HOLD, or none");
    // After errors of an article, and before what is sold out.
    assert_error(&server.run("SECKILL.TRYALL a 1 c 1 none 1 ann o1"), "NOVOUCHER", "a mix");
    assert_error(&server.run("SECKILL.TRYALL a 9 c 1 ann o1"), "ERR", "a mix");
    let before = server.clock_ms();
    let (_, after) = (assert_eq!(codes(&server, "a 1 b 1 ann o1"), [0, 0]), server.clock_ms());
    let until = |voucher: &str| {
        let deadline = server.field(&format!("SECKILL.ORDER {voucher} o1"), "deadline");
        let Value::Int(deadline) = deadline else { panic!("{deadline:?}") };
        assert_eq!(server.say(&format!("ZSCORE seckill:hold:{voucher} o1")), deadline.to_string());
        deadline
    };
    let deadline = until("a");
    assert!((before + 60_000..=after + 60_000).contains(&deadline), "{before} {deadline} {after}");
    assert_eq!(until("b"), deadline);
    let entries = format!("{:?}", server.run("XRANGE stream.orders - +"));
    assert_eq!(entries.matches(&deadline.to_string()).count(), 2, "{entries}");
    // EXTEND moves that of one part.
    server.check("> SECKILL.EXTEND a ann o1 800000\n1");
    assert!(until("a") > deadline && until("b") == deadline);
}

/// In the way of one article is the user's limit, and of another the stock.
#[test]
fn overdue_holds_end_before_the_answer() {
    let server = Server::start();
    server.run("SECKILL.CREATE a 9 HOLD 1");
    server.run("SECKILL.CREATE b 2 HOLD 1");
    let replies = server.transaction(&[
        "SECKILL.TRY a ann o1",
        "SECKILL.MTRY b bob o2 cid o3",
        "SECKILL.ALTER a HOLD 900000",
        "SECKILL.ALTER b HOLD 900000",
        "DEBUG SLEEP 0.03",
        "SECKILL.TRYALL a 1 b 1 ann o4",
    ]);
    assert_eq!(replies.last(), Some(&Value::Array(vec![Value::Int(0); 2])), "{replies:?}");
    server.assert_book("a", [8, 1, 0]);
    server.assert_book("b", [1, 1, 0]);
    assert_eq!(server.info_number("seckill_orders_expired"), 3);
}

/// A repeat ends the holds of its own order, each part by itself, and answers 5 as for a try. Users
/// of other orders are among the buyers, or none: then these keys are gone afterwards.
#[test]
fn an_overdue_cart_that_is_repeated_is_released_whole() {
    for others in [false, true] {
        for articles in ["a 1", "a 1 b 2", "b 2 a 1 c 1"] {
            let server = Server::start();
            for voucher in ["a", "b", "c"] {
                server.run(&format!("SECKILL.CREATE {voucher} 5 LIMIT 2 HOLD 9"));
            }
            let mut commands = vec![];
            if others {
                commands.extend(["a", "b"].map(|it| format!("SECKILL.TRY {it} bob {it}1")));
            }
            let cart = format!("SECKILL.TRYALL {articles} ann o1");
            commands.push(cart.clone());
            if others {
                commands.push("SECKILL.EXTEND a ann o1 900000".to_owned());
            }
            commands.extend(["DEBUG SLEEP 0.03".to_owned(), cart]);
            let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
            let replies = server.transaction(&commands);
            let released: Vec<&str> = articles.split(' ').step_by(2).collect();
            // Unless its deadline has passed by then.
            let was_extended = replies[replies.len() - 3] == Value::Int(1);
            let is_extended = |voucher: &str| others && was_extended && voucher == "a";
            let answers = released.iter().map(|it| Value::Int(5 * i64::from(!is_extended(it))));
            assert_eq!(replies.last(), Some(&Value::Array(answers.collect())), "{replies:?}");
            for voucher in ["a", "b", "c"] {
                if released.contains(&voucher) && !is_extended(voucher) {
                    server.wait_for_state(voucher, "o1", "expired");
                }
                if others && voucher != "c" {
                    server.wait_for_state(voucher, &format!("{voucher}1"), "expired");
                }
            }
            let held = released.iter().filter(|it| is_extended(it)).count();
            let entries = released.len() - held + if others { 2 } else { 0 };
            let ended = server.run("XLEN stream.orders.released");
            assert_eq!(ended, Value::Int(entries as i64), "{articles}");
            for voucher in ["a", "b", "c"] {
                let is_held = is_extended(voucher) && released.contains(&voucher);
                let held = i64::from(is_held);
                server.assert_book(voucher, [5 - held, held, 0]);
            }
        }
    }
}

/// One command ends a hundred holds, of all articles together. A refused cart has ended them, too.
#[test]
fn a_cart_ends_a_hundred_holds() {
    let server = Server::start();
    for voucher in ["a", "b"] {
        server.run(&format!("SECKILL.CREATE {voucher} 60 LIMIT 60 HOLD 1"));
    }
    let users: String = (0..60).map(|number| format!(" u{number} o{number}")).collect();
    let replies = server.transaction(&[
        &format!("SECKILL.MTRY a{users}"),
        &format!("SECKILL.MTRY b{users}"),
        "SECKILL.ALTER a HOLD 900000",
        "SECKILL.ALTER b HOLD 900000",
        "DEBUG SLEEP 0.03",
        "SECKILL.TRYALL a 60 b 41 ann o100",
        "SECKILL.INFO a",
        "SECKILL.INFO b",
    ]);
    let left = |number: usize| {
        let fields = pairs(replies[number].clone());
        fields.into_iter().find(|(name, _)| name == "left").map(|(_, left)| left)
    };
    assert_eq!(replies[5], Value::Array(vec![Value::Int(7), Value::Int(1)]));
    assert_eq!([left(6), left(7)], [Some(Value::Int(60)), Some(Value::Int(40))]);
    server.wait_for_state("b", "o59", "expired");
    assert_eq!(codes(&server, "a 60 b 60 ann o100"), [0, 0]);
}

#[test]
fn units_of_a_line_are_not_sold() {
    let server = Server::observed().start();
    server.run("SECKILL.CREATE a 3 HOLD 900000");
    server.run("SECKILL.CREATE b 1 HOLD 900000");
    server.check(
        "
        > SECKILL.TRY b ann o1 => 0
        > SECKILL.TRY b bob o2 UNITS 1 WAITLIST => 6
        ",
    );
    assert_eq!(codes(&server, "a 1 b 1 cid o3"), [7, 1]);
    // A repeat of a part that waits.
    assert_eq!(codes(&server, "b 1 bob o2"), [6]);
    // Two more units, of which the line takes one: then orders are in the queue no more.
    server.check("> SECKILL.TRY b dan o5 WAITLIST => 6\n> SECKILL.RESTOCK b 1 => 0");
    assert_eq!(codes(&server, "a 1 b 1 cid o3"), [7, 1]);
}
