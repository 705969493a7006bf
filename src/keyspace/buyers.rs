//! Buyers keys: the set of users with a unit.
//!
//! The module API has no functions for sets, so these are calls of the server, which replicates and
//! publishes them, and only if they changed something.

use crate::error::CommandError;
use crate::server::{Call, Ctx, Kind, ReadKey, Str};
use crate::typed::User;

/// A user, and the buyers key that may contain the user.
#[derive(Clone, Copy)]
pub(crate) struct Buyer<'a> {
    key: Str<'a>,
    user: User<'a>,
}

impl<'a> Buyer<'a> {
    pub(crate) fn new(key: Str<'a>, user: User<'a>) -> Self {
        Self { key, user }
    }

    /// Adds the user. False, and nothing written, when already there.
    ///
    /// One call is both the question and the write, at half the cost of asking first.
    pub(crate) fn admit(self, ctx: Ctx<'_>) -> Result<bool, CommandError> {
        let reply = Call::write(ctx, c"SADD", &[self.key, self.user.0])
            .map_err(|error| CommandError::of_call(error, "SADD"))?;
        Ok(reply.integer() == 1)
    }

    /// Removes the user, if there.
    pub(crate) fn dismiss(self, ctx: Ctx<'_>) {
        // The key is known to be a set. If the server refused anyway, nothing would be left to try.
        drop(Call::write(ctx, c"SREM", &[self.key, self.user.0]));
    }

    /// Is the user there?
    pub(crate) fn has_bought(self, ctx: Ctx<'_>) -> Result<bool, CommandError> {
        match Call::read(ctx, c"SISMEMBER", &[self.key, self.user.0]) {
            Ok(reply) => Ok(reply.integer() == 1),
            Err(error) => Err(CommandError::of_call(error, "SISMEMBER")),
        }
    }
}

/// Adds users, some of whom may already be there. The key comes first, then the users.
pub(crate) fn admit_all(ctx: Ctx<'_>, words: &[Str<'_>]) -> Result<(), CommandError> {
    match Call::write(ctx, c"SADD", words) {
        Ok(_) => Ok(()),
        Err(error) => Err(CommandError::of_call(error, "SADD")),
    }
}

/// Refuses an existing key that is not a set.
pub(crate) fn check_kind(ctx: Ctx<'_>, key: Str<'_>) -> Result<(), CommandError> {
    count(ctx, key).map(|_| ())
}

/// How many users there are.
pub(crate) fn count(ctx: Ctx<'_>, key: Str<'_>) -> Result<i64, CommandError> {
    match ReadKey::open(ctx, key) {
        None => Ok(0),
        Some(key) if key.kind() != Kind::Set => Err(CommandError::WrongType),
        Some(key) => Ok(i64::try_from(key.len()).unwrap_or(i64::MAX)),
    }
}
