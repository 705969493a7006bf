//! LOCK.RENEW key token lease-ms: renews the lease of a lock that the token holds.

use super::lock_acquire::{LEASE_MS, TOKEN};
use super::locks::Lock;
use super::{Answering, Command};
use crate::args::arguments;
use crate::error::CommandError;
use crate::memory::Memory;
use crate::server::{Access, ArgSpec, CommandSpec, Ctx, Reply, handler};
use crate::typed::{LockName, NewToken};

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"lock.renew",
    handler: handler::<Answering<Renew>>(),
    flags: c"write fast",
    summary: c"Renews the lease of a lock, from now on, if the token is its owner's",
    complexity: c"O(1)",
    since: c"0.1.0",
    args: Given::SPECS,
};

arguments! {
    /// A lock, its owner, and for how long from now.
    Given<'a> {
        key: LockName<'a> = LOCK,
        token: NewToken<'a> = TOKEN,
        lease_ms: i64 = LEASE_MS,
    }
}

const LOCK: ArgSpec = ArgSpec::key(c"key", Access::Update, c"The lock, a string");

struct Renew;

impl Command for Renew {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, memory: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let lock = Lock::of_command(ctx, memory, given.key.0);
        lock.renew(given.token.0, given.lease_ms).map(Reply::Integer)
    }
}
