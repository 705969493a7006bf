//! Makes an entry a dead letter, with or without the release of its order.

use crate::order_events::{OrderKey, StreamEntry};
use domain::entry_id::EntryId;
use domain::fields::{DEAD_LETTER_GROUP, DEAD_LETTER_ID, DEAD_LETTER_REASON, DEAD_LETTER_STREAM};
use domain::key_names::DEAD_LETTERS_SUFFIX;
use redis::{RedisResult, Value, cmd};
use seckill_tools::server_errors::{Trouble, trouble};

use super::{Source, Which, bytes, entries_of, field, items, number};

/// Appends a pending entry to the dead letters and acknowledges it; releases nothing. A script that
/// fails is not undone, so the write that can be refused is first.
const BURY: &str = "local pending = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[2], ARGV[2], 1)
if #pending == 0 then return 0 end
redis.call('XADD', KEYS[2], '*', unpack(ARGV, 3))
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
return 1";

/// Rejects an order that is not sold: it is held, or was released. Check and rejection are one
/// step, so that no payment happens in between.
const REJECT_UNSOLD: &str = "local order = redis.call('SECKILL.ORDER', KEYS[2], ARGV[3])
if not order then return 0 end
local known = {}
for i = 1, #order, 2 do known[order[i]] = order[i + 1] end
if known['user'] ~= ARGV[4] or known['state'] == 'sold' then return 0 end
local sale = known['sale'] and string.format('%.0f', known['sale']) or ''
if sale ~= ARGV[6] then return 0 end
return redis.call('SECKILL.REJECT', KEYS[1], ARGV[1], ARGV[2], 'REASON', ARGV[5])";

/// What the server knows about an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    pub user: String,
    pub state: String,
}

impl Source {
    /// Makes an entry a dead letter; nothing is released. False if it is acknowledged already.
    pub async fn bury(
        &mut self,
        which: Which,
        entry: &StreamEntry,
        reason: &str,
    ) -> RedisResult<bool> {
        let name = self.name(which).to_owned();
        let mut bury = cmd("EVAL");
        let dead_letters = [name.as_bytes(), DEAD_LETTERS_SUFFIX].concat();
        bury.arg(BURY).arg(2).arg(&name).arg(dead_letters);
        bury.arg(&self.group).arg(entry.id.to_string());
        for (name, value) in &entry.fields {
            bury.arg(name).arg(value);
        }
        bury.arg(DEAD_LETTER_STREAM).arg(&name).arg(DEAD_LETTER_GROUP).arg(&self.group);
        bury.arg(DEAD_LETTER_ID).arg(entry.id.text()).arg(DEAD_LETTER_REASON).arg(reason);
        bury.arg("dlqOrder").arg("unknown");
        Ok(number(&self.ask(&bury).await?) == Some(1))
    }

    /// Gives up an order that is held or was released. False if there is no such order.
    pub async fn reject_unsold(
        &mut self,
        id: EntryId,
        order: &OrderKey,
        user: &str,
        reason: &str,
    ) -> RedisResult<bool> {
        let mut reject = cmd("EVAL");
        reject.arg(REJECT_UNSOLD).arg(2).arg(self.name(Which::Orders)).arg(&order.voucher);
        reject.arg(&self.group).arg(id.to_string()).arg(&order.order).arg(user).arg(reason);
        reject.arg(&order.sale);
        Ok(number(&self.ask(&reject).await?) == Some(1))
    }

    /// Gives up an order even if it is sold: only after an operator's decision.
    pub async fn reject(&mut self, id: EntryId, reason: &str) -> RedisResult<bool> {
        let mut reject = cmd("SECKILL.REJECT");
        reject.arg(self.name(Which::Orders)).arg(&self.group).arg(id.to_string());
        reject.arg("REASON").arg(reason);
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

    /// What the server knows about an order of a managed voucher; none for an unmanaged one.
    pub async fn order(&mut self, key: &OrderKey) -> RedisResult<Option<Known>> {
        let mut order = cmd("SECKILL.ORDER");
        order.arg(&key.voucher).arg(&key.order);
        let reply: Value = match self.ask(&order).await {
            Ok(reply) => reply,
            Err(error) if trouble(&error) == Trouble::Wrong => return Ok(None),
            Err(error) => return Err(error),
        };
        let text = |name| Some(String::from_utf8_lossy(bytes(field(&reply, name)?)).into_owned());
        // A later sale of the voucher may have an order with the same id.
        let sale = field(&reply, "sale").and_then(number);
        if sale.map_or_else(String::new, |sale| sale.to_string()) != key.sale {
            return Ok(None);
        }
        Ok(text("user").zip(text("state")).map(|(user, state)| Known { user, state }))
    }
}
