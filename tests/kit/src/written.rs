//! Sessions of effects: below each command the plain commands that it writes to replicas and files.
//!
//! ```text
//! > SET seckill:stock:7 5
//! ...
//! > SECKILL.TRY 7 alice o1
//! DECR seckill:stock:7
//! SADD seckill:order:7 alice
//! XADD stream.orders ID userId alice voucherId 7 id o1
//! > SECKILL.TRY 7 alice o2
//! ```
//!
//! Several commands are in one transaction, in any order: no client sees the steps in between.
//! `...` alone stands for any commands, and at the end of a line for its rest. A second server
//! without the module runs the same commands: it has the same data then, and its listeners hear the
//! same events.

use crate::aof::{Argv, masked};
use crate::harness::{Server, text};
use crate::transcript::{argv, exchanges};
use redis::Value;

/// A server, and one without the module that runs what the first one writes.
pub struct Pair {
    server: Server,
    other: Server,
}

impl Pair {
    pub fn start() -> Self {
        let other = Server::observed().without_module().start();
        Self { server: Server::observed().start(), other }
    }

    pub fn check(&self, session: &str) {
        for (command, wanted) in exchanges(session) {
            if wanted == ["..."] {
                self.unseen(|_| self.answer(command));
                continue;
            }
            let listeners = [&self.server, &self.other].map(Server::record);
            let written = self.server.aof_of(|| drop(self.answer(command)));
            assert_written(command, &written, &wanted);
            written.iter().for_each(|argv| drop(self.other.call(argv)));
            let [ours, plain] = [&self.server, &self.other];
            let [heard, listened] = listeners;
            let heard = [heard.finish(ours), listened.finish(plain)].map(sorted);
            assert_eq!(heard[0], heard[1], "events of {command}");
            assert_eq!(ours.digest(), plain.digest(), "{command}");
        }
    }

    /// Runs commands on the server, whatever they write.
    pub fn unseen<T>(&self, act: impl FnOnce(&Server) -> T) -> T {
        let mut done = None;
        let written = self.server.aof_of(|| done = Some(act(&self.server)));
        written.iter().for_each(|argv| drop(self.other.call(argv)));
        done.expect("it was done")
    }

    /// `LAST` in a command is the id of the last order.
    fn answer(&self, command: &str) -> Value {
        let mut words = argv(command);
        for word in words.iter_mut().filter(|word| *word == b"LAST") {
            let last = self.server.run("XREVRANGE stream.orders + - COUNT 1");
            let last: Vec<(String, Vec<Vec<u8>>)> = redis::from_redis_value(last).expect("entries");
            *word = last.first().expect("an order").0.clone().into_bytes();
        }
        let reply = self.server.call(&words);
        assert!(!matches!(reply, Value::ServerError(_)), "{command}: {}", text(&reply));
        reply
    }
}

/// Events without the order; a key is invalidated once per turn, and the number of turns varies.
fn sorted(mut heard: Vec<String>) -> Vec<String> {
    heard.sort();
    heard.dedup_by(|one, other| one == other && one.starts_with("invalidated"));
    heard
}

/// Fails unless these are the wanted commands, as one transaction if there are several.
pub fn assert_written(what: &str, written: &[Argv], wanted: &[&str]) {
    let mut lines: Vec<String> = written.iter().map(masked).collect();
    let shown = lines.join("\n");
    if wanted.len() > 1 {
        let ends = [lines.first(), lines.last()].map(|line| line.map(String::as_str));
        assert_eq!(ends, [Some("MULTI"), Some("EXEC")], "{what} writes\n{shown}");
        lines.retain(|line| line != "MULTI" && line != "EXEC");
    }
    assert_eq!(lines.len(), wanted.len(), "{what} writes\n{shown}");
    for wanted in wanted {
        let is_it = |line: &String| match wanted.strip_suffix("...") {
            Some(start) => line.starts_with(start),
            None => line == wanted,
        };
        let found = lines.iter().position(is_it);
        let found = found.unwrap_or_else(|| panic!("{what} does not write {wanted} but\n{shown}"));
        lines.swap_remove(found);
    }
}
