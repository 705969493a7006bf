//! The terms of a managed voucher, as set when it was created or altered.

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SaleId(i64);

impl SaleId {
    /// The greatest id: of the year 2255.
    pub const MAX: i64 = (1 << 53) - 1;

    /// The id of a sale that is created now, even if the clock is far wrong.
    pub fn created_at(now_us: i64) -> Self {
        Self(now_us.clamp(1, Self::MAX))
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
}

/// The terms, as stored in the voucher's key: one JSON object with every field, `null` for no
/// bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
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
    /// None for a sale that was created before sales had ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sale: Option<SaleId>,
}

/// Reads a field that may be null but not missing: by default serde reads a missing `Option` as
/// null.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Millis>, D::Error> {
    Option::deserialize(deserializer)
}

/// Why terms are invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadTerms {
    /// Not the JSON object of [`Terms`].
    Unreadable,
    /// A number outside of its range.
    OutOfRange,
    /// The end is not after the begin.
    EndBeforeBegin,
}

impl Terms {
    /// Reads the value of a voucher's key. Refuses anything but the exact format.
    pub fn parse(json: &[u8]) -> Result<Self, BadTerms> {
        // serde would also read an array of the values.
        if json.trim_ascii_start().first() != Some(&b'{') {
            return Err(BadTerms::Unreadable);
        }
        let terms: Self = serde_json::from_slice(json).map_err(|_| BadTerms::Unreadable)?;
        terms.checked()
    }

    /// The terms, if they are valid.
    pub fn checked(self) -> Result<Self, BadTerms> {
        let moment =
            |moment: Option<Millis>| moment.is_none_or(|ms| (0..=MILLIS_MAX).contains(&ms));
        let span = |span: Option<Millis>| span.is_none_or(|ms| (1..=MILLIS_MAX).contains(&ms));
        if self.total < 0 || self.limit < 1 || !span(self.hold) {
            return Err(BadTerms::OutOfRange);
        }
        if self.sale.is_some_and(|sale| SaleId::new(sale.get()).is_none()) {
            return Err(BadTerms::OutOfRange);
        }
        if !moment(self.begin) || !moment(self.end) {
            return Err(BadTerms::OutOfRange);
        }
        match (self.begin, self.end) {
            (Some(begin), Some(end)) if end <= begin => Err(BadTerms::EndBeforeBegin),
            _ => Ok(self),
        }
    }

    /// The value for the voucher's key.
    pub fn to_json(self) -> String {
        // Only numbers: serialization can't fail.
        serde_json::to_string(&self).unwrap_or_default()
    }

    /// May a user who has `units` have `more`?
    pub fn allows(&self, units: i64, more: Units) -> bool {
        units.checked_add(more.get()).is_some_and(|all| all <= self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::{BadTerms, MILLIS_MAX, SaleId, Terms, is_in_seconds};
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

    const TERMS: Terms = Terms {
        total: 5,
        begin: Some(10),
        end: Some(20),
        limit: 1,
        hold: Some(300_000),
        sale: None,
    };

    #[test]
    fn terms_are_read_as_written() {
        let json = r#"{"total":5,"begin":10,"end":20,"limit":1,"hold":300000}"#;
        assert_eq!(TERMS.to_json(), json);
        assert_eq!(Terms::parse(json.as_bytes()), Ok(TERMS));
        let open = Terms { begin: None, end: None, hold: None, ..TERMS };
        assert_eq!(open.to_json(), r#"{"total":5,"begin":null,"end":null,"limit":1,"hold":null}"#);
        assert_eq!(Terms::parse(open.to_json().as_bytes()), Ok(open));
        for sale in [1, 1_795_344_856_123_456, SaleId::MAX] {
            let terms = Terms { sale: SaleId::new(sale), ..TERMS };
            assert!(terms.to_json().ends_with(&format!(r#","hold":300000,"sale":{sale}}}"#)));
            assert_eq!(Terms::parse(terms.to_json().as_bytes()), Ok(terms));
        }
    }

    #[test]
    fn sales_are_told_apart_by_numbers_of_one_spelling() {
        assert_eq!(SaleId::parse(b"17").map(SaleId::get), Some(17));
        for text in ["", "0", "-1", "017", "+17", "17 ", "9007199254740992", "summer"] {
            assert_eq!(SaleId::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(SaleId::created_at(-5).get(), 1);
        assert_eq!(SaleId::created_at(i64::MAX).get(), SaleId::MAX);
    }

    #[test]
    fn odd_terms_are_refused() {
        for json in [
            "",
            "{}",
            "5",
            "[5,10,20,1,3]",
            "null",
            r#"{"total":5,"begin":10,"end":20,"limit":1}"#,
            r#"{"total":5,"begin":10,"end":20,"hold":1}"#,
            r#"{"total":5,"begin":10,"end":20,"limit":1,"hold":1,"color":2}"#,
            r#"{"total":5,"begin":10,"end":20,"limit":1,"hold":1,"hold":1}"#,
            r#"{"total":"5","begin":10,"end":20,"limit":1,"hold":1}"#,
            r#"{"total":5,"begin":10,"end":20,"limit":1,"hold":1,"sale":"7"}"#,
            r#"{"total":5.5,"begin":10,"end":20,"limit":1,"hold":1}"#,
            r#"{"total":null,"begin":10,"end":20,"limit":1,"hold":1}"#,
            "{\"total\":5,\"begin\":10,\"end\":20,\"limit\":1,\"hold\":1}x",
        ] {
            assert_eq!(Terms::parse(json.as_bytes()), Err(BadTerms::Unreadable), "{json}");
        }
        let bad = |terms: Terms| terms.checked().unwrap_err();
        assert_eq!(bad(Terms { total: -1, ..TERMS }), BadTerms::OutOfRange);
        assert_eq!(bad(Terms { limit: 0, ..TERMS }), BadTerms::OutOfRange);
        assert_eq!(bad(Terms { hold: Some(0), ..TERMS }), BadTerms::OutOfRange);
        assert_eq!(bad(Terms { hold: Some(MILLIS_MAX + 1), ..TERMS }), BadTerms::OutOfRange);
        assert_eq!(bad(Terms { begin: Some(-1), ..TERMS }), BadTerms::OutOfRange);
        assert_eq!(bad(Terms { end: Some(MILLIS_MAX + 1), ..TERMS }), BadTerms::OutOfRange);
        for sale in [0, -1, SaleId::MAX + 1] {
            let json =
                format!(r#"{{"total":5,"begin":1,"end":2,"limit":1,"hold":1,"sale":{sale}}}"#);
            assert_eq!(Terms::parse(json.as_bytes()), Err(BadTerms::OutOfRange), "{sale}");
        }
        assert_eq!(bad(Terms { end: Some(10), ..TERMS }), BadTerms::EndBeforeBegin);
    }

    #[test]
    fn the_limit_counts_units() {
        let terms = Terms { limit: 3, ..TERMS };
        let units = |units| Units::new(units).unwrap();
        assert!(terms.allows(0, units(3)));
        assert!(terms.allows(2, units(1)));
        assert!(!terms.allows(2, units(2)));
        assert!(!terms.allows(3, units(1)));
        assert!(!terms.allows(1, units(i64::MAX)));
    }
}
