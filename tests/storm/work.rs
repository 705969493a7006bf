//! How much a command makes the server do, as the server itself counts it: keys looked up, elements
//! changed, commands called. Unlike a time, that is the same on a busy machine.
//!
//! The command runs in a transaction between two INFO, so that nothing else is counted.

use crate::grammar::Argv;
use crate::harness::{Client, text};
use redis::Value;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    lookups: u64,
    changes: u64,
    calls: u64,
}

/// What a command may do at most. On a quiet machine a release, of which 100 are the most, takes 8
/// microseconds; it is 4 lookups, 6 changes and a call.
const MOST: Work = Work { lookups: 1000, changes: 1000, calls: 300 };

/// A full batch: 1,024 pairs with 262,144 bytes, and 100 releases. Up to 5 ms.
const BATCH: Work = Work { changes: 3000, ..MOST };

/// A step of an audit ends after 200 elements; but a hash that the server keeps as one piece, of up
/// to 512, comes at once. 4 to 7 microseconds an element.
const STEP: Work = Work { lookups: 4000, changes: 0, calls: 800 };

/// An audit of 1,500 orders at once. Up to 10 ms, and no command may take longer.
const AUDIT: Work = Work { lookups: 9000, changes: 0, calls: 1800 };

impl Work {
    /// Sums since the start of the server.
    fn of_info(info: &Value) -> Self {
        let mut work = Self::default();
        for line in text(info).lines() {
            let (name, value) = line.split_once(':').unwrap_or_default();
            let number = || value.parse::<u64>().expect("a number");
            match name {
                "keyspace_hits" | "keyspace_misses" => work.lookups += number(),
                "rdb_changes_since_last_save" => work.changes = number(),
                _ if name.starts_with("cmdstat_") => {
                    let calls = value.strip_prefix("calls=").and_then(|rest| rest.split_once(','));
                    work.calls += calls.expect("calls").0.parse::<u64>().expect("a number");
                }
                _ => {}
            }
        }
        work
    }

    fn most(argv: &Argv) -> Self {
        let is = |index: usize, word: &[u8]| {
            argv.get(index).is_some_and(|own| own.eq_ignore_ascii_case(word))
        };
        match () {
            () if is(0, b"seckill.mtry") => BATCH,
            () if is(0, b"seckill.audit") && is(2, b"cursor") => STEP,
            () if is(0, b"seckill.audit") => AUDIT,
            () => MOST,
        }
    }

    pub fn is_too_much(self, argv: &Argv) -> bool {
        let most = Self::most(argv);
        self.lookups > most.lookups || self.changes > most.changes || self.calls > most.calls
    }
}

/// Runs a command as this client, who needs `+multi +exec +info` for it. Gives its reply, and its
/// work unless the server refuses it before it runs.
pub fn counted(client: &mut Client, argv: &Argv) -> (Value, Option<Work>) {
    let info = ["INFO", "stats", "persistence", "commandstats"];
    client.send(&["MULTI"]);
    client.send(&info);
    client.send(argv);
    client.send(&info);
    client.send(&["EXEC"]);
    let [_, _, queued, _, mut done] = std::array::from_fn(|_| client.receive());
    let Value::Array(replies) = &mut done else { return (queued, None) };
    let [before, after] = [0, 2].map(|index: usize| Work::of_info(&replies[index]));
    let work = Work {
        lookups: after.lookups - before.lookups,
        changes: after.changes - before.changes,
        // But for itself and the first INFO.
        calls: after.calls - before.calls - 2,
    };
    (replies.swap_remove(1), Some(work))
}

/// The most work of each command.
#[derive(Default)]
pub struct Works(BTreeMap<String, Work>);

impl Works {
    /// Notes the work of a command, which must not be too much.
    pub fn note(&mut self, argv: &Argv, work: Work) {
        let words: Vec<_> = argv.iter().take(4).map(|word| shown(word)).collect();
        assert!(!work.is_too_much(argv), "{} ({} words): {work:?}", words.join(" "), argv.len());
        let most = self.0.entry(shown(&argv[0]).to_lowercase()).or_default();
        most.lookups = most.lookups.max(work.lookups);
        most.changes = most.changes.max(work.changes);
        most.calls = most.calls.max(work.calls);
    }

    /// The most changes that a command has made.
    pub fn changes(&self, name: &str) -> u64 {
        self.0.get(name).map_or(0, |work| work.changes)
    }
}

impl std::fmt::Display for Works {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|(name, work)| writeln!(to, "{name}: {work:?}"))
    }
}

fn shown(word: &[u8]) -> String {
    word.iter().take(40).copied().collect::<Vec<_>>().escape_ascii().to_string()
}
