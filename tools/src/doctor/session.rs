//! A session: commands from an empty server to a harm, which are played again on a fresh server.

use anyhow::Result;
use serde::Serialize;

use crate::call::Values;
use crate::examination::{Examination, Run};
use crate::keyspace::{Cell, Keyspace, Kind};
use crate::reply::{Reply, Words};
use crate::server::Server;

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
/// string or field in `shown` is read last.
pub fn shown_again(
    exam: &Examination<'_, '_>,
    setup: &[Words],
    turns: &[Run],
    harm: String,
    shown: Option<&Cell>,
) -> Found {
    let mut commands = setup.to_vec();
    commands.extend(turns.iter().map(|turn| sent(exam, &turn.values)));
    commands.extend(shown.map(|cell| match cell.kind {
        Kind::Hash => vec![b"HGET".to_vec(), cell.key.clone(), cell.item.clone()],
        _ => vec![b"GET".to_vec(), cell.key.clone()],
    }));
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
    words.splice(..2, [b"EVAL".to_vec(), exam.text.to_vec()]);
    words
}
