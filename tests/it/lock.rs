//! LOCK.RELEASE: deletes a lock if the token is the one with which it was acquired.

use crate::harness::Server;
use redis::Value;

#[test]
fn tokens_are_compared_byte_by_byte() {
    let server = Server::observed().start();
    let long = vec![b't'; 511];
    let longer = vec![b't'; 512];
    let tokens: [&[u8]; 14] = [
        b"",
        b"\0",
        b"a",
        b"A",
        b"a\0",
        b"a\0b",
        b"\xff",
        "\u{100}".as_bytes(),
        b"a\r\n",
        b"1",
        b"01",
        b" 1",
        &long,
        &longer,
    ];
    for held in tokens {
        assert_eq!(server.call(&[b"SET".as_slice(), b"lock", held]), Value::Okay);
        // Writing a megabyte to the log for each pair would be too slow.
        for given in tokens.iter().filter(|given| **given != held) {
            let reply = server.call(&[b"LOCK.RELEASE".as_slice(), b"lock", given]);
            assert_eq!(reply, Value::Int(0), "{} by {}", held.len(), given.len());
        }
        assert_eq!(server.call(&[b"GET", "lock".as_bytes()]), Value::BulkString(held.to_vec()));
        assert_eq!(server.call(&[b"LOCK.RELEASE".as_slice(), b"lock", held]), Value::Int(1));
        assert_eq!(server.run("EXISTS lock"), Value::Int(0));
    }
}

#[test]
fn a_key_of_another_type_is_refused() {
    let server = Server::observed().start();
    for make in ["RPUSH lock t", "SADD lock t", "HSET lock t t", "ZADD lock 1 t", "XADD lock * t t"]
    {
        server.run("DEL lock");
        server.run(make);
        server.refused("LOCK.RELEASE lock t", "WRONGTYPE");
    }
}

#[test]
fn an_expired_lock_is_not_there() {
    let server = Server::start();
    server.check("> DEBUG SET-ACTIVE-EXPIRE 0\nOK\n> SET lock t PX 1\nOK");
    server.until("the lease to end", || server.run("PTTL lock") == Value::Int(-2));
    server.check("> LOCK.RELEASE lock t\n0");
}
