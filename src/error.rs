//! Why a command refuses: a mistake that somebody must fix, not an outcome of a sale.

use crate::server::{CallError, NotAString, NotThatKind};
use domain::book::Garbled;
use domain::deduction::BadStock;
use domain::facts::Refusal;
use domain::lock::bounds::Full;
use domain::order_id::NoId;
use domain::rules::BadRules;
use std::borrow::Cow;
use std::ffi::{CStr, CString};
use std::fmt;

/// One variant per reason. No reason carries bytes of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandError {
    /// The voucher has no stock key.
    NoVoucher,
    /// The voucher is not managed.
    NotManaged,
    /// The voucher already has keys.
    Exists,
    /// The order id belongs to another user, or to an order of other units.
    OrderId,
    /// Orders of the voucher are held.
    Held,
    /// The order was confirmed under another reference.
    Paid,
    /// Fewer units are left than the command removes.
    Stock,
    /// Stock or total would not fit 64 bits.
    StockOverflow,
    /// The voucher's rules key holds rules that are not valid.
    Rules(BadRules),
    /// The book, or a key beside it, holds something that no command of the module writes.
    Garbled,
    /// One of the keys is of another type.
    WrongType,
    /// The stock key holds a string that is not an integer.
    StockNotInteger,
    /// A bare stock is negative, and is not -1.
    NegativeStock,
    /// The stream's last id is the greatest there is.
    StreamExhausted,
    /// The last id of the dead-letter stream is the greatest there is.
    DeadLettersExhausted,
    /// The stream does not exist, or has no such consumer group.
    NoGroup,
    /// The entry was delivered to the group, but is no longer in the stream.
    NoEntry,
    /// The argument is not the id of a stream entry.
    EntryId,
    /// Two keys that must differ have the same name.
    SameKeys,
    /// Hash tags are on, and the voucher's braces put its keys elsewhere.
    StrayBraces,
    /// Two keys of a pool have the same name.
    SamePoolKeys,
    /// Hash tags are on, and the pool's braces put its keys elsewhere.
    PoolStrayBraces,
    /// The last id of the stream of draws is the greatest there is.
    DrawsExhausted,
    /// Hash tags are on, and a configured prefix has a brace of its own.
    BraceInPrefix,
    /// Hash tags are on, and the braces of an id prefix put its counter elsewhere.
    StrayPrefixBraces,
    /// The key of the id counter holds a string that is not a valid counter.
    CounterNotInteger,
    /// The ids of the day, or of all days, are used up.
    IdsUsedUp,
    /// Ids are requested faster than the day's counter allows.
    IdsTooFast,
    /// The next ids already belong to orders, too many of them to skip.
    IdsInUse,
    /// The clock is outside the years that ids can hold.
    ClockOutOfIds,
    /// `*` as order id, in a command that generates none.
    GeneratedId,
    /// The stock key of a managed voucher, in a command for unmanaged ones.
    Managed,
    /// SESSION in a script, which has no connection.
    NoConnection,
    /// Names of an entry's fields that are not allowed, and why.
    Fields(&'static str),
    /// A user without an order id.
    OddPairs,
    /// More pairs than one command takes.
    TooManyPairs { max: usize },
    /// The argument is not the cursor of an audit.
    Cursor,
    /// A sale that is too large to be audited by one command.
    TooManyAtOnce { max: i64 },
    /// An option that the command does not have.
    Syntax,
    /// An argument is missing, or is not an integer in `min..=max`.
    NotInRange { argument: &'static str, min: i64, max: i64 },
    /// A time in seconds instead of milliseconds.
    Seconds { argument: &'static str },
    /// An argument is longer than `max` bytes.
    TooLong { argument: &'static str, max: usize },
    /// An empty argument.
    Empty { argument: &'static str },
    /// The name of a lock is that of the fence key of another lock.
    FenceKey,
    /// The name of a lock is that of a key of a sale, of prizes or of ids.
    OwnKey,
    /// A limit of clients that wait, or of locks with SESSION, is reached.
    Waiters(Full),
    /// The user of a client that waited may not acquire the lock any more.
    NoPermission,
    /// The fence key holds a string that is not an integer.
    FenceNotInteger,
    /// The last fencing token is the greatest there is.
    FenceExhausted,
    /// Hash tags are on, and the stream's braces put its dead letters elsewhere.
    StreamStrayBraces,
    /// Hash tags are on, and the lock's braces put its fence key elsewhere.
    FenceStrayBraces,
    /// The slot of the keys is being moved.
    TryAgain,
    /// The slot of a stream is being moved.
    DeadLettersNotHere,
    /// The slot of a pool is being moved.
    PoolNotHere,
    /// The slot of an id counter is being moved.
    CounterNotHere,
    /// The slot of the lock is being moved, or has left.
    LockMoved,
    /// This server is a replica, and its primary sells the same units.
    ReadOnly,
    /// The server refused a step that would have been the first write.
    Refused { step: &'static str },
}

impl CommandError {
    /// The first word of the error, by which clients distinguish errors.
    fn code(self) -> &'static str {
        match self {
            Self::NoVoucher | Self::NotManaged => "NOVOUCHER",
            Self::Exists => "EXISTS",
            Self::OrderId => "ORDERID",
            Self::Held => "HELD",
            Self::Paid => "PAID",
            Self::Stock => "STOCK",
            Self::WrongType => "WRONGTYPE",
            Self::NoGroup => "NOGROUP",
            Self::NoEntry => "NOENTRY",
            Self::ReadOnly => "READONLY",
            Self::NoPermission => "NOPERM",
            Self::TryAgain
            | Self::PoolNotHere
            | Self::CounterNotHere
            | Self::IdsTooFast
            | Self::IdsInUse
            | Self::LockMoved
            | Self::DeadLettersNotHere => "TRYAGAIN",
            _ => "ERR",
        }
    }

    fn sentence(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::NoVoucher => "no stock key for this voucher",
            Self::NotManaged => "this voucher is not managed, see SECKILL.CREATE",
            Self::Exists => "this voucher already has keys, and a live sale is never reset",
            Self::OrderId => "this orderid is already used by another user or for other units",
            Self::Held => "this voucher has held orders, FORCE releases them first",
            Self::Paid => "this order was confirmed with another reference, see SECKILL.ORDER",
            Self::Stock => "fewer units are left than delta removes",
            Self::StockOverflow => "stock or total would be out of range",
            Self::Rules(BadRules::Unreadable) => {
                "the rules of this voucher must be JSON with total, begin, end, limit, hold and sale"
            }
            Self::Rules(BadRules::OutOfRange) => "the rules of this voucher are out of range",
            Self::Rules(BadRules::EndBeforeBegin) => "END must lie after BEGIN",
            Self::Garbled => "the records of this voucher can't be read, see SECKILL.AUDIT",
            // The server's own words, which clients know.
            Self::WrongType => "Operation against a key holding the wrong kind of value",
            Self::StockNotInteger => "stock is not an integer or out of range",
            Self::NegativeStock => "stock is negative, and only -1 is allowed",
            Self::StreamExhausted => "the order stream has used up its ids",
            Self::DeadLettersExhausted => "the dead-letter stream has used up its ids",
            Self::NoGroup => "no such stream or consumer group",
            Self::NoEntry => "the entry is pending but was deleted from the stream, XACK it",
            Self::EntryId => "id must be the id of a stream entry, such as 1526919030474-55",
            Self::SameKeys => "the keys of a voucher must all be different",
            Self::StrayBraces => "voucher must not be empty or contain } outside a hash tag",
            Self::SamePoolKeys => "the keys of a pool must all be different",
            Self::PoolStrayBraces => "pool must not be empty or contain } outside a hash tag",
            Self::DrawsExhausted => "the draw stream has used up its ids",
            Self::BraceInPrefix => "configured key names must not contain { while hash tags are on",
            Self::StreamStrayBraces => "stream must not be empty or contain } outside a hash tag",
            Self::StrayPrefixBraces => "prefix must not contain a brace outside a hash tag",
            Self::CounterNotInteger => "the id counter is not an integer or out of range",
            Self::IdsUsedUp => "the id counter has used up its ids",
            Self::IdsTooFast => "ids are requested too fast for the day's counter, wait a second",
            Self::IdsInUse => "the next ids already belong to orders, wait a second",
            Self::ClockOutOfIds => {
                "to generate ids, the clock must be within 68 years after seckill.id-epoch"
            }
            Self::GeneratedId => "orderid * is for SECKILL.TRY and SECKILL.MTRY, give an id here",
            Self::Managed => {
                "this is the stock of a managed voucher, which only SECKILL.TRY and MTRY sell"
            }
            Self::NoConnection => "SESSION needs a client connection, and a script has none",
            Self::Fields(why) => return format!("FIELDS {why}").into(),
            // The server's own words for MSET.
            Self::OddPairs => "wrong number of arguments for 'seckill.mtry' command",
            Self::TooManyPairs { max } => {
                return format!("at most {max} pairs of user and orderid are allowed").into();
            }
            Self::Cursor => "cursor must be 0 or the cursor of the last reply",
            Self::TooManyAtOnce { max } => {
                return format!("more than {max} orders are audited in steps, by CURSOR 0").into();
            }
            Self::Syntax => "syntax error",
            Self::NotInRange { argument, min, max } => {
                return format!("{argument} must be an integer from {min} to {max}").into();
            }
            Self::Seconds { argument } => {
                return format!("{argument} must be in milliseconds, this looks like seconds")
                    .into();
            }
            Self::TooLong { argument, max } => {
                return format!("{argument} must be at most {max} bytes long").into();
            }
            Self::Empty { argument } => return format!("{argument} must not be empty").into(),
            Self::OwnKey => "key must not have a name that sales, prizes or ids use",
            Self::FenceKey => "key must not end in :fence, where fencing tokens are kept",
            Self::Waiters(full) => return full.to_string().into(),
            Self::NoPermission => "this user has lost the right to acquire this lock",
            Self::FenceNotInteger => "fencing token is not an integer or out of range",
            Self::FenceExhausted => "the fencing tokens of this lock are used up",
            Self::FenceStrayBraces => {
                "key of a lock with FENCE must not be empty or contain } outside a hash tag"
            }
            Self::LockMoved => "not all keys of this lock are on this node while its slot moves",
            Self::TryAgain => "not all keys of this voucher are on this node while its slot moves",
            Self::DeadLettersNotHere => {
                "the dead-letter stream is not on this node while its slot moves"
            }
            Self::PoolNotHere => "not all keys of this pool are on this node while its slot moves",
            Self::CounterNotHere => "the id counter is not on this node while its slot moves",
            Self::ReadOnly => "this is a replica, and only its primary sells managed vouchers",
            Self::Refused { step } => {
                return format!("the server refused {step}, nothing was changed").into();
            }
        })
    }

    /// The error as clients get it.
    pub(crate) fn line(self) -> Cow<'static, CStr> {
        CString::new(self.to_string()).map_or(Cow::Borrowed(c"ERR"), Cow::Owned)
    }
}

/// The code word and the sentence.
impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code(), self.sentence())
    }
}

impl CommandError {
    /// Does the error concern one try of a batch, and not the next ones?
    pub(crate) fn is_of_one_try(self) -> bool {
        self.is_of_one_order()
            || matches!(self, Self::OrderId | Self::TooLong { .. } | Self::TryAgain)
    }

    /// Does the error concern one order, and not others of its sale?
    pub(crate) fn is_of_one_order(self) -> bool {
        matches!(self, Self::Garbled | Self::Refused { .. })
    }
}

impl From<Refusal> for CommandError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NoVoucher => Self::NoVoucher,
            Refusal::NotManaged => Self::NotManaged,
            Refusal::OrderId => Self::OrderId,
            Refusal::Garbled => Self::Garbled,
            Refusal::Paid => Self::Paid,
            Refusal::TooFew => Self::Stock,
            Refusal::Overflow => Self::StockOverflow,
            Refusal::NotAdoptable => Self::NotInRange { argument: "stock", min: 0, max: i64::MAX },
            Refusal::Exists => Self::Exists,
            Refusal::Held => Self::Held,
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
        Self::Rules(bad)
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

    /// The error when the server refused the call of `step` on a lock.
    pub(crate) fn of_lock_call(error: CallError, step: &'static str) -> Self {
        match error {
            CallError::NotHere => Self::LockMoved,
            error => Self::of_call(error, step),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BadRules, CommandError, Full};

    #[test]
    fn errors_are_ascii_lines_with_a_code_word() {
        let all = [
            CommandError::NoVoucher,
            CommandError::NotManaged,
            CommandError::Exists,
            CommandError::OrderId,
            CommandError::Held,
            CommandError::Paid,
            CommandError::Stock,
            CommandError::StockOverflow,
            CommandError::Rules(BadRules::Unreadable),
            CommandError::Rules(BadRules::OutOfRange),
            CommandError::Rules(BadRules::EndBeforeBegin),
            CommandError::Garbled,
            CommandError::WrongType,
            CommandError::StockNotInteger,
            CommandError::NegativeStock,
            CommandError::StreamExhausted,
            CommandError::DeadLettersExhausted,
            CommandError::DeadLettersNotHere,
            CommandError::NoGroup,
            CommandError::NoEntry,
            CommandError::EntryId,
            CommandError::StreamStrayBraces,
            CommandError::SameKeys,
            CommandError::StrayBraces,
            CommandError::SamePoolKeys,
            CommandError::PoolStrayBraces,
            CommandError::DrawsExhausted,
            CommandError::BraceInPrefix,
            CommandError::StrayPrefixBraces,
            CommandError::CounterNotInteger,
            CommandError::IdsUsedUp,
            CommandError::IdsTooFast,
            CommandError::IdsInUse,
            CommandError::ClockOutOfIds,
            CommandError::PoolNotHere,
            CommandError::CounterNotHere,
            CommandError::GeneratedId,
            CommandError::Managed,
            CommandError::NoConnection,
            CommandError::Fields("must be three different words"),
            CommandError::OddPairs,
            CommandError::TooManyPairs { max: 1024 },
            CommandError::Cursor,
            CommandError::TooManyAtOnce { max: 1 },
            CommandError::Syntax,
            CommandError::NotInRange { argument: "units", min: 1, max: i64::MAX },
            CommandError::Seconds { argument: "begin" },
            CommandError::TooLong { argument: "user", max: 1 },
            CommandError::Empty { argument: "reference" },
            CommandError::FenceKey,
            CommandError::OwnKey,
            CommandError::Waiters(Full::Line { max: 1 }),
            CommandError::NoPermission,
            CommandError::FenceNotInteger,
            CommandError::FenceExhausted,
            CommandError::FenceStrayBraces,
            CommandError::TryAgain,
            CommandError::LockMoved,
            CommandError::ReadOnly,
            CommandError::Refused { step: "SADD" },
        ];
        for error in all {
            let line = error.line().to_str().unwrap().to_owned();
            let (code, sentence) = line.split_once(' ').unwrap();
            assert!(code.bytes().all(|byte| byte.is_ascii_uppercase()), "{line}");
            assert!(!sentence.ends_with('.'), "{line}");
            assert!(line.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line}");
        }
    }
}
