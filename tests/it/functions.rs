//! The library of functions against the module: the same answers and keys, in random histories.
//!
//! `scripts/functions` runs the tests of the commands themselves against the library.

use crate::differential::{everything, histories};
use crate::harness::library::spelled;
use crate::harness::{Client, Server, text};
use crate::transcript::argv;
use redis::Value;

pub fn load(client: &mut Client) {
    let code = kit::pages::page("packaging/functions/seckill.lua");
    let loaded = client.call(&["FUNCTION", "LOAD", "REPLACE", &code]);
    assert_eq!(loaded, Value::BulkString(b"seckill".to_vec()));
}

fn with_library() -> (Server, Client) {
    let server = Server::with().without_module().start();
    let mut client = server.client();
    load(&mut client);
    (server, client)
}

/// One step, spelled for the module. Plain commands are the same for the module and the library.
fn random_step(random: &mut fastrand::Rng) -> String {
    let mut pick = |from: &[&str]| (*random.choice(from).expect("one")).to_owned();
    let voucher = pick(&["7", "8", "{a}", "b"]);
    let user = pick(&["1", "01", "2", "3", "u4", "\"\\xff\\x00\"", "\"\"", "5"]);
    let lock = pick(&["l1", "l2", "l3"]);
    let token = pick(&["t1", "t2", "0", "\"\""]);
    let units = pick(&["1", "2", "3", "9223372036854775807", "0", "-1", "x", "01"]);
    let stock = pick(&["0", "1", "3", "9", "-1", "-5", "007", "x", "9223372036854775807", "1e3"]);
    let lease = pick(&["60000", "86400000", "86400001", "0", "x"]);
    let wrong = pick(&["SADD", "LPUSH"]);
    let fence = pick(&["4102444800000", "-3", "x", ""]);
    let keys = pick(&["s b o", "s b s", "s o o", "b s o", "s b o2"]);
    let options = pick(&[
        "missing sold-out",
        "MISSING error fields u v i",
        "FIELDS \"a b\" \"\\x00\" c units 2 MISSING SOLD-OUT",
        "FIELDS u v u",
        "FIELDS u reason i",
        "FIELDS dlqu v i",
        "FIELDS u \"\" i",
        "FIELDS u v",
        "MISSING",
        "MISSING maybe",
        "MISSING error MISSING error",
        "FIELDS u v i FIELDS u v i",
        "UNITS",
    ]);
    let last = pick(&["1615", "1614", "1612"]);
    let owner = pick(&["", " ", " t", " u v"]);
    let order = random.u8(..);
    match random.u8(0..100) {
        0..30 => format!("SECKILL.TRY {voucher} {user} {order}"),
        30..36 => format!("SECKILL.TRY {voucher} {user} {order} UNITS {units}"),
        36..40 => format!("SECKILL.TRYKEYS {keys} {voucher} {user} {order} units 2"),
        40..42 => format!("SECKILL.TRYKEYS {keys} {voucher} {user} {order} NOSTREAM"),
        42 => format!("SECKILL.TRYKEYS {keys} {voucher} {user} {order} {options}"),
        43..47 => format!("SECKILL.MTRY {voucher} {user} {order} 9 {order} {user} x 2 y 3 z"),
        47..55 => format!("SECKILL.CANCEL {voucher} {user} {order}"),
        55..59 => format!("SET seckill:stock:{voucher} {stock} PXAT 33333333333333"),
        59..62 => format!("SET s {stock}"),
        62 => format!("DEL seckill:stock:{voucher}"),
        63 => "SADD o2 x".to_owned(),
        64 => format!("DEL {lock} {lock}:fence"),
        65 => format!("{wrong} {lock} x"),
        66 => format!("SET {lock}:fence \"{fence}{owner}\""),
        67 => format!("SET seckill:order:{voucher} no-set"),
        68 => format!("DEL seckill:order:{voucher}"),
        69 => "DEL stream.orders stream.orders.released".to_owned(),
        70 => format!("XADD stream.orders 18446744073709551615-1844674407370955{last} a b"),
        71 => "SET stream.orders.released no-stream".to_owned(),
        72..80 => format!("LOCK.ACQUIRE {lock} {token} {lease}"),
        80..86 => format!("LOCK.ACQUIRE {lock} {token} 60000 FENCE"),
        86 => format!("LOCK.ACQUIRE {lock} {token} {lease} wait 0 fence"),
        87..92 => format!("LOCK.RENEW {lock} {token} {lease}"),
        92..98 => format!("LOCK.RELEASE {lock} {token}"),
        _ => format!("LOCK.INFO {lock}"),
    }
}

/// Numbers that are times differ by the time between the two calls.
fn without_times(shown: &str) -> String {
    let is_time = |word: &str| word.parse().is_ok_and(|n: u64| n > 30_000);
    let known = ["33333333333333", "4102444800000", "9223372036854775807"];
    let words = shown.split_inclusive(|c: char| !c.is_ascii_digit());
    let hide = |word: &str| {
        let number = word.trim_end_matches(|c: char| !c.is_ascii_digit());
        match is_time(number) && !known.contains(&number) {
            true => word.replacen(number, "TIME", 1),
            false => word.to_owned(),
        }
    };
    words.map(hide).collect()
}

/// The functions have other options than the commands.
fn words(value: &Value) -> String {
    let shown = format!("{value:?}");
    let same = shown.split_once(", the options are ").map_or(&*shown, |(same, _)| same);
    without_times(same)
}

#[test]
fn histories_are_those_of_the_module() {
    let with_module = Server::start();
    let mut module = with_module.client();
    let (_server, mut functions) = with_library();
    const WANTED: [&str; 11] = [
        "SECKILL.TRY int(0)", "SECKILL.TRY int(1)", "SECKILL.TRY int(2)", "SECKILL.CANCEL int(0)",
        "SECKILL.CANCEL int(1)", "LOCK.ACQUIRE int(0)", "LOCK.ACQUIRE int(1)",
        "LOCK.RELEASE int(0)", "LOCK.RELEASE int(1)", "LOCK.RENEW int(0)", "LOCK.RENEW int(1)",
    ];
    histories(60, (10, &WANTED), |seed, met| {
        let mut random = fastrand::Rng::with_seed(seed);
        module.run("FLUSHALL");
        functions.run("FLUSHALL");
        for number in 0..200 {
            let step = random_step(&mut random);
            let ours = module.run(&step);
            let theirs = functions.call(&spelled(&argv(&step)));
            assert_eq!(words(&ours), words(&theirs), "SEED={seed} step {number}: {step}");
            let name = step.split(' ').next().unwrap_or_default();
            *met.entry(format!("{name} {}", words(&ours))).or_default() += 1;
        }
        let [ours, theirs] =
            [&mut module, &mut functions].map(|client| everything(client, without_times));
        assert_eq!(ours, theirs, "SEED={seed}");
    });
}

/// A Lua number is exact up to 2^53. Fencing tokens are times, which reach it in the year 287396,
/// so only a number that another client has written is larger.
#[test]
fn fencing_tokens_that_would_be_inexact_are_refused() {
    let (_server, mut client) = with_library();
    client.check(
        "
        > SET l:fence 9007199254740990 => OK
        > FCALL lock_acquire 2 l l:fence ann 60000 FENCE => 9007199254740991
        > FCALL lock_acquire 2 l l:fence ann 60000 FENCE => 9007199254740991
        > FCALL lock_release 1 l ann => 1
        > FCALL lock_acquire 2 l l:fence ann 60000 FENCE => 9007199254740992
        > FCALL lock_acquire 2 l l:fence ann 60000 FENCE
        (error) ERR the fencing tokens of this lock are used up
        > SET l:fence 9007199254740993 => OK
        > FCALL lock_info 1 l
        1) \"token\"
        2) \"ann\"
        3) \"ttl\"
        4) ...
        5) \"fence\"
        6) (nil)
        7) \"waiters\"
        8) 0
        ",
    );
    let info = format!("{:?}", client.run("FCALL lock_info 2 l l:fence"));
    assert!(info.contains("9007199254740993"), "{info}");
}

#[test]
fn keys_and_arguments_are_counted() {
    let (_server, mut client) = with_library();
    client.check(
        "
        > FCALL seckill_try 1 s 7 alice o1
        (error) ERR seckill_try takes the keys stock, buyers and, if there is one, orders
        > FCALL seckill_try 3 s b o 7 alice
        (error) ERR wrong number of arguments for 'seckill_try' function
        > FCALL seckill_try 3 s b o 7 alice o1 UNITS 1 UNITS 1
        (error) ERR syntax error, the options are UNITS, LIMIT, FIELDS, MISSING
        > FCALL seckill_try 3 s b o 7 alice o1 NOSTREAM
        (error) ERR syntax error, the options are UNITS, LIMIT, FIELDS, MISSING
        > FCALL seckill_cancel 4 s b o x 7 alice o1
        (error) ERR seckill_cancel takes the keys stock, buyers and, if there is one, released
        > FCALL seckill_cancel 2 s b 7 alice o1 more
        (error) ERR wrong number of arguments for 'seckill_cancel' function
        > FCALL lock_acquire 0 ann 1000
        (error) ERR lock_acquire takes the keys lock and, if there is one, fence
        > FCALL lock_acquire 1 l ann
        (error) ERR wrong number of arguments for 'lock_acquire' function
        > FCALL lock_acquire 1 l ann 1000 FENCE
        (error) ERR FENCE needs a second key, the fence key
        > FCALL lock_acquire 1 l ann 1000 SESSION
        (error) ERR SESSION needs a client connection, and a script has none
        > FCALL lock_acquire 1 l ann 1000 SESSION SESSION
        (error) ERR syntax error, the options are BLOCK, FENCE, SESSION
        > FCALL lock_release 2 l f ann => (error) ERR lock_release takes one key, the lock
        > FCALL lock_release 1 l
        (error) ERR wrong number of arguments for 'lock_release' function
        > FCALL lock_renew 2 l l ann 1000 => (error) ERR lock and fence must be different keys
        > FCALL lock_info 1 l more => (error) ERR wrong number of arguments for 'lock_info' function
        > DBSIZE => 0
        ",
    );
}

#[test]
fn who_may_not_write_everything_writes_nothing() {
    let (server, mut client) = with_library();
    client.check(
        "
        > SET seckill:stock:7 3 => OK
        > SADD seckill:order:7 bob => 1
        > ACL SETUSER shop on nopass ~* +@read +time +fcall +sadd +xadd +srem => OK
        > ACL SETUSER keys on nopass +@all %R~* ~seckill:stock:7 ~seckill:order:7 => OK
        ",
    );
    for user in ["shop", "keys"] {
        let mut other = server.client();
        other.run(&format!("AUTH {user} x"));
        for call in [
            "FCALL seckill_try 3 seckill:stock:7 seckill:order:7 stream.orders 7 alice o1",
            "FCALL seckill_cancel 3 seckill:stock:7 seckill:order:7 gone 7 bob o1",
            "FCALL lock_acquire 2 lock lock:fence ann 1000 FENCE",
        ] {
            let reply = other.say(call);
            assert!(reply.starts_with("NOPERM "), "{user}: {call}: {reply}");
        }
    }
    client.check("> GET seckill:stock:7 => 3\n> SMEMBERS seckill:order:7 => 1) bob\n> DBSIZE => 2");
}

#[test]
fn a_replica_reads_who_holds_a_lock_and_refuses_the_rest() {
    let primary = Server::with().without_module().port().start();
    load(&mut primary.client());
    let replica = Server::with().without_module().replica_of(&primary).start();
    primary.check("> FCALL lock_acquire 1 lock ann 60000\n1");
    primary.wait_for_replica(&replica);
    let info = replica.run("FCALL_RO lock_info 2 lock lock:fence");
    assert!(words(&info).contains("ann"), "{info:?}");
    let refused = replica.say("FCALL lock_release 1 lock ann");
    assert!(refused.starts_with("READONLY "), "{refused}");
}

/// The same bounds as in the module.
#[test]
fn what_is_too_long_and_fence_keys_are_refused() {
    let (server, _client) = with_library();
    let long = "x".repeat(513);
    server.run("SET s 5");
    for (call, name) in [
        ("FCALL seckill_try 3 s b o @ alice o1", "voucher"),
        ("FCALL seckill_try 3 s b o 7 @ o1", "user"),
        ("FCALL seckill_try 3 s b o 7 alice @", "orderid"),
        ("FCALL seckill_mtry 3 s b o @ alice o1", "voucher"),
        ("FCALL seckill_cancel 3 s b r 7 alice @", "orderid"),
        ("FCALL lock_acquire 1 lock @ 1000", "token"),
        ("FCALL lock_renew 1 lock @ 1000", "token"),
        ("FCALL lock_release 1 lock @", "token"),
    ] {
        let error = server.say(&call.replace('@', &long));
        assert_eq!(error, format!("ERR {name} must be at most 512 bytes long"), "{call}");
    }
    for stock in [5, 0] {
        server.check(&format!("> SET s {stock}\nOK\n> DEL b o\n..."));
        let batch = format!("FCALL seckill_mtry 3 s b o 7 a o1 {long} o2 b {long} c o3");
        let Value::Array(answers) = server.run(&batch) else { panic!("no answers") };
        let [sold, user, id, last] = &answers[..] else { panic!("{answers:?}") };
        assert_eq!(text(user), "ERR user must be at most 512 bytes long");
        assert_eq!(text(id), "ERR orderid must be at most 512 bytes long");
        let wanted = Value::Int(i64::from(stock == 0));
        assert_eq!([sold, last], [&wanted, &wanted]);
    }
    for call in [
        "FCALL lock_acquire 1 lock:fence 9 1000",
        "FCALL lock_renew 1 lock:fence 9 1000",
        "FCALL lock_release 1 lock:fence 9",
    ] {
        let error = server.say(call);
        assert!(error.starts_with("ERR key must not end in :fence"), "{call}: {error}");
    }
}
