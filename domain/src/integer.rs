//! Integers as the server writes them into strings.

/// Reads an integer exactly as INCRBY would: an optional minus, no plus, no leading zero, no
/// space, within 64 bits. None for anything else.
pub fn parse(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'0'] => return Some(0),
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    // 2^63 has 19 digits; the first digit is not 0, so no number has two spellings.
    if digits.is_empty() || digits.len() > 19 || digits.first() == Some(&b'0') {
        return None;
    }
    let mut value: u64 = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        // No overflow: 19 digits stay below 10^19, which is less than 2^64.
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit.wrapping_sub(b'0')));
    }
    if negative { 0i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() }
}

/// Reads a number of digits only, within 64 bits. Leading zeros are allowed.
pub fn parse_digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |value, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// An integer written in decimal, without a heap allocation.
pub struct Decimal {
    bytes: [u8; Self::LEN_MAX],
    len: usize,
}

impl Decimal {
    /// The digits of 2^64 - 1, or those of -2^63 and a minus.
    const LEN_MAX: usize = 20;

    pub fn new(value: i64) -> Self {
        Self::of(itoa::Buffer::new().format(value))
    }

    pub fn unsigned(value: u64) -> Self {
        Self::of(itoa::Buffer::new().format(value))
    }

    fn of(text: &str) -> Self {
        let mut decimal = Self { bytes: [0; Self::LEN_MAX], len: text.len() };
        if let Some(room) = decimal.bytes.get_mut(..text.len()) {
            room.copy_from_slice(text.as_bytes());
        }
        decimal
    }

    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::{Decimal, parse, parse_digits};

    #[test]
    fn an_integer_has_one_spelling() {
        let rows: [(&[u8], Option<i64>); 21] = [
            (b"0", Some(0)),
            (b"1", Some(1)),
            (b"-1", Some(-1)),
            (b"1000", Some(1000)),
            (b"9223372036854775807", Some(i64::MAX)),
            (b"-9223372036854775808", Some(i64::MIN)),
            (b"9223372036854775808", None),
            (b"-9223372036854775809", None),
            (b"9999999999999999999", None),
            (b"10000000000000000000", None),
            (b"", None),
            (b"-", None),
            (b"-0", None),
            (b"+5", None),
            (b"007", None),
            (b" 5", None),
            (b"5 ", None),
            (b"5.0", None),
            (b"0x10", None),
            (b"1e3", None),
            (b"5\0", None),
        ];
        for (text, want) in rows {
            assert_eq!(parse(text), want, "{:?}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn digits_are_read_with_zeros_before_them() {
        for (text, want) in [
            ("0", Some(0)),
            ("007", Some(7)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("", None),
            ("-1", None),
            ("+1", None),
            ("1 ", None),
        ] {
            assert_eq!(parse_digits(text.as_bytes()), want, "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut random = fastrand::Rng::with_seed(7);
        let edges = [0, 1, -1, 9, 10, 99, 100, i64::MAX, i64::MIN];
        for value in (0..10_000).map(|_| random.i64(..) >> random.u32(..64)).chain(edges) {
            let written = Decimal::new(value);
            assert_eq!(written.bytes(), value.to_string().as_bytes());
            assert_eq!(parse(written.bytes()), Some(value));
        }
        assert_eq!(Decimal::unsigned(u64::MAX).bytes(), u64::MAX.to_string().as_bytes());
    }
}
