//! What a command answers when it did its work.

use crate::rules::order_id::Id;
use crate::rules::sale::Outcome;
use crate::server::Ctx;

/// A reply. Errors are [`crate::error::CommandError`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reply {
    Integer(i64),
    /// A bulk string: ids are greater than the integers that JavaScript can tell apart.
    Id(Id),
}

impl Reply {
    /// Answers the client.
    pub(crate) fn send(self, ctx: Ctx<'_>) {
        match self {
            Self::Integer(value) => ctx.reply_integer(value),
            Self::Id(id) => ctx.reply_bytes(id.text().bytes()),
        }
    }
}

impl From<Outcome> for Reply {
    fn from(outcome: Outcome) -> Self {
        Self::Integer(outcome.code())
    }
}
