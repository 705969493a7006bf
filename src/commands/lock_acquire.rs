//! `LOCK.ACQUIRE key token lease-ms [WAIT ms] [FENCE]`: acquires a lock, in line if need be.

use super::acquisition::{By, Wanted, acquire, renew};
use super::{Answering, Command, line};
use crate::args::Args;
use crate::config::{LOCK_LEASE_MS_MAX, LOCK_WAIT_MS_MAX};
use crate::error::CommandError;
use crate::keyspace::fence::Fence;
use crate::keyspace::lock::{self, Holder};
use crate::metrics;
use crate::reply::Reply;
use crate::server::{Access, ArgKind, ArgSpec, CommandSpec, Ctx, KeySpec, handler};

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"lock.acquire",
    handler: handler::<Answering<Acquire>>(),
    flags: c"write deny-oom fast blocking",
    categories: c"write fast blocking lock",
    arity: -4,
    summary: c"Acquires a lock for a lease, or waits for it in line",
    complexity: c"O(1), O(log N) to wait, N being the clients in line",
    since: c"0.1.0",
    keys: &[KeySpec {
        position: 1,
        access: Access::Update,
        notes: c"The lock, a string. With FENCE the fence key is derived from it",
    }],
    args: &[
        ArgSpec { name: c"key", kind: ArgKind::Key(0) },
        ArgSpec { name: c"token", kind: ArgKind::String },
        ArgSpec { name: c"lease-ms", kind: ArgKind::Integer },
        ArgSpec { name: c"wait-ms", kind: ArgKind::OptionalInteger(c"WAIT") },
        ArgSpec { name: c"fence", kind: ArgKind::OptionalToken(c"FENCE") },
    ],
};

struct Acquire;

struct Request<'a> {
    wanted: Wanted<'a>,
    wait_ms: i64,
}

impl<'a> Request<'a> {
    fn parse(args: &mut Args<'a>) -> Result<Self, CommandError> {
        let (key, token) = (args.next()?, args.next()?);
        let lease_ms = args.next_integer("lease-ms", 1..=LOCK_LEASE_MS_MAX.get())?;
        let (mut wait_ms, mut with_fence) = (None, false);
        while !args.is_empty() {
            match args.next_word(&["WAIT", "FENCE"])? {
                "WAIT" if wait_ms.is_none() => {
                    wait_ms = Some(args.next_integer("wait-ms", 0..=LOCK_WAIT_MS_MAX.get())?);
                }
                "FENCE" if !with_fence => with_fence = true,
                _ => return Err(CommandError::Syntax),
            }
        }
        let wanted = Wanted { key, token, lease_ms, with_fence };
        Ok(Self { wanted, wait_ms: wait_ms.unwrap_or(0) })
    }
}

impl Command for Acquire {
    fn run(ctx: Ctx<'_>, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let Request { wanted, wait_ms } = Request::parse(&mut args)?;
        args.finish()?;
        let now_ms = ctx.now_ms();
        let holder = lock::holder(ctx, wanted.key.0, wanted.token)?;
        match holder {
            Holder::ThisToken => {
                let answer = renew(ctx, &wanted, now_ms)?;
                line::confirm(ctx, wanted.key, wanted.token);
                return Ok(Reply::Integer(answer));
            }
            // A free lock with a line is for the first in line, at the end of this turn.
            Holder::Nobody if !line::is_waited_for(ctx, wanted.key) => {
                return acquire(ctx, By::Command, &wanted, now_ms).map(Reply::Integer);
            }
            Holder::Nobody => line::look_soon(ctx, wanted.key),
            Holder::Another { .. } => {}
        }
        if wanted.with_fence {
            // What would refuse in the end refuses before the wait.
            Fence::read(ctx, wanted.key.0)?.next(now_ms)?;
        }
        if wait_ms > 0 && line::join(ctx, &wanted, wait_ms, now_ms, holder) {
            return Ok(Reply::Later);
        }
        metrics::LOCKS_REFUSED.count();
        Ok(Reply::Integer(0))
    }
}
