//! Holds whose deadline passes: given back soon, once, and whatever stands in the way.

use crate::harness::{Server, text, wait_for};
use crate::observe::integer;
use redis::Value;

#[test]
fn a_hold_expires_soon_after_its_deadline_and_not_before() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 50 LIMIT 2 HOLD 40");
    let mut late = Vec::new();
    for number in 0..9 {
        let id = format!("o{number}");
        server.check(&format!("> SECKILL.TRY 7 alice {id} UNITS 2\n0"));
        let deadline = integer(&server.field(&format!("SECKILL.ORDER 7 {id}"), "deadline"));
        server.wait_for_state("7", &id, "expired");
        // The entry's id is the moment at which the server gave it back.
        let last = server.run("XREVRANGE stream.orders.released + - COUNT 1");
        let last: Vec<(String, Vec<String>)> = redis::from_redis_value(last).expect("an entry");
        let fields = ["userId", "alice", "voucherId", "7", "id", &id, "units", "2"];
        assert_eq!(last[0].1, [fields.as_slice(), &["reason", "expired"]].concat());
        let at: i64 = last[0].0.split_once('-').expect("an id").0.parse().expect("ms");
        late.push(at - deadline);
    }
    assert!(late.iter().all(|late| *late >= 0), "before the deadline: {late:?}");
    // On a busy machine one may be late, but not half of them.
    late.sort_unstable();
    assert!(late[late.len() / 2] <= 100, "{late:?}");
    server.assert_book("7", [50, 0, 0]);
    assert_eq!(server.info_number("seckill_orders_expired"), 9);
    for command in
        ["SECKILL.CONFIRM 7 alice o1", "SECKILL.TRY 7 alice o1", "SECKILL.CANCEL 7 alice o1"]
    {
        let wanted = if command.contains("CONFIRM") {
            3
        } else if command.contains("TRY") {
            5
        } else {
            2
        };
        server.check(&format!("> {command}\n{wanted}"));
    }
}

#[test]
fn holds_open_follows_the_holds() {
    let server = Server::start();
    let shows = |wanted: i64| {
        let shown = wait_for("seckill_holds_open", || {
            (server.info_number("seckill_holds_open") == wanted).then_some(())
        });
        shown.unwrap_or_else(|late| panic!("{late}, not {wanted}"));
    };
    shows(0);
    server.run("SECKILL.CREATE 7 9 HOLD 900000");
    server.run("SECKILL.CREATE 8 9 HOLD 900000");
    server.run("SECKILL.TRY 7 alice o1");
    server.run("SECKILL.TRY 7 bob o2");
    server.run("SECKILL.TRY 8 bob o2");
    shows(3);
    server.run("SECKILL.CONFIRM 7 alice o1");
    shows(2);
    server.run("SECKILL.DROP 7");
    shows(1);
    server.run("FLUSHALL");
    shows(0);
}

/// In a script no timer fires: what comes back there was taken by the try itself.
#[test]
fn a_try_takes_what_is_due_before_it_says_sold_out() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 2 LIMIT 2 HOLD 20");
    let script = "redis.call('SECKILL.TRY','7','alice','o1') \
                  redis.call('SECKILL.TRY','7','bob','o2') \
                  local sold_out = 0 \
                  for i = 1, 3000000 do \
                    if redis.call('SECKILL.TRY','7','carol','o3','UNITS','2') == 0 then \
                      return {sold_out, redis.call('GET','seckill:stock:7'), \
                        redis.call('HGET','seckill:book:7','o1'), \
                        redis.call('HGET','seckill:book:7','o2')} end \
                    sold_out = sold_out + 1 end \
                  return 'never'";
    let reply = server.call(&["EVAL", script, "0"]);
    let Value::Array(reply) = &reply else { panic!("{reply:?}") };
    assert!(integer(&reply[0]) > 0, "{reply:?}");
    let texts: Vec<_> = reply[1..].iter().map(text).collect();
    assert_eq!(texts, ["0", "expired:1:0:alice", "expired:1:0:bob"]);
}

/// No timer fires in a script, so its orders stay held until somebody asks for them.
#[test]
fn what_is_overdue_is_over_before_anybody_came_for_it() {
    for (command, wanted, state) in [
        ("'SECKILL.CONFIRM','7','alice','o1'", 3, "expired"),
        ("'SECKILL.TRY','7','alice','o1'", 5, "expired"),
        ("'SECKILL.CANCEL','7','alice','o1'", 1, "cancelled"),
    ] {
        let server = Server::start();
        server.run("SECKILL.CREATE 7 1 HOLD 1");
        // Counting so far takes longer than the hold.
        let script = format!(
            "redis.call('SECKILL.TRY','7','alice','o1') \
             local sum = 0 for i = 1, 10000000 do sum = sum + i end \
             return redis.call({command})"
        );
        assert_eq!(server.call(&["EVAL", &script, "0"]), Value::Int(wanted), "{command}");
        assert_eq!(server.state("7", "o1"), state);
        server.assert_book("7", [1, 0, 0]);
    }
}

#[test]
fn a_try_that_takes_what_its_own_user_held() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 1 LIMIT 2 HOLD 1");
    let script = "redis.call('SECKILL.TRY','7','alice','o1') \
                  local sum = 0 for i = 1, 10000000 do sum = sum + i end \
                  redis.call('SECKILL.ALTER','7','HOLD','900000') \
                  return redis.call('SECKILL.TRY','7','alice','o2')";
    assert_eq!(server.call(&["EVAL", script, "0"]), Value::Int(0));
    server.assert_book("7", [0, 1, 0]);
    server.check("> HGET seckill:buyer:7 alice\n1:o2\n> SISMEMBER seckill:order:7 alice\n1");
}

#[test]
fn expiry_waits_for_keys_to_be_mended() {
    let server = Server::start();
    let kinds = ["stock", "order", "book", "buyer", "hold"];
    for kind in kinds {
        server.run(&format!("SECKILL.CREATE {kind} 5 LIMIT 2 HOLD 100"));
        server.run(&format!("SECKILL.TRY {kind} alice o1 UNITS 2"));
    }
    for kind in kinds {
        server.check(&format!("> RENAME seckill:{kind}:{kind} away-{kind}\nOK"));
        server.check(&format!("> RPUSH seckill:{kind}:{kind} junk\n1"));
    }
    // A sound sale is not held up by them.
    server.run("SECKILL.CREATE sound 5 HOLD 100");
    server.run("SECKILL.TRY sound alice o1");
    let last = integer(&server.field("SECKILL.ORDER sound o1", "deadline"));
    server.wait_for_state("sound", "o1", "expired");
    server.wait_until(last + 50);
    for kind in kinds {
        server.check(&format!("> LLEN seckill:{kind}:{kind}\n1"));
        if kind != "book" {
            assert_eq!(server.state(kind, "o1"), "held", "{kind}");
        }
        server.run(&format!("DEL seckill:{kind}:{kind}"));
        server.run(&format!("RENAME away-{kind} seckill:{kind}:{kind}"));
    }
    for kind in kinds {
        server.wait_for_state(kind, "o1", "expired");
        server.assert_book(kind, [5, 0, 0]);
    }
    assert!(server.log().contains("expired holds stay for now"), "{}", server.log());
}

#[test]
fn expiry_waits_for_the_released_stream() {
    for make in [
        "SET stream.orders.released a",
        "XADD stream.orders.released 18446744073709551615-18446744073709551615 a b",
    ] {
        let server = Server::start();
        server.run(make);
        server.run("SECKILL.CREATE 7 1 HOLD 20");
        server.run("SECKILL.TRY 7 alice o1");
        let deadline = integer(&server.field("SECKILL.ORDER 7 o1", "deadline"));
        server.wait_until(deadline + 50);
        // A try that meets what can't be given back is sold out, not stuck.
        server.check("> SECKILL.TRY 7 bob o2\n1\n> GET seckill:stock:7\n0");
        assert_eq!(server.state("7", "o1"), "held");
        server.run("DEL stream.orders.released");
        server.wait_for_state("7", "o1", "expired");
        server.assert_book("7", [1, 0, 0]);
    }
}

#[test]
fn one_broken_order_does_not_hold_up_the_others() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 9 HOLD 50");
    for user in ["a", "b", "c"] {
        server.run(&format!("SECKILL.TRY 7 {user} {user}1"));
    }
    server.run("HSET seckill:buyer:7 a junk");
    server.run("HSET seckill:book:7 b1 junk");
    server.wait_for_state("7", "c1", "expired");
    assert_eq!(server.state("7", "a1"), "held");
    server.check("> ZSCORE seckill:hold:7 b1\n(nil)\n> GET seckill:stock:7\n7");
    assert!(!server.differences("7").is_empty());
    server.run("HSET seckill:buyer:7 a 1:a1");
    server.wait_for_state("7", "a1", "expired");
}

#[test]
fn holds_that_others_wrote_are_lifted() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 9 HOLD 900000");
    server.run("SECKILL.TRY 7 alice o1");
    server.run("SECKILL.TRY 7 bob o2");
    server.run("SECKILL.CONFIRM 7 bob o2");
    server.run("ZADD seckill:hold:7 5 none 6.5 o2 -inf other");
    let lifted = wait_for("strange holds to go", || {
        (server.run("ZCARD seckill:hold:7") == Value::Int(1)).then_some(())
    });
    lifted.unwrap_or_else(|late| panic!("{late}\n{}", server.log()));
    server.assert_book("7", [7, 1, 1]);
    // A hold that was moved up ends when it says.
    server.run("ZADD seckill:hold:7 5 o1");
    server.wait_for_state("7", "o1", "expired");
    server.assert_book("7", [8, 0, 1]);
}

#[test]
fn holds_of_one_sale_end_each_at_its_time() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 9 HOLD 900000");
    server.run("SECKILL.TRY 7 late o1");
    server.run("SECKILL.ALTER 7 HOLD 30");
    server.run("SECKILL.TRY 7 early o2");
    server.run("SECKILL.ALTER 7 HOLD 0");
    server.run("SECKILL.TRY 7 paid o3");
    server.wait_for_state("7", "o2", "expired");
    assert_eq!(server.state("7", "o1"), "held");
    assert_eq!(server.state("7", "o3"), "sold");
    server.assert_book("7", [7, 1, 1]);
    // The window does not end what is held.
    server.check("> SECKILL.ALTER 7 END 1\nOK\n> SECKILL.CONFIRM 7 late o1\n1");
    server.check("> SECKILL.CANCEL 7 paid o3\n1");
    server.assert_book("7", [8, 0, 1]);
}
