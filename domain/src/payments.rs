//! What became of the payments of a voucher, each by its reference, as written to and read from the
//! fields of a hash.

use crate::book::Garbled;
use crate::integer::Decimal;
use crate::rules::SaleId;

/// What a payment is to the order that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// It paid the order.
    First,
    /// It paid the order, which was released since: its refund is announced by that release.
    Released,
    /// The order was released before: to be refunded.
    Late,
    /// Another payment had paid the order: to be refunded.
    Second,
    /// There was no such order: to be kept or refunded by a person.
    Unknown,
}

/// The word of a payment that is not to be refunded.
pub const FIRST: &[u8] = b"first";

impl Outcome {
    const ALL: [Self; 5] = [Self::First, Self::Released, Self::Late, Self::Second, Self::Unknown];

    /// The word, in the hash and on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Released => "released",
            Self::Late => "late",
            Self::Second => "second",
            Self::Unknown => "unknown",
        }
    }
}

/// A payment on record: `outcome:sale:orderid`. The order id is last, so it may be any bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Payment<N> {
    pub outcome: Outcome,
    pub sale: SaleId,
    pub id: N,
}

impl<N> Payment<N> {
    /// The same with another name.
    pub fn map<M>(self, name: impl Fn(N) -> M) -> Payment<M> {
        Payment { outcome: self.outcome, sale: self.sale, id: name(self.id) }
    }
}

impl<'a> Payment<&'a [u8]> {
    pub fn parse(text: &'a [u8]) -> Result<Self, Garbled> {
        let mut parts = text.splitn(3, |byte| *byte == b':');
        let mut next = || parts.next().ok_or(Garbled);
        let (word, sale, id) = (next()?, next()?, next()?);
        let outcome = Outcome::ALL.into_iter().find(|it| it.word().as_bytes() == word);
        let (outcome, sale) = (outcome.ok_or(Garbled)?, SaleId::parse(sale).ok_or(Garbled)?);
        Ok(Self { outcome, sale, id })
    }
}

impl<N: AsRef<[u8]>> Payment<N> {
    pub fn write(&self) -> Vec<u8> {
        let sale = Decimal::new(self.sale.get());
        [self.outcome.word().as_bytes(), sale.bytes(), self.id.as_ref()].join(&b':')
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST, Garbled, Outcome, Payment};
    use crate::rules::SaleId;

    #[test]
    fn payments_are_read_as_written() {
        let sale = SaleId::created_at(5);
        for outcome in Outcome::ALL {
            for id in [&b""[..], b"o1", b"a:b", b"\xff\0"] {
                let payment = Payment { outcome, sale, id };
                assert_eq!(Payment::parse(&payment.write()), Ok(payment));
            }
        }
        let first = Payment { outcome: Outcome::First, sale, id: b"o1" };
        assert_eq!(first.write(), b"first:5:o1");
        assert_eq!(Outcome::First.word().as_bytes(), FIRST);
        for text in ["", "first", "first:5", "first:0:o", "first:x:o", "last:5:o", "First:5:o"] {
            assert_eq!(Payment::parse(text.as_bytes()), Err(Garbled), "{text}");
        }
    }
}
