//! How long a sale sold until nothing was left. A reading only sees that something has happened
//! since the one before; the ids of the order stream's entries have the milliseconds.

use std::collections::HashMap;

use redis::{Cmd, Value, cmd, from_redis_value_ref};
use seckill_tools::sale_info::SaleInfo;

use domain::entry_id::EntryId;

/// Entries that one command reads, and commands that look for the entry of one moment.
const ENTRIES: usize = 1_000;
pub const STEPS: usize = 10;

/// For how long a sale had sold when nothing was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoldOut {
    pub after_ms: i64,
    /// By the entries of its orders; else by the times of readings.
    pub is_exact: bool,
}

/// When something happened, in unix milliseconds by the server's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment {
    ms: i64,
    is_exact: bool,
}

/// What is remembered of one sale.
#[derive(Clone, Debug)]
struct Sale {
    id: Option<i64>,
    taken: i64,
    /// None: it had begun before it was seen for the first time.
    began: Option<Moment>,
    sold_out: Option<SoldOut>,
}

/// An entry to look for among those of the order stream, from this moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    First { since_ms: i64 },
    Last { since_ms: i64 },
}

/// What all sales have done so far.
#[derive(Default)]
pub struct Selling {
    sales: HashMap<Vec<u8>, Sale>,
    /// Of the reading before.
    before_ms: Option<i64>,
}

impl Selling {
    /// What must be looked up to know what a voucher has done since the reading before.
    pub fn wanted(&self, voucher: &[u8], info: &SaleInfo) -> Vec<Wanted> {
        let known = self.sales.get(voucher).filter(|sale| sale.id == info.sale);
        let Some(since_ms) = self.before_ms else { return Vec::new() };
        // One that is older, and new here: its first entries may be gone by now.
        if known.is_none() && created_ms(info).is_none_or(|ms| ms < since_ms) {
            return Vec::new();
        }
        let has_begun = info.taken() > Some(0);
        let begins = has_begun && info.begin.is_none() && known.is_none_or(|it| it.taken == 0);
        let is_open = known.is_none_or(|it| it.sold_out.is_none() && it.began.is_some());
        let mut wanted = Vec::new();
        wanted.extend(begins.then_some(Wanted::First { since_ms }));
        let ends = has_begun && is_out(info) && (begins || is_open);
        wanted.extend(ends.then_some(Wanted::Last { since_ms }));
        wanted
    }

    /// Takes what was found, in unix milliseconds; returns for how long the sale has sold.
    pub fn take(
        &mut self,
        voucher: &[u8],
        info: &SaleInfo,
        now_ms: i64,
        found: &[(Wanted, Option<i64>)],
    ) -> Option<SoldOut> {
        let moment = |is_it: fn(&Wanted) -> bool| {
            let (_, found) = found.iter().find(|(wanted, _)| is_it(wanted))?;
            Some(Moment { ms: found.unwrap_or(now_ms), is_exact: found.is_some() })
        };
        let created = created_ms(info);
        let known = self.sales.remove(voucher).filter(|sale| sale.id == info.sale);
        let mut sale =
            known.unwrap_or(Sale { id: info.sale, taken: 0, began: None, sold_out: None });
        sale.taken = info.taken().unwrap_or(0);
        if sale.began.is_none() {
            let begin = info.begin.filter(|_| created.is_some());
            let begin =
                begin.map(|ms| Moment { ms: ms.max(created.unwrap_or(ms)), is_exact: true });
            sale.began = begin.or_else(|| moment(|it| matches!(it, Wanted::First { .. })));
        }
        let end = moment(|it| matches!(it, Wanted::Last { .. }));
        if let (None, Some(began), Some(end)) = (sale.sold_out, sale.began, end) {
            let is_exact = began.is_exact && end.is_exact;
            sale.sold_out = Some(SoldOut { after_ms: (end.ms - began.ms).max(0), is_exact });
        }
        let sold_out = sale.sold_out.filter(|_| is_out(info));
        self.sales.insert(voucher.to_vec(), sale);
        sold_out
    }

    /// Ends a reading of these vouchers: others are forgotten.
    pub fn end(&mut self, vouchers: &[Vec<u8>], now_ms: Option<i64>) {
        self.before_ms = now_ms;
        self.sales.retain(|voucher, _| vouchers.contains(voucher));
    }
}

/// The sale's creation: of an unmanaged voucher nobody knows it.
fn created_ms(info: &SaleInfo) -> Option<i64> {
    info.sale.map(|micros| micros / 1_000)
}

fn is_out(info: &SaleInfo) -> bool {
    info.state == "soldout"
}

impl Wanted {
    /// Asks for the next entries of a stream behind or before the last one that was read.
    pub fn command(self, stream: &[u8], last: Option<EntryId>) -> Cmd {
        let (name, since_ms) = match self {
            Self::First { since_ms } => ("XRANGE", since_ms),
            Self::Last { since_ms } => ("XREVRANGE", since_ms),
        };
        let mut asked = cmd(name);
        asked.arg(stream);
        let past = last.map(|id| [b"(".to_vec(), id.text()].concat());
        match self {
            Self::First { .. } => asked.arg(past.unwrap_or(since_ms.to_string().into())).arg("+"),
            Self::Last { .. } => asked.arg(past.unwrap_or(b"+".to_vec())).arg(since_ms),
        };
        asked.arg("COUNT").arg(ENTRIES);
        asked
    }
}

/// What such a reply says: the moment of the first entry with this field, or where to go on.
pub enum Look {
    Found(i64),
    GoesOn(EntryId),
    Nothing,
}

pub fn look(reply: &Value, field: &[u8], voucher: &[u8]) -> Look {
    type Fields = Vec<Vec<u8>>;
    // An error reply, for example because the user may not ask.
    let Ok(entries) = from_redis_value_ref::<Vec<(Vec<u8>, Fields)>>(reply) else {
        return Look::Nothing;
    };
    let is_it = |fields: &Fields| {
        fields
            .chunks(2)
            .any(|pair| matches!(pair, [name, value] if name == field && value == voucher))
    };
    let ms = |id: &[u8]| i64::try_from(EntryId::parse(id)?.ms).ok();
    if let Some(found) = entries.iter().find(|(_, fields)| is_it(fields)) {
        return ms(&found.0).map_or(Look::Nothing, Look::Found);
    }
    let last = entries.last().filter(|_| entries.len() == ENTRIES);
    last.and_then(|(id, _)| EntryId::parse(id)).map_or(Look::Nothing, Look::GoesOn)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(state: &str, taken: i64, begin: Option<i64>) -> SaleInfo {
        SaleInfo {
            managed: true,
            state: state.to_owned(),
            held: Some(0),
            sold: Some(taken),
            begin,
            sale: Some(1_000_000),
            ..SaleInfo::default()
        }
    }

    /// A reading at a moment, in which every entry that is wanted is found there, if at all.
    fn read(
        selling: &mut Selling,
        info: &SaleInfo,
        now_ms: i64,
        at: Option<i64>,
    ) -> Option<SoldOut> {
        let wanted = selling.wanted(b"v", info);
        let found: Vec<_> = wanted.into_iter().map(|wanted| (wanted, at)).collect();
        let sold_out = selling.take(b"v", info, now_ms, &found);
        selling.end(&[b"v".to_vec()], Some(now_ms));
        sold_out
    }

    #[test]
    fn a_sale_is_measured_from_its_first_order_to_its_last() {
        let mut selling = Selling::default();
        assert_eq!(read(&mut selling, &info("open", 0, None), 2_000, None), None);
        assert_eq!(
            selling.wanted(b"v", &info("open", 3, None)),
            [Wanted::First { since_ms: 2_000 }]
        );
        assert_eq!(read(&mut selling, &info("open", 3, None), 3_000, Some(2_400)), None);
        let out = info("soldout", 9, None);
        assert_eq!(selling.wanted(b"v", &out), [Wanted::Last { since_ms: 3_000 }]);
        let sold_out = SoldOut { after_ms: 1_800, is_exact: true };
        assert_eq!(read(&mut selling, &out, 5_000, Some(4_200)), Some(sold_out));
        // A unit comes back, and is sold again: it was sold out by then.
        assert_eq!(read(&mut selling, &info("open", 8, None), 6_000, None), None);
        assert_eq!(read(&mut selling, &out, 7_000, Some(6_500)), Some(sold_out));
        // Another sale of the voucher.
        let next = SaleInfo { sale: Some(8_000_000), ..info("open", 0, None) };
        assert_eq!(read(&mut selling, &next, 8_000, None), None);
    }

    #[test]
    fn a_sale_between_two_readings_is_found_if_it_was_created_then() {
        let mut selling = Selling::default();
        let out = info("soldout", 9, None);
        assert_eq!(selling.wanted(b"v", &out), [], "it may be older than the first reading");
        selling.end(&[], Some(900));
        let both = [Wanted::First { since_ms: 900 }, Wanted::Last { since_ms: 900 }];
        assert_eq!(selling.wanted(b"v", &out), both);
        let found = [(both[0], Some(1_100)), (both[1], Some(1_400))];
        let sold_out = selling.take(b"v", &out, 2_000, &found);
        assert_eq!(sold_out, Some(SoldOut { after_ms: 300, is_exact: true }));
        // Of an unmanaged voucher nobody knows how long it has been selling.
        let unmanaged = SaleInfo { sale: None, buyers: Some(9), managed: false, ..out };
        assert_eq!(selling.wanted(b"w", &unmanaged), []);
    }

    #[test]
    fn without_the_entries_readings_say_it_roughly() {
        let mut selling = Selling::default();
        let begin = Some(1_500);
        assert_eq!(read(&mut selling, &info("scheduled", 0, begin), 1_200, None), None);
        let out = info("soldout", 9, begin);
        let about = SoldOut { after_ms: 1_700, is_exact: false };
        assert_eq!(read(&mut selling, &out, 3_200, None), Some(about));
    }

    #[test]
    fn a_reply_is_searched_for_the_voucher() {
        let text = |text: &str| Value::BulkString(text.into());
        let entry = |id: &str, voucher: &str| {
            let fields = ["userId", "ann", "voucherId", voucher, "id", "7"].map(text);
            Value::Array(vec![text(id), Value::Array(fields.into())])
        };
        let reply = Value::Array(vec![entry("5-0", "8"), entry("6-1", "7")]);
        assert!(matches!(look(&reply, b"voucherId", b"7"), Look::Found(6)));
        assert!(matches!(look(&reply, b"id", b"9"), Look::Nothing));
        let full = Value::Array((0..ENTRIES).map(|at| entry(&format!("{at}-0"), "8")).collect());
        assert!(matches!(look(&full, b"voucherId", b"7"), Look::GoesOn(id) if id.ms == 999));
        assert!(matches!(look(&Value::Nil, b"id", b"9"), Look::Nothing));
    }
}
