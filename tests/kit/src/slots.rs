//! A slot that moves key by key from one node of a cluster to another.

use crate::harness::{Server, database};
use crate::observe::{integer, words};
use redis::Value;

/// The number of a key's slot.
pub fn slot(server: &Server, key: impl AsRef<[u8]>) -> i64 {
    integer(&server.call(&[b"CLUSTER", b"KEYSLOT", key.as_ref()]))
}

pub fn node_id(server: &Server) -> String {
    server.say("CLUSTER MYID")
}

/// The keys of a slot that a node has.
pub fn keys_in(server: &Server, slot: i64) -> Vec<String> {
    words(server.run(&format!("CLUSTER GETKEYSINSLOT {slot} 100")))
}

pub struct Move<'a> {
    nodes: [&'a Server; 2],
    slot: i64,
}

impl<'a> Move<'a> {
    /// Both nodes are told that the slot of this key leaves the first one for the second.
    pub fn begin(source: &'a Server, target: &'a Server, key: &str) -> Self {
        let moving = Self { nodes: [source, target], slot: slot(source, key) };
        moving.tell(target, "IMPORTING", source);
        moving.tell(source, "MIGRATING", target);
        moving
    }

    /// What a node is to do with the slot, by `CLUSTER SETSLOT`.
    pub fn tell(&self, node: &Server, what: &str, other: &Server) {
        let command = format!("CLUSTER SETSLOT {} {what} {}", self.slot, node_id(other));
        assert_eq!(node.run(&command), Value::Okay, "{command}");
    }

    /// The keys that are still at the source.
    pub fn keys(&self) -> Vec<String> {
        keys_in(self.nodes[0], self.slot)
    }

    pub fn key(&self, key: &str) {
        self.key_of(database(), key);
    }

    /// A key of a database, which is selected at the source.
    pub fn key_of(&self, database: i64, key: &str) {
        let [source, target] = self.nodes;
        let reply =
            source.run(&format!("MIGRATE 127.0.0.1 {} {key} {database} 5000", target.port()));
        assert_eq!(reply, Value::Okay, "{key}");
    }

    /// The slot is handed over. Other nodes hear of it a little later.
    pub fn end(&self) {
        assert_eq!(self.keys(), Vec::<String>::new(), "keys are left at the source");
        let [source, target] = self.nodes;
        self.tell(target, "NODE", target);
        self.tell(source, "NODE", target);
    }
}
