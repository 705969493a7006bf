//! `LOCK.ACQUIRE key token lease-ms [WAIT ms] [FENCE] [SESSION]`: acquires a lock, with WAIT in
//! line, and with SESSION for as long as the connection is open.

use super::acquisition::{Acquirer, Wanted, acquire, renew};
use super::{Answering, Command, lock_line, lock_session};
use crate::args::Args;
use crate::config::{LOCK_LEASE_MS_MAX, LOCK_WAIT_MS_MAX};
use crate::error::CommandError;
use crate::keyspace::fence::Fence;
use crate::keyspace::lock::{self, Holder};
use crate::memory::Memory;
use crate::metrics;
use crate::reply::Reply;
use crate::server::{Access, ArgKind, ArgSpec, CommandSpec, Ctx, KeySpec, handler};
use domain::waiters::Wait;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"lock.acquire",
    handler: handler::<Answering<Acquire>>(),
    flags: c"write deny-oom fast blocking",
    categories: c"write fast blocking lock",
    arity: -4,
    summary: c"Acquires a lock for a lease, or waits for it in line",
    complexity: c"O(1), O(log N) to wait, where N is the number of clients in line",
    since: c"0.2.0",
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
        ArgSpec { name: c"session", kind: ArgKind::OptionalToken(c"SESSION") },
    ],
};

struct Acquire;

struct Request<'a> {
    wanted: Wanted<'a>,
    wait_ms: i64,
    with_session: bool,
}

impl<'a> Request<'a> {
    fn parse(args: &mut Args<'a>) -> Result<Self, CommandError> {
        let (key, token) = (args.next_lock()?, args.next()?);
        let lease_ms = args.next_integer("lease-ms", 1..=LOCK_LEASE_MS_MAX.get())?;
        let (mut wait_ms, mut with_fence, mut with_session) = (None, false, false);
        while !args.is_empty() {
            match args.next_word(&["WAIT", "FENCE", "SESSION"])? {
                "WAIT" if wait_ms.is_none() => {
                    wait_ms = Some(args.next_integer("wait-ms", 0..=LOCK_WAIT_MS_MAX.get())?);
                }
                "FENCE" if !with_fence => with_fence = true,
                "SESSION" if !with_session => with_session = true,
                _ => return Err(CommandError::Syntax),
            }
        }
        let wanted = Wanted { key, token, lease_ms, with_fence, connection: None };
        Ok(Self { wanted, wait_ms: wait_ms.unwrap_or(0), with_session })
    }
}

impl Command for Acquire {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let Request { mut wanted, wait_ms, with_session } = Request::parse(&mut args)?;
        args.finish()?;
        if with_session {
            wanted.connection = Some(lock_session::connection(ctx, memory)?);
        }
        let (lines, now_ms) = (&memory.lines, ctx.now_ms());
        let holder = lock::holder(ctx, wanted.key.0, wanted.token)?;
        match holder {
            Holder::ThisToken => {
                let answer = renew(ctx, &wanted, now_ms)?;
                lock_session::acquired(ctx, memory, &wanted);
                lock_line::confirm(ctx, lines, wanted.key, wanted.token);
                return Ok(Reply::Integer(answer));
            }
            // A free lock with a line is for the first in line, at the end of this turn.
            Holder::Nobody if !lock_line::is_waited_for(ctx, lines, wanted.key) => {
                let answer = acquire(ctx, Acquirer::Command, &wanted, now_ms)?;
                lock_session::acquired(ctx, memory, &wanted);
                return Ok(Reply::Integer(answer));
            }
            Holder::Nobody => lock_line::look_soon(ctx, lines, wanted.key),
            Holder::Another { .. } => {}
        }
        if wanted.with_fence {
            // Whatever would refuse the acquisition in the end refuses before the wait.
            Fence::read(ctx, wanted.key.0)?.next(now_ms)?;
        }
        let wait = Wait { since_ms: now_ms, until_ms: now_ms.saturating_add(wait_ms) };
        if wait_ms > 0 && lock_line::join(ctx, lines, &wanted, wait, holder)? {
            return Ok(Reply::Later);
        }
        metrics::LOCKS_REFUSED.count();
        Ok(Reply::Integer(0))
    }
}
