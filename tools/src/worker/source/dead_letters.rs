//! Makes an entry a dead letter, with or without the release of its order.

use domain::entry_id::EntryId;
use domain::fields::{DEAD_LETTER_GROUP, DEAD_LETTER_ID, DEAD_LETTER_REASON, DEAD_LETTER_STREAM};
use domain::key_names::DEAD_LETTERS_SUFFIX;
use domain::rejection::Fate;
use redis::{Cmd, ErrorKind, Pipeline, RedisError, RedisResult, Value, cmd};

use super::{Source, bytes, entries_of, items, number};
use crate::stream_entry::{StreamEntry, Which};

/// How often a step is tried while others write the same key.
const TRIES: u32 = 100;

impl Source {
    /// Makes an entry a dead letter; nothing is released. False if it is acknowledged already.
    pub async fn bury(
        &mut self,
        which: Which,
        entry: &StreamEntry,
        reason: &str,
    ) -> RedisResult<bool> {
        self.owned.remove(&which);
        let name = self.name(which).to_owned();
        let letters = [name.as_bytes(), DEAD_LETTERS_SUFFIX].concat();
        let mut add = cmd("XADD");
        add.arg(&letters).arg("*");
        for (name, value) in &entry.fields {
            add.arg(name).arg(value);
        }
        add.arg(DEAD_LETTER_STREAM).arg(&name).arg(DEAD_LETTER_GROUP).arg(&self.group);
        add.arg(DEAD_LETTER_ID).arg(entry.id.text()).arg(DEAD_LETTER_REASON).arg(reason);
        add.arg("dlqOrder").arg(Fate::Unknown.word());
        let mut ack = cmd("XACK");
        ack.arg(&name).arg(&self.group).arg(entry.id.to_string());
        for _ in 0..TRIES {
            // In a transaction nothing is undone, so what could refuse the letter is checked.
            self.ask(cmd("WATCH").arg(&letters)).await?;
            let kind = self.ask(cmd("TYPE").arg(&letters)).await?;
            let is_stream = matches!(bytes(&kind), b"stream" | b"none");
            if !is_stream || self.deliveries(which, entry.id).await?.is_none() {
                self.ask(&cmd("UNWATCH")).await?;
                let text = "the key of the dead letters is not a stream";
                let refused = (ErrorKind::UnexpectedReturnType, text);
                return if is_stream { Ok(false) } else { Err(RedisError::from(refused)) };
            }
            let Some(replies) = self.transact(&[&add, &ack]).await? else { continue };
            if let [id, acknowledged] = &replies[..]
                && number(acknowledged) == Some(0)
            {
                // Somebody was faster.
                self.ask(cmd("XDEL").arg(&letters).arg(bytes(id))).await?;
                return Ok(false);
            }
            return Ok(true);
        }
        Err(busy())
    }

    /// None if a watched key has changed.
    pub(super) async fn transact(&mut self, commands: &[&Cmd]) -> RedisResult<Option<Vec<Value>>> {
        let mut all = Pipeline::new();
        all.atomic();
        for command in commands {
            all.add_command((*command).clone());
        }
        all.query_async(&mut self.connection).await
    }

    /// Gives up an order that is held or was released. False if there is no such order. The check
    /// and the rejection are one step, so that no payment happens in between.
    pub async fn reject_unsold(&mut self, id: EntryId, reason: &str) -> RedisResult<bool> {
        self.owned.remove(&Which::Orders);
        let mut reject = self.rejecting(id, reason);
        reject.arg("UNSOLD");
        Ok(number(&self.ask(&reject).await?) == Some(1))
    }

    fn rejecting(&self, id: EntryId, reason: &str) -> Cmd {
        let mut reject = cmd("SECKILL.REJECT");
        reject.arg(self.name(Which::Orders)).arg(&self.group).arg(id.to_string());
        reject.arg("REASON").arg(reason);
        reject
    }

    /// Gives up an order even if it is sold: only after an operator's decision.
    pub async fn reject(&mut self, id: EntryId, reason: &str) -> RedisResult<bool> {
        let reject = self.rejecting(id, reason);
        Ok(number(&self.ask(&reject).await?) == Some(1))
    }

    /// How often a pending entry was delivered; none if it is not pending.
    pub async fn deliveries(&mut self, which: Which, id: EntryId) -> RedisResult<Option<u64>> {
        let (text, name) = (id.to_string(), self.name(which).to_owned());
        let mut pending = cmd("XPENDING");
        pending.arg(name).arg(&self.group).arg(&text).arg(&text).arg(1);
        let reply = self.ask(&pending).await?;
        let count = items(&reply).first().and_then(|item| items(item).get(3));
        Ok(count.and_then(number))
    }

    /// An entry of a stream, if the stream still has it.
    pub async fn entry(&mut self, which: Which, id: EntryId) -> RedisResult<Option<StreamEntry>> {
        let mut range = cmd("XRANGE");
        range.arg(self.name(which)).arg(id.to_string()).arg(id.to_string());
        Ok(entries_of(&self.ask(&range).await?).into_iter().next())
    }
}

fn busy() -> RedisError {
    RedisError::from((ErrorKind::Io, "others write the same key all the time"))
}
