//! Why a command refuses: a mistake that somebody must mend, not an outcome of a sale.

use crate::server::{CallError, Ctx, NotAString};
use std::borrow::Cow;
use std::ffi::{CStr, CString};

/// One reason a variant. No reason carries bytes of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandError {
    /// The voucher has no stock key.
    NoVoucher,
    /// One of the keys is of another type.
    WrongType,
    /// The stock key holds a string that is no integer.
    StockNotInteger,
    /// The stream's last id is the greatest there is.
    StreamExhausted,
    /// Two keys that must differ have one name.
    SameKeys,
    /// Hash tags are on, and the voucher's braces put its keys elsewhere.
    StrayBraces,
    /// Hash tags are on, and a configured prefix has a brace of its own.
    BraceInPrefix,
    /// `*` as order id, for which there is no generator yet.
    GeneratedId,
    /// An option that the command does not have.
    Syntax,
    /// A word is missing, or is not an integer in `min..=max`.
    NotInRange { argument: &'static str, min: i64, max: i64 },
    /// An argument is longer than `max` bytes.
    TooLong { argument: &'static str, max: usize },
    /// The fence key holds a string that is no integer.
    FenceNotInteger,
    /// The last fencing token is the greatest there is.
    FenceExhausted,
    /// Hash tags are on, and the lock's braces put its fence key elsewhere.
    FenceStrayBraces,
    /// The slot of the keys is being moved.
    TryAgain,
    /// The slot of the lock is being moved, or has left.
    LockMoved,
    /// The server refused a step that was to be the first write.
    Refused { step: &'static str },
}

impl CommandError {
    /// The first word of the error, by which clients tell errors apart.
    fn code(self) -> &'static str {
        match self {
            Self::NoVoucher => "NOVOUCHER",
            Self::WrongType => "WRONGTYPE",
            Self::TryAgain | Self::LockMoved => "TRYAGAIN",
            _ => "ERR",
        }
    }

    fn sentence(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::NoVoucher => "no stock key for this voucher",
            // The server's own words, which clients know.
            Self::WrongType => "Operation against a key holding the wrong kind of value",
            Self::StockNotInteger => "stock is not an integer or out of range",
            Self::StreamExhausted => "the order stream has used up its ids",
            Self::SameKeys => "stock, buyers and orders must be different keys",
            Self::StrayBraces => "voucher must hold no } outside of a hash tag and not be empty",
            Self::BraceInPrefix => "configured key names must hold no { while hash tags are on",
            Self::GeneratedId => "orderid * is reserved, give an id",
            Self::Syntax => "syntax error",
            Self::NotInRange { argument, min, max } => {
                return format!("{argument} must be an integer from {min} to {max}").into();
            }
            Self::TooLong { argument, max } => {
                return format!("{argument} must be at most {max} bytes long").into();
            }
            Self::FenceNotInteger => "fencing token is not an integer or out of range",
            Self::FenceExhausted => "the fencing tokens of this lock are used up",
            Self::FenceStrayBraces => {
                "key of a lock with FENCE must hold no } outside of a hash tag and not be empty"
            }
            Self::LockMoved => "the slot of this lock is not all here",
            Self::TryAgain => "not all keys of this voucher are here while its slot is moved",
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
        let line = format!("{} {}", self.code(), self.sentence());
        CString::new(line).map_or(Cow::Borrowed(c"ERR"), Cow::Owned)
    }
}

impl From<NotAString> for CommandError {
    fn from(_: NotAString) -> Self {
        Self::WrongType
    }
}

impl CommandError {
    /// The error for a refused call that was to be `step`.
    pub(crate) fn of_call(error: CallError, step: &'static str) -> Self {
        match error {
            CallError::WrongType => Self::WrongType,
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
    use super::CommandError;

    #[test]
    fn errors_are_ascii_lines_with_a_code_word() {
        let all = [
            CommandError::NoVoucher,
            CommandError::WrongType,
            CommandError::StockNotInteger,
            CommandError::StreamExhausted,
            CommandError::SameKeys,
            CommandError::StrayBraces,
            CommandError::BraceInPrefix,
            CommandError::GeneratedId,
            CommandError::Syntax,
            CommandError::NotInRange { argument: "units", min: 1, max: i64::MAX },
            CommandError::TooLong { argument: "user", max: 1 },
            CommandError::FenceNotInteger,
            CommandError::FenceExhausted,
            CommandError::FenceStrayBraces,
            CommandError::TryAgain,
            CommandError::LockMoved,
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
