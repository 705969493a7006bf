//! What a command answers when it did its work.

use crate::error::CommandError;
use crate::server::Ctx;
use domain::order_id::Id;
use domain::sale::Outcome;

/// A reply. A command that refuses answers a [`CommandError`] instead.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Integer(i64),
    /// The client is blocked, and is answered later.
    Later,
    Bytes(Vec<u8>),
    /// There is no such thing.
    Null,
    /// `+OK`
    Ok,
    Array(Vec<Reply>),
    /// An outcome, and the text that goes with it, or null.
    Pair(i64, Option<Vec<u8>>),
    /// Names and values; pairs in one flat array for clients of RESP2.
    Map(Vec<(&'static str, Reply)>),
    /// An error in place of an element of an array.
    Error(CommandError),
    /// A bulk string: ids exceed 2^53, beyond which JavaScript rounds integers.
    Id(Id),
}

impl Reply {
    /// Answers the client.
    #[inline]
    pub(crate) fn send(self, ctx: Ctx<'_>) {
        // What nearly every try and release answers.
        if let Self::Integer(value) = self { ctx.reply_integer(value) } else { self.send_rest(ctx) }
    }

    fn send_rest(self, ctx: Ctx<'_>) {
        match self {
            Self::Integer(value) => ctx.reply_integer(value),
            Self::Later => {}
            Self::Bytes(bytes) => ctx.reply_bytes(&bytes),
            Self::Null => ctx.reply_null(),
            Self::Ok => ctx.reply_ok(),
            Self::Array(elements) => {
                ctx.reply_array(len(elements.len()));
                elements.into_iter().for_each(|element| element.send(ctx));
            }
            Self::Pair(outcome, text) => {
                ctx.reply_array(2);
                ctx.reply_integer(outcome);
                match text {
                    None => ctx.reply_null(),
                    Some(text) => ctx.reply_bytes(&text),
                }
            }
            Self::Map(pairs) => {
                ctx.reply_map(len(pairs.len()));
                for (name, value) in pairs {
                    ctx.reply_bytes(name.as_bytes());
                    value.send(ctx);
                }
            }
            Self::Error(error) => error.send(ctx),
            Self::Id(id) => ctx.reply_bytes(id.text().bytes()),
        }
    }

    pub(crate) fn text(text: &str) -> Self {
        Self::Bytes(text.as_bytes().to_vec())
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
