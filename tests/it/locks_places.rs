//! A place in the queue of a lock: one for each token, of a user who still has the right to it.

use crate::harness::{Client, Server, text};
use crate::locks_queue::id_of;
use crate::observe::integer;
use crate::security::user;
use crate::transcript::argv;
use redis::Value;

const ASK: &str = "LOCK.ACQUIRE lock bob 1000000 BLOCK 60000";

/// Sends a request whose token waits already, and returns once the earlier client is answered.
fn take_over(server: &Server, earlier: &mut Client, request: &str) -> Client {
    let mut later = server.client();
    later.send(&argv(request));
    assert_eq!(earlier.receive(), Value::Int(0));
    later
}

#[test]
fn a_repeat_takes_over_the_place_of_its_token() {
    let server = Server::start();
    let fence = integer(&server.run("LOCK.ACQUIRE lock ann 1000000 FENCE"));
    let mut first = server.waiter(ASK);
    let mut cid = server.waiter("LOCK.ACQUIRE lock cid 1000000 BLOCK 60000 FENCE");
    let mut second = take_over(&server, &mut first, &format!("{ASK} FENCE"));
    let mut third = take_over(&server, &mut second, &format!("{ASK} FENCE"));
    assert_eq!((server.in_queue(), server.info_number("seckill_locks_refused")), (2, 2));
    // Its wait and its options are those of the latest request, its place that of the first.
    server.check("> LOCK.RELEASE lock ann\n1\n> GET lock\nbob");
    let own = integer(&third.receive());
    assert!(own > fence);
    assert_eq!(first.run(&format!("{ASK} FENCE")), Value::Int(own));
    server.check("> LOCK.RELEASE lock bob\n1");
    assert!(integer(&cid.receive()) > own);
    // The place is given up, too, if a repeat does not wait, and finds the lock held by its token.
    server.queue(&mut first, ASK);
    server.check("> SET lock bob\nOK\n> LOCK.ACQUIRE lock bob 1000000\n1");
    assert_eq!((first.receive(), server.in_queue()), (Value::Int(0), 0));
    server.check("> LOCK.RELEASE lock bob\n1\n> EXISTS lock\n0");
}

/// The lock is handed to a waiter and, before that is answered, something happens to it, to its
/// client, or by another client with its token.
#[test]
fn a_grant_belongs_to_the_latest_request_or_goes_to_the_next() {
    let kill = "CLIENT KILL ID <id>";
    for (steps, told, owner) in [
        ("LOCK.ACQUIRE lock bob 1000000", "0", "bob"),
        ("LOCK.RENEW lock bob 1000000", "1", "bob"),
        (&format!("LOCK.RENEW lock bob 1000000; {kill}"), "", "bob"),
        (&format!("LOCK.ACQUIRE lock bob 1000000; {kill}"), "", "bob"),
        (&format!("{kill}; LOCK.ACQUIRE lock bob 1000000"), "", "bob"),
        (&format!("{kill}; LOCK.RENEW lock bob 1000000"), "", "bob"),
        (&format!("{kill}; LOCK.RENEW lock eve 1000000"), "", "cid"),
        // The lock is taken away from the grant: its client waits again, and is the first.
        (&format!("LOCK.RELEASE lock bob; {kill}"), "", "cid"),
        ("LOCK.RELEASE lock bob", "1", "bob"),
        ("DEL lock; LOCK.ACQUIRE lock bob 1000000", "1", "bob"),
        (&format!("DEL lock; {kill}; LOCK.RELEASE lock bob"), "", "cid"),
        // Nobody hears of the grant.
        (kill, "", "cid"),
        ("CLIENT UNBLOCK <id> ERROR", "UNBLOCKED", "cid"),
        // A client that is unblocked early is answered that it has the lock.
        ("CLIENT UNBLOCK <id> TIMEOUT", "1", "bob"),
        ("SET lock zoe", "", "zoe"),
        ("DEL lock", "1", "bob"),
        ("FLUSHALL", "1", "bob"),
        // The granted lock moves with its database, and the lock in this database is cid's.
        ("SWAPDB 0 1", "1", "cid"),
    ] {
        let server = Server::start();
        server.run("LOCK.ACQUIRE lock ann 1000000");
        let mut bob = server.client();
        let id = id_of(&mut bob);
        server.queue(&mut bob, ASK);
        let cid = server.waiter("LOCK.ACQUIRE lock cid 1000000 BLOCK 60000");
        let steps = format!("LOCK.RELEASE lock ann; {}", steps.replace("<id>", &id));
        let replies = server.transaction(&steps.split("; ").collect::<Vec<_>>());
        let done = replies[..2].iter().map(text).all(|reply| ["1", "OK"].contains(&&*reply));
        assert!(done, "{steps}: {replies:?}");
        if !told.is_empty() {
            let reply = text(&bob.receive());
            assert!(reply.starts_with(told), "{steps}: {reply}");
        }
        server.wait_for_owner("lock", owner);
        let mut next = if owner == "zoe" { bob } else { cid };
        if owner != "cid" {
            assert_eq!(server.in_queue(), if owner == "zoe" { 2 } else { 1 }, "{steps}");
            server.run("DEL lock");
        }
        assert_eq!(next.receive(), Value::Int(1), "{steps}");
        server.wait_for_owner("lock", if owner == "zoe" { "bob" } else { "cid" });
        if steps.contains("SWAPDB") {
            server.check("> SELECT 1\nOK\n> GET lock\nbob");
        }
    }
}

/// The server checks rights when a command arrives; in the queue they may be lost.
#[test]
fn rights_are_checked_again_at_the_grant() {
    for revoke in [
        "ACL SETUSER bob resetkeys ~other",
        "ACL SETUSER bob -lock.acquire",
        "ACL SETUSER bob resetkeys %R~lock",
    ] {
        let server = Server::start();
        server.run("LOCK.ACQUIRE lock ann 1000000");
        let mut bob = user(&server, "+lock.acquire ~lock");
        server.queue(&mut bob, ASK);
        let mut cid = server.waiter("LOCK.ACQUIRE lock cid 1000000 BLOCK 60000");
        assert_eq!(server.run(revoke), Value::Okay);
        server.check("> LOCK.RELEASE lock ann\n1");
        let told = text(&bob.receive());
        assert_eq!(told, "NOPERM this user has lost the right to acquire this lock", "{revoke}");
        assert_eq!(cid.receive(), Value::Int(1), "{revoke}");
        assert_eq!((server.owner("lock").as_str(), server.in_queue()), ("cid", 0));
    }
    // The rights at that time count, also if they were lost in between.
    let server = Server::start();
    server.run("LOCK.ACQUIRE lock ann 1000000");
    let mut bob = user(&server, "+lock.acquire ~lock");
    server.queue(&mut bob, ASK);
    server.run("ACL SETUSER bob reset");
    server.run("ACL SETUSER bob +lock.acquire ~l*");
    server.check("> LOCK.RELEASE lock ann\n1");
    assert_eq!(bob.receive(), Value::Int(1));
}

#[test]
fn one_user_can_not_take_all_places() {
    let server = Server::start();
    server.check("> CONFIG SET seckill.lock-waiters-max '1 2 3'\nOK");
    for lock in ["a", "b", "c", "d"] {
        server.run(&format!("LOCK.ACQUIRE {lock} ann 1000000"));
    }
    let wait = |lock: &str| format!("LOCK.ACQUIRE {lock} bob 1000000 BLOCK 60000");
    let mut bobs = ["a", "b"].map(|lock| {
        let mut bob = user(&server, "+lock.acquire +client|id ~*");
        server.queue(&mut bob, &wait(lock));
        bob
    });
    let mut bob = user(&server, "+lock.acquire ~*");
    let of_user = "ERR 2 clients of this user already wait for locks, and no more may";
    assert_eq!(bob.say(&wait("c")), of_user);
    // A place that is taken over is not a further one.
    bob.send(&argv(&wait("b")));
    assert_eq!(bobs[1].receive(), Value::Int(0));
    let _other = server.waiter(&wait("c"));
    let in_all = "ERR 3 clients already wait for locks, and no more may";
    assert_eq!(server.say(&wait("d")), in_all);
    server.check("> LOCK.RELEASE a ann\n1");
    assert_eq!(bobs[0].receive(), Value::Int(1));
    server.queue(&mut bobs[0], &wait("d"));
}

#[test]
fn locks_with_a_session_are_bounded_too() {
    let server = Server::start();
    server.check("> CONFIG SET seckill.lock-waiters-max '1 2 3'\nOK");
    let mut bob = user(&server, "+lock.acquire +lock.release ~*");
    let tie = |lock: &str| format!("LOCK.ACQUIRE {lock} t 1000000 SESSION");
    for lock in ["a", "b", "b"] {
        assert_eq!(bob.run(&tie(lock)), Value::Int(1));
    }
    let of_user = "ERR 2 locks of this user already have a SESSION, and no more may";
    assert_eq!(bob.say(&tie("c")), of_user);
    server.check("> EXISTS c\n0");
    assert_eq!(bob.run("LOCK.ACQUIRE c t 1000000"), Value::Int(1));
    let mut ann = server.client();
    assert_eq!(ann.run(&tie("d")), Value::Int(1));
    let in_all = "ERR 3 locks already have a SESSION, and no more may";
    assert_eq!(ann.say(&tie("e")), in_all);
    // One that ends makes room; one that waits is told when its turn comes.
    server.run("SET e zoe");
    let mut client = server.client();
    server.queue(&mut client, "LOCK.ACQUIRE e t 1000000 BLOCK 60000 SESSION");
    server.check("> DEL e\n1");
    assert_eq!(text(&client.receive()), in_all);
    assert_eq!(bob.run("LOCK.RELEASE a t"), Value::Int(1));
    assert_eq!(ann.run(&tie("e")), Value::Int(1));
}
