//! What a script breaks, shown by a session: commands from an empty server to the harm, which are
//! played again on a fresh server. The harm is judged on keys, by code that knows nothing of the
//! script. `sales` are the harms to a stock.

mod sales;

use std::collections::BTreeSet;

use anyhow::Result;

use crate::bench::Entry;
use crate::call::{Role, Slot, Values};
use crate::keyspace::{Cell, Keyspace, Kind, planted};
use crate::learn::{Learned, Marks, is_fault, marks};
use crate::reply::Reply;
use crate::server::Server;
use crate::template::Template;
use crate::trial::{Run, Trial};
use crate::wire::Words;

pub use sales::of_sale;

/// Commands that end in a harm, and what it is.
#[derive(Clone, Debug)]
pub struct Session {
    pub harm: String,
    /// The script is called by EVAL, with its text.
    pub commands: Vec<Words>,
    pub replies: Vec<Reply>,
}

/// A harm, if one was found and ends so on a fresh server, too.
pub type Found = Result<Option<Session>>;

/// Two tokens: neighbours, of which one begins or contains the other, and equal as numbers.
const TOKENS: [(&str, &str); 7] = [
    ("12", "13"),
    ("7f3e", "a90c"),
    ("5d1b6c1e-0a41-4b7e-9a52-3f7f0c8e2d10", "c2a9e8f4-7be3-4d0f-8f6d-90b1a2c3d4e5"),
    ("1782938471625347073", "1782938471625347074"),
    ("12", "123"),
    ("12", "312"),
    ("client-a", "CLIENT-A"),
];

/// What breaks without a stock that a call takes from.
pub fn of_others(trial: &mut Trial<'_, '_>, learned: &Learned) -> Found {
    if let Some(run) = learned.failed()
        && let Some(session) = of_failure(trial, run)?
    {
        return Ok(Some(session));
    }
    of_locks(trial, learned)
}

/// A call that writes and then fails, though nothing but a stock was there before: by a fault of
/// the script, or by the type of a key that it has written itself.
fn of_failure(trial: &mut Trial<'_, '_>, run: &Run) -> Found {
    let text = run.seen.reply.text();
    let is_own = is_fault(&run.seen.reply) || text.starts_with("WRONGTYPE");
    let is_expiry = text.contains("invalid expire time");
    // A planted key of another type than the script wants is no fault of the script.
    let last = run.seen.calls.last();
    let is_planted = run.plants.iter().any(|(cell, value)| {
        let same = run.seen.after.cells.get(cell) == Some(value);
        same && last.is_some_and(|call| call.gets(&cell.key))
    });
    if !is_own && !is_expiry || is_planted || run.plants.len() > 1 {
        return Ok(None);
    }
    let turns = trial.play(&run.setup(), std::slice::from_ref(&run.values))?;
    let Some(harm) = turns[0].halves() else { return Ok(None) };
    shown_again(trial, &run.setup(), &turns, harm, &[])
}

/// A fault of the text in which every call ends, in every state that was tried.
pub fn of_fault(trial: &mut Trial<'_, '_>, learned: &Learned) -> Found {
    // Words of scripts for other programs.
    const ELSEWHERE: [&str; 3] = ["require", "ngx", "module"];
    let text = String::from_utf8_lossy(trial.script.text);
    let is_for_another = ELSEWHERE.iter().any(|word| text.contains(word))
        || trial.call.slots().next().is_none() && text.contains("print");
    let fails = |run: &Run| run.changes().is_empty() && is_fault(&run.seen.reply);
    if is_for_another || !learned.runs.iter().all(fails) {
        return Ok(None);
    }
    let turns = trial.play(&[], &[marks(&trial.call, Marks::Rising)])?;
    let reply = &turns[0].seen.reply;
    let harm = format!("every call fails, whatever is in the keys: {reply}");
    if is_fault(reply) { shown_again(trial, &[], &turns, harm, &[]) } else { Ok(None) }
}

/// A lock of another token that a call deletes: one that looks at the lock, or a script that does
/// nothing but delete one of its KEYS.
fn of_locks(trial: &mut Trial<'_, '_>, learned: &Learned) -> Found {
    let source = trial.script.source;
    let is_told = trial.call.slots().any(|(_, word)| word.only() == Some(Role::Lock));
    let commands = &trial.script.lua.commands;
    let is_bare = commands.iter().all(|name| ["DEL", "UNLINK", "EXISTS"].contains(&&**name))
        && trial.call.keys.len() == 1
        && trial.script.lua.args == 0;
    let may_be = is_told || source.is_of_locks();
    let is_sure = is_told || source.name.to_lowercase().contains("unlock");
    for (key, kind) in learned.deleted() {
        let is_named = may_be && !trial.call.args.is_empty();
        let is_bare = is_bare && key.only() == Some(Slot::Key(1)) && kind == Kind::Text;
        if (is_named || is_bare)
            && let Some(session) = of_lock(trial, &key, kind, is_sure, is_bare)?
        {
            return Ok(Some(session));
        }
    }
    Ok(None)
}

/// Unless it is sure that it is a lock, it must spare the lock of another token.
fn of_lock(
    trial: &mut Trial<'_, '_>,
    key: &Template,
    kind: Kind,
    is_sure: bool,
    is_bare: bool,
) -> Found {
    let (mut is_spared, mut first) = (false, None);
    for (own, other) in TOKENS {
        let mut values = marks(&trial.call, Marks::Rising);
        for (role, value) in &mut values {
            if !matches!(role, Role::Voucher | Role::Lock | Role::Lease | Role::Units) {
                *value = own.into();
            }
        }
        let name = key.text(&trial.call, &values);
        let item = if kind == Kind::Hash { other.into() } else { Vec::new() };
        let cell = Cell { key: name.clone(), kind, item };
        let value = if kind == Kind::Hash { "1" } else { other };
        let setup = [planted(&cell, value.as_bytes())];
        let turns = trial.play(&setup, &[values])?;
        let turn = &turns[0];
        let looks = turn.seen.calls.iter().any(|call| !call.writes() && call.gets(&name));
        let deleted = !turn.seen.after.has_key(&name);
        is_spared |= !deleted;
        if deleted && (looks || is_bare) && first.is_none() {
            let who = if is_bare { "a call that has no token" } else { own };
            let harm =
                format!("another's lock is deleted: {other} holds it, and {who} releases it");
            first = Some((setup, turns, harm, cell));
        }
    }
    match first.filter(|_| is_sure || is_spared || is_bare) {
        Some((setup, turns, harm, cell)) => shown_again(trial, &setup, &turns, harm, &[&cell]),
        None => Ok(None),
    }
}

/// Roles that are ids: their values were in a key, a member or a value that was written.
fn ids(trial: &Trial<'_, '_>, run: &Run, but: &[Slot]) -> BTreeSet<Role> {
    let written = run.seen.calls.iter().filter(|call| call.writes());
    let words: Vec<Template> =
        written.flat_map(|call| &call.words).map(|word| run.template(word)).collect();
    let slots = words.iter().flat_map(Template::places).filter(|slot| !but.contains(slot));
    let mut roles = trial.call.roles_of(slots);
    roles.remove(&Role::Voucher);
    roles
}

/// An id with a number added, if it is one.
fn plus(value: &[u8], step: u64) -> Vec<u8> {
    let number = String::from_utf8_lossy(value).parse::<u64>();
    number.map_or(value.to_vec(), |number| number.saturating_add(step).to_string().into_bytes())
}

/// Plays a session again on a server of its own, and says it unless it ends otherwise there. What
/// is in `shown` at the end is read last.
fn shown_again(
    trial: &Trial<'_, '_>,
    setup: &[Words],
    turns: &[Run],
    harm: String,
    shown: &[&Cell],
) -> Found {
    let mut commands = setup.to_vec();
    if let Entry::Function(_) = &trial.script.entry {
        let load: [&[u8]; 4] = [b"FUNCTION", b"LOAD", b"REPLACE", trial.script.text];
        commands.insert(0, load.map(Vec::from).to_vec());
    }
    let first = commands.len();
    commands.extend(turns.iter().map(|turn| sent(trial, &turn.values)));
    commands.extend(shown.iter().map(|cell| look(cell)));
    let server = Server::start(trial.bench.programs, false)?;
    let mut client = server.client()?;
    let mut replies = Vec::new();
    for words in &commands {
        let is_load = words[0] == b"FUNCTION";
        replies.push(if is_load { client.call(words)? } else { client.eval(words)? });
    }
    let after = Keyspace::read(&mut client)?;
    let mut ours = turns.iter().zip(&replies[first..]);
    let same = ours.all(|(turn, reply)| turn.seen.reply == *reply);
    let end = turns.last().is_some_and(|turn| turn.seen.after.changes(&after).is_empty());
    Ok((same && end).then_some(Session { harm, commands, replies }))
}

/// The call, as a person can send it.
fn sent(trial: &Trial<'_, '_>, values: &Values) -> Words {
    let mut words = trial.script.entry.words(&trial.call, values);
    if let Entry::Sha(_) = &trial.script.entry {
        words[0] = b"EVAL".to_vec();
        words[1] = trial.script.text.to_vec();
    }
    words
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
