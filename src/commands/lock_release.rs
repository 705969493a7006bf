//! LOCK.RELEASE key token: deletes a lock only if it is yours, and hands it to the next in the
//! queue.

use super::lock_acquire::TOKEN;
use super::locks::Lock;
use super::{Answering, Command};
use crate::args::arguments;
use crate::error::CommandError;
use crate::memory::Memory;
use crate::server::{Access, ArgSpec, CommandSpec, Ctx, Reply, handler};
use crate::typed::{LockName, Token};

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"lock.release",
    handler: handler::<Answering<Release>>(),
    flags: c"write fast",
    summary: c"Deletes a lock if the token is its owner's, and hands it to the first in the queue",
    complexity: c"O(1), O(log N) where N is the number of clients in the queue",
    since: c"0.1.0",
    args: Given::SPECS,
};

arguments! {
    /// A lock, and its owner.
    Given<'a> {
        key: LockName<'a> = LOCK,
        token: Token<'a> = TOKEN,
    }
}

const LOCK: ArgSpec = ArgSpec::key(c"key", Access::Delete, c"The lock, a string");

struct Release;

impl Command for Release {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, memory: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let lock = Lock::of_command(ctx, memory, given.key.0);
        lock.release(given.token.0).map(Reply::Integer)
    }
}
