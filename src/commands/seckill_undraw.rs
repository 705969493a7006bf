//! SECKILL.UNDRAW pool user: puts a user's prize code back into its pool.

use super::seckill_draw::{POOL, POOL_AND_USER};
use super::{Answering, Command};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::pool::PoolKeys;
use crate::keyspace::prizes::Prizes;
use crate::memory::Memory;
use crate::server::{CommandSpec, Ctx, Reply, handler};
use crate::typed::{Pool, User};
use domain::draw::undraw;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.undraw",
    handler: handler::<Answering<Undraw>>(),
    flags: c"write fast",
    categories: c"write fast seckill",
    arity: 3,
    summary: c"Puts a user's prize code back into its pool, to be drawn next",
    complexity: c"O(1)",
    since: c"0.1.0",
    keys: POOL,
    args: POOL_AND_USER,
};

struct Undraw;

impl Command for Undraw {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let (pool, user) = (args.next::<Pool<'_>>()?, args.next::<User<'_>>()?);
        args.finish()?;
        let keys = PoolKeys::of(&memory.pool, pool)?;
        keys.check_here(ctx)?;
        let prizes = Prizes::new(ctx, &keys, user);
        let Some(code) = undraw(&prizes)? else { return Ok(Reply::Integer(0)) };
        prizes.put_back(code.as_str());
        Ok(Reply::Integer(1))
    }
}
