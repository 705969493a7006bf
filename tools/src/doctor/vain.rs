//! A question whose answer does not matter: `if redis.call('EXISTS', key) then` goes on whatever
//! the answer is, since 0 counts as true in Lua.

use crate::explore::Run;
use crate::source::Source;
use crate::watch::looks;
use crate::world::Kind;

pub struct Vain {
    /// The question, and the key that it is about.
    pub command: &'static str,
    pub key: Vec<u8>,
    pub kind: Kind,
}

impl Vain {
    /// The question before a deletion: the text takes its answer for true, and the key was deleted
    /// although there was nothing of that kind.
    pub fn of(runs: &[Run], source: &Source) -> Option<Self> {
        let questions = [("EXISTS", Kind::Text), ("HEXISTS", Kind::Hash), ("SISMEMBER", Kind::Set)];
        let bare = questions
            .into_iter()
            .filter(|(command, _)| source.takes_for_true(&command.to_lowercase()));
        let of_command = |(command, kind): (&'static str, Kind)| {
            runs.iter().find_map(|run| {
                let calls = &run.seen.calls;
                let at = calls.iter().position(|call| call[0] == command.as_bytes())?;
                let look = looks(&calls[at]).into_iter().next()?;
                let deletes = calls[at..].iter().find(|call| {
                    let is_named = call.len() > 1 && look.key.starts_with(&call[1]);
                    is_named && (call[0] == b"DEL" || call[0] == b"UNLINK")
                });
                let key = deletes.filter(|_| !look.is_in(&run.seen.before))?[1].clone();
                // Only of a key of the same name is the kind known.
                let kind = if key == look.key { kind } else { Kind::Text };
                Some(Self { command, key, kind })
            })
        };
        bare.into_iter().find_map(of_command)
    }

    pub fn told(&self) -> String {
        format!(
            "Whatever {} answers, it goes on: in Lua 0 counts as true, compare the answer with 1.",
            self.command
        )
    }
}
