//! LOCK.RENEW key token lease-ms: renews the lease of a lock that the token holds.

use super::locks::Lock;
use super::{Answering, Command};
use crate::args::Args;
use crate::config::LOCK_LEASE_MS_MAX;
use crate::error::CommandError;
use crate::memory::Memory;
use crate::server::{Access, ArgKind, ArgSpec, CommandSpec, Ctx, KeySpec, Reply, handler};

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"lock.renew",
    handler: handler::<Answering<Renew>>(),
    flags: c"write fast",
    categories: c"write fast lock",
    arity: 4,
    summary: c"Renews the lease of a lock, from now on, if the token is its owner's",
    complexity: c"O(1)",
    since: c"0.1.0",
    keys: &[KeySpec { position: 1, access: Access::Update, notes: c"The lock, a string" }],
    args: &[
        ArgSpec { name: c"key", kind: ArgKind::Key(0) },
        ArgSpec { name: c"token", kind: ArgKind::String },
        ArgSpec { name: c"lease-ms", kind: ArgKind::Integer },
    ],
};

struct Renew;

impl Command for Renew {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let (key, token) = (args.next_lock()?, args.next_holder()?);
        let lease_ms = args.next_integer("lease-ms", 1..=LOCK_LEASE_MS_MAX.get())?;
        args.finish()?;
        Lock::of_command(ctx, memory, key.0).renew(token.0, lease_ms).map(Reply::Integer)
    }
}
