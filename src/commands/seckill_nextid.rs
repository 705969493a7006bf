//! `SECKILL.NEXTID prefix [COUNT n]`: unique, growing ids.

use super::{Answering, Command};
use crate::args::arguments;
use crate::error::CommandError;
use crate::keyspace::counter;
use crate::memory::Memory;
use crate::server::{Access, ArgSpec, CommandSpec, Ctx, Reply, handler};
use crate::typed::IdPrefix;
use domain::order_id::Count;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.nextid",
    handler: handler::<Answering<NextId>>(),
    flags: c"write deny-oom fast",
    summary: c"Generates unique, growing ids, and returns the first of them",
    complexity: c"O(1)",
    since: c"0.1.0",
    args: Given::SPECS,
};

arguments! {
    /// What ids are counted under, and how many are wanted.
    Given<'a> {
        prefix: IdPrefix<'a> = PREFIX,
        [count: Count = COUNT]
    }
}

const PREFIX: ArgSpec = ArgSpec::key(
    c"prefix",
    Access::Update,
    c"The prefix. The key of its counter is derived from it",
);
const COUNT: ArgSpec = ArgSpec::integer(c"count", 1, Count::MAX).after(c"COUNT");

struct NextId;

impl Command for NextId {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, memory: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let count = given.count.unwrap_or(Count::ONE);
        let next = counter::find_in_pace(&memory.counter, ctx, given.prefix, count)?;
        Ok(next.take(ctx).into())
    }
}
