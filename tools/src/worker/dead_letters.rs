//! Makes an entry a dead letter, with or without the release of its order, and finds out whether
//! it is one.

use std::collections::BTreeSet;

use domain::entry_id::EntryId;
use domain::key_names::DEAD_LETTERS_SUFFIX;
use domain::rejection::{DeadLetter, Fate};
use redis::{Cmd, ErrorKind, RedisError, RedisResult, cmd};

use crate::order_events::{StreamEntry, Which};
use crate::source::{PIECE, Source, reply};

/// How often a step is tried while others write the same key.
const TRIES: u32 = 100;
/// How far a clock may have been set back since an entry was appended: its letter is younger than
/// that.
const CLOCK_BACK_MS: u64 = 3_600_000;

fn stream(source: &Source, which: Which) -> Vec<u8> {
    [source.name(which).as_bytes(), DEAD_LETTERS_SUFFIX].concat()
}

fn letter(
    source: &Source,
    which: Which,
    entry: &StreamEntry,
    deliveries: u64,
    reason: &str,
) -> Cmd {
    let mut add = cmd("XADD");
    add.arg(stream(source, which)).arg("*");
    for (name, value) in &entry.fields {
        add.arg(name).arg(value);
    }
    let letter = DeadLetter {
        stream: Some(source.name(which).as_bytes()),
        group: source.group().as_bytes(),
        id: entry.id,
        deliveries: i64::try_from(deliveries).ok(),
        reason: Some(reason.as_bytes()),
        fate: Some(Fate::Unknown),
        was: None,
    };
    letter.write(|name, value| _ = add.arg(name).arg(&*value.bytes()));
    add
}

/// Makes an entry a dead letter that this consumer has read, also if it is not pending any more.
/// False if it is one already.
pub async fn bury_in_flight(
    source: &mut Source,
    which: Which,
    entry: &StreamEntry,
    reason: &str,
) -> RedisResult<bool> {
    if bury(source, which, entry, reason).await? {
        return Ok(true);
    }
    let is_one = buried(source, which, &BTreeSet::from([entry.id])).await?.contains(&entry.id);
    if !is_one {
        let letter = letter(source, which, entry, 1, reason);
        source.ask(&letter).await?;
    }
    Ok(!is_one)
}

/// Makes an entry a dead letter; nothing is released. False if it is acknowledged already.
pub async fn bury(
    source: &mut Source,
    which: Which,
    entry: &StreamEntry,
    reason: &str,
) -> RedisResult<bool> {
    let (letters, ack) = (stream(source, which), source.acknowledging(which, &[entry.id]));
    for _ in 0..TRIES {
        // In a transaction nothing is undone, so what could refuse the letter is checked.
        source.ask(cmd("WATCH").arg(&letters)).await?;
        let kind: String = cmd("TYPE").arg(&letters).query_async(source.connection()).await?;
        let is_stream = matches!(&*kind, "stream" | "none");
        let deliveries = source.deliveries(which, entry.id).await?;
        let Some(deliveries) = deliveries.filter(|_| is_stream) else {
            source.ask(&cmd("UNWATCH")).await?;
            let text = "the key of the dead letters is not a stream";
            let refused = (ErrorKind::UnexpectedReturnType, text);
            return if is_stream { Ok(false) } else { Err(RedisError::from(refused)) };
        };
        let add = letter(source, which, entry, deliveries, reason);
        let Some(replies) = source.connection().transact(&[&add, &ack]).await? else { continue };
        if let [id, acknowledged] = &replies[..]
            && reply::number("XACK", acknowledged)? == 0
        {
            // Somebody was faster.
            source.ask(cmd("XDEL").arg(&letters).arg(reply::bytes("XADD", id)?)).await?;
            return Ok(false);
        }
        return Ok(true);
    }
    Err(RedisError::from((ErrorKind::Io, "others write the same key all the time")))
}

/// Those of these entries that are dead letters of the group.
pub async fn buried(
    source: &mut Source,
    which: Which,
    ids: &BTreeSet<EntryId>,
) -> RedisResult<BTreeSet<EntryId>> {
    let mut found = BTreeSet::new();
    let Some(first) = ids.first() else { return Ok(found) };
    let oldest = EntryId { ms: first.ms.saturating_sub(CLOCK_BACK_MS), seq: 0 };
    let (letters, mut end) = (stream(source, which), "+".to_owned());
    loop {
        let mut range = cmd("XREVRANGE");
        range.arg(&letters).arg(&end).arg(oldest.to_string()).arg("COUNT").arg(PIECE);
        let page = reply::entries(source.ask(&range).await?)?;
        for letter in &page {
            let letter = DeadLetter::read(&letter.flat());
            let is_ours = |letter: &DeadLetter<&[u8]>| letter.group == source.group().as_bytes();
            let id = letter.filter(is_ours).map(|letter| letter.id);
            found.extend(id.filter(|id| ids.contains(id)));
        }
        match page.last() {
            Some(last) if page.len() == PIECE && found.len() < ids.len() => {
                end = format!("({}", last.id);
            }
            _ => return Ok(found),
        }
    }
}

/// Gives up an order, even a sold one: only after an operator's decision. False if there is no such
/// order. With `UNSOLD` the check and the rejection are one step, so that no payment happens in
/// between.
pub async fn reject(
    source: &mut Source,
    id: EntryId,
    reason: &str,
    only_unsold: bool,
) -> RedisResult<bool> {
    let mut reject = cmd("SECKILL.REJECT");
    reject.arg(source.name(Which::Orders)).arg(source.group()).arg(id.to_string());
    reject.arg("REASON").arg(reason);
    if only_unsold {
        reject.arg("UNSOLD");
    }
    Ok(reply::number("SECKILL.REJECT", &source.ask(&reject).await?)? == 1)
}
