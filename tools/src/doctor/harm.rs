//! What a script breaks, shown by a session: commands from an empty server to the harm, which are
//! played again on a fresh server. The harm is judged on keys, by code that knows nothing of the
//! script. `sales` are the harms to a stock, as `model` sees them, `limits` those to a limit, and
//! `locks` those to a lock.

mod limits;
mod locks;
mod model;
mod sales;

use std::collections::BTreeSet;

use anyhow::Result;
use itertools::Itertools;

use crate::bench::Entry;
use crate::call::{Role, Slot, Values};
use crate::examine::Examination;
use crate::keyspace::{Cell, Keyspace, Kind};
use crate::learn::{Marks, Run, is_fault, marks};
use crate::reply::Reply;
use crate::server::Server;
use crate::template::Template;
use crate::wire::Words;

/// Commands that end in a harm, and what it is.
#[derive(Clone, Debug)]
pub struct Session {
    pub harm: String,
    /// The script is called by EVAL, with its text.
    pub commands: Vec<Words>,
    pub replies: Vec<Reply>,
}

/// What is in the keys, and the calls that follow.
#[derive(Default)]
struct Play {
    setup: Vec<Words>,
    turns: Vec<Run>,
}

impl Examination<'_, '_, '_> {
    /// A call that writes and then fails, though nothing but a stock was there before: by a fault
    /// of the script, or by the type of a key that it has written itself.
    pub fn harm_of_failure(&mut self, run: &Run) -> Result<bool> {
        let is_own = is_fault(&run.seen.reply) || run.seen.reply.text().starts_with("WRONGTYPE");
        let is_expiry = run.seen.reply.text().contains("invalid expire time");
        // A planted key of another type than the script wants is no fault of the script.
        let last = run.seen.calls.last();
        let is_planted = run.plants.iter().any(|(cell, value)| {
            let same = run.seen.after.cells.get(cell) == Some(value);
            same && last.is_some_and(|call| call.gets(&cell.key))
        });
        if !is_own && !is_expiry || is_planted || run.plants.len() > 1 {
            return Ok(false);
        }
        let play = self.play(&run.setup(), vec![run.values.clone()])?;
        let harm = play.turns[0].halves();
        harm.map_or(Ok(false), |harm| self.shown_again(play, 0, harm, &[]))
    }

    /// A fault of the text: every call fails.
    pub fn harm_of_fault(&mut self) -> Result<bool> {
        let play = self.play(&[], vec![marks(&self.call, Marks::Rising)])?;
        let reply = &play.turns[0].seen.reply;
        let harm = format!("every call fails, whatever is in the keys: {reply}");
        Ok(is_fault(reply) && self.shown_again(play, 0, harm, &[])?)
    }

    /// Roles that are ids: their values were in a key, a member or a value that was written.
    fn ids(&self, run: &Run, but: &[Slot]) -> BTreeSet<Role> {
        let written = run.seen.calls.iter().filter(|call| call.writes());
        let words = written.flat_map(|call| &call.words);
        let found = words.map(|word| Template::of(word, &run.slots));
        let slots: BTreeSet<Slot> = found.flat_map(|word| word.places().collect_vec()).collect();
        let slots = slots.into_iter().filter(|slot| !but.contains(slot));
        let roles = slots.filter_map(|slot| self.call.word(slot)?.only());
        roles.filter(|role| *role != Role::Voucher).collect()
    }

    fn play(&mut self, setup: &[Words], calls: Vec<Values>) -> Result<Play> {
        self.bench.plain.clear()?;
        self.bench.plain.send(setup)?;
        let mut turns: Vec<Run> = Vec::new();
        let mut before = self.bench.plain.keys()?;
        for values in calls {
            let turn = self.called(Vec::new(), values, before)?;
            before = turn.seen.after.clone();
            turns.push(turn);
        }
        Ok(Play { setup: setup.to_vec(), turns })
    }

    /// The call, as a person can send it.
    fn sent(&self, turn: &Run) -> Words {
        let mut words = self.entry.words(&self.call, &turn.values);
        if let Entry::Sha(_) = &self.entry {
            words[0] = b"EVAL".to_vec();
            words[1] = self.text.to_vec();
        }
        words
    }

    /// Plays a session again up to a turn, on a server of its own, and says it unless it ends
    /// otherwise there. What is in `shown` at the end is read last.
    fn shown_again(
        &mut self,
        play: Play,
        last: usize,
        harm: String,
        shown: &[&Cell],
    ) -> Result<bool> {
        let turns = play.turns.get(..=last).unwrap_or_default();
        let calls = turns.iter().map(|turn| self.sent(turn));
        let mut commands: Vec<Words> = play.setup.iter().cloned().chain(calls).collect();
        commands.extend(shown.iter().map(|cell| look(cell)));
        let server = Server::start(self.bench.programs, false, false)?;
        let mut client = server.client()?;
        if commands.iter().any(|words| words[0] == b"FCALL") {
            client.call(&[&b"FUNCTION"[..], b"LOAD", b"REPLACE", self.text])?;
        }
        let replies =
            commands.iter().map(|words| client.eval(words)).collect::<Result<Vec<_>>>()?;
        let after = Keyspace::read(&mut client)?;
        let ours = turns.iter().zip(replies.iter().skip(play.setup.len()));
        let same = ours.into_iter().all(|(turn, reply)| turn.seen.reply == *reply);
        let end = turns.last().is_some_and(|turn| turn.seen.after.changes(&after).is_empty());
        if same && end {
            self.said.sessions.push(Session { harm, commands, replies });
        }
        Ok(same && end)
    }
}

/// An id with a number added, if it is one.
fn plus(value: &[u8], step: u64) -> Vec<u8> {
    let number = String::from_utf8_lossy(value).parse::<u64>();
    number.map_or(value.to_vec(), |number| number.saturating_add(step).to_string().into_bytes())
}

/// The command that shows a cell.
fn look(cell: &Cell) -> Words {
    let words: &[&[u8]] = match cell.kind {
        Kind::Text => &[b"GET", &cell.key],
        Kind::Hash => &[b"HGET", &cell.key, &cell.item],
        Kind::Set => &[b"SMEMBERS", &cell.key],
        Kind::Sorted => &[b"ZRANGE", &cell.key, b"0", b"-1"],
        Kind::List => &[b"LRANGE", &cell.key, b"0", b"-1"],
        Kind::Stream => &[b"XRANGE", &cell.key, b"-", b"+"],
    };
    words.iter().map(|word| word.to_vec()).collect()
}
