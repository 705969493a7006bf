//! What a command answers when it did its work.

use crate::rules::sale::Outcome;
use crate::server::Ctx;

/// A reply. Errors are [`crate::error::CommandError`].
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Integer(i64),
    /// The client is blocked, and is answered later.
    Later,
    Bytes(Vec<u8>),
    /// There is no such thing.
    Null,
    /// Names and values; pairs in one flat array for clients of RESP2.
    Map(Vec<(&'static str, Reply)>),
}

impl Reply {
    /// Answers the client.
    pub(crate) fn send(self, ctx: Ctx<'_>) {
        match self {
            Self::Integer(value) => ctx.reply_integer(value),
            Self::Later => {}
            Self::Bytes(bytes) => ctx.reply_bytes(&bytes),
            Self::Null => ctx.reply_null(),
            Self::Map(pairs) => {
                ctx.reply_map(len(pairs.len()));
                for (name, value) in pairs {
                    ctx.reply_bytes(name.as_bytes());
                    value.send(ctx);
                }
            }
        }
    }

    /// The number, or null where there is none.
    pub(crate) fn integer_or_null(value: Option<i64>) -> Self {
        value.map_or(Self::Null, Self::Integer)
    }
}

/// A length as the protocol has it. No reply here comes near the bound.
fn len(len: usize) -> i64 {
    i64::try_from(len).unwrap_or(i64::MAX)
}

impl From<Outcome> for Reply {
    fn from(outcome: Outcome) -> Self {
        Self::Integer(outcome.code())
    }
}
