//! What became of the payments of a voucher, each by its reference, as written to and read from the
//! fields of a hash.

use crate::book::Garbled;
use crate::integer::{self, Decimal};
use crate::rules::SaleId;
use crate::sale::Units;

/// What a payment is to the order that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// It paid the order.
    First,
    /// It paid the order, which was released since: its refund is announced by that release, or by
    /// its own entry, if it came after it.
    Released,
    /// The order was released before: to be refunded.
    Late,
    /// Another payment had paid the order: to be refunded.
    Duplicate,
    /// There was no such order yet. The only one that is not final: it binds neither the order nor
    /// the payment, and is decided anew each time.
    Unmatched,
}

/// The word of a payment that is not to be refunded.
pub const FIRST: &[u8] = b"first";

impl Outcome {
    const ALL: [Self; 5] =
        [Self::First, Self::Released, Self::Late, Self::Duplicate, Self::Unmatched];

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
            Self::Duplicate => "duplicate",
            Self::Unmatched => "unmatched",
        }
    }
}

/// The longest reference of a payment that is not on record yet, in bytes.
pub const REFERENCE_LEN_MAX: usize = 128;

/// A payment on record: `outcome:sale,paid<m>,user<n>:user:orderid`, where `n` is the length of the
/// user, so that user and order id may be any bytes: `first:1795344856123456,user3:ann:1001`. The
/// units paid, `m`, are there if a confirmation said them. Records of earlier versions have no
/// user: `first:1795344856123456:1001`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Payment<N> {
    pub outcome: Outcome,
    pub sale: SaleId,
    /// How many units it is for, if that was said; else as many as its order has, or had.
    pub paid: Option<Units>,
    pub user: Option<N>,
    pub id: N,
}

/// What the parts behind the sale begin with.
const PAID: &[u8] = b"paid";
const USER: &[u8] = b"user";

impl<N> Payment<N> {
    /// The same with other names.
    pub fn map<M>(self, name: impl Fn(N) -> M) -> Payment<M> {
        let Self { outcome, sale, paid, user, id } = self;
        Payment { outcome, sale, paid, user: user.map(&name), id: name(id) }
    }
}

impl<'a> Payment<&'a [u8]> {
    pub fn parse(text: &'a [u8]) -> Result<Self, Garbled> {
        let mut parts = text.splitn(3, |byte| *byte == b':');
        let mut next = || parts.next().ok_or(Garbled);
        let (word, of, names) = (next()?, next()?, next()?);
        let outcome = Outcome::ALL.into_iter().find(|it| it.word().as_bytes() == word);
        let mut of = of.splitn(3, |byte| *byte == b',');
        let sale = of.next().and_then(SaleId::parse).ok_or(Garbled)?;
        let number = |part: &[u8], word| part.strip_prefix(word).and_then(integer::parse);
        let mut part = of.next();
        let paid = part.and_then(|part| number(part, PAID)).and_then(Units::new);
        if paid.is_some() {
            part = of.next();
        }
        let (user, id) = match part {
            None => (None, names),
            Some(part) => {
                let len = number(part, USER).and_then(|len| usize::try_from(len).ok());
                let (user, rest) = names.split_at_checked(len.ok_or(Garbled)?).ok_or(Garbled)?;
                (Some(user), rest.strip_prefix(b":").ok_or(Garbled)?)
            }
        };
        if of.next().is_some() {
            return Err(Garbled);
        }
        Ok(Self { outcome: outcome.ok_or(Garbled)?, sale, paid, user, id })
    }
}

impl<N: AsRef<[u8]>> Payment<N> {
    pub fn write(&self) -> Vec<u8> {
        let mut text = Vec::with_capacity(96);
        text.extend(self.outcome.word().as_bytes());
        text.push(b':');
        text.extend(Decimal::new(self.sale.get()).bytes());
        let mut more = |word: &[u8], number: i64| {
            text.push(b',');
            text.extend(word);
            text.extend(Decimal::new(number).bytes());
        };
        if let Some(paid) = self.paid {
            more(PAID, paid.get());
        }
        let user = self.user.as_ref().map(N::as_ref);
        if let Some(user) = user {
            more(USER, i64::try_from(user.len()).unwrap_or(i64::MAX));
        }
        for name in user.into_iter().chain([self.id.as_ref()]) {
            text.push(b':');
            text.extend(name);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST, Garbled, Outcome, Payment};
    use crate::rules::SaleId;
    use crate::sale::Units;

    #[test]
    fn payments_are_read_as_written() {
        let sale = SaleId::created_at(5);
        for outcome in Outcome::ALL {
            for id in [&b""[..], b"o1", b"a:b", b"\xff\0", b",user1:a:o1"] {
                for user in [None, Some(&b""[..]), Some(b"ann"), Some(b"a:b"), Some(b"\xff\0:")] {
                    for paid in [None, Some(Units::ONE), Units::new(i64::MAX)] {
                        let payment = Payment { outcome, sale, paid, user, id };
                        assert_eq!(Payment::parse(&payment.write()), Ok(payment));
                    }
                }
            }
        }
        let first =
            Payment { outcome: Outcome::First, sale, paid: None, user: None, id: &b"o1"[..] };
        let first = Payment { user: Some(&b"ann"[..]), ..first };
        assert_eq!(first.write(), b"first:5,user3:ann:o1");
        let said = Payment { paid: Units::new(2), ..first };
        assert_eq!(said.write(), b"first:5,paid2,user3:ann:o1");
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
            "first:5,paid0,user1:a:o",
            "first:5,paid-1,user1:a:o",
            "first:5,paid01,user1:a:o",
            "first:5,paid,user1:a:o",
            "first:5,paid1,paid1:a:o",
            "first:5,paid1,user1,user1:a:o",
            "first:5,user1,paid1:a:o",
            "first:5,paid1,:a:o",
            "first:5,paid9223372036854775808,user1:a:o",
            "first:5,user1",
            "first:5,user9223372036854775807:a:o",
        ] {
            assert_eq!(Payment::parse(text.as_bytes()), Err(Garbled), "{text}");
        }
    }
}
