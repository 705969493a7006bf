//! The ids of a stream's entries, as clients spell them.

use crate::integer::Decimal;

/// When an entry came, and as which of that millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryId {
    pub ms: u64,
    pub seq: u64,
}

impl EntryId {
    /// Reads `ms-seq`, or `ms` alone for `ms-0`, as XACK does. None for anything else: `-`, `+`,
    /// `*` and `ms-*` name no single entry.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let Some(dash) = text.iter().position(|byte| *byte == b'-') else {
            return number(text).map(|ms| Self { ms, seq: 0 });
        };
        let (ms, seq) = text.split_at(dash);
        Some(Self { ms: number(ms)?, seq: number(seq.get(1..)?)? })
    }

    /// `ms-seq`
    pub fn text(self) -> Vec<u8> {
        [Decimal::unsigned(self.ms).bytes(), Decimal::unsigned(self.seq).bytes()].join(&b'-')
    }
}

/// Digits only, within 64 bits.
fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |value, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
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
    }
}
