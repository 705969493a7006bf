//! Strings of the server under the names that the documentation gives them, each of its own type.

use crate::server::Str;

/// An argument of one kind, so that two of them are never mistaken for each other.
pub(crate) trait Argument<'a>: Sized {
    fn of(raw: Str<'a>) -> Self;
}

macro_rules! arguments {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name<'a>(pub(crate) Str<'a>);

        impl<'a> Argument<'a> for $name<'a> {
            fn of(raw: Str<'a>) -> Self {
                Self(raw)
            }
        }
    )*};
}

arguments! {
    /// What is on sale.
    Voucher;
    /// Where prize codes are drawn from.
    Pool;
    /// The buyer.
    User;
    /// The order that an accepted try makes.
    OrderId;
    /// The owner of a lock.
    Token;
    /// What ids are counted under.
    IdPrefix;
    /// The consumer group that an entry of a stream was delivered to.
    Group;
    /// Why an entry is rejected, for people.
    Reason;
    /// A key as the client spelled it.
    KeyName;
    /// The name of a field in the entry of a stream.
    FieldName;
}
