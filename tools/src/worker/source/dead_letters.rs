//! Makes an entry a dead letter, with or without the release of its order, and finds out whether
//! it is one.

use std::collections::BTreeSet;

use domain::entry_id::EntryId;
use domain::key_names::DEAD_LETTERS_SUFFIX;
use domain::rejection::{Fate, Letter};
use redis::{Cmd, ErrorKind, RedisError, RedisResult, cmd};

use super::{PIECE, Source, bytes, reply};
use crate::stream_entry::{StreamEntry, Which};

/// How often a step is tried while others write the same key.
const TRIES: u32 = 100;
/// How far a clock may have been set back since an entry was appended: its letter is younger than
/// that.
const CLOCK_BACK_MS: u64 = 3_600_000;

impl Source {
    fn letters(&self, which: Which) -> Vec<u8> {
        [self.name(which).as_bytes(), DEAD_LETTERS_SUFFIX].concat()
    }

    fn letter(&self, which: Which, entry: &StreamEntry, deliveries: u64, reason: &str) -> Cmd {
        let mut add = cmd("XADD");
        add.arg(self.letters(which)).arg("*");
        for (name, value) in &entry.fields {
            add.arg(name).arg(value);
        }
        let letter = Letter {
            stream: Some(self.name(which).as_bytes()),
            group: self.group.as_bytes(),
            id: entry.id,
            deliveries: i64::try_from(deliveries).ok(),
            reason: Some(reason.as_bytes()),
            fate: Some(Fate::Unknown),
            was: None,
        };
        letter.write(|name, value| _ = add.arg(name).arg(&*value.bytes()));
        add
    }

    /// Makes an entry a dead letter that this consumer has read, also if it is not pending any
    /// more. False if it is one already.
    pub async fn bury_in_hand(
        &mut self,
        which: Which,
        entry: &StreamEntry,
        reason: &str,
    ) -> RedisResult<bool> {
        if self.bury(which, entry, reason).await? {
            return Ok(true);
        }
        let is_one = self.buried(which, &BTreeSet::from([entry.id])).await?.contains(&entry.id);
        if !is_one {
            let letter = self.letter(which, entry, 1, reason);
            self.ask(&letter).await?;
        }
        Ok(!is_one)
    }

    /// Makes an entry a dead letter; nothing is released. False if it is acknowledged already.
    pub async fn bury(
        &mut self,
        which: Which,
        entry: &StreamEntry,
        reason: &str,
    ) -> RedisResult<bool> {
        self.owned.remove(&which);
        let (name, letters) = (self.name(which).to_owned(), self.letters(which));
        let mut ack = cmd("XACK");
        ack.arg(&name).arg(&self.group).arg(entry.id.to_string());
        for _ in 0..TRIES {
            // In a transaction nothing is undone, so what could refuse the letter is checked.
            self.ask(cmd("WATCH").arg(&letters)).await?;
            let kind = self.ask(cmd("TYPE").arg(&letters)).await?;
            let is_stream = matches!(bytes(&kind), b"stream" | b"none");
            let deliveries = self.deliveries(which, entry.id).await?;
            let Some(deliveries) = deliveries.filter(|_| is_stream) else {
                self.ask(&cmd("UNWATCH")).await?;
                let text = "the key of the dead letters is not a stream";
                let refused = (ErrorKind::UnexpectedReturnType, text);
                return if is_stream { Ok(false) } else { Err(RedisError::from(refused)) };
            };
            let add = self.letter(which, entry, deliveries, reason);
            let Some(replies) = self.transact(&[&add, &ack]).await? else { continue };
            if let [id, acknowledged] = &replies[..]
                && reply::number("XACK", acknowledged)? == 0
            {
                // Somebody was faster.
                self.ask(cmd("XDEL").arg(&letters).arg(bytes(id))).await?;
                return Ok(false);
            }
            return Ok(true);
        }
        Err(busy())
    }

    /// Those of these entries that are dead letters of the group.
    pub async fn buried(
        &mut self,
        which: Which,
        ids: &BTreeSet<EntryId>,
    ) -> RedisResult<BTreeSet<EntryId>> {
        let mut found = BTreeSet::new();
        let Some(first) = ids.first() else { return Ok(found) };
        let oldest = EntryId { ms: first.ms.saturating_sub(CLOCK_BACK_MS), seq: 0 };
        let (letters, mut end) = (self.letters(which), "+".to_owned());
        loop {
            let mut range = cmd("XREVRANGE");
            range.arg(&letters).arg(&end).arg(oldest.to_string()).arg("COUNT").arg(PIECE);
            let page = reply::entries(&self.ask(&range).await?)?;
            for letter in &page {
                let letter = Letter::read(&letter.flat());
                let is_ours = |letter: &Letter<&[u8]>| letter.group == self.group.as_bytes();
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

    /// Gives up an order that is held or was released. False if there is no such order. The check
    /// and the rejection are one step, so that no payment happens in between.
    pub async fn reject_unsold(&mut self, id: EntryId, reason: &str) -> RedisResult<bool> {
        self.owned.remove(&Which::Orders);
        let mut reject = self.rejecting(id, reason);
        reject.arg("UNSOLD");
        self.is_rejected(&reject).await
    }

    fn rejecting(&self, id: EntryId, reason: &str) -> Cmd {
        let mut reject = cmd("SECKILL.REJECT");
        reject.arg(self.name(Which::Orders)).arg(&self.group).arg(id.to_string());
        reject.arg("REASON").arg(reason);
        reject
    }

    async fn is_rejected(&mut self, reject: &Cmd) -> RedisResult<bool> {
        Ok(reply::number("SECKILL.REJECT", &self.ask(reject).await?)? == 1)
    }

    /// Gives up an order even if it is sold: only after an operator's decision.
    pub async fn reject(&mut self, id: EntryId, reason: &str) -> RedisResult<bool> {
        let reject = self.rejecting(id, reason);
        self.is_rejected(&reject).await
    }

    /// How often a pending entry was delivered; none if it is not pending.
    pub async fn deliveries(&mut self, which: Which, id: EntryId) -> RedisResult<Option<u64>> {
        let (text, name) = (id.to_string(), self.name(which).to_owned());
        let mut pending = cmd("XPENDING");
        pending.arg(name).arg(&self.group).arg(&text).arg(&text).arg(1);
        match self.ask(&pending).await {
            Ok(found) => Ok(reply::pending(&found)?.first().map(|pending| pending.deliveries)),
            Err(error) if error.code() == Some("NOGROUP") => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// An entry of a stream, if the stream still has it.
    pub async fn entry(&mut self, which: Which, id: EntryId) -> RedisResult<Option<StreamEntry>> {
        let mut range = cmd("XRANGE");
        range.arg(self.name(which)).arg(id.to_string()).arg(id.to_string());
        Ok(reply::entries(&self.ask(&range).await?)?.into_iter().next())
    }
}

fn busy() -> RedisError {
    RedisError::from((ErrorKind::Io, "others write the same key all the time"))
}
