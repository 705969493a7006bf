//! The ids of a stream's entries, as clients write them.

use crate::integer::{Decimal, parse_digits};
use std::fmt;

/// The millisecond in which an entry was appended, and its number in that millisecond. Later
/// entries of a stream have greater ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId {
    pub ms: u64,
    pub seq: u64,
}

impl EntryId {
    /// Reads `ms-seq`, or `ms` alone for `ms-0`, as XACK does. None for anything else: `-`, `+`,
    /// `*` and `ms-*` name no single entry.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let Some(dash) = text.iter().position(|byte| *byte == b'-') else {
            return parse_digits(text).map(|ms| Self { ms, seq: 0 });
        };
        let (ms, seq) = text.split_at(dash);
        Some(Self { ms: parse_digits(ms)?, seq: parse_digits(seq.get(1..)?)? })
    }

    /// `ms-seq`
    pub fn text(self) -> Vec<u8> {
        [Decimal::unsigned(self.ms).bytes(), Decimal::unsigned(self.seq).bytes()].join(&b'-')
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}-{}", self.ms, self.seq)
    }
}

#[cfg(test)]
mod tests {
    use super::EntryId;

    #[test]
    fn ids_are_read_as_by_xack() {
        let rows: [(&[u8], Option<[u64; 2]>); 24] = [
            (b"0", Some([0, 0])),
            (b"0-1", Some([0, 1])),
            (b"123", Some([123, 0])),
            (b"1700000000123-7", Some([1_700_000_000_123, 7])),
            (b"007-01", Some([7, 1])),
            (b"18446744073709551615-18446744073709551615", Some([u64::MAX; 2])),
            (b"18446744073709551616-0", None),
            (b"0-18446744073709551616", None),
            (b"", None),
            (b"-", None),
            (b"+", None),
            (b"*", None),
            (b"$", None),
            (b">", None),
            (b"1-", None),
            (b"-1", None),
            (b"1-*", None),
            (b"1-2-3", None),
            (b"abc", None),
            (b"1-a", None),
            (b"+1-0", None),
            (b" 1-0", None),
            (b"(1-0", None),
            (b"1-0\0", None),
        ];
        for (text, want) in rows {
            let got = EntryId::parse(text).map(|id| [id.ms, id.seq]);
            assert_eq!(got, want, "{:?}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn ids_are_written_in_full() {
        assert_eq!(EntryId { ms: 5, seq: 0 }.text(), b"5-0");
        let last = EntryId { ms: u64::MAX, seq: u64::MAX };
        assert_eq!(last.text(), b"18446744073709551615-18446744073709551615");
        assert_eq!(EntryId::parse(&last.text()), Some(last));
        assert_eq!(last.to_string().as_bytes(), last.text());
    }

    #[test]
    fn later_ids_are_greater() {
        let id = |ms, seq| EntryId { ms, seq };
        assert!(id(9, 9) < id(10, 0) && id(10, 0) < id(10, 1));
        assert_eq!(EntryId::default(), id(0, 0));
    }
}
