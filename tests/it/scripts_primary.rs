//! Scripts that a primary sends to its replica, as servers before Redis 7.0 can. The primary here
//! is this test: it gives the replica an empty data set, and then the commands.

use crate::harness::{Server, text, wait_for};
use crate::scripts::{replaced, sha1};
use redis::{Parser, Value};
use std::io::{BufReader, Write};
use std::net::TcpListener;
use std::thread;

/// Nothing but its header, its end and a checksum that says that there is none.
const EMPTY_RDB: &[u8] = b"REDIS0009\xff\0\0\0\0\0\0\0\0";

const SCRIPT: &str = "redis.call('SET', 'ran', ARGV[2]) return 'ran'";

/// Accepts one replica, and sends it these commands. The link lasts until the replica closes it.
fn primary(listener: &TcpListener, commands: &[&[&str]]) {
    let (mut link, _) = listener.accept().expect("a replica");
    let mut from = BufReader::new(link.try_clone().expect("a second handle"));
    let mut parser = Parser::new();
    while let Ok(Value::Array(words)) = parser.parse_value(&mut from) {
        match text(&words[0]).to_ascii_uppercase().as_str() {
            "PING" => link.write_all(b"+PONG\r\n").expect("the replica"),
            "PSYNC" => {
                let head = format!("+FULLRESYNC {} 0\r\n${}\r\n", "0".repeat(40), EMPTY_RDB.len());
                let packed = commands
                    .iter()
                    .map(|words| redis::cmd(words[0]).arg(&words[1..]).get_packed_command());
                let all: Vec<Vec<u8>> = packed.collect();
                link.write_all(&[head.as_bytes(), EMPTY_RDB, &all.concat()].concat()).expect("it");
            }
            "REPLCONF" if text(&words[1]).eq_ignore_ascii_case("ack") => {}
            _ => link.write_all(b"+OK\r\n").expect("the replica"),
        }
    }
}

#[test]
fn what_a_primary_sends_runs_as_it_is() {
    let setting = format!("{} SECKILL.TRY ARGV[1] ARGV[2] ARGV[3]", sha1(SCRIPT));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let commands: [&[&str]; 3] = [
        &["SELECT", "0"],
        &["SET", "seckill:stock:7", "5"],
        &["EVAL", SCRIPT, "0", "7", "alice", "o1"],
    ];
    let link = thread::spawn(move || primary(&listener, &commands));
    let server = Server::with().port().config(format!("seckill.scripts '{setting}'")).start();
    server.run(&format!("REPLICAOF 127.0.0.1 {port}"));
    let arrived = wait_for("the script", || {
        let (ran, tries) = (server.run("GET ran"), server.info_number("seckill_tries_accepted"));
        (ran != Value::Nil || tries > 0).then_some(ran)
    });
    assert_eq!(arrived.map(|ran| text(&ran)), Ok("alice".to_owned()), "{}", server.log());
    assert_eq!(
        (server.run("GET seckill:stock:7"), replaced(&server)),
        (Value::BulkString(b"5".into()), 0)
    );
    // Once it is a primary, its own clients' scripts are commands again.
    server.check("> REPLICAOF NO ONE\nOK");
    link.join().expect("the primary");
    assert_eq!(server.call(&["EVAL", SCRIPT, "0", "7", "bob", "o2"]), Value::Int(0));
    assert_eq!(replaced(&server), 1);
}
