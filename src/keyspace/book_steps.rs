//! What an audit asks of the keys of a managed voucher.

use crate::error::CommandError;
use crate::keyspace::book;
use crate::keyspace::buyers::Buyer;
use crate::keyspace::sale_keys::ManagedKeys;
use crate::server::{Call, Ctx, OwnedStr, ReadKey, Str};
use crate::typed::User;
use domain::audit::{AuditPart, Figures, Keys, Pair};
use domain::integer::{self, Decimal};

/// How many elements a call of the server's own scan is asked for. Small keys, which the server
/// keeps as one piece, come at once.
const SCAN_COUNT: &[u8] = b"50";

/// The keys of one voucher.
#[derive(Clone, Copy)]
pub(crate) struct Audited<'a> {
    pub(crate) ctx: Ctx<'a>,
    pub(crate) keys: ManagedKeys<'a>,
}

impl Audited<'_> {
    /// How many elements each part has.
    pub(crate) fn lens(self) -> [i64; 5] {
        let ManagedKeys { book, units, holds, wait, sale, .. } = self.keys;
        [book, units, holds, wait, sale.buyers].map(|key| {
            let len = ReadKey::open(self.ctx, key).map_or(0, |key| key.len());
            i64::try_from(len).unwrap_or(i64::MAX)
        })
    }

    /// What can be computed in constant time for a sale with this total and stock.
    pub(crate) fn figures(self, total: i64, left: Option<i64>) -> Result<Figures, CommandError> {
        let [orders, _, holds, waiting, _] = self.lens();
        let extra = book::extra(self.ctx, self.keys)?;
        Ok(Figures {
            total,
            left,
            orders,
            holds,
            waiting,
            extra: extra.map(|extra| extra.orders),
            beyond_one: extra.map(|extra| extra.users),
        })
    }
}

impl Audited<'_> {
    fn text_in(&self, hash: Str<'_>, field: &[u8]) -> Result<Option<Vec<u8>>, CommandError> {
        let Some(hash) = ReadKey::open(self.ctx, hash) else { return Ok(None) };
        let text = hash.hash_get(OwnedStr::new(field).as_str())?;
        Ok(text.map(|text| text.as_str().bytes().to_vec()))
    }
}

impl Keys for Audited<'_> {
    type Error = CommandError;

    fn scan(&self, part: AuditPart, position: u64) -> Result<(Vec<Pair>, u64), CommandError> {
        let (command, key) = match part {
            AuditPart::Book => (c"HSCAN", self.keys.book),
            AuditPart::Units => (c"HSCAN", self.keys.units),
            AuditPart::Holds => (c"ZSCAN", self.keys.holds),
            AuditPart::Queue => (c"ZSCAN", self.keys.wait),
            AuditPart::Buyers => (c"SSCAN", self.keys.sale.buyers),
        };
        let position = OwnedStr::new(Decimal::unsigned(position).bytes());
        let [word, count] = [&b"COUNT"[..], SCAN_COUNT].map(OwnedStr::new);
        let words = [key, position.as_str(), word.as_str(), count.as_str()];
        let reply = Call::read(self.ctx, command, &words)
            .map_err(|error| CommandError::of_call(error, "a scan"))?;
        let next = reply.texts().next().and_then(integer::parse_digits);
        let next = next.ok_or(CommandError::Refused { step: "a scan" })?;
        let mut texts = reply.texts_of(1).map(<[u8]>::to_vec);
        let pairs = std::iter::from_fn(|| {
            let name = texts.next()?;
            let value = if part == AuditPart::Buyers { Some(Vec::new()) } else { texts.next() };
            Some((name, value?))
        });
        Ok((pairs.collect(), next))
    }

    fn entry(&self, id: &[u8]) -> Result<Option<Vec<u8>>, CommandError> {
        self.text_in(self.keys.book, id)
    }

    fn deadline(&self, id: &[u8]) -> Result<Option<i64>, CommandError> {
        let Some(holds) = ReadKey::open(self.ctx, self.keys.holds) else { return Ok(None) };
        // A score that no deadline has saturates, and so differs from every deadline.
        Ok(holds.zset_score(OwnedStr::new(id).as_str())?.map(|score| score as i64))
    }

    fn is_in_queue(&self, id: &[u8]) -> Result<bool, CommandError> {
        let Some(queue) = ReadKey::open(self.ctx, self.keys.wait) else { return Ok(false) };
        Ok(queue.zset_score(OwnedStr::new(id).as_str())?.is_some())
    }

    fn units(&self, user: &[u8]) -> Result<Option<Vec<u8>>, CommandError> {
        self.text_in(self.keys.units, user)
    }

    fn is_buyer(&self, user: &[u8]) -> Result<bool, CommandError> {
        let user = OwnedStr::new(user);
        Buyer::new(self.keys.sale.buyers, User(user.as_str())).has_bought(self.ctx)
    }
}
