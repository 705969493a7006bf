//! SECKILL.DRAW pool user: gives a user a prize code, at most one per user, each once.

use super::{Answering, Command};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::pool::PoolKeys;
use crate::keyspace::prizes;
use crate::memory::Memory;
use crate::metrics;
use crate::reply::Reply;
use crate::server::{Access, ArgKind, ArgSpec, CommandSpec, Ctx, KeySpec, Str, handler};
use crate::typed::{Pool, User};
use domain::prize::Draw;

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
    since: c"0.2.0",
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
        if let Some(code) = prizes::code_of(ctx, &keys, user)? {
            return Ok(answer(Draw::Again, Some(code.as_str())));
        }
        let Some(code) = prizes::first_code(ctx, &keys)? else {
            return Ok(answer(Draw::Empty, None));
        };
        check_fits(code.as_str())?;
        let stream = prizes::open_draws(ctx, &keys)?;
        let fields = keys.fields().of([user.0, pool.0, code.as_str()]);
        // The entry is written first, because only it can fail; after it nothing is undone.
        let appended = stream.map(|stream| stream.append(&fields)).transpose()?;
        let reply = answer(Draw::Drawn, Some(code.as_str()));
        let (won, popped) = match prizes::take_first(ctx, &keys) {
            Some((code, popped)) => (prizes::set_winner(ctx, &keys, user, code), Some(popped)),
            None => (None, None),
        };
        for effect in [popped, won, appended].into_iter().flatten() {
            effect.publish(ctx);
        }
        metrics::PRIZES_DRAWN.count();
        Ok(reply)
    }
}

fn answer(draw: Draw, code: Option<Str<'_>>) -> Reply {
    Reply::Pair(draw.code(), code.map(|code| code.bytes().to_vec()))
}

/// Refuses a code that may be too long for a stream entry, which holds at most 1 GiB.
fn check_fits(code: Str<'_>) -> Result<(), CommandError> {
    const MAX: usize = 128 << 20;
    if code.bytes().len() > MAX {
        return Err(CommandError::TooLong { argument: "code", max: MAX });
    }
    Ok(())
}
