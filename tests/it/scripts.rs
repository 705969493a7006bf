//! Scripts that commands replace (`seckill.scripts`): which calls, and what they become.

use domain::scripts::Sha1;
use redis::Value;

use crate::harness::{Server, text};
use crate::observe::assert_error;

/// An application's scripts. They only report that they ran: any other answer comes from a command.
pub const SELL: &str = "return 'sell: ' .. #KEYS .. ' ' .. #ARGV";
pub const UNLOCK: &str = "return 'unlock: ' .. #KEYS .. ' ' .. #ARGV";

pub fn sha1(script: &str) -> String {
    Sha1::of(script.as_bytes()).to_string()
}

/// The setting for the two scripts.
pub fn entries() -> String {
    format!(
        "{} SECKILL.TRY ARGV[1] ARGV[2] ARGV[3]; {} LOCK.RELEASE KEYS[1] ARGV[1]",
        sha1(SELL),
        sha1(UNLOCK)
    )
}

/// A server that replaces both scripts, with a stock for voucher 7.
pub fn server() -> Server {
    let server = Server::observed().config(format!("seckill.scripts '{}'", entries())).start();
    server.run("SET seckill:stock:7 100");
    server
}

pub fn replaced(server: &Server) -> i64 {
    server.info_number("seckill_scripts_replaced")
}

fn set(server: &Server, value: &str) -> Value {
    server.call(&["CONFIG", "SET", "seckill.scripts", value])
}

/// Does the reply show that the script ran?
fn ran(reply: &Value) -> bool {
    let Value::BulkString(bytes) = reply else { return false };
    bytes.starts_with(b"sell: ") || bytes.starts_with(b"unlock: ")
}

#[test]
fn calls_of_scripts_are_commands() {
    let server = server();
    let (sell, unlock) = (sha1(SELL), sha1(UNLOCK));
    server.run("SET lock t");
    let calls: [(&[&str], i64); 9] = [
        (&["EVALSHA", &sell, "0", "7", "alice", "o1"], 0),
        (&["evalSHA", &sell.to_uppercase(), "0", "7", "alice", "o2"], 2),
        (&["EVAL", SELL, "0", "7", "bob", "o3"], 0),
        (&["eval", SELL, "0", "7", "bob", "o3"], 2),
        // Arguments that the script would ignore.
        (&["EVALSHA", &sell, "2", "a", "b", "7", "carol", "o4", "x", "y"], 0),
        (&["EVALSHA", &unlock, "1", "lock", "other"], 0),
        (&["EVAL", UNLOCK, "1", "lock", "t"], 1),
        (&["EVALSHA", &unlock, "1", "lock", "t"], 0),
        (&["EVAL", SELL, "0", "7", "alice", "o5"], 2),
    ];
    for (call, outcome) in calls {
        assert_eq!(server.call(call), Value::Int(outcome), "{call:?}");
    }
    assert_eq!(replaced(&server), 9);
    // Lua was not involved, and the server has no such script.
    assert_eq!((server.info("cmdstat_evalsha"), server.info("cmdstat_eval")), (None, None));
    assert_eq!(server.info_number("seckill_tries_accepted"), 3);
    server.check(&format!("> SCRIPT EXISTS {sell}\n1) 0\n> GET seckill:stock:7\n97"));
    server.check("> SMEMBERS seckill:order:8\n(empty array)\n> XLEN stream.orders\n3");
    // The sha1 as the server computes it.
    assert_eq!(text(&server.call(&["SCRIPT", "LOAD", SELL])), sell);
}

#[test]
fn losing_calls_leave_no_trace() {
    let server = server();
    let sell = sha1(SELL);
    let call = format!("EVALSHA {sell} 0 7 alice o1");
    server.check(&format!("> {call}\n0"));
    assert_eq!(server.silent(&call), Value::Int(2));
    server.run("SET seckill:stock:7 0");
    assert_eq!(server.silent(&format!("EVALSHA {sell} 0 7 bob o2")), Value::Int(1));
    server.refused(&format!("EVALSHA {sell} 0 8 bob o2"), "NOVOUCHER");
}

#[test]
fn calls_that_lack_something_are_left_to_the_script() {
    let server = server();
    let (sell, unlock) = (sha1(SELL), sha1(UNLOCK));
    let lacking: [&[&str]; 5] = [
        &["EVALSHA", &sell, "0", "7", "alice"],
        &["EVALSHA", &sell, "0"],
        &["EVALSHA", &sell, "1", "7", "alice", "o1"],
        &["EVALSHA", &unlock, "0", "lock", "t"],
        &["EVALSHA", &unlock, "1", "lock"],
    ];
    for call in lacking {
        server.refused_by_server(&call.join(" "), "NOSCRIPT");
    }
    for script in [SELL, UNLOCK] {
        server.call(&["SCRIPT", "LOAD", script]);
    }
    for call in lacking {
        assert!(ran(&server.call(call)), "{call:?}");
    }
    // None of the server's own errors is lost.
    for call in [
        &["EVALSHA"][..],
        &["EVALSHA", &sell],
        &["EVAL", SELL],
        &["EVALSHA", &sell, "x", "7", "alice", "o1"],
        &["EVALSHA", &sell, "-1", "7", "alice", "o1"],
        &["EVALSHA", &sell, "4", "7", "alice", "o1"],
        &["EVALSHA", &sell, "9223372036854775808", "7", "alice", "o1"],
    ] {
        let error = text(&server.call(call));
        assert!(error.starts_with("ERR "), "{call:?}: {error}");
    }
    // A read-only call sells nothing.
    for call in [["EVALSHA_RO", &sell], ["EVAL_RO", SELL]] {
        assert!(ran(&server.call(&[&call[..], &["0", "7", "alice", "o1"]].concat())), "{call:?}");
    }
    // Other scripts run as before.
    server.check("> EVAL 'return ARGV[1]' 0 a b c\na\n> GET seckill:stock:7\n100");
    assert_eq!(replaced(&server), 0);
}

/// Nobody holds the server up by long texts, which it would hash before it looks at any right.
#[test]
fn long_texts_are_left_to_the_server() {
    let padded = |len: usize| format!("{SELL} --{}", " ".repeat(len - SELL.len() - 3));
    let [short, long] = [padded(1 << 16), padded((1 << 16) + 1)];
    let server = Server::start();
    let entry = |text: &str| format!("{} SECKILL.TRY ARGV[1] ARGV[2] ARGV[3]", sha1(text));
    server.call(&[
        "CONFIG",
        "SET",
        "seckill.scripts",
        &format!("{};{}", entry(&short), entry(&long)),
    ]);
    server.run("SET seckill:stock:7 100");
    assert_eq!(server.call(&["EVAL", &short, "0", "7", "alice", "o1"]), Value::Int(0));
    assert!(ran(&server.call(&["EVAL", &long, "0", "7", "bob", "o2"])));
    // By its sha1 it is as short as any.
    assert_eq!(server.call(&["EVALSHA", &sha1(&long), "0", "7", "bob", "o2"]), Value::Int(0));
    assert_eq!(replaced(&server), 2);
}

/// A blocking command blocks its client, which is impossible in a script.
#[test]
fn a_call_can_wait() {
    let server = Server::start();
    let sell = sha1(SELL);
    assert_eq!(
        set(&server, &format!("{sell} LOCK.ACQUIRE KEYS[1] ARGV[1] 60000 BLOCK 60000")),
        Value::Okay
    );
    server.run("SET lock other");
    let mut waiter = server.client();
    waiter.send(&["EVALSHA", &sell, "1", "lock", "mine"]);
    server.until("a waiter", || server.info_number("seckill_locks_waiting") == 1);
    server.check("> LOCK.RELEASE lock other\n1");
    assert_eq!(waiter.receive(), Value::Int(1));
}

#[test]
fn the_setting_counts_from_the_next_command_on() {
    let server = Server::start();
    let call = format!("EVALSHA {} 0 7 alice o1", sha1(SELL));
    server.run("SET seckill:stock:7 100");
    server.check(&format!("> {call}\n(error) NOSCRIPT ..."));
    assert_eq!(set(&server, &entries()), Value::Okay);
    server.check(&format!("> {call}\n0"));
    // A refused value changes nothing, nor does a good one beside a refused one.
    for bad in ["x LOCK.INFO a", &format!("{0} LOCK.INFO a;{0} LOCK.INFO a", sha1(SELL))] {
        assert_error(&set(&server, bad), "ERR", bad);
        let pair = ["CONFIG", "SET", "seckill.scripts", "", "seckill.id-epoch", "x"];
        assert_error(&server.call(&pair), "ERR", "a pair");
        server.check(&format!("> {call}\n2"));
    }
    let status = format!("{} LOCK.INFO ARGV[1]", sha1(SELL));
    assert_eq!(set(&server, &status), Value::Okay);
    server.check(&format!("> {call}\n(nil)"));
    assert_eq!(set(&server, ""), Value::Okay);
    server.check(&format!("> {call}\n(error) NOSCRIPT ..."));
    assert_eq!(set(&server, " ; "), Value::Okay);
    server.check(&format!("> {call}\n(error) NOSCRIPT ..."));
    // In a transaction: the replacement is decided when the call is queued.
    server.check(&format!("> MULTI\nOK\n> CONFIG SET seckill.scripts '{status}'\nQUEUED"));
    server.check(&format!("> {call}\nQUEUED"));
    let Value::Array(replies) = server.run("EXEC") else { panic!("no replies") };
    assert!(text(&replies[1]).starts_with("NOSCRIPT "), "queued before: {replies:?}");
    server.check(&format!("> {call}\n(nil)"));
}

/// The setting accepts exactly the arguments that the command itself can parse.
#[test]
fn entries_are_judged_as_the_commands_would() {
    const OPTIONS: [&str; 22] = [
        "", "UNITS 1", "UNITS", "UNITS 1 UNITS 1", "units 1 NOSTREAM", "NOSTREAM UNITS 1",
        "NOSTREAM", "FIELDS a b c", "FIELDS a b", "MISSING error", "MISSING 1",
        "NOSTREAM MISSING sold-out", "WAIT 1", "FENCE WAIT 1", "SESSION FENCE BLOCK",
        "FENCE FENCE", "BEGIN 1", "LIMIT 1 HOLD 1", "HOLD 1 HOLD 1", "LIMIT", "COUNT 1",
        "REASON 1",
    ];
    let server = Server::start();
    let docs = server.run("COMMAND LIST FILTERBY MODULE seckill");
    let commands: Vec<String> = redis::from_redis_value(docs).expect("commands");
    assert!(commands.len() > 20, "{commands:?}");
    let (mut taken, mut refused) = (0, 0);
    for command in &commands {
        for (required, options) in (0..8).flat_map(|many| OPTIONS.map(|options| (many, options))) {
            let call = format!("{command} {}{options}", "1 ".repeat(required));
            let is_taken = set(&server, &format!("{} {call}", sha1(SELL))) == Value::Okay;
            let reply = server.call(&call.split_whitespace().collect::<Vec<_>>());
            let error = matches!(reply, Value::ServerError(_)).then(|| text(&reply));
            let cant = ["ERR syntax error", "ERR wrong number of arguments"];
            let is_unread = |error: &String| {
                cant.iter().any(|words| error.starts_with(words))
                    || error.contains(" needs ") && !error.contains(" needs a voucher")
            };
            // If two arguments are wrong, the command names the first.
            let agrees = match &error {
                Some(error) => !is_taken || !is_unread(error),
                None => is_taken,
            };
            assert!(agrees, "{call}: {is_taken} {error:?}");
            *if is_taken { &mut taken } else { &mut refused } += 1;
        }
    }
    assert!(taken > 100 && refused > taken, "{taken} {refused}");
}
