//! How long arguments of clients may be: `seckill.name-bytes-max`.

use crate::declared::{Argument, Declared};
use crate::harness::{Server, text, wait_for};
use crate::observe::integer;
use redis::Value;

/// Names of arguments that are bounded, wherever they stand; a `key` is that of a lock.
const BOUNDED: [&str; 8] =
    ["voucher", "user", "orderid", "pool", "prefix", "token", "reference", "key"];

#[test]
fn what_is_too_long_is_refused_and_changes_nothing() {
    for max in [512, 16] {
        let server = Server::observed().start();
        if max != 512 {
            server.run(&format!("CONFIG SET seckill.name-bytes-max {max}"));
        }
        let mut seen = 0;
        for declared in Declared::all(&server) {
            for (command, Argument { name, .. }) in declared.values() {
                let is_bounded = match &*declared.name.to_uppercase() {
                    // Its users and orders are refused one by one.
                    "SECKILL.MTRY" => name == "voucher",
                    "SECKILL.DEDUCT" | "SECKILL.RETURN" | "LOCK.INFO" => false,
                    _ => BOUNDED.contains(&name.as_str()),
                };
                if !is_bounded {
                    continue;
                }
                seen += 1;
                let max = if name == "reference" { max.min(128) } else { max };
                let error = server.refused(&command.replace('@', &"x".repeat(max + 1)), "ERR");
                let wanted = format!("ERR {name} must be at most {max} bytes long");
                assert_eq!(error, wanted, "{command}");
                let answer = server.run(&command.replace('@', &"x".repeat(max)));
                assert!(!format!("{answer:?}").contains("bytes long"), "{command}: {answer:?}");
                server.run("FLUSHALL");
            }
        }
        assert!(seen > 35, "{seen}");
    }
}

/// In a batch, only the tries with an id that is too long are refused.
#[test]
fn in_a_batch_what_is_too_long_is_refused_alone() {
    let server = Server::start();
    server.run("SECKILL.CREATE m 5 HOLD 900000");
    server.run("SET seckill:stock:7 5");
    let long = "x".repeat(513);
    for voucher in ["m", "7"] {
        let batch = format!("SECKILL.MTRY {voucher} a 1 {long} 2 b {long} c 3 a 4 {long} *");
        let Value::Array(answers) = server.run(&batch) else { panic!("no answers") };
        let errors = [1, 2, 5].map(|place: usize| text(&answers[place]));
        let [user, id, made] = errors;
        assert_eq!(user, "ERR user must be at most 512 bytes long");
        assert_eq!(id, "ERR orderid must be at most 512 bytes long");
        assert_eq!(made, user);
        let sold = [0, 3, 4].map(|place: usize| integer(&answers[place]));
        assert_eq!(sold, [0, 0, 2], "{voucher}");
        server.check(&format!("> GET seckill:stock:{voucher}\n3"));
    }
    server.assert_book("m", [3, 2, 0]);
    // It counts for nothing in the bytes of the batch either.
    let batch = format!("SECKILL.MTRY 7 d {} e 5", "x".repeat(300_000));
    let Value::Array(answers) = server.run(&batch) else { panic!("no answers") };
    assert_eq!(text(&answers[0]), "ERR orderid must be at most 512 bytes long");
    assert_eq!(answers[1], Value::Int(0));
}

/// The server keeps neither the arguments of a refused command nor a long voucher name of an entry.
#[test]
fn nothing_long_is_kept() {
    let server = Server::start();
    let used = || server.info_number("used_memory");
    server.check("> SET seckill:stock:7 5\nOK\n> XGROUP CREATE stream.orders g 0 MKSTREAM\nOK");
    server.check("> SECKILL.TRY 7 alice o1\n0");
    let before = used();
    let long = "x".repeat(30_000_000);
    // A separate connection, because the server keeps a connection's input buffer for a while.
    let mut client = server.client();
    for command in ["SECKILL.STATUS @ u", "SECKILL.INFO @", "SECKILL.DRAW @ u", "SECKILL.TRY @ u o"]
    {
        let error = client.say(&command.replace('@', &long));
        assert!(error.contains("must be at most 512 bytes long"), "{error:.80}");
    }
    // An entry that no consumer can use, written by another client.
    let entry = [b"XADD".as_slice(), b"stream.orders", b"*"];
    let fields = [b"userId".as_slice(), b"u", b"voucherId", long.as_bytes(), b"id", b"o9"];
    let id = text(&client.call(&[&entry[..], &fields].concat()));
    server.run("XREADGROUP GROUP g c COUNT 9 STREAMS stream.orders >");
    server.check(&format!("> SECKILL.REJECT stream.orders g {id}\n1"));
    server.check("> DEL stream.orders stream.orders.dlq\n2");
    drop(client);
    let kept = || i128::from(used()) - i128::from(before);
    let given_back = wait_for("the memory", || (kept() < 5_000_000).then_some(()));
    given_back.unwrap_or_else(|late| panic!("{late}: {} bytes are kept", kept()));
}
