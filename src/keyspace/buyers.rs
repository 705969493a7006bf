//! Buyers keys: the set of users who hold a unit.
//!
//! The module API has no functions for sets, so these go by calls of the server, which replicate
//! and announce themselves, and only when they changed something.

use crate::args::User;
use crate::error::CommandError;
use crate::server::{Call, Ctx, Str};

/// Adds the user. False, and nothing written, when already there.
///
/// One call is both the question and the write, at half the cost of asking first.
pub(crate) fn admit(ctx: Ctx<'_>, key: Str<'_>, user: User<'_>) -> Result<bool, CommandError> {
    match Call::write(ctx, c"SADD", key, user.0) {
        Ok(reply) => Ok(reply.integer() == 1),
        Err(error) => Err(CommandError::of_call(error, "SADD")),
    }
}

/// Takes back what [`admit`] did.
pub(crate) fn dismiss(ctx: Ctx<'_>, key: Str<'_>, user: User<'_>) {
    // The set and the member were there a moment ago. If the server refused now, there would be
    // nothing left to try.
    drop(Call::write(ctx, c"SREM", key, user.0));
}

/// Is the user there?
pub(crate) fn contains(ctx: Ctx<'_>, key: Str<'_>, user: User<'_>) -> Result<bool, CommandError> {
    match Call::read(ctx, c"SISMEMBER", &[key, user.0]) {
        Ok(reply) => Ok(reply.integer() == 1),
        Err(error) => Err(CommandError::of_call(error, "SISMEMBER")),
    }
}
