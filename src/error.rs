//! Why a command refuses: a mistake that somebody must fix, not an outcome of a sale.

mod declared;

use crate::server::{CallError, NotAString, NotThatKind};
pub(crate) use declared::{Needs, Options};
use domain::book::{Garbled, SPANS_MAX};
use domain::deduction::BadStock;
use domain::facts::{Needed, Refusal};
use domain::lock::bounds::Full;
use domain::order_id::NoId;
use domain::rules::BadRules;
use std::borrow::Cow;
use std::ffi::{CStr, CString};
use std::fmt;

/// Errors by what is wrong, each with its code word, by which clients tell errors apart, and its
/// sentence.
macro_rules! errors {
    ($(
        $(#[$doc:meta])*
        $name:ident $({ $($field:ident: $type:ty),+ })? $code:literal $text:literal;
    )*) => {
        /// One variant per reason. No reason carries bytes of a user.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum CommandError {
            $($(#[$doc])* $name $({ $($field: $type),+ })?,)*
        }

        /// The code word and the sentence.
        impl fmt::Display for CommandError {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match *self {
                    $(Self::$name $({ $($field),+ })? => {
                        f.write_str(concat!($code, " "))?;
                        write!(f, $text)
                    })*
                }
            }
        }

        #[cfg(test)]
        const TABLE: &[(&str, &str)] = &[$(($code, $text)),*];
    };
}

errors! {
    /// The voucher has no stock key.
    NoVoucher "NOVOUCHER" "no stock key for this voucher";
    /// The same where the names of keys carry hash tags, which whoever sets a stock forgets.
    NoTaggedVoucher "NOVOUCHER"
        "no stock key for this voucher, whose name has a hash tag here, as seckill:stock:{{9}}";
    /// The voucher is not managed.
    NotManaged "NOVOUCHER" "this voucher is not managed, see SECKILL.CREATE";
    /// The voucher already has keys.
    Exists "BUSYKEY" "this voucher already has keys, and a live sale is never reset";
    /// The order id belongs to another user, or to an order of other units.
    OrderId "ORDERID" "this orderid is already used by another user or for other units";
    /// Orders of the voucher are held.
    Held "HELD" "this voucher has held or waiting orders, FORCE releases them first";
    /// Orders wait that are promoted with reservations only.
    Waiting "HELD" "orders wait for units of this voucher, which needs HOLD to promote them";
    /// More orders have waited until the end of the sale than one command records.
    EndingWaits "HELD" "orders that waited until the end are being released, try again";
    /// A waiting list without reservations.
    NoHold "ERR" "WAITLIST needs a voucher with HOLD";
    /// Articles of a cart with reservations, and others without: they could not be paid as one.
    MixedHolds "ERR" "all vouchers of a cart need HOLD, or none";
    /// The payment is on record for another order, or for another sale of the voucher.
    Reference "REF" "this payment is on record for another order, user or sale";
    /// The payment is on record for another number of units.
    Units "UNITS" "this payment is on record for another number of units";
    /// Something is said of a payment that has no reference.
    NoReference "ERR" "UNITS and REFUND need REF, the reference of the payment";
    /// More parts of an order were refunded elsewhere than its entry in the book has room for.
    Parts { max: usize } "ERR"
        "at most {max} parts of an order can be REFUNDED with units between them that are not";
    /// Units that are not sold were not paid.
    RefundedHeld "ERR" "IF held and REFUNDED contradict each other, only sold orders are refunded";
    /// Memory is full, and the payment would only be kept.
    NoMemory "OOM" "memory is full, and this payment pays no order now, send it again later";
    /// No sale id is left above that of the last sale.
    LastSale "ERR" "no sale id is left above that of the voucher's last sale";
    /// The key of the last sale holds no sale id.
    LastSaleGarbled "ERR" "the id of this voucher's last sale can't be read, see SECKILL.CREATE";
    /// `RESTOCK ... FOR` without `SALE`, or without units to add or to take away.
    BareFor "ERR" "FOR needs SALE, and a delta other than 0";
    /// The request names another sale of the voucher.
    Sale "SALE" "this voucher has another sale than the one named, see SECKILL.INFO";
    /// Fewer units are left than the command removes.
    Stock "STOCK" "fewer units are left than this removes";
    /// Stock or total would not fit 64 bits.
    StockOverflow "ERR" "stock or total would be out of range";
    /// The voucher's rules key holds no rules.
    RulesUnreadable "ERR"
        "the rules of this voucher must be JSON with total, begin, end, limit, hold and sale";
    /// A number of the rules is out of range.
    RulesOutOfRange "ERR" "the rules of this voucher are out of range";
    /// The window would end before it begins.
    EndBeforeBegin "ERR" "END must lie after BEGIN";
    /// The sale lacks a key.
    Missing { part: Needed } "INCOMPLETE"
        "a key of this sale is missing: {part}, see SECKILL.AUDIT";
    /// The sale came key by key, and how many keys it must have is not known yet.
    Arriving "INCOMPLETE" "the keys of this sale came one by one, and its book is still read";
    /// The book, or a key beside it, holds something that no command of the module writes.
    Garbled "ERR" "the records of this voucher can't be read, see SECKILL.AUDIT";
    /// A bug of the module: a plan writes a key that is not open.
    Closed "ERR" "a bug of the module: a key was closed before its write, nothing was changed";
    /// One of the keys is of another type.
    WrongType "WRONGTYPE" "Operation against a key holding the wrong kind of value";
    /// The stock key holds a string that is not an integer.
    StockNotInteger "ERR" "stock is not an integer or out of range";
    /// A bare stock is negative, and is not -1.
    NegativeStock "ERR" "stock is negative, and only -1 is allowed";
    /// The stream's last id is the greatest there is.
    StreamExhausted { stream: &'static str } "ERR" "the {stream} has used up its ids";
    /// The stream does not exist, or has no such consumer group.
    NoGroup "NOGROUP" "no such stream or consumer group";
    /// The entry was delivered to the group, but is no longer in the stream.
    NoEntry "NOENTRY" "the entry is pending but was deleted from the stream, XACK it";
    /// The argument is not the id of a stream entry.
    EntryId "ERR" "id must be the id of a stream entry, such as 1526919030474-55";
    /// Two keys that must differ have the same name.
    SameKeys "ERR" "the keys of a voucher must all be different";
    /// A configured prefix and the voucher make the name of a key that is of something else.
    AnotherKey "ERR" "voucher must not make the name of another key of sales, prizes, ids or locks";
    /// Hash tags are on, and the voucher's braces put its keys elsewhere.
    StrayBraces "ERR" "voucher must not be empty or contain }} outside a hash tag";
    /// Two keys of a pool have the same name.
    SamePoolKeys "ERR" "the keys of a pool must all be different";
    /// Hash tags are on, and the pool's braces put its keys elsewhere.
    PoolStrayBraces "ERR" "pool must not be empty or contain }} outside a hash tag";
    /// Hash tags are on, and a configured prefix has a brace of its own.
    BraceInPrefix "ERR" "configured key names must not contain {{ while hash tags are on";
    /// Hash tags are on, and the braces of an id prefix put its counter elsewhere.
    StrayPrefixBraces "ERR" "prefix must not contain a brace outside a hash tag";
    /// The key of the id counter holds a string that is not a valid counter.
    CounterNotInteger "ERR" "the id counter is not an integer or out of range";
    /// The ids of the day, or of all days, are used up.
    IdsUsedUp "ERR" "the id counter has used up its ids";
    /// Ids are requested faster than the day's counter allows.
    IdsTooFast "TRYAGAIN" "ids are requested too fast for the day's counter, wait a second";
    /// The next ids already belong to orders, too many of them to skip.
    IdsInUse "TRYAGAIN" "the next ids already belong to orders, wait a second";
    /// The clock is outside the years that ids can hold.
    ClockOutOfIds "ERR" "to generate ids, the clock must be within 68 years after seckill.id-epoch";
    /// `*` as order id, in a command that generates none.
    GeneratedId "ERR" "orderid * is for SECKILL.TRY and SECKILL.MTRY, give an id here";
    /// The stock key of a managed voucher, in a command for unmanaged ones.
    Managed "ERR" "this is the stock of a managed voucher, which SECKILL.TRY, MTRY and TRYALL sell";
    /// SESSION in a script, which has no connection.
    NoConnection "ERR" "SESSION needs a client connection, and a script has none";
    /// Names of an entry's fields that are not allowed, and why.
    Fields { why: &'static str } "ERR" "FIELDS {why}";
    /// A user without an order id, or a voucher without units.
    OddPairs { command: &'static str } "ERR" "wrong number of arguments for '{command}' command";
    /// More pairs than one command takes.
    TooManyPairs { max: usize } "ERR" "at most {max} pairs of user and orderid are allowed";
    /// More vouchers than one cart takes.
    TooManyArticles { max: usize } "ERR" "at most {max} vouchers are allowed";
    /// Two articles of a cart have a key in common.
    SameVoucher "ERR" "a voucher can be named once";
    /// Longer names than one command takes.
    TooManyBytes { of: &'static str, max: usize } "ERR"
        "at most {max} bytes of {of} together are allowed";
    /// The argument is not the cursor of an audit.
    Cursor "ERR" "cursor must be 0 or the cursor of the last reply";
    /// A sale that is too large to be audited by one command.
    TooManyAtOnce { max: i64 } "ERR" "more than {max} orders are audited in steps, by CURSOR 0";
    /// An order that keeps nothing is simply cancelled.
    KeepNone "ERR" "KEEP 0 keeps nothing, leave KEEP out to release all units";
    /// An option that the command does not have, or that is given twice.
    Syntax { options: Options } "ERR" "syntax error{options}";
    /// An option without its value.
    Lacking { what: Needs } "ERR" "{what}";
    /// An argument is not an integer in `min..=max`.
    NotInRange { argument: &'static str, min: i64, max: i64, unit: &'static str } "ERR"
        "{argument} must be {min} to {max}{unit}";
    /// A time in seconds instead of milliseconds.
    Seconds { argument: &'static str } "ERR"
        "{argument} must be in milliseconds, this looks like seconds";
    /// An argument is longer than `max` bytes.
    TooLong { argument: &'static str, max: usize } "ERR"
        "{argument} must be at most {max} bytes long";
    /// A name that no database can store as text.
    Unstorable { argument: &'static str } "ERR" "{argument} must be UTF-8 without a NUL";
    /// An empty argument.
    Empty { argument: &'static str } "ERR" "{argument} must not be empty";
    /// The name of a lock is that of the fence key of another lock.
    FenceKey "ERR" "key must not end in :fence, where fencing tokens are kept";
    /// The name of a lock is that of a key of a sale, of prizes or of ids.
    OwnKey "ERR" "key must not have a name that sales, prizes or ids use";
    /// A limit of clients that wait, or of locks with SESSION, is reached.
    Waiters { full: Full } "ERR" "{full}";
    /// The user of a client that waited may not acquire the lock any more.
    NoPermission "NOPERM" "this user has lost the right to acquire this lock";
    /// The fence key holds a string that is not an integer.
    FenceNotInteger "ERR" "fencing token is not an integer or out of range";
    /// The last fencing token is the greatest there is.
    FenceExhausted "ERR" "the fencing tokens of this lock are used up";
    /// Hash tags are on, and the stream's braces put its dead letters elsewhere.
    StreamStrayBraces "ERR" "stream must not be empty or contain }} outside a hash tag";
    /// Hash tags are on, and the lock's braces put its fence key elsewhere.
    FenceStrayBraces "ERR"
        "key of a lock with FENCE must not be empty or contain }} outside a hash tag";
    /// The slot of the keys is being moved.
    TryAgain "TRYAGAIN" "not all keys of this voucher are on this node while its slot moves";
    /// The slot of a stream is being moved.
    DeadLettersNotHere "TRYAGAIN" "the dead-letter stream is not on this node while its slot moves";
    /// The slot of a pool is being moved.
    PoolNotHere "TRYAGAIN" "not all keys of this pool are on this node while its slot moves";
    /// The slot of an id counter is being moved.
    CounterNotHere "TRYAGAIN" "the id counter is not on this node while its slot moves";
    /// The slot of the lock is being moved, or has left.
    LockMoved "TRYAGAIN" "not all keys of this lock are on this node while its slot moves";
    /// The server became a replica while the client waited. The word is the server's own.
    Demoted "UNBLOCKED" "this server has become a replica, wait at its primary";
    /// This server is a replica, and its primary sells the same units.
    ReadOnly "READONLY" "this is a replica, and only its primary sells managed vouchers";
    /// The server refused a step that would have been the first write.
    Refused { step: &'static str } "ERR" "the server refused {step}, nothing was changed";
}

impl CommandError {
    /// The error as clients get it.
    pub(crate) fn line(self) -> Cow<'static, CStr> {
        CString::new(self.to_string()).map_or(Cow::Borrowed(c"ERR"), Cow::Owned)
    }
}

impl CommandError {
    /// Does the error concern one try of a batch, and not the next ones?
    pub(crate) fn is_of_one_try(self) -> bool {
        self.is_of_one_order()
            || matches!(self, Self::OrderId | Self::TooLong { .. } | Self::TryAgain)
            || matches!(self, Self::Unstorable { .. })
    }

    /// Does the error concern one order, and not others of its sale?
    pub(crate) fn is_of_one_order(self) -> bool {
        matches!(self, Self::Garbled | Self::Refused { .. } | Self::Missing { part: Needed::Extra })
    }
}

impl From<Refusal> for CommandError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NoVoucher => Self::NoVoucher,
            Refusal::NotManaged => Self::NotManaged,
            Refusal::OrderId => Self::OrderId,
            Refusal::Garbled => Self::Garbled,
            Refusal::Missing(part) => Self::Missing { part },
            Refusal::Reference => Self::Reference,
            Refusal::Units => Self::Units,
            Refusal::Parts => Self::Parts { max: SPANS_MAX },
            Refusal::NoMemory => Self::NoMemory,
            Refusal::LastSale => Self::LastSale,
            Refusal::Sale => Self::Sale,
            Refusal::TooFew => Self::Stock,
            Refusal::Overflow => Self::StockOverflow,
            Refusal::NotAdoptable => {
                Self::NotInRange { argument: "stock", min: 0, max: i64::MAX, unit: "" }
            }
            Refusal::Exists => Self::Exists,
            Refusal::Held => Self::Held,
            Refusal::Waiting => Self::Waiting,
            Refusal::EndingWaits => Self::EndingWaits,
            Refusal::NoHold => Self::NoHold,
            Refusal::MixedHolds => Self::MixedHolds,
        }
    }
}

impl From<NotThatKind> for CommandError {
    fn from(_: NotThatKind) -> Self {
        Self::WrongType
    }
}

impl From<Garbled> for CommandError {
    fn from(_: Garbled) -> Self {
        Self::Garbled
    }
}

impl From<BadStock> for CommandError {
    fn from(bad: BadStock) -> Self {
        match bad {
            BadStock::Negative => Self::NegativeStock,
            BadStock::Overflow => Self::StockOverflow,
        }
    }
}

impl From<BadRules> for CommandError {
    fn from(bad: BadRules) -> Self {
        match bad {
            BadRules::Unreadable => Self::RulesUnreadable,
            BadRules::OutOfRange => Self::RulesOutOfRange,
            BadRules::EndBeforeBegin => Self::EndBeforeBegin,
        }
    }
}

impl From<NotAString> for CommandError {
    fn from(_: NotAString) -> Self {
        Self::WrongType
    }
}

impl From<NoId> for CommandError {
    fn from(reason: NoId) -> Self {
        match reason {
            NoId::OutOfTime => Self::ClockOutOfIds,
            NoId::Foreign => Self::CounterNotInteger,
            NoId::UsedUp => Self::IdsUsedUp,
            NoId::TooFast => Self::IdsTooFast,
        }
    }
}

impl CommandError {
    /// The error when the server refused the call of `step`.
    pub(crate) fn of_call(error: CallError, step: &'static str) -> Self {
        match error {
            CallError::WrongType => Self::WrongType,
            CallError::NoGroup => Self::NoGroup,
            CallError::NotHere => Self::TryAgain,
            CallError::Refused => Self::Refused { step },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CommandError, TABLE};

    #[test]
    fn errors_are_ascii_lines_with_a_code_word() {
        for (code, sentence) in TABLE {
            assert!(code.bytes().all(|byte| byte.is_ascii_uppercase()), "{code} {sentence}");
            assert!(!sentence.ends_with('.'), "{sentence}");
            assert!(sentence.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{sentence}");
        }
        let error = CommandError::TooLong { argument: "user", max: 1 };
        assert_eq!(error.line().to_str(), Ok("ERR user must be at most 1 bytes long"));
    }
}
