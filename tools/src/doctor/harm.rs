//! What a script breaks without a stock that a call takes from: it fails when it has written, or
//! always, or deletes another's lock. Judged on keys, by code that knows nothing of the script, and
//! shown by a session that is played again on a fresh server.

use anyhow::Result;
use serde::Serialize;

use crate::call::{Role, Values};
use crate::examination::{Called, Examination, Run, Seen, setup};
use crate::keyspace::Keyspace;
use crate::learn::{Learned, Marks, is_fault, marks};
use crate::reply::{Reply, Words};
use crate::server::Server;
use crate::template::{Slot, Template};

/// Commands that end in a harm, and what it is.
#[derive(Clone, Serialize)]
pub struct Session {
    pub harm: String,
    /// The script is called by EVAL, with its text.
    #[serde(serialize_with = "texts")]
    pub commands: Vec<Words>,
    #[serde(skip)]
    pub replies: Vec<Reply>,
}

/// A harm, if one was found and ends so on a fresh server, too.
pub type Found = Result<Option<Session>>;

fn texts<S: serde::Serializer>(commands: &[Words], to: S) -> Result<S::Ok, S::Error> {
    let text = |word: &Vec<u8>| String::from_utf8_lossy(word).into_owned();
    let words = |words: &Words| words.iter().map(text).collect::<Vec<_>>();
    to.collect_seq(commands.iter().map(words))
}

/// Plays a session again on a server of its own, and says it unless it ends otherwise there. The
/// string `shown` is read last.
pub fn shown_again(
    exam: &Examination<'_, '_>,
    setup: &[Words],
    turns: &[Run],
    harm: String,
    shown: Option<&[u8]>,
) -> Found {
    let mut commands = setup.to_vec();
    commands.extend(turns.iter().map(|turn| sent(exam, &turn.values)));
    commands.extend(shown.map(|key| vec![b"GET".to_vec(), key.to_vec()]));
    let server = Server::start(exam.bench.programs, false)?;
    let mut client = server.client()?;
    let replies = commands.iter().map(|words| client.eval(words)).collect::<Result<Vec<_>>>()?;
    let after = Keyspace::read(&mut client)?;
    let mut ours = turns.iter().zip(&replies[setup.len()..]);
    let same = ours.all(|(turn, reply)| turn.seen.reply == *reply);
    let end = turns.last().is_some_and(|turn| turn.seen.after.changes(&after).is_empty());
    Ok((same && end).then_some(Session { harm, commands, replies }))
}

/// The call, as a person can send it.
fn sent(exam: &Examination<'_, '_>, values: &Values) -> Words {
    let mut words = exam.call.words("", values);
    words.splice(..2, [b"EVAL".to_vec(), exam.source.text.clone()]);
    words
}

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

/// A call that writes and then fails, though nothing but a stock was there before: by a fault of
/// the script, or by the type of a key that it has written itself.
pub fn of_failure(exam: &mut Examination<'_, '_>, learned: &Learned) -> Found {
    let is_failed = |run: &&Run| run.seen.reply.refuses() && !run.changes().is_empty();
    let Some(run) = learned.runs.iter().find(is_failed) else { return Ok(None) };
    let is_own = is_fault(&run.seen.reply) || run.seen.reply.text().starts_with("WRONGTYPE");
    // A planted key of another type than the script wants is no fault of the script.
    let last = run.seen.calls.last();
    let is_planted = run.plants.iter().any(|(cell, value)| {
        let same = run.seen.after.cells.get(cell) == Some(value);
        same && last.is_some_and(|call| call.gets(&cell.key))
    });
    if !is_own || is_planted || run.plants.len() > 1 {
        return Ok(None);
    }
    let setup = setup(&run.plants);
    let turns = exam.play(&setup, std::slice::from_ref(&run.values))?;
    let Some(harm) = turns[0].halves() else { return Ok(None) };
    shown_again(exam, &setup, &turns, harm, None)
}

/// A fault of the text in which every call ends, before it asks the server or decides anything.
pub fn of_fault(exam: &mut Examination<'_, '_>, learned: &Learned) -> Found {
    // Words of scripts for other programs.
    const ELSEWHERE: [&str; 3] = ["require", "ngx", "module"];
    let text = String::from_utf8_lossy(&exam.source.text);
    let is_for_another = ELSEWHERE.iter().any(|word| text.contains(word))
        || exam.call.slots().next().is_none() && text.contains("print");
    let is_first = |seen: &Seen| seen.calls.is_empty() && seen.parts.is_empty();
    let fails = |run: &Run| is_fault(&run.seen.reply) && is_first(&run.seen);
    if is_for_another || !learned.runs.iter().all(fails) {
        return Ok(None);
    }
    let turns = exam.play(&[], &[marks(&exam.call, Marks::Rising)])?;
    let reply = &turns[0].seen.reply;
    let harm = format!("every call fails, whatever is in the keys: {reply}");
    if is_fault(reply) { shown_again(exam, &[], &turns, harm, None) } else { Ok(None) }
}

/// A lock of another token that a call deletes: one that looks at the lock, or a script that does
/// nothing but delete one of its KEYS.
pub fn of_locks(exam: &mut Examination<'_, '_>, learned: &Learned) -> Found {
    let is_told = exam.call.slots().any(|(slot, _)| exam.call.role(slot) == Some(Role::Lock));
    let is_delete = |call: &Called| ["DEL", "UNLINK"].contains(&call.name.as_str());
    let is_bare = learned.runs.iter().flat_map(|run| &run.seen.calls).all(is_delete)
        && exam.lua.parts.is_empty()
        && (exam.lua.keys, exam.lua.args) == (1, 0);
    let may_be = (is_told || exam.source.is_of_locks()) && !exam.call.args.is_empty();
    let is_sure = is_told || exam.source.name.to_lowercase().contains("unlock");
    for key in learned.deleted() {
        let is_bare = is_bare && key.only() == Some(Slot::Key(1));
        if (may_be || is_bare)
            && let Some(session) = of_lock(exam, &key, is_sure, is_bare)?
        {
            return Ok(Some(session));
        }
    }
    Ok(None)
}

/// A call must release its own lock, too. Unless it is sure that it is a lock, it must spare the
/// lock of another token.
fn of_lock(exam: &mut Examination<'_, '_>, key: &Template, is_sure: bool, is_bare: bool) -> Found {
    let (mut is_spared, mut first) = (false, None);
    for (own, other) in TOKENS {
        let mut values = marks(&exam.call, Marks::Rising);
        for (role, value) in &mut values {
            if !matches!(role, Role::Voucher | Role::Lock | Role::Lease | Role::Units) {
                *value = own.into();
            }
        }
        let name = key.text(&exam.call, &values);
        let held_by = |holder: &str| [vec![b"SET".to_vec(), name.clone(), holder.into()]];
        let released = exam.play(&held_by(own), std::slice::from_ref(&values))?;
        if released[0].seen.after.has_key(&name) {
            continue;
        }
        let setup = held_by(other);
        let turns = exam.play(&setup, &[values])?;
        let looks = turns[0].seen.calls.iter().any(|call| !call.writes() && call.gets(&name));
        let is_deleted = !turns[0].seen.after.has_key(&name);
        is_spared |= !is_deleted;
        if is_deleted && (looks || is_bare) && first.is_none() {
            let who = if is_bare { "a call that has no token" } else { own };
            let harm =
                format!("another's lock is deleted: {other} holds it, and {who} releases it");
            first = Some((setup, turns, harm, name));
        }
    }
    match first.filter(|_| is_sure || is_spared || is_bare) {
        Some((setup, turns, harm, name)) => shown_again(exam, &setup, &turns, harm, Some(&name)),
        None => Ok(None),
    }
}
