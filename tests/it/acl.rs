//! ACL users need permission for a command and for its declared keys, and for nothing else.

use crate::harness::{Client, Server, text};
use crate::observe::integer;
use redis::Value;

/// A client of an ACL user that has only these rules.
pub fn user(server: &Server, rules: &str) -> Client {
    let set = server.run(&format!("ACL SETUSER bob reset on >pw +auth {rules}"));
    assert_eq!(text(&set), "OK", "{rules}");
    let mut client = server.client();
    client.check("> AUTH bob pw\nOK");
    client
}

#[test]
fn a_try_needs_the_command_and_its_voucher_only() {
    let server = Server::start();
    server.run("MSET seckill:stock:7 5 seckill:stock:8 5");
    user(&server, "+seckill.try ~7").check(
        "
        > SECKILL.TRY 7 alice o1
        0
        > SECKILL.TRY 8 alice o1
        (error) NOPERM ...
        > GET seckill:stock:7
        (error) NOPERM ...
        > SECKILL.TRYKEYS s b o 7 alice o1
        (error) NOPERM ...
        > LOCK.RELEASE 7 t
        (error) NOPERM ...
        ",
    );
    user(&server, "+@all -seckill.try ~*").check("> SECKILL.TRY 7 alice o1\n(error) NOPERM ...");
    server.check("> GET seckill:stock:7\n4\n> GET seckill:stock:8\n5");
}

#[test]
fn a_try_by_keys_needs_all_three_for_writing() {
    let server = Server::start();
    server.run("SET s 5");
    let command = "SECKILL.TRYKEYS s b o 7 alice o1";
    for rules in ["~s ~b", "~s ~o", "~b ~o", "%R~s ~b ~o", "~s %R~b ~o", "~s ~b %R~o", "~x"] {
        let reply = text(&user(&server, &format!("+seckill.trykeys {rules}")).run(command));
        assert!(reply.starts_with("NOPERM"), "{rules}: {reply}");
    }
    server.check("> DBSIZE\n1\n> GET s\n5");
    user(&server, "+seckill.trykeys ~s ~b ~o").check(&format!("> {command}\n0"));
    user(&server, "+seckill.trykeys ~s ~b").check("> SECKILL.TRYKEYS s b s 7 bob o1 NOSTREAM\n0");
}

#[test]
fn a_release_needs_the_lock_for_writing() {
    let server = Server::start();
    server.run("SET lock:1 t");
    for rules in ["~lock:2", "%R~lock:*", "%W~lock:*"] {
        let reply =
            text(&user(&server, &format!("+lock.release {rules}")).run("LOCK.RELEASE lock:1 t"));
        assert!(reply.starts_with("NOPERM"), "{rules}: {reply}");
    }
    user(&server, "+lock.release ~lock:*").check("> LOCK.RELEASE lock:1 t\n1");
}

#[test]
fn a_bare_stock_must_be_the_users_for_writing() {
    let server = Server::start();
    server.run("SET left:1 5");
    for name in ["deduct", "return"] {
        for rules in ["~left:2", "%R~left:*", "%W~left:*"] {
            let mut client = user(&server, &format!("+seckill.{name} {rules}"));
            let reply = text(&client.run(&format!("SECKILL.{name} left:1")));
            assert!(reply.starts_with("NOPERM"), "{name} {rules}: {reply}");
        }
    }
    let rules = "+seckill.deduct +seckill.return ~left:*";
    user(&server, rules).check("> SECKILL.DEDUCT left:1\n5\n> SECKILL.RETURN left:1\n5");
}

#[test]
fn a_draw_needs_the_command_and_its_pool_only() {
    let server = Server::start();
    server.run("RPUSH seckill:codes:7 a");
    server.run("RPUSH seckill:codes:8 a");
    user(&server, "+seckill.draw ~7").check(
        "
        > SECKILL.DRAW 7 alice
        1) 0
        2) a
        > SECKILL.DRAW 8 alice
        (error) NOPERM ...
        > SECKILL.UNDRAW 7 alice
        (error) NOPERM ...
        > LRANGE seckill:codes:7 0 -1
        (error) NOPERM ...
        ",
    );
    user(&server, "+seckill.undraw %R~7").check("> SECKILL.UNDRAW 7 alice\n(error) NOPERM ...");
    user(&server, "+seckill.undraw ~7").check("> SECKILL.UNDRAW 7 alice\n1");
}

#[test]
fn who_may_release_hands_over_a_lock_with_a_fence_key_of_others() {
    let server = Server::start();
    server.run("LOCK.ACQUIRE lock ann 1000000 FENCE");
    let mut bob = server.waiter("LOCK.ACQUIRE lock bob 1000000 BLOCK 60000 FENCE");
    user(&server, "+lock.release ~lock").check(
        "
        > GET lock:fence
        (error) NOPERM ...
        > LOCK.INFO lock
        (error) NOPERM ...
        > LOCK.RELEASE lock ann
        1
        ",
    );
    assert!(integer(&bob.receive()) > 1);
    assert_eq!(server.owner("lock"), "bob");
}

/// LOCK.INFO shows the token to users that may read the key, and to no other user.
#[test]
fn a_look_at_a_lock_needs_it_for_reading() {
    let server = Server::start();
    server.run("SET lock t");
    for rules in ["~other", "%W~lock"] {
        let reply = text(&user(&server, &format!("+lock.info {rules}")).run("LOCK.INFO lock"));
        assert!(reply.starts_with("NOPERM"), "{rules}: {reply}");
    }
    let reply = user(&server, "+lock.info +lock.acquire %R~lock").run("LOCK.INFO lock");
    assert!(matches!(reply, Value::Array(_)), "{reply:?}");
    for (command, rules) in [
        ("LOCK.ACQUIRE lock t 1000", "+lock.acquire %R~lock"),
        ("LOCK.ACQUIRE lock t 1000", "+lock.acquire %W~lock"),
        ("LOCK.RENEW lock t 1000", "+lock.renew %R~lock"),
        ("LOCK.RENEW lock t 1000", "+lock.renew %W~lock"),
    ] {
        let reply = text(&user(&server, rules).run(command));
        assert!(reply.starts_with("NOPERM"), "{rules}: {reply}");
    }
    user(&server, "+lock.renew ~lock").check("> LOCK.RENEW lock t 1000\n1");
}

#[test]
fn a_script_of_a_user_is_checked_too() {
    let server = Server::start();
    server.run("MSET seckill:stock:7 5 seckill:stock:8 5");
    let mut client = user(&server, "+eval +seckill.try ~7");
    client.check(
        "
        > EVAL \"return redis.call('SECKILL.TRY','7','alice','o1')\" 0
        0
        > EVAL \"return redis.call('SECKILL.TRY','8','alice','o1')\" 0
        (error) ...
        > EVAL \"return redis.call('LOCK.RELEASE','7','t')\" 0
        (error) ...
        ",
    );
    server.check("> GET seckill:stock:8\n5");
}

#[test]
fn managed_sales_need_the_command_and_their_voucher() {
    let server = Server::start();
    server.run("SECKILL.CREATE 7 5 HOLD 900000");
    server.run("SECKILL.CREATE 8 5 HOLD 900000");
    let rules = "+seckill.try +seckill.confirm +seckill.cancel +seckill.status %RW~7";
    user(&server, rules).check(
        "
        > SECKILL.TRY 7 alice o1
        0
        > SECKILL.CONFIRM 7 alice o1
        1
        > SECKILL.CANCEL 7 alice o1
        1
        > SECKILL.TRY 8 alice o1
        (error) NOPERM ...
        > SECKILL.CONFIRM 8 alice o1
        (error) NOPERM ...
        > SECKILL.RESTOCK 7 5
        (error) NOPERM ...
        ",
    );
    // A user that may only read a voucher may look at its sale.
    let all = "+seckill.info +seckill.order +seckill.audit +seckill.alter +seckill.drop %R~7";
    let mut reader = user(&server, all);
    for (command, allowed) in [
        ("INFO 7", true),
        ("ORDER 7 o1", true),
        ("AUDIT 7", true),
        ("INFO 8", false),
        ("ALTER 7 LIMIT 2", false),
        ("DROP 7", false),
    ] {
        let reply = reader.run(&format!("SECKILL.{command}"));
        let refused = matches!(&reply, redis::Value::ServerError(_));
        assert_eq!(refused, !allowed, "{command}: {reply:?}");
    }
}
