//! LOCK.INFO key: the owner of a lock, its lease, and the number of waiters.

use super::locks::Lock;
use super::{Answering, Command};
use crate::args::arguments;
use crate::config;
use crate::error::CommandError;
use crate::keyspace::{fence, lock};
use crate::memory::Memory;
use crate::server::{Access, ArgSpec, CommandSpec, Ctx, Reply, handler};
use crate::typed::KeyName;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"lock.info",
    handler: handler::<Answering<LockInfo>>(),
    flags: c"readonly fast",
    summary: c"Returns who holds a lock, for how long, and how many clients wait",
    complexity: c"O(1)",
    since: c"0.1.0",
    args: Given::SPECS,
};

arguments! {
    /// The lock.
    Given<'a> {
        key: KeyName<'a> = LOCK,
    }
}

const LOCK: ArgSpec =
    ArgSpec::key(c"key", Access::Look, c"The lock, a string. Its fence key is derived from it");

struct LockInfo;

impl Command for LockInfo {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, memory: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let key = given.key;
        let Some(owner) = lock::owner(ctx, key.0)? else { return Ok(Reply::Null) };
        let now_ms = ctx.now_ms();
        // What could be a key of a sale is no fence key.
        let has_name = config::check_lock_name(key.0.bytes()).is_ok();
        let fence = if has_name { fence::peek(ctx, key.0) } else { None };
        let left_ms = owner.ends_at_ms.map(|ends_at_ms| ends_at_ms.saturating_sub(now_ms).max(0));
        Ok(Reply::Map(vec![
            ("token", Reply::Bytes(owner.token)),
            ("ttl", Reply::integer_or_null(left_ms)),
            ("fence", Reply::integer_or_null(fence)),
            ("waiters", Reply::Integer(Lock::of_command(ctx, memory, key.0).len())),
        ]))
    }
}
