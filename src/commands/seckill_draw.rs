//! SECKILL.DRAW pool user: gives a user a prize code, at most one per user, each once.

use super::{Answering, Command};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::pool::PoolKeys;
use crate::keyspace::prizes::Prizes;
use crate::memory::Memory;
use crate::metrics;
use crate::server::{Access, ArgKind, ArgSpec, CommandSpec, Ctx, KeySpec, Reply, handler};
use crate::typed::{Pool, User};
use domain::draw::{Draw, draw};

/// What both commands on a pool declare.
pub(super) const POOL: &[KeySpec] = &[KeySpec {
    position: 1,
    access: Access::Update,
    notes: c"The pool. The keys of its codes, winners and draws are derived from it",
}];
pub(super) const POOL_AND_USER: &[ArgSpec] = &[
    ArgSpec { name: c"pool", kind: ArgKind::Key(0) },
    ArgSpec { name: c"user", kind: ArgKind::String },
];

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.draw",
    handler: handler::<Answering<DrawCode>>(),
    flags: c"write deny-oom fast",
    categories: c"write fast seckill",
    arity: 3,
    summary: c"Draws a prize code for a user; a user who already has one gets the same code",
    complexity: c"O(1)",
    since: c"0.1.0",
    keys: POOL,
    args: POOL_AND_USER,
};

struct DrawCode;

impl Command for DrawCode {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let (pool, user) = (args.next::<Pool<'_>>()?, args.next::<User<'_>>()?);
        args.finish()?;
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
