//! What a command answers when it did its work.

use crate::rules::sale::Outcome;
use crate::server::Ctx;

/// A reply. Errors are [`crate::error::CommandError`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reply {
    Integer(i64),
}

impl Reply {
    /// Answers the client.
    pub(crate) fn send(self, ctx: Ctx<'_>) {
        match self {
            Self::Integer(value) => ctx.reply_integer(value),
        }
    }
}

impl From<Outcome> for Reply {
    fn from(outcome: Outcome) -> Self {
        Self::Integer(outcome.code())
    }
}
