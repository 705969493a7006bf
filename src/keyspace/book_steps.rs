//! Reading the keys of a managed voucher a few elements at a time, for an audit in steps.

use crate::error::CommandError;
use crate::keyspace::voucher_keys::ManagedKeys;
use crate::keyspace::{book, buyers};
use crate::server::{Call, Ctx, OwnedStr, ReadKey, Str};
use domain::audit::steps::{Figures, Progress, Stage};
use domain::integer::{self, Decimal};

/// How many elements a call of the server's own scan is asked for. Small keys, which the server
/// keeps as one piece, come at once.
const SCAN_COUNT: &[u8] = b"50";

/// What can be computed in constant time for a sale with this total and stock.
pub(crate) fn figures(
    ctx: Ctx<'_>,
    keys: ManagedKeys<'_>,
    total: i64,
    left: Option<i64>,
) -> Result<Figures, CommandError> {
    let len = |key| {
        let len = ReadKey::open(ctx, key).map_or(0, |key| key.len());
        i64::try_from(len).unwrap_or(i64::MAX)
    };
    let extra = book::extra(ctx, keys)?;
    Ok(Figures { total, left, orders: len(keys.book), holds: len(keys.holds), extra })
}

/// Reads the next elements, and compares each of them with the other keys. Gives how many.
pub(crate) fn step(
    ctx: Ctx<'_>,
    keys: ManagedKeys<'_>,
    progress: &mut Progress,
) -> Result<usize, CommandError> {
    let cursor = progress.scan();
    let scan = match progress.stage() {
        Stage::Book => {
            let scan = Scan::run(ctx, c"HSCAN", keys.book, cursor)?;
            orders(ctx, keys, &scan, progress)?;
            scan
        }
        Stage::Holdings => {
            let scan = Scan::run(ctx, c"HSCAN", keys.units, cursor)?;
            holdings(ctx, keys, &scan, progress)?;
            scan
        }
        Stage::Holds => {
            let scan = Scan::run(ctx, c"ZSCAN", keys.holds, cursor)?;
            let book = ReadKey::open(ctx, keys.book);
            for (id, _) in scan.pairs() {
                let text = hash_get(book.as_ref(), id)?;
                progress.hold(text.as_ref().map(|text| text.as_str().bytes()));
            }
            scan
        }
        Stage::Buyers => {
            let scan = Scan::run(ctx, c"SSCAN", keys.sale.buyers, cursor)?;
            let holdings = ReadKey::open(ctx, keys.units);
            for user in scan.elements() {
                progress.buyer(hash_has(holdings.as_ref(), user)?);
            }
            scan
        }
        Stage::Done => return Ok(0),
    };
    progress.went_on(scan.next);
    Ok(scan.elements().count())
}

/// One step of the server's scan of a key.
struct Scan<'a> {
    reply: Call<'a>,
    next: u64,
}

impl<'a> Scan<'a> {
    fn run(
        ctx: Ctx<'a>,
        command: &'static std::ffi::CStr,
        key: Str<'_>,
        cursor: u64,
    ) -> Result<Self, CommandError> {
        let cursor = OwnedStr::new(Decimal::unsigned(cursor).bytes());
        let [word, count] = [&b"COUNT"[..], SCAN_COUNT].map(OwnedStr::new);
        let words = [key, cursor.as_str(), word.as_str(), count.as_str()];
        let reply = Call::read_all(ctx, command, &words)
            .map_err(|error| CommandError::of_call(error, "a scan"))?;
        let next = reply.texts().next().and_then(integer::parse_digits);
        let next = next.ok_or(CommandError::Refused { step: "a scan" })?;
        Ok(Self { reply, next })
    }

    fn elements(&self) -> impl Iterator<Item = &[u8]> {
        self.reply.texts_of(1)
    }

    /// Names and values, or members and scores.
    fn pairs(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut elements = self.elements();
        std::iter::from_fn(move || Some((elements.next()?, elements.next()?)))
    }
}

fn orders(
    ctx: Ctx<'_>,
    keys: ManagedKeys<'_>,
    scan: &Scan<'_>,
    progress: &mut Progress,
) -> Result<(), CommandError> {
    let [holds, holdings] = [keys.holds, keys.units].map(|key| ReadKey::open(ctx, key));
    for (id, text) in scan.pairs() {
        let hold = || match &holds {
            None => Ok(None),
            // A score that no deadline has saturates, and so differs from every deadline.
            Some(holds) => {
                let score = holds.zset_score(OwnedStr::new(id).as_str())?;
                Ok(score.map(|score| score as i64))
            }
        };
        progress.order(text, hold, |user| hash_has(holdings.as_ref(), user))?;
    }
    Ok(())
}

fn holdings(
    ctx: Ctx<'_>,
    keys: ManagedKeys<'_>,
    scan: &Scan<'_>,
    progress: &mut Progress,
) -> Result<(), CommandError> {
    let users: Vec<OwnedStr> = scan.pairs().map(|(user, _)| OwnedStr::new(user)).collect();
    if users.is_empty() {
        return Ok(());
    }
    let users = users.iter().map(OwnedStr::as_str);
    let are_buyers = buyers::have_bought(ctx, keys.sale.buyers, users)?;
    for ((user, text), is_buyer) in scan.pairs().zip(are_buyers) {
        progress.holding(user, text, is_buyer);
    }
    Ok(())
}

fn hash_has(hash: Option<&ReadKey<'_>>, field: &[u8]) -> Result<bool, CommandError> {
    hash.map_or(Ok(false), |hash| Ok(hash.hash_has(OwnedStr::new(field).as_str())?))
}

fn hash_get(hash: Option<&ReadKey<'_>>, field: &[u8]) -> Result<Option<OwnedStr>, CommandError> {
    hash.map_or(Ok(None), |hash| Ok(hash.hash_get(OwnedStr::new(field).as_str())?))
}
