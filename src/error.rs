//! Why a command refuses: a mistake that somebody must fix, not an outcome of a sale.

use crate::server::{CallError, Ctx, NotAString, NotThatKind};
use domain::book::Garbled;
use domain::deduction::BadStock;
use domain::order_id::NoId;
use domain::terms::BadTerms;
use domain::waiters::Full;
use std::borrow::Cow;
use std::ffi::{CStr, CString};
use std::fmt;

/// One reason a variant. No reason carries bytes of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandError {
    /// The voucher has no stock key.
    NoVoucher,
    /// The voucher is not managed.
    NotManaged,
    /// The voucher is there already.
    Exists,
    /// The order id is another user's, or another order's.
    OrderId,
    /// Orders of the voucher are held.
    Held,
    /// The order was confirmed under another reference.
    Paid,
    /// Less stock than is to be taken away.
    Stock,
    /// Stock or total would not fit 64 bits.
    StockOverflow,
    /// The voucher's key holds terms that can't be.
    Terms(BadTerms),
    /// The book holds something that no command of ours writes.
    Garbled,
    /// One of the keys is of another type.
    WrongType,
    /// The stock key holds a string that is no integer.
    StockNotInteger,
    /// A bare stock is negative, and not -1.
    NegativeStock,
    /// The stream's last id is the greatest there is.
    StreamExhausted,
    /// The same of the stream of dead letters.
    DeadLettersExhausted,
    /// There is no such stream, or no such group of it.
    NoGroup,
    /// The entry was delivered to the group, but is in the stream no more.
    NoEntry,
    /// What should be the id of a stream's entry is none.
    EntryId,
    /// Two keys that must differ have one name.
    SameKeys,
    /// Hash tags are on, and the voucher's braces put its keys elsewhere.
    StrayBraces,
    /// Two keys of a pool have one name.
    SamePoolKeys,
    /// Hash tags are on, and the pool's braces put its keys elsewhere.
    PoolStrayBraces,
    /// The last id of the stream of draws is the greatest there is.
    DrawsExhausted,
    /// Hash tags are on, and a configured prefix has a brace of its own.
    BraceInPrefix,
    /// Hash tags are on, and the braces of an id prefix put its counter elsewhere.
    StrayPrefixBraces,
    /// The counter key of ids holds a string that no counter ever held.
    CounterNotInteger,
    /// The ids of the day, or of all days, are used up.
    IdsUsedUp,
    /// More ids are asked for than the day has for every second.
    IdsTooFast,
    /// So many of the next ids are those of orders that somebody means them to be.
    IdsInUse,
    /// The clock is outside of the years that ids can hold.
    ClockOutOfIds,
    /// `*` as order id, where none is made.
    GeneratedId,
    /// SESSION in a script, which has no connection.
    NoConnection,
    /// Names of an entry's fields that can't be, and why.
    Fields(&'static str),
    /// Users and order ids that are no pairs.
    OddPairs,
    /// More pairs than one command takes.
    TooManyPairs { max: usize },
    /// What should be the cursor of an audit is none.
    Cursor,
    /// An option that the command does not have.
    Syntax,
    /// A word is missing, or is not an integer in `min..=max`.
    NotInRange { argument: &'static str, min: i64, max: i64 },
    /// A moment in seconds, where milliseconds are wanted.
    Seconds { argument: &'static str },
    /// An argument is longer than `max` bytes.
    TooLong { argument: &'static str, max: usize },
    /// An argument without a byte.
    Empty { argument: &'static str },
    /// A lock that is named like the fence key of another.
    FenceKey,
    /// A lock that is named like a key of a sale, of prizes or of ids.
    OwnKey,
    /// As many clients wait for this lock, or for all, as may.
    Waiters(Full),
    /// The fence key holds a string that is no integer.
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
    /// This server is a replica, and what it sells its primary sells too.
    ReadOnly,
    /// The server refused a step that was to be the first write.
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
            Self::NotManaged => "this voucher is not managed, SECKILL.CREATE makes one that is",
            Self::Exists => "this voucher has keys already, and a live sale is not reset",
            Self::OrderId => "this orderid belongs to an order of another user or of other units",
            Self::Held => "orders of this voucher are held, FORCE releases them first",
            Self::Paid => "this order was paid under another reference, see SECKILL.ORDER",
            Self::Stock => "fewer units are left than are to be taken away",
            Self::StockOverflow => "stock or total would be out of range",
            Self::Terms(BadTerms::Unreadable) => {
                "the rules of this voucher are not a JSON object of total, begin, end, limit, hold"
            }
            Self::Terms(BadTerms::OutOfRange) => "the rules of this voucher are out of range",
            Self::Terms(BadTerms::EndBeforeBegin) => "END must lie after BEGIN",
            Self::Garbled => {
                "the book of this voucher holds what no command wrote, see SECKILL.AUDIT"
            }
            // The server's own words, which clients know.
            Self::WrongType => "Operation against a key holding the wrong kind of value",
            Self::StockNotInteger => "stock is not an integer or out of range",
            Self::NegativeStock => "stock is negative and not -1",
            Self::StreamExhausted => "the order stream has used up its ids",
            Self::DeadLettersExhausted => "the stream of dead letters has used up its ids",
            Self::NoGroup => "no such stream, or no such consumer group of it",
            Self::NoEntry => "the entry is pending but gone from the stream, XACK it",
            Self::EntryId => "id must be that of a stream entry, such as 1526919030474-55",
            Self::SameKeys => "the keys of a voucher must all be different",
            Self::StrayBraces => "voucher must hold no } outside of a hash tag and not be empty",
            Self::SamePoolKeys => "the keys of a pool must all be different",
            Self::PoolStrayBraces => "pool must hold no } outside of a hash tag and not be empty",
            Self::DrawsExhausted => "the stream of draws has used up its ids",
            Self::BraceInPrefix => "configured key names must hold no { while hash tags are on",
            Self::StreamStrayBraces => {
                "stream must hold no } outside of a hash tag and not be empty"
            }
            Self::StrayPrefixBraces => "prefix must hold no brace outside of a hash tag",
            Self::CounterNotInteger => "the id counter is not an integer or out of range",
            Self::IdsUsedUp => "the id counter has used up its ids",
            Self::IdsTooFast => "ids are asked for faster than a day has them, wait a second",
            Self::IdsInUse => "the next ids are those of orders already, wait a second",
            Self::ClockOutOfIds => {
                "the clock must be within 68 years from seckill.id-epoch on to make ids"
            }
            Self::GeneratedId => "orderid * is for SECKILL.TRY, give an id here",
            Self::NoConnection => "SESSION needs the connection of a client, which no script has",
            Self::Fields(why) => return format!("FIELDS {why}").into(),
            // The server's own words for MSET.
            Self::OddPairs => "wrong number of arguments for 'seckill.mtry' command",
            Self::TooManyPairs { max } => {
                return format!("pairs of user and orderid must be at most {max}").into();
            }
            Self::Cursor => "cursor must be 0, or what the last step replied",
            Self::Syntax => "syntax error",
            Self::NotInRange { argument, min, max } => {
                return format!("{argument} must be an integer from {min} to {max}").into();
            }
            Self::Seconds { argument } => {
                return format!("{argument} must be in milliseconds, this can only be in seconds")
                    .into();
            }
            Self::TooLong { argument, max } => {
                return format!("{argument} must be at most {max} bytes long").into();
            }
            Self::Empty { argument } => return format!("{argument} must not be empty").into(),
            Self::OwnKey => "key must not be named like one of a sale, of prizes or of ids",
            Self::FenceKey => "key must not end in :fence, which is where fencing tokens are kept",
            Self::Waiters(Full::Line { max }) => {
                return format!("{max} clients wait for this lock, more may not").into();
            }
            Self::Waiters(Full::AllLines { max }) => {
                return format!("{max} clients wait for locks, more may not").into();
            }
            Self::FenceNotInteger => "fencing token is not an integer or out of range",
            Self::FenceExhausted => "the fencing tokens of this lock are used up",
            Self::FenceStrayBraces => {
                "key of a lock with FENCE must hold no } outside of a hash tag and not be empty"
            }
            Self::LockMoved => "the slot of this lock is not all here",
            Self::TryAgain => "not all keys of this voucher are here while its slot is moved",
            Self::DeadLettersNotHere => {
                "the dead letters of this stream are not here while its slot is moved"
            }
            Self::PoolNotHere => "not all keys of this pool are here while its slot is moved",
            Self::CounterNotHere => "the id counter is not here while its slot is moved",
            Self::ReadOnly => "this server is a replica, managed vouchers are sold by its primary",
            Self::Refused { step } => {
                return format!("the server refused {step}, nothing was changed").into();
            }
        })
    }

    /// Answers the client.
    pub(crate) fn send(self, ctx: Ctx<'_>) {
        ctx.reply_error(&self.line());
    }

    fn line(self) -> Cow<'static, CStr> {
        CString::new(self.to_string()).map_or(Cow::Borrowed(c"ERR"), Cow::Owned)
    }
}

/// The code word and the sentence.
impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code(), self.sentence())
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

impl From<BadTerms> for CommandError {
    fn from(bad: BadTerms) -> Self {
        Self::Terms(bad)
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
    /// The error for a refused call that was to be `step`.
    pub(crate) fn of_call(error: CallError, step: &'static str) -> Self {
        match error {
            CallError::WrongType => Self::WrongType,
            CallError::NoGroup => Self::NoGroup,
            CallError::NotHere => Self::TryAgain,
            CallError::Refused => Self::Refused { step },
        }
    }

    /// The same for a step on a lock.
    pub(crate) fn of_lock_call(error: CallError, step: &'static str) -> Self {
        match error {
            CallError::NotHere => Self::LockMoved,
            error => Self::of_call(error, step),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BadTerms, CommandError, Full};

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
            CommandError::Terms(BadTerms::Unreadable),
            CommandError::Terms(BadTerms::OutOfRange),
            CommandError::Terms(BadTerms::EndBeforeBegin),
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
            CommandError::NoConnection,
            CommandError::Fields("must be three different words"),
            CommandError::OddPairs,
            CommandError::TooManyPairs { max: 1024 },
            CommandError::Cursor,
            CommandError::Syntax,
            CommandError::NotInRange { argument: "units", min: 1, max: i64::MAX },
            CommandError::Seconds { argument: "begin" },
            CommandError::TooLong { argument: "user", max: 1 },
            CommandError::Empty { argument: "reference" },
            CommandError::FenceKey,
            CommandError::OwnKey,
            CommandError::Waiters(Full::Line { max: 1 }),
            CommandError::Waiters(Full::AllLines { max: 1 }),
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
