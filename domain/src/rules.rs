//! The rules of a managed voucher, as set when it was created or altered.

use crate::integer;
use crate::sale::Units;
use serde::{Deserialize, Deserializer, Serialize};

/// A time in milliseconds since 1970-01-01 UTC, or a duration in milliseconds.
pub type Millis = i64;

/// The greatest time and duration: year 10889. The sum of two fits 64 bits.
pub const MILLIS_MAX: Millis = 1 << 48;

/// Can this time only have been meant in seconds? In seconds it is between the years 2001 and 5138,
/// in milliseconds between 12 January 1970 and March 1973.
pub fn is_in_seconds(moment: Millis) -> bool {
    (1_000_000_000..100_000_000_000).contains(&moment)
}

/// The id that distinguishes the sales of one voucher: its time of creation, in microseconds since
/// 1970-01-01 UTC. Below 2^53, so that every JSON parser reads it exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SaleId(i64);

impl SaleId {
    /// The greatest id: of the year 2255.
    pub const MAX: i64 = (1 << 53) - 1;

    /// The id of a sale that is created now, even if the clock is far wrong.
    pub fn created_at(now_us: i64) -> Self {
        Self(now_us.clamp(1, Self::MAX))
    }

    /// The next id that no sale of the voucher had, even if the clock is behind. None if there is
    /// none left.
    pub fn after(self, last: Option<Self>) -> Option<Self> {
        match last {
            Some(last) if last >= self => last.0.checked_add(1).and_then(Self::new),
            _ => Some(self),
        }
    }

    /// None for a number that can't be a sale's id.
    pub fn new(id: i64) -> Option<Self> {
        (1..=Self::MAX).contains(&id).then_some(Self(id))
    }

    /// The id in a field of an entry; none if the value is not an id.
    pub fn parse(text: &[u8]) -> Option<Self> {
        integer::parse(text).and_then(Self::new)
    }

    pub fn get(self) -> i64 {
        self.0
    }

    /// About when the sale was created, in unix milliseconds; later where its id had to be greater.
    pub fn began_ms(self) -> Millis {
        self.0 / 1000
    }
}

/// The rules, as stored in the voucher's key: one JSON object with every field, `null` for no
/// bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// The sum of units left, held and sold. Never negative.
    pub total: i64,
    /// The first millisecond of the sale.
    #[serde(deserialize_with = "given")]
    pub begin: Option<Millis>,
    /// The first millisecond after the sale.
    #[serde(deserialize_with = "given")]
    pub end: Option<Millis>,
    /// The maximum of units per user. At least 1.
    pub limit: i64,
    /// How long an accepted order is held until its user must have paid. None: it is sold at once.
    #[serde(deserialize_with = "given")]
    pub hold: Option<Millis>,
    /// Which of the voucher's sales this is.
    pub sale: SaleId,
}

/// Reads a field that may be null but not missing: by default serde reads a missing `Option` as
/// null.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Millis>, D::Error> {
    Option::deserialize(deserializer)
}

/// Why rules are invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadRules {
    /// Not the JSON object of [`Rules`].
    Unreadable,
    /// A number outside of its range.
    OutOfRange,
    /// The end is not after the begin.
    EndBeforeBegin,
}

impl Rules {
    /// Reads the value of a voucher's key. Refuses anything but the exact format.
    pub fn parse(json: &[u8]) -> Result<Self, BadRules> {
        // serde would also read an array of the values.
        if json.trim_ascii_start().first() != Some(&b'{') {
            return Err(BadRules::Unreadable);
        }
        let rules: Self = serde_json::from_slice(json).map_err(|_| BadRules::Unreadable)?;
        rules.kept()
    }

    /// The rules, if they can be those of a voucher, whose window may be empty: it is once the sale
    /// was [ended](Self::ended) before its begin.
    pub fn kept(self) -> Result<Self, BadRules> {
        let is_empty = self.begin.is_some() && self.begin == self.end;
        let with_end = if is_empty { None } else { self.end };
        Self { end: with_end, ..self }.checked().map(|_| self)
    }

    /// The rules, if a client may set this window.
    pub fn checked(self) -> Result<Self, BadRules> {
        let moment =
            |moment: Option<Millis>| moment.is_none_or(|ms| (0..=MILLIS_MAX).contains(&ms));
        let span = |span: Option<Millis>| span.is_none_or(|ms| (1..=MILLIS_MAX).contains(&ms));
        let is_sale = SaleId::new(self.sale.get()).is_some();
        if self.total < 0 || self.limit < 1 || !span(self.hold) || !is_sale {
            return Err(BadRules::OutOfRange);
        }
        if !moment(self.begin) || !moment(self.end) {
            return Err(BadRules::OutOfRange);
        }
        match (self.begin, self.end) {
            (Some(begin), Some(end)) if end <= begin => Err(BadRules::EndBeforeBegin),
            _ => Ok(self),
        }
    }

    /// The value for the voucher's key.
    pub fn to_json(self) -> String {
        // Only numbers: serialization can't fail.
        let json = serde_json::to_string(&self);
        debug_assert!(json.is_ok());
        json.unwrap_or_default()
    }

    /// May a user who has `units` have `more`? Where a `limit` is given, no more than this either.
    pub fn allows(&self, units: i64, more: Units, limit: Option<Units>) -> bool {
        let limit = limit.map_or(self.limit, |limit| limit.get().min(self.limit));
        units.checked_add(more.get()).is_some_and(|all| all <= limit)
    }

    /// The rules of a sale that these units have left.
    pub fn without(self, units: Units) -> Self {
        Self { total: self.total.saturating_sub(units.get()).max(0), ..self }
    }

    /// The window at `now`: it begins at `begin` and is over at `end`.
    pub fn window(&self, now: Millis) -> Window {
        if self.begin.is_some_and(|begin| now < begin) {
            Window::NotStarted
        } else if self.end.is_some_and(|end| now >= end) {
            Window::Ended
        } else {
            Window::Open
        }
    }

    /// The rules of a sale that sells nothing from now on, with their begin; None if that is so
    /// already.
    pub fn ended(self, now: Millis) -> Option<Self> {
        let end = Some(self.begin.map_or(now, |begin| begin.max(now)));
        (self.window(now) != Window::Ended && self.end != end).then_some(Self { end, ..self })
    }
}

/// The state of the window of a sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    NotStarted,
    Open,
    Ended,
}

/// Which sale a request or an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meant {
    /// A request that names none: the one there is.
    Any,
    Sale(SaleId),
    /// An entry that names none: its order was made while the voucher was not managed.
    Unmanaged,
}

impl Meant {
    /// What a request means that may name a sale.
    pub fn by_request(sale: Option<SaleId>) -> Self {
        sale.map_or(Self::Any, Self::Sale)
    }

    /// What the entry of an order means, which names the sale if there was one.
    pub fn by_entry(sale: Option<SaleId>) -> Self {
        sale.map_or(Self::Unmanaged, Self::Sale)
    }

    /// Is it this sale, or none, that of an unmanaged voucher?
    pub fn is(self, sale: Option<SaleId>) -> bool {
        match self {
            Self::Any => true,
            Self::Sale(id) => sale == Some(id),
            Self::Unmanaged => sale.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BadRules, MILLIS_MAX, Meant, Rules, SaleId, Window, is_in_seconds};
    use crate::sale::Units;

    #[test]
    fn seconds_are_told_from_milliseconds() {
        // Seconds of possible sales: in 2001, today, in 2100, and the last one in the year 5138.
        for seconds in [1_000_000_000, 1_795_259_000, 4_102_444_800, 99_999_999_999] {
            assert!(is_in_seconds(seconds), "{seconds}");
            assert!(!is_in_seconds(seconds * 1000), "{seconds}");
        }
        // Values that mean "ended long ago" and "never".
        for other in [0, 1, 1000, 999_999_999, 100_000_000_000, MILLIS_MAX] {
            assert!(!is_in_seconds(other), "{other}");
        }
    }

    const RULES: Rules = Rules {
        total: 5,
        begin: Some(10),
        end: Some(20),
        limit: 1,
        hold: Some(300_000),
        sale: SaleId(7),
    };

    #[test]
    fn rules_are_read_as_written() {
        let json = r#"{"total":5,"begin":10,"end":20,"limit":1,"hold":300000,"sale":7}"#;
        assert_eq!(RULES.to_json(), json);
        assert_eq!(Rules::parse(json.as_bytes()), Ok(RULES));
        let open = Rules { begin: None, end: None, hold: None, ..RULES };
        assert_eq!(
            open.to_json(),
            r#"{"total":5,"begin":null,"end":null,"limit":1,"hold":null,"sale":7}"#
        );
        assert_eq!(Rules::parse(open.to_json().as_bytes()), Ok(open));
        for sale in [1, 1_795_344_856_123_456, SaleId::MAX] {
            let rules = Rules { sale: SaleId(sale), ..RULES };
            assert!(rules.to_json().ends_with(&format!(r#","hold":300000,"sale":{sale}}}"#)));
            assert_eq!(Rules::parse(rules.to_json().as_bytes()), Ok(rules));
        }
    }

    #[test]
    fn sales_are_told_apart_by_numbers_of_one_spelling() {
        assert_eq!(SaleId::parse(b"17").map(SaleId::get), Some(17));
        for text in ["", "0", "-1", "017", "+17", "17 ", "9007199254740992", "summer"] {
            assert_eq!(SaleId::parse(text.as_bytes()), None, "{text}");
        }
        let after = |now, last| SaleId(now).after(last).map(SaleId::get);
        assert_eq!(after(17, None), Some(17));
        assert_eq!([5, 16].map(|last| after(17, Some(SaleId(last)))), [Some(17); 2]);
        assert_eq!([17, 20].map(|last| after(17, Some(SaleId(last)))), [Some(18), Some(21)]);
        assert_eq!(after(17, Some(SaleId(SaleId::MAX))), None);
        assert_eq!(SaleId::created_at(-5).get(), 1);
        assert_eq!(SaleId::created_at(i64::MAX).get(), SaleId::MAX);
    }

    #[test]
    fn odd_rules_are_refused() {
        for json in [
            "",
            "{}",
            "5",
            "[5,10,20,1,3]",
            "null",
            r#"{"total":5,"begin":10,"end":20,"limit":1,"sale":7}"#,
            r#"{"total":5,"begin":10,"end":20,"limit":1,"hold":1}"#,
            r#"{"total":5,"begin":10,"end":20,"hold":1,"sale":7}"#,
            r#"{"total":5,"begin":10,"end":20,"limit":1,"hold":1,"color":2,"sale":7}"#,
            r#"{"total":5,"begin":10,"end":20,"limit":1,"hold":1,"hold":1,"sale":7}"#,
            r#"{"total":"5","begin":10,"end":20,"limit":1,"hold":1,"sale":7}"#,
            r#"{"total":5,"begin":10,"end":20,"limit":1,"hold":1,"sale":"7"}"#,
            r#"{"total":5.5,"begin":10,"end":20,"limit":1,"hold":1,"sale":7}"#,
            r#"{"total":null,"begin":10,"end":20,"limit":1,"hold":1,"sale":7}"#,
            "{\"total\":5,\"begin\":10,\"end\":20,\"limit\":1,\"hold\":1,\"sale\":7}x",
        ] {
            assert_eq!(Rules::parse(json.as_bytes()), Err(BadRules::Unreadable), "{json}");
        }
        let bad = |rules: Rules| rules.checked().unwrap_err();
        assert_eq!(bad(Rules { total: -1, ..RULES }), BadRules::OutOfRange);
        assert_eq!(bad(Rules { limit: 0, ..RULES }), BadRules::OutOfRange);
        assert_eq!(bad(Rules { hold: Some(0), ..RULES }), BadRules::OutOfRange);
        assert_eq!(bad(Rules { hold: Some(MILLIS_MAX + 1), ..RULES }), BadRules::OutOfRange);
        assert_eq!(bad(Rules { begin: Some(-1), ..RULES }), BadRules::OutOfRange);
        assert_eq!(bad(Rules { end: Some(MILLIS_MAX + 1), ..RULES }), BadRules::OutOfRange);
        assert_eq!(Rules { total: 0, ..RULES }.checked(), Ok(Rules { total: 0, ..RULES }));
        let reversed = Rules { end: Some(9), ..RULES }.to_json();
        assert_eq!(Rules::parse(reversed.as_bytes()), Err(BadRules::EndBeforeBegin));
        for sale in [0, -1, SaleId::MAX + 1] {
            let json =
                format!(r#"{{"total":5,"begin":1,"end":2,"limit":1,"hold":1,"sale":{sale}}}"#);
            assert_eq!(Rules::parse(json.as_bytes()), Err(BadRules::OutOfRange), "{sale}");
        }
        assert_eq!(bad(Rules { end: Some(10), ..RULES }), BadRules::EndBeforeBegin);
    }

    #[test]
    fn the_limit_counts_units() {
        let rules = Rules { limit: 3, ..RULES };
        let units = |units| Units::new(units).unwrap();
        for (limit, all) in [(None, 3), (Some(1), 1), (Some(3), 3), (Some(4), 3)] {
            let limit = limit.map(units);
            for has in 0..5 {
                for more in 1..5 {
                    assert_eq!(rules.allows(has, units(more), limit), has + more <= all);
                }
            }
            assert!(!rules.allows(1, units(i64::MAX), limit));
        }
    }

    #[test]
    fn the_window_is_half_open() {
        let at = |now| RULES.window(now);
        assert_eq!([at(9), at(10), at(19), at(20)].map(|w| w as i32), [0, 1, 1, 2]);
        let endless = Rules { begin: None, end: None, ..RULES };
        assert_eq!(endless.window(0), Window::Open);
        assert_eq!(endless.window(i64::MAX), Window::Open);
    }

    #[test]
    fn a_sale_that_is_ended_keeps_its_begin() {
        let endings = [(9, Some(10)), (10, Some(10)), (15, Some(15)), (20, None), (25, None)];
        for (now, end) in endings {
            let ended = RULES.ended(now);
            assert_eq!(
                ended.map(|rules| (rules.begin, rules.end)),
                end.map(|e| (Some(10), Some(e)))
            );
            // Nothing is written for it twice.
            assert_eq!(ended.and_then(|rules| rules.ended(now)), None);
            let Some(ended) = ended else { continue };
            assert_eq!(Rules::parse(ended.to_json().as_bytes()), Ok(ended));
            assert!((0..30).all(|later| later < now || ended.window(later) != Window::Open));
        }
        let endless = Rules { begin: None, end: None, ..RULES };
        assert_eq!(endless.ended(15).map(|rules| (rules.begin, rules.end)), Some((None, Some(15))));
        let out_of_range = Rules { begin: Some(-1), end: Some(-1), ..RULES };
        let parsed = Rules::parse(out_of_range.to_json().as_bytes());
        assert_eq!(parsed, Err(BadRules::OutOfRange));
    }

    #[test]
    fn a_sale_is_meant_by_its_id() {
        let [this, another] = [7, 8].map(SaleId::new);
        let sale = Some(RULES.sale);
        for (meant, of_this, of_none) in [
            (Meant::by_request(None), true, true),
            (Meant::by_request(this), true, false),
            (Meant::by_request(another), false, false),
            (Meant::by_entry(None), false, true),
            (Meant::by_entry(this), true, false),
            (Meant::by_entry(another), false, false),
        ] {
            assert_eq!((meant.is(sale), meant.is(None)), (of_this, of_none), "{meant:?}");
        }
    }
}
