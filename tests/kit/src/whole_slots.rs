//! Slots that move whole: with CLUSTER MIGRATION of Redis 8.4 and later, sent to the target, and
//! with CLUSTER MIGRATESLOTS of Valkey 9 and later, sent to the source.

use crate::harness::{Server, left_out, text, wait_for};
use crate::slots::{node_id, slot};
use redis::Value;

/// How a server moves slots whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mover {
    Redis,
    Valkey,
}

fn succeed(server: &Server, command: &str) -> Value {
    let reply = server.run(command);
    assert!(!matches!(reply, Value::ServerError(_)), "{command}: {reply:?}");
    reply
}

impl Mover {
    /// None, with a line that says so, if the server moves no slot whole.
    pub fn of(server: &Server) -> Option<Self> {
        let knows = |probe: &str| !matches!(server.run(probe), Value::ServerError(_));
        if knows("CLUSTER MIGRATION STATUS ALL") {
            return Some(Self::Redis);
        }
        if knows("CLUSTER GETSLOTMIGRATIONS") {
            return Some(Self::Valkey);
        }
        let server = std::env::var("REDIS_SERVER").unwrap_or_else(|_| "redis-server".to_owned());
        left_out(&format!("tests of slots that move whole: {server} moves none whole"));
        None
    }

    /// Asks for the slot of `key` to be moved.
    pub fn begin(self, source: &Server, target: &Server, key: &str) {
        let slot = slot(source, key);
        match self {
            Self::Redis => succeed(target, &format!("CLUSTER MIGRATION IMPORT {slot} {slot}")),
            Self::Valkey => {
                let to = node_id(target);
                let ask = format!("CLUSTER MIGRATESLOTS SLOTSRANGE {slot} {slot} NODE {to}");
                succeed(source, &ask)
            }
        };
    }

    /// Moves the slot of `key`, and waits until the target serves it.
    pub fn move_slot(self, source: &Server, target: &Server, key: &str) {
        self.begin(source, target, key);
        wait_until_served(target, key);
    }

    /// Prevents slots from being handed over, or allows it again. The data still arrives, and the
    /// sale continues at the source. Valkey waits; Redis fails, and starts again on its own.
    pub fn hold_up(self, source: &Server, target: &Server, is_held_up: bool) {
        match (self, is_held_up) {
            (Self::Redis, true) => {
                succeed(target, "DEBUG ASM-FAILPOINT import-main-channel wait-stream-eof")
            }
            (Self::Redis, false) => target.call(&["DEBUG", "ASM-FAILPOINT", "", ""]),
            (Self::Valkey, true) => succeed(source, "DEBUG SLOTMIGRATION PREVENT-PAUSE 1"),
            (Self::Valkey, false) => succeed(source, "DEBUG SLOTMIGRATION PREVENT-PAUSE 0"),
        };
    }

    /// Waits until the target has had all keys of a slot that is held up.
    pub fn wait_for_copy(self, target: &Server) {
        let has_come = || match self {
            // The move has failed at the requested point, after the last key.
            Self::Redis => {
                let (states, retries) =
                    (self.states(target), self.field_of_moves(target, "retries"));
                states.iter().zip(&retries).any(|(state, count)| !is_over(state) && count != "0")
            }
            Self::Valkey => self.states(target).iter().any(|state| state == "waiting-for-paused"),
        };
        target.until("the keys to come", has_come);
    }

    /// Cancels every move, and waits until both nodes have ended it.
    pub fn cancel(self, source: &Server, target: &Server) {
        match self {
            Self::Redis => succeed(target, "CLUSTER MIGRATION CANCEL ALL"),
            // Refused if a move has ended on its own.
            Self::Valkey => source.run("CLUSTER CANCELSLOTMIGRATIONS"),
        };
        for server in [source, target] {
            let over = wait_for("the end of a move", || {
                self.states(server).iter().all(|state| is_over(state)).then_some(())
            });
            over.unwrap_or_else(|late| panic!("{late}: {:?}", self.states(server)));
        }
    }

    /// The states of all moves that a node knows.
    pub fn states(self, server: &Server) -> Vec<String> {
        self.field_of_moves(server, "state")
    }

    fn field_of_moves(self, server: &Server, name: &str) -> Vec<String> {
        let reply = match self {
            Self::Redis => succeed(server, "CLUSTER MIGRATION STATUS ALL"),
            Self::Valkey => succeed(server, "CLUSTER GETSLOTMIGRATIONS"),
        };
        let Value::Array(moves) = reply else { panic!("{reply:?}") };
        let field = |one: &Value| {
            let Value::Array(fields) = one else { panic!("{one:?}") };
            let at = fields.iter().position(|field| text(field) == name).expect("the field");
            text(&fields[at + 1])
        };
        moves.iter().map(field).collect()
    }
}

fn is_over(state: &str) -> bool {
    // The first is also the state of a move that Redis has cancelled.
    ["failed", "canceled", "cancelled", "completed", "success"].contains(&state)
}

/// Waits until a node serves the slot of `key`.
pub fn wait_until_served(server: &Server, key: &str) {
    server.until("the slot", || matches!(server.call(&["EXISTS", key]), Value::Int(_)));
}
