//! Users with rules: the command, the declared keys, nothing else.

use crate::harness::{Client, Server, text};

/// A client of a user who is allowed just this.
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
    for rules in ["~lock:2", "%R~lock:*"] {
        let reply =
            text(&user(&server, &format!("+lock.release {rules}")).run("LOCK.RELEASE lock:1 t"));
        assert!(reply.starts_with("NOPERM"), "{rules}: {reply}");
    }
    user(&server, "+lock.release ~lock:*").check("> LOCK.RELEASE lock:1 t\n1");
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
    // Who may only read a voucher may look at its sale.
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
