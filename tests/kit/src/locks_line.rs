//! What tests of waiting for locks share: clients in line, and waiting until the line is as long as
//! expected.

use crate::harness::{Client, Server, wait_for};
use crate::transcript::argv;
use redis::Value;

impl Server {
    /// How many clients are in line, for all locks.
    pub fn in_line(&self) -> i64 {
        self.info_number("seckill_locks_waiting")
    }

    pub fn wait_for_line(&self, len: i64) {
        let there = wait_for("the line", || (self.in_line() == len).then_some(()));
        there.unwrap_or_else(|late| panic!("{late} of {len}, not {}", self.in_line()));
    }

    /// A new client whose request is the last in line.
    pub fn waiter(&self, request: &str) -> Client {
        let mut client = self.client();
        self.queue(&mut client, request);
        client
    }

    /// Sends a request and returns once it is in line.
    pub fn queue(&self, client: &mut Client, request: &str) {
        let before = self.in_line();
        client.send(&argv(request));
        self.wait_for_line(before + 1);
    }

    /// Sends a request for a lock that may become free at any time. Is it in line, or did it get
    /// the lock?
    pub fn queue_in_time(&self, client: &mut Client, request: &str) -> bool {
        let granted = || self.info_number("seckill_locks_acquired");
        let before = (self.in_line(), granted());
        client.send(&argv(request));
        let is_queued = wait_for("a place in line, or the lock", || {
            let is_in_line = self.in_line() > before.0;
            (is_in_line || granted() > before.1).then_some(is_in_line)
        });
        is_queued.unwrap_or_else(|late| panic!("{late}: {request}"))
    }

    /// The token of the lock's owner; empty when the lock is free.
    pub fn owner(&self, lock: &str) -> String {
        match self.call(&["GET", lock]) {
            Value::BulkString(token) => String::from_utf8(token).expect("a token of a test"),
            Value::Nil => String::new(),
            other => panic!("{other:?}"),
        }
    }

    pub fn wait_for_owner(&self, lock: &str, token: &str) {
        let there = wait_for("an owner", || (self.owner(lock) == token).then_some(()));
        there.unwrap_or_else(|late| panic!("{late}: {token}, not {}", self.owner(lock)));
    }
}

/// The CLIENT ID of a connection that is not in line yet.
pub fn id_of(client: &mut Client) -> String {
    client.say("CLIENT ID")
}
