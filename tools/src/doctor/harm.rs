//! What a script breaks without a stock that a call takes from: it fails when it has written, or
//! always, or deletes another's lock. Judged on keys, by code that knows nothing of the script, and
//! shown by a session that is played again on a fresh server.

use std::collections::BTreeSet;

use anyhow::Result;
use serde::Serialize;

use crate::call::{Role, Values};
use crate::examination::{Called, Examination, Run, Step};
use crate::keyspace::{Keyspace, shown};
use crate::learn::{Learned, marks};
use crate::reply::{Reply, Words, command};
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
    runs: &[Run],
    harm: String,
    shown: Option<&[u8]>,
) -> Found {
    let (mut commands, mut calls) = (Vec::new(), Vec::new());
    for Run { step, .. } in runs {
        commands.extend(step.before.clone());
        calls.push(commands.len());
        commands.push(sent(exam, &step.values));
    }
    commands.extend(shown.map(|key| command([b"GET", key])));
    let server = Server::start(exam.bench.programs, false)?;
    let mut client = server.client()?;
    let replies = commands.iter().map(|words| client.eval(words)).collect::<Result<Vec<_>>>()?;
    let after = Keyspace::read(&mut client)?;
    let same = runs.iter().zip(calls).all(|(run, at)| run.reply == replies[at]);
    let end = runs.last().is_some_and(|run| run.after.changes(&after).is_empty());
    Ok((same && end).then_some(Session { harm, commands, replies }))
}

/// The call, as a person can send it.
fn sent(exam: &Examination<'_, '_>, values: &Values) -> Words {
    let mut words = exam.call.words("", values);
    words.splice(..2, [b"EVAL".to_vec(), exam.source.text.clone()]);
    words
}

/// Whether a call wrote and then failed.
pub fn halves(run: &Run) -> Option<String> {
    let changed = run.before.changes(&run.after);
    let (reply, first) = (&run.reply, shown(*changed.first()?));
    let harm =
        format!("it is written by halves: the call fails ({reply}), and has changed {first}");
    reply.is_error().then_some(harm)
}

/// A call that writes and then fails, though nothing but a stock was there before, by a fault of
/// the script, or by the type of a key that it has written itself.
pub fn of_failure(exam: &mut Examination<'_, '_>, learned: &Learned) -> Found {
    let Some((run, harm)) = learned.runs.iter().find_map(|run| Some((run, halves(run)?))) else {
        return Ok(None);
    };
    // A key of another type than the script wants, which was not there by the script, is no fault
    // of it.
    let planted = &run.step.before;
    let last = run.calls.last();
    let is_planted = planted.iter().any(|words| last.is_some_and(|call| call.gets(&words[1])));
    if is_planted || planted.len() > 1 || !is_fault(&run.reply) {
        return Ok(None);
    }
    shown_again(exam, std::slice::from_ref(run), harm, None)
}

/// Whether a call failed by what is in the script's text, whatever its arguments and keys are.
fn is_fault(reply: &Reply) -> bool {
    const FAULTS: [&str; 4] =
        ["WRONGTYPE", "nonexistent global variable", "nknown Redis command", "rong number of arg"];
    let text = reply.text();
    // Valkey has one, newer servers have the other.
    let is_known = text.contains("variable 'server'") || text.contains("variable 'os'");
    !is_known && FAULTS.iter().any(|words| text.contains(words))
}

/// A fault of the text in which the first call ends, before it asks the server or decides anything,
/// and so does every other.
pub fn of_fault(exam: &mut Examination<'_, '_>, learned: &Learned) -> Found {
    // A command that is unknown here, and a global name, may be known elsewhere.
    const FAULTS: [&str; 2] = ["rong number of arg", "attempt to call field '"];
    let Some(run) = learned.runs.first() else { return Ok(None) };
    let text = run.reply.text();
    // The caller may name a field.
    let is_fault = FAULTS.iter().any(|words| text.contains(words)) && !text.contains("field '?'");
    // A text that never names redis is of another program.
    let is_other = !String::from_utf8_lossy(&exam.source.text).contains("redis.");
    if !is_fault || is_other || !run.calls.is_empty() || !run.parts.is_empty() {
        return Ok(None);
    }
    let harm = format!("every call fails, whatever is in the keys: {}", run.reply);
    shown_again(exam, std::slice::from_ref(run), harm, None)
}

/// Two tokens: neighbours, and two that are equal as numbers.
const TOKENS: [(&str, &str); 2] = [("12", "13"), ("1782938471625347073", "1782938471625347074")];

/// A lock of another token that a call deletes, as it does its own: one that looks at the lock, or
/// a script that does nothing but delete one of its KEYS. Unless it is sure that it is a lock, it
/// must spare the lock of another token.
pub fn of_locks(exam: &mut Examination<'_, '_>, learned: &Learned) -> Found {
    let is_told = exam.call.slot(Role::Lock).is_some();
    let is_delete = |call: &Called| ["DEL", "UNLINK"].contains(&call.name.as_str());
    let is_bare = learned.runs.iter().flat_map(|run| &run.calls).all(is_delete)
        && exam.lua.parts.is_empty()
        && (exam.lua.keys, exam.lua.args) == (1, 0);
    let may_be = (is_told || exam.source.is_of_locks()) && exam.lua.args > 0;
    let is_sure = is_bare || is_told || exam.source.name.to_lowercase().contains("unlock");
    let keys = deleted(&learned.runs).into_iter().filter(|_| may_be || is_bare);
    for key in keys.filter(|key| !is_bare || key.only() == Some(Slot::Key(1))) {
        let (mut is_spared, mut first) = (is_sure, None);
        for (own, other) in TOKENS {
            let mut values = marks(&exam.call);
            for (role, value) in &mut values {
                if !matches!(role, Role::Voucher | Role::Lock | Role::Lease | Role::Units) {
                    *value = own.into();
                }
            }
            let name = key.text(&exam.call, &values);
            let mut play = |holder: &str| {
                let before = vec![command([b"SET", &name, holder.as_bytes()])];
                exam.play(&[Step { before, values: values.clone() }])
            };
            if play(own)?[0].after.has_key(&name) {
                continue;
            }
            let runs = play(other)?;
            let looks = runs[0].calls.iter().any(|call| !call.writes() && call.gets(&name));
            let is_deleted = !runs[0].after.has_key(&name);
            is_spared |= !is_deleted;
            if is_deleted && (looks || is_bare) && first.is_none() {
                let who = if is_bare { "a call that has no token" } else { own };
                let harm =
                    format!("another's lock is deleted: {other} holds it, and {who} releases it");
                first = Some((runs, harm, name));
            }
        }
        if let Some((runs, harm, name)) = first.filter(|_| is_spared) {
            return shown_again(exam, &runs, harm, Some(&name));
        }
    }
    Ok(None)
}

/// Strings that a call deleted.
fn deleted(runs: &[Run]) -> BTreeSet<Template> {
    let of = |run: &Run| {
        let texts = run.before.keys().filter(|key| run.before.text(key).is_some());
        let gone = texts.filter(|key| !run.after.has_key(key) && !run.reply.refuses());
        gone.map(|key| run.template(key)).collect::<Vec<_>>()
    };
    runs.iter().flat_map(of).collect()
}
