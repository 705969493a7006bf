//! Strings of the server under the names that the documentation gives them, each of its own type.

use crate::server::Str;

/// An argument of one kind, so that two of them are never mistaken for each other.
pub(crate) trait Argument<'a>: Sized {
    /// Does `seckill.name-bytes-max` bound its length?
    const IS_BOUNDED: bool;
    const MAY_BE_EMPTY: bool;

    fn of(text: Str<'a>) -> Self;
}

macro_rules! arguments {
    ($($(#[$doc:meta])* $type:ident, $is_bounded:literal, $may_be_empty:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $type<'a>(pub(crate) Str<'a>);

        impl<'a> Argument<'a> for $type<'a> {
            const IS_BOUNDED: bool = $is_bounded;
            const MAY_BE_EMPTY: bool = $may_be_empty;

            fn of(text: Str<'a>) -> Self {
                Self(text)
            }
        }
    )*};
}

arguments! {
    /// What is on sale.
    Voucher, true, true;
    /// Where prize codes are drawn from.
    Pool, true, true;
    /// The buyer.
    User, true, true;
    /// The order that an accepted try makes.
    OrderId, true, true;
    /// The payment of an order, as its provider calls it.
    Reference, true, false;
    /// The owner of a lock.
    Token, true, true;
    /// A new owner of a lock: clients that never set their token would all be one.
    NewToken, true, false;
    /// What ids are counted under.
    IdPrefix, true, true;
    /// The consumer group that an entry of a stream was delivered to.
    Group, false, true;
    /// Why an entry is rejected, for people.
    Reason, false, true;
    /// A key as the client spelled it.
    KeyName, false, true;
    /// The name of a field in the entry of a stream.
    FieldName, false, true;
    /// The cursor of a command that works in steps.
    Cursor, false, true;
}

/// The key of a lock that is to change hands, whose name was checked.
#[derive(Clone, Copy)]
pub(crate) struct LockName<'a>(pub(crate) Str<'a>);
