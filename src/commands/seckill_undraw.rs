//! SECKILL.UNDRAW pool user: puts a user's prize code back into its pool.

use super::seckill_draw::Given;
use super::{Answering, Command};
use crate::error::CommandError;
use crate::keyspace::pool::PoolKeys;
use crate::keyspace::prizes::Prizes;
use crate::memory::Memory;
use crate::server::{CommandSpec, Ctx, Reply, handler};
use domain::draw::undraw;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.undraw",
    handler: handler::<Answering<Undraw>>(),
    flags: c"write fast",
    summary: c"Puts a user's prize code back into its pool, to be drawn next",
    complexity: c"O(1)",
    since: c"0.1.0",
    args: Given::SPECS,
};

struct Undraw;

impl Command for Undraw {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, memory: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let Given { pool, user } = given;
        let keys = PoolKeys::of(&memory.pool, pool)?;
        keys.check_here(ctx)?;
        let prizes = Prizes::new(ctx, &keys, user);
        let Some(code) = undraw(&prizes)? else { return Ok(Reply::Integer(0)) };
        prizes.put_back(code.as_str());
        Ok(Reply::Integer(1))
    }
}
