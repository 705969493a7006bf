//! HOLD, SECKILL.CONFIRM, SECKILL.CANCEL and expiry: by order id, once, and exact.

use crate::harness::{Server, in_time, text};
use crate::observe::integer;
use redis::Value;

#[test]
fn an_order_is_confirmed_once() {
    let server = Server::observed().start();
    server.check(
        "
        > SECKILL.CREATE 7 5 LIMIT 2 HOLD 900000
        OK
        > SECKILL.TRY 7 alice o1 UNITS 2
        0
        > SECKILL.CONFIRM 7 alice o1
        1
        > HGET seckill:book:7 o1
        sold:2:0:alice
        > EXISTS seckill:hold:7
        0
        ",
    );
    server.assert_book("7", [3, 0, 2]);
    for (command, wanted) in [
        ("SECKILL.CONFIRM 7 alice o1", 2),
        ("SECKILL.CONFIRM 7 bob o1", 0),
        ("SECKILL.CONFIRM 7 alice none", 0),
        ("SECKILL.TRY 7 alice o1 UNITS 2", 0),
        ("SECKILL.CANCEL 7 bob o1", 0),
        ("SECKILL.CANCEL 7 alice none", 0),
    ] {
        assert_eq!(server.unchanged(command), Value::Int(wanted), "{command}");
    }
    server.check("> SECKILL.CANCEL 7 alice o1\n1");
    for (command, wanted) in [
        ("SECKILL.CONFIRM 7 alice o1", 3),
        ("SECKILL.CONFIRM 7 bob o1", 0),
        ("SECKILL.CANCEL 7 alice o1", 2),
        ("SECKILL.CANCEL 7 bob o1", 0),
    ] {
        assert_eq!(server.unchanged(command), Value::Int(wanted), "{command}");
    }
    server.assert_book("7", [5, 0, 0]);
}

#[test]
fn held_and_sold_orders_are_given_back_once() {
    let server = Server::observed().start();
    server.check(
        r#"
        > SECKILL.CREATE 7 5 LIMIT 3 HOLD 900000
        OK
        > SECKILL.TRY 7 alice o1 UNITS 2
        0
        > SECKILL.TRY 7 alice o2
        0
        > SECKILL.CONFIRM 7 alice o2
        1
        > SECKILL.CANCEL 7 alice o1
        1
        > HGET seckill:units:7 alice
        1:o2
        > SISMEMBER seckill:order:7 alice
        1
        > ZCARD seckill:hold:7
        0
        > SECKILL.CANCEL 7 alice o2
        1
        > EXISTS seckill:units:7 seckill:order:7 seckill:hold:7
        0
        > GET seckill:stock:7
        5
        > XRANGE stream.orders.released - +
        1) 1) "1722509999999-0"
           2)  1) "userId"
               2) "alice"
               3) "voucherId"
               4) "7"
               5) "id"
               6) "o1"
               7) "units"
               8) "2"
               9) "sale"
              10) "1795344856123456"
              11) "reason"
              12) "cancelled"
              13) "was"
              14) "held"
        2) 1) "1722509999999-0"
           2)  1) "userId"
               2) "alice"
               3) "voucherId"
               4) "7"
               5) "id"
               6) "o2"
               7) "sale"
               8) "1795344856123456"
               9) "reason"
              10) "cancelled"
              11) "was"
              12) "sold"
        "#,
    );
    server.assert_book("7", [5, 0, 0]);
    assert_eq!(server.unchanged("SECKILL.CANCEL 7 alice o1"), Value::Int(2));
    // The user can buy again, but not with the old ids.
    server.check(
        "
        > SECKILL.TRY 7 alice o1
        5
        > SECKILL.TRY 7 alice o3 UNITS 3
        0
        ",
    );
}

#[test]
fn an_unmanaged_sale_is_given_back_by_membership() {
    let server = Server::observed().start();
    server.check(
        r#"
        > SET seckill:stock:7 1 PXAT 33333333333333
        OK
        > SECKILL.TRY 7 alice o1
        0
        > SECKILL.TRY 7 bob o2
        1
        > SECKILL.CANCEL 7 alice other
        1
        > XRANGE stream.orders.released - +
        1) 1) "1722509999999-0"
           2) 1) "userId"
              2) "alice"
              3) "voucherId"
              4) "7"
              5) "id"
              6) "other"
              7) "reason"
              8) "cancelled"
        > SECKILL.TRY 7 bob o2
        0
        > PEXPIRETIME seckill:stock:7
        33333333333333
        "#,
    );
    assert_eq!(server.silent("SECKILL.CANCEL 7 alice o1"), Value::Int(0));
    assert_eq!(server.silent("SECKILL.CANCEL 8 alice o1"), Value::Int(0));
    // A missing stock stays missing.
    server.check("> DEL seckill:stock:7\n1\n> SECKILL.CANCEL 7 bob o2\n1");
    server.check("> EXISTS seckill:stock:7 seckill:order:7\n0");
    for (make, code) in [
        ("SET seckill:stock:7 x", "ERR"),
        ("SET seckill:stock:7 9223372036854775807", "ERR"),
        ("RPUSH seckill:stock:7 a", "WRONGTYPE"),
        ("SET stream.orders.released a", "WRONGTYPE"),
    ] {
        server.run("FLUSHALL");
        server.run("SADD seckill:order:7 alice");
        server.run(make);
        server.refused("SECKILL.CANCEL 7 alice o1", code);
    }
    server.run("FLUSHALL");
    server.run("SET seckill:order:7 a");
    server.refused("SECKILL.CANCEL 7 alice o1", "WRONGTYPE");
}

#[test]
fn unlimited_stock_is_not_counted_up() {
    let server = Server::with().config("seckill.unlimited-stock yes").start();
    server.check("> SET seckill:stock:7 -1\nOK\n> SECKILL.TRY 7 alice o1\n0");
    server.check("> SECKILL.CANCEL 7 alice o1\n1\n> GET seckill:stock:7\n-1");
}

#[test]
fn without_a_stream_nothing_is_appended() {
    let server = Server::with().config("seckill.order-stream ''").start();
    server.check(
        "
        > SECKILL.CREATE 7 5 HOLD 900000
        OK
        > SECKILL.TRY 7 alice o1
        0
        > SECKILL.CANCEL 7 alice o1
        1
        > SECKILL.ALTER 7 HOLD 40
        OK
        > SECKILL.TRY 7 alice o2
        0
        ",
    );
    server.wait_for_state("7", "o2", "expired");
    assert_eq!(server.run("KEYS stream*"), Value::Array(Vec::new()));
    server.assert_book("7", [5, 0, 0]);
}

#[test]
fn a_hold_expires_soon_after_its_deadline_and_not_before() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 50 LIMIT 2 HOLD 40");
    let (mut late, sale) = (Vec::new(), server.sale_of("7"));
    for number in 0..9 {
        let id = format!("o{number}");
        let deadline = server.place_hold(&format!("7 alice {id} UNITS 2"));
        server.wait_for_state("7", &id, "expired");
        // The id of the entry is the moment at which the server released the order.
        let last = server.run("XREVRANGE stream.orders.released + - COUNT 1");
        let last: Vec<(String, Vec<String>)> = redis::from_redis_value(last).expect("an entry");
        let fields = ["userId", "alice", "voucherId", "7", "id", &id, "units", "2", "sale", &sale];
        assert_eq!(last[0].1, [fields.as_slice(), &["reason", "expired", "was", "held"]].concat());
        let at: i64 = last[0].0.split_once('-').expect("an id").0.parse().expect("ms");
        late.push(at - deadline);
    }
    assert!(late.iter().all(|late| *late >= 0), "before the deadline: {late:?}");
    // On a busy machine one order may be late, but not half of them.
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
        let shown = crate::harness::wait_for("seckill_holds_open", || {
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
    server.run("SECKILL.DROP 7 FORCE");
    shows(1);
    server.run("FLUSHALL");
    shows(0);
}

/// No timer fires in a script: units that are released there were released by the try itself.
#[test]
fn a_try_takes_what_is_due_before_it_says_sold_out() {
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
    // If a script is paused between two tries, it may see no sold-out try.
    let reply = in_time(20, |hold_ms| {
        let server = Server::start();
        server.run(&format!("SECKILL.CREATE 7 2 LIMIT 2 HOLD {hold_ms}"));
        let reply = server.call(&["EVAL", script, "0"]);
        let Value::Array(reply) = reply else { panic!("{reply:?}") };
        (integer(&reply[0]) > 0).then_some(reply)
    });
    let texts: Vec<_> = reply[1..].iter().map(text).collect();
    assert_eq!(texts, ["0", "expired:1:0:alice", "expired:1:0:bob"]);
}

/// No timer fires in a script, so its orders stay held until a command needs them.
#[test]
fn what_is_overdue_is_over_before_anybody_came_for_it() {
    for (command, wanted, state) in [
        ("'SECKILL.CONFIRM','7','alice','o1'", 3, "expired"),
        ("'SECKILL.TRY','7','alice','o1'", 5, "expired"),
        ("'SECKILL.CANCEL','7','alice','o1'", 2, "expired"),
        ("'SECKILL.CANCEL','7','alice','o1','IF','SOLD'", 2, "expired"),
        ("'SECKILL.EXTEND','7','alice','o1','9'", 3, "expired"),
    ] {
        let server = Server::start();
        server.run("SECKILL.CREATE 7 1 HOLD 1");
        // This loop takes longer than the hold.
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
    server.check("> HGET seckill:units:7 alice\n1:o2\n> SISMEMBER seckill:order:7 alice\n1");
}

#[test]
fn a_stock_never_comes_back_above_the_total() {
    let server = Server::start();
    server.check(
        "
        > SECKILL.CREATE 7 5 LIMIT 3 HOLD 900000
        OK
        > SECKILL.TRY 7 alice o1 UNITS 2
        0
        > SECKILL.TRY 7 bob o2 UNITS 2
        0
        > SET seckill:stock:7 4
        OK
        > SECKILL.CANCEL 7 alice o1
        1
        > GET seckill:stock:7
        5
        > SET seckill:stock:7 8
        OK
        > SECKILL.CANCEL 7 bob o2
        1
        > GET seckill:stock:7
        8
        ",
    );
    assert_eq!(server.differences("7").len(), 1);
}

#[test]
fn a_stock_that_was_deleted_is_never_made_again() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 5 LIMIT 3 HOLD 900000");
    server.check("> SECKILL.TRY 7 alice o1\n0\n> SECKILL.TRY 7 alice o2\n0");
    server.check("> SECKILL.CONFIRM 7 alice o2\n1\n> SECKILL.ALTER 7 HOLD 40\nOK");
    let gone = server.transaction(&["SECKILL.TRY 7 bob o3", "DEL seckill:stock:7"]);
    assert_eq!(gone, [Value::Int(0), Value::Int(1)]);
    server.check("> SECKILL.CANCEL 7 alice o1\n1\n> SECKILL.CANCEL 7 alice o2\n1");
    server.wait_for_state("7", "o3", "expired");
    server.check("> EXISTS seckill:stock:7\n0\n> XLEN stream.orders.released\n3");
    assert_eq!(server.differences("7"), ["there is no stock key"]);
}

#[test]
fn a_full_server_confirms_cancels_and_expires() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 5 HOLD 900000");
    for user in ["a", "b"] {
        server.run(&format!("SECKILL.TRY 7 {user} {user}1"));
    }
    server.run("SECKILL.ALTER 7 HOLD 40");
    let full = server.transaction(&["SECKILL.TRY 7 c c1", "CONFIG SET maxmemory 1"]);
    assert_eq!(full, [Value::Int(0), Value::Okay]);
    server.check(
        "
        > SECKILL.CONFIRM 7 a a1
        1
        > SECKILL.CANCEL 7 b b1
        1
        > SECKILL.CANCEL 7 a a1
        1
        > SET x 1
        (error) OOM ...
        ",
    );
    server.wait_for_state("7", "c1", "expired");
    server.assert_book("7", [5, 0, 0]);
}
