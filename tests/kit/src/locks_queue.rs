//! What tests of waiting for locks share: clients in the queue, and waiting until the line is as
//! long as expected.

use crate::harness::{Client, Server, wait_for};
use crate::transcript::argv;
use redis::Value;

impl Server {
    /// How many clients are in the queue, for all locks.
    pub fn in_queue(&self) -> i64 {
        self.info_number("seckill_locks_waiting")
    }

    pub fn wait_for_queue(&self, len: i64) {
        let there = wait_for("the queue", || (self.in_queue() == len).then_some(()));
        there.unwrap_or_else(|late| panic!("{late} of {len}, not {}", self.in_queue()));
    }

    /// A new client whose request is the last in the queue.
    pub fn waiter(&self, request: &str) -> Client {
        let mut client = self.client();
        self.queue(&mut client, request);
        client
    }

    /// Sends a request and returns once it is in the queue.
    pub fn queue(&self, client: &mut Client, request: &str) {
        let before = self.in_queue();
        client.send(&argv(request));
        self.wait_for_queue(before + 1);
    }

    /// Sends a request for a lock that may become free at any time. Is it in the queue, or did it
    /// get the lock?
    pub fn queue_in_time(&self, client: &mut Client, request: &str) -> bool {
        let granted = || self.info_number("seckill_locks_acquired");
        let before = (self.in_queue(), granted());
        client.send(&argv(request));
        let is_queued = wait_for("a place in the queue, or the lock", || {
            let is_in_queue = self.in_queue() > before.0;
            (is_in_queue || granted() > before.1).then_some(is_in_queue)
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

/// The CLIENT ID of a connection that is not in the queue yet.
pub fn id_of(client: &mut Client) -> String {
    client.say("CLIENT ID")
}
