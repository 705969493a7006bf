//! How values of this module are replied.

use crate::error::CommandError;
use crate::server::Reply;
use domain::order_id::Id;
use domain::sale::TryOutcome;

impl From<TryOutcome> for Reply {
    #[inline]
    fn from(outcome: TryOutcome) -> Self {
        Self::Integer(outcome.code())
    }
}

/// As a bulk string: ids exceed 2^53, beyond which JavaScript rounds integers.
impl From<Id> for Reply {
    fn from(id: Id) -> Self {
        Self::Bytes(id.text().bytes().to_vec())
    }
}

impl From<CommandError> for Reply {
    fn from(error: CommandError) -> Self {
        Self::Error(error.line())
    }
}
