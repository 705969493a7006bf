//! SECKILL.DRAW pool user: gives a user a prize code, at most one per user, each once.

use super::{Answering, Command, USER};
use crate::args::arguments;
use crate::error::CommandError;
use crate::keyspace::pool::PoolKeys;
use crate::keyspace::prizes::Prizes;
use crate::memory::Memory;
use crate::metrics;
use crate::server::{Access, ArgSpec, CommandSpec, Ctx, Reply, handler};
use crate::typed::{Pool, User};
use domain::draw::{Draw, draw};

const POOL: ArgSpec = ArgSpec::key(
    c"pool",
    Access::Update,
    c"The pool. The keys of its codes, winners and draws are derived from it",
);

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.draw",
    handler: handler::<Answering<DrawCode>>(),
    flags: c"write deny-oom fast",
    summary: c"Draws a prize code for a user; a user who already has one gets the same code",
    complexity: c"O(1)",
    since: c"0.1.0",
    args: Given::SPECS,
};

arguments! {
    /// A pool, and who draws from it.
    Given<'a> {
        pool: Pool<'a> = POOL,
        user: User<'a> = USER,
    }
}

struct DrawCode;

impl Command for DrawCode {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, memory: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let Given { pool, user } = given;
        let keys = PoolKeys::of(&memory.pool, pool)?;
        keys.check_here(ctx)?;
        let prizes = Prizes::new(ctx, &keys, user);
        let (outcome, code) = draw(&prizes)?;
        if let (Draw::Drawn, Some(code)) = (outcome, &code) {
            prizes.take(pool, code.as_str())?;
            metrics::PRIZES_DRAWN.count();
        }
        let code = code.map(|code| code.as_str().bytes().to_vec());
        let code = code.map_or(Reply::Null, Reply::Bytes);
        Ok(Reply::Array(vec![Reply::Integer(outcome.code()), code]))
    }
}
