//! LOCK.RELEASE key token: deletes a lock only if it is yours, and hands it to the next in line.

use super::locks::Lock;
use super::{Answering, Command};
use crate::args::Args;
use crate::error::CommandError;
use crate::memory::Memory;
use crate::server::{Access, ArgKind, ArgSpec, CommandSpec, Ctx, KeySpec, Reply, handler};
use crate::typed::Token;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"lock.release",
    handler: handler::<Answering<Release>>(),
    flags: c"write fast",
    categories: c"write fast lock",
    arity: 3,
    summary: c"Deletes a lock if the token is its owner's, and hands it to the first in line",
    complexity: c"O(1), O(log N) where N is the number of clients in line",
    since: c"0.1.0",
    keys: &[KeySpec { position: 1, access: Access::Delete, notes: c"The lock, a string" }],
    args: &[
        ArgSpec { name: c"key", kind: ArgKind::Key(0) },
        ArgSpec { name: c"token", kind: ArgKind::String },
    ],
};

struct Release;

impl Command for Release {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let (key, token) = (args.next_lock()?, args.next::<Token>()?);
        args.finish()?;
        Lock::of_command(ctx, memory, key.0).release(token.0).map(Reply::Integer)
    }
}
