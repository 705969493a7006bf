//! Strings of the server under the names that the documentation gives them, each of its own type.

use crate::server::Str;

/// An argument of one kind, so that two of them are never mistaken for each other.
pub(crate) trait Argument<'a>: Sized {
    /// Its name in the documentation, if `seckill.name-bytes-max` bounds its length.
    const BOUNDED: Option<&'static str>;

    fn of(raw: Str<'a>) -> Self;
}

macro_rules! arguments {
    ($($(#[$doc:meta])* $type:ident, $bounded:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $type<'a>(pub(crate) Str<'a>);

        impl<'a> Argument<'a> for $type<'a> {
            const BOUNDED: Option<&'static str> = $bounded;

            fn of(raw: Str<'a>) -> Self {
                Self(raw)
            }
        }
    )*};
}

arguments! {
    /// What is on sale.
    Voucher, Some("voucher");
    /// Where prize codes are drawn from.
    Pool, Some("pool");
    /// The buyer.
    User, Some("user");
    /// The order that an accepted try makes.
    OrderId, Some("orderid");
    /// The payment of an order, as its provider calls it.
    Reference, Some("reference");
    /// The owner of a lock.
    Token, Some("token");
    /// What ids are counted under.
    IdPrefix, Some("prefix");
    /// The consumer group that an entry of a stream was delivered to.
    Group, None;
    /// Why an entry is rejected, for people.
    Reason, None;
    /// A key as the client spelled it.
    KeyName, None;
    /// The name of a field in the entry of a stream.
    FieldName, None;
}
