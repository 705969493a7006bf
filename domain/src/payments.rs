//! What became of the payments of a voucher, each by its reference, as written to and read from the
//! fields of a hash.

use crate::book::Garbled;
use crate::integer::{self, Decimal};
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
    /// There was no such order yet. The only one that is not final: it binds neither the order nor
    /// the payment, and is decided anew each time.
    Unknown,
}

/// The word of a payment that is not to be refunded.
pub const FIRST: &[u8] = b"first";

impl Outcome {
    const ALL: [Self; 5] = [Self::First, Self::Released, Self::Late, Self::Second, Self::Unknown];

    /// What a word means.
    pub fn parse(word: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.word().as_bytes() == word)
    }

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

/// The longest reference of a payment that is not on record yet, in bytes.
pub const REFERENCE_LEN_MAX: usize = 128;

/// A payment on record: `outcome:sale,user<n>:user:orderid`, where `n` is the length of the user,
/// so that user and order id may be any bytes: `first:1795344856123456,user3:ann:1001`. Records of
/// earlier versions have no user: `first:1795344856123456:1001`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Payment<N> {
    pub outcome: Outcome,
    pub sale: SaleId,
    pub user: Option<N>,
    pub id: N,
}

/// What the part behind the sale begins with.
const USER: &[u8] = b"user";

impl<N> Payment<N> {
    /// The same with other names.
    pub fn map<M>(self, name: impl Fn(N) -> M) -> Payment<M> {
        let Self { outcome, sale, user, id } = self;
        Payment { outcome, sale, user: user.map(&name), id: name(id) }
    }
}

impl<'a> Payment<&'a [u8]> {
    pub fn parse(text: &'a [u8]) -> Result<Self, Garbled> {
        let mut parts = text.splitn(3, |byte| *byte == b':');
        let mut next = || parts.next().ok_or(Garbled);
        let (word, of, names) = (next()?, next()?, next()?);
        let outcome = Outcome::ALL.into_iter().find(|it| it.word().as_bytes() == word);
        let mut of = of.splitn(2, |byte| *byte == b',');
        let sale = of.next().and_then(SaleId::parse).ok_or(Garbled)?;
        let (user, id) = match of.next() {
            None => (None, names),
            Some(part) => {
                let len = part.strip_prefix(USER).and_then(integer::parse);
                let len = len.and_then(|len| usize::try_from(len).ok()).ok_or(Garbled)?;
                let (user, rest) = names.split_at_checked(len).ok_or(Garbled)?;
                (Some(user), rest.strip_prefix(b":").ok_or(Garbled)?)
            }
        };
        Ok(Self { outcome: outcome.ok_or(Garbled)?, sale, user, id })
    }
}

impl<N: AsRef<[u8]>> Payment<N> {
    pub fn write(&self) -> Vec<u8> {
        let (word, sale) = (self.outcome.word().as_bytes(), Decimal::new(self.sale.get()));
        let Some(user) = self.user.as_ref().map(N::as_ref) else {
            return [word, sale.bytes(), self.id.as_ref()].join(&b':');
        };
        let len = Decimal::new(i64::try_from(user.len()).unwrap_or(i64::MAX));
        [word, b":", sale.bytes(), b",", USER, len.bytes(), b":", user, b":", self.id.as_ref()]
            .concat()
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
            for id in [&b""[..], b"o1", b"a:b", b"\xff\0", b",user1:a:o1"] {
                for user in [None, Some(&b""[..]), Some(b"ann"), Some(b"a:b"), Some(b"\xff\0:")] {
                    let payment = Payment { outcome, sale, user, id };
                    assert_eq!(Payment::parse(&payment.write()), Ok(payment));
                }
            }
        }
        let first = Payment { outcome: Outcome::First, sale, user: Some(&b"ann"[..]), id: b"o1" };
        assert_eq!(first.write(), b"first:5,user3:ann:o1");
        assert_eq!(Payment { user: None, ..first }.write(), b"first:5:o1");
        assert_eq!(Outcome::First.word().as_bytes(), FIRST);
        for text in [
            "",
            "first",
            "first:5",
            "first:0:o",
            "first:x:o",
            "last:5:o",
            "First:5:o",
            "first:5,:a:o",
            "first:5,user:a:o",
            "first:5,user2:a:o",
            "first:5,user1:ao",
            "first:5,user01:a:o",
            "first:5,user-1:a:o",
            "first:5,user1,user1:a:o",
            "first:5,user1",
            "first:5,user9223372036854775807:a:o",
        ] {
            assert_eq!(Payment::parse(text.as_bytes()), Err(Garbled), "{text}");
        }
    }
}
