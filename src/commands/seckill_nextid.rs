//! `SECKILL.NEXTID prefix [COUNT n]`: unique, growing ids.

use super::{Answering, Command};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::counter;
use crate::memory::Memory;
use crate::server::{Access, ArgKind, ArgSpec, CommandSpec, Ctx, KeySpec, Reply, handler};
use crate::typed::IdPrefix;
use domain::order_id::Count;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.nextid",
    handler: handler::<Answering<NextId>>(),
    flags: c"write deny-oom fast",
    categories: c"write fast seckill",
    arity: -2,
    summary: c"Generates unique, growing ids, and returns the first of them",
    complexity: c"O(1)",
    since: c"0.1.0",
    keys: &[KeySpec {
        position: 1,
        access: Access::Update,
        notes: c"The prefix. The key of its counter is derived from it",
    }],
    args: &[
        ArgSpec { name: c"prefix", kind: ArgKind::Key(0) },
        ArgSpec { name: c"count", kind: ArgKind::OptionalInteger(c"COUNT") },
    ],
};

struct NextId;

impl Command for NextId {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let prefix = args.next::<IdPrefix>()?;
        let mut count = Count::ONE;
        if !args.is_empty() {
            args.next_word(&["COUNT"])?;
            count = args.next_count()?;
        }
        args.finish()?;
        let next = counter::find_in_pace(&memory.counter, ctx, prefix, count)?;
        Ok(next.take(ctx).into())
    }
}
