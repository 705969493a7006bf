//! Files cut at every byte: the loaded state is that after some command, never after half of one.
//! EVERY_BYTE=1 tries every byte, with thousands of starts; otherwise some bytes are tried.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::harness::{Builder, Server};
use redis::Value;

/// Every command that writes, in sequence. Leases and holds outlast the test, except one hold that
/// ends after a second and that the timer expires.
const HISTORY: &str = "
    SECKILL.CREATE m 9 BEGIN 5 LIMIT 4 HOLD 90000000
    SECKILL.TRY m ann o1 UNITS 2
    SECKILL.TRY m ann *
    SECKILL.TRY m bob o3
    SECKILL.CONFIRM m ann o1
    SECKILL.CANCEL m ann o1
    SECKILL.ALTER m LIMIT 3 HOLD 80000000
    SECKILL.RESTOCK m 5
    SECKILL.RESTOCK m -1
    XGROUP CREATE stream.orders g 0
    XREADGROUP GROUP g c COUNT 9 STREAMS stream.orders >
    SECKILL.REJECT stream.orders g LAST REASON none
    SET seckill:stock:u 5 PXAT 33333333333333
    SECKILL.TRY u ann o1
    SECKILL.TRY u bob o2 UNITS 2
    SECKILL.CANCEL u ann o1
    SET stock 5
    SECKILL.TRYKEYS stock buyers orders u ann o1
    SECKILL.TRYKEYS stock others stock u ann o1 NOSTREAM
    SECKILL.MTRY u b1 o11 b2 o12 b1 o13
    SECKILL.MTRY m b1 o11 b2 o12 b1 o13
    SECKILL.CREATE k 9 LIMIT 4 HOLD 70000000
    SECKILL.TRYALL k 2 m 1 zoe k1
    SECKILL.TRYALL m 1 k 1 dan k2
    SECKILL.TRYALL m 9 k 1 dan k3
    SECKILL.CANCEL k zoe k1
    SECKILL.DEDUCT stock 2
    SECKILL.RETURN stock
    SECKILL.NEXTID ids COUNT 3
    RPUSH seckill:codes:p a b
    SECKILL.DRAW p ann
    SECKILL.UNDRAW p ann
    SECKILL.DRAW p bob
    LOCK.ACQUIRE lock t 80000000 FENCE
    LOCK.RENEW lock t 85000000
    LOCK.RELEASE lock t
    LOCK.ACQUIRE lock u 80000000
    SECKILL.CREATE e 1 HOLD 1000
    SECKILL.TRY e ann o1
    WAIT-FOR-EXPIRY
    SECKILL.CREATE w 2 LIMIT 2 HOLD 80000000
    SECKILL.TRY w ann o1 UNITS 2
    SECKILL.TRY w bob o2 UNITS 2 WAITLIST
    SECKILL.TRY w cid * WAITLIST
    SECKILL.TRY w dan o4 WAITLIST
    SECKILL.TRY w eve o5 WAITLIST
    SECKILL.CANCEL w bob o2
    SECKILL.CANCEL w ann o1
    SECKILL.ALTER w END 1
    SECKILL.CREATE d 3
    SECKILL.TRY d ann o1
    SECKILL.DROP d
";

/// The file that a server has appended to since it started.
fn appended(server: &Server) -> PathBuf {
    server.dir().join("appendonlydir/appendonly.aof.1.incr.aof")
}

/// Runs the history on a server with a file. After each command: the length of the file and the
/// digest of all keys.
fn run_history(server: &Server) -> Vec<(usize, String)> {
    let mut ends = vec![(0, server.digest())];
    let lines = HISTORY.lines().map(str::trim).filter(|line| !line.is_empty());
    for line in lines {
        match line {
            "WAIT-FOR-EXPIRY" => server.wait_for_state("e", "o1", "expired"),
            _ => {
                let last = "XREVRANGE stream.orders + - COUNT 1";
                let last = if line.contains("LAST") { server.run(last) } else { Value::Nil };
                let last: Vec<(String, Vec<String>)> = redis::from_redis_value(last).expect("one");
                let line = last.first().map_or(line.to_owned(), |(id, _)| line.replace("LAST", id));
                let reply = server.run(&line);
                assert!(!matches!(reply, Value::ServerError(_)), "{line}: {reply:?}");
                assert_ne!(reply, Value::Int(-1), "{line}");
            }
        }
        let length = fs::metadata(appended(server)).expect("the file").len();
        ends.push((usize::try_from(length).expect("a length"), server.digest()));
    }
    ends
}

/// How many bytes are between two cuts: each cut needs a start of a server.
fn step(short: usize) -> usize {
    if std::env::var_os("EVERY_BYTE").is_some() { 1 } else { short }
}

/// A server that loads a file of its own.
fn loader(builder: Builder) -> Server {
    let server = builder.config("appendonly yes").config("aof-load-truncated yes").start();
    server.run("SET key value");
    server
}

/// Starts the server again with these bytes as its file.
fn load(server: &mut Server, bytes: &[u8]) {
    server.kill9();
    fs::write(appended(server), bytes).expect("a cut file");
    server.start_again();
}

#[test]
fn an_append_only_file_cut_at_any_byte_is_a_beginning_of_the_history() {
    let writer = Server::with().aof().start();
    let ends = run_history(&writer);
    let whole = fs::read(appended(&writer)).expect("the file");
    assert_eq!(ends.last().map(|(length, _)| *length), Some(whole.len()));
    let mut plain = loader(Server::with().without_module());
    let mut again = loader(Server::with());
    let mut cuts: BTreeSet<usize> = (0..=whole.len()).step_by(step(150)).collect();
    cuts.extend(ends.iter().map(|(length, _)| *length));
    for (index, cut) in cuts.iter().copied().enumerate() {
        load(&mut plain, &whole[..cut]);
        let wanted = ends.iter().rev().find(|(length, _)| *length <= cut).expect("the start");
        assert_eq!(plain.digest(), wanted.1, "cut at {cut} of {}", whole.len());
        // With the module, overdue holds are released at once, and the sums are right.
        if index % 5 == 0 || cut == whole.len() {
            load(&mut again, &whole[..cut]);
            for voucher in ["m", "k", "e", "w", "d"] {
                if again.run(&format!("EXISTS seckill:voucher:{voucher}")) == Value::Int(1) {
                    assert_eq!(again.differences(voucher), Vec::<String>::new(), "cut at {cut}");
                }
            }
        }
    }
    println!("{} cuts of {} bytes, {} commands", cuts.len(), whole.len(), ends.len());
}

/// The lines of docs/operating.md that are run before each start, when there is no file yet and on
/// a file that ends within a transaction.
#[test]
fn the_lines_before_a_start_cut_what_is_half_and_never_fail() {
    let page = include_str!("../../docs/operating.md");
    let lines = page.split("```").find_map(|block| block.strip_prefix("sh\nfolder="));
    let (_, lines) = lines.expect("the lines").split_once('\n').expect("more lines");
    let run =
        |folder: &str| crate::harness::tool(&["sh", "-c", &format!("folder={folder}\n{lines}")]);
    let mut server = Server::with().aof().start();
    let folder = server.dir().join("appendonlydir");
    assert!(run(server.dir().join("nothing-yet").to_str().expect("text")), "before a first start");
    server.run("SET seckill:stock:7 5");
    let before = fs::metadata(appended(&server)).expect("the file").len();
    server.run("SECKILL.TRY 7 alice o1");
    server.kill9();
    let whole = fs::read(appended(&server)).expect("the file");
    let folder = folder.to_str().expect("text");
    assert!(run(folder), "a sound file");
    assert_eq!(fs::read(appended(&server)).expect("the file"), whole);
    fs::write(appended(&server), &whole[..whole.len() - 20]).expect("a cut file");
    assert!(run(folder), "a file that was cut");
    assert_eq!(fs::metadata(appended(&server)).expect("the file").len(), before);
    server.start_again();
    server.check("> GET seckill:stock:7\n5");
}
