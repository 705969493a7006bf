//! `LOCK.ACQUIRE key token lease-ms [BLOCK ms] [FENCE] [SESSION]`: acquires a lock, with BLOCK in
//! line, and with SESSION for as long as the connection is open.

use super::locks::Lock;
use super::{Answering, Command};
use crate::args::Args;
use crate::config::{LOCK_LEASE_MS_MAX, LOCK_WAIT_MS_MAX};
use crate::error::CommandError;
use crate::memory::Memory;
use crate::metrics;
use crate::server::{
    Access, ArgKind, ArgSpec, CommandSpec, Ctx, KeySpec, OwnedStr, Reply, handler,
};
use crate::typed::{KeyName, Token};
use domain::lock::{NOT_ACQUIRED, Request};
use domain::sessions::ConnectionId;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"lock.acquire",
    handler: handler::<Answering<Acquire>>(),
    flags: c"write deny-oom fast blocking",
    categories: c"write fast blocking lock",
    arity: -4,
    summary: c"Acquires a lock for a lease, or waits for it in line",
    complexity: c"O(1), O(log N) to wait, where N is the number of clients in line",
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
        ArgSpec { name: c"wait-ms", kind: ArgKind::OptionalInteger(c"BLOCK") },
        ArgSpec { name: c"fence", kind: ArgKind::OptionalToken(c"FENCE") },
        ArgSpec { name: c"session", kind: ArgKind::OptionalToken(c"SESSION") },
    ],
};

struct Acquire;

struct Arguments<'a> {
    key: KeyName<'a>,
    token: Token<'a>,
    lease_ms: i64,
    wait_ms: Option<i64>,
    with_fence: bool,
    with_session: bool,
}

impl<'a> Arguments<'a> {
    fn parse(mut args: Args<'a>) -> Result<Self, CommandError> {
        let (key, token) = (args.next_lock()?, args.next_holder()?);
        let lease_ms = args.next_integer("lease-ms", 1..=LOCK_LEASE_MS_MAX.get())?;
        let (mut wait_ms, mut with_fence, mut with_session) = (None, false, false);
        while !args.is_empty() {
            match args.next_word(&["BLOCK", "FENCE", "SESSION"])? {
                "BLOCK" if wait_ms.is_none() => {
                    wait_ms = Some(args.next_integer("wait-ms", 0..=LOCK_WAIT_MS_MAX.get())?);
                }
                "FENCE" if !with_fence => with_fence = true,
                "SESSION" if !with_session => with_session = true,
                _ => return Err(CommandError::Syntax),
            }
        }
        Ok(Self { key, token, lease_ms, wait_ms, with_fence, with_session })
    }
}

impl Command for Acquire {
    fn run(ctx: Ctx<'_>, memory: &Memory, args: Args<'_>) -> Result<Reply, CommandError> {
        let Arguments { key, token, lease_ms, wait_ms, with_fence, with_session } =
            Arguments::parse(args)?;
        let session = if with_session { Some(connection(ctx, memory)?) } else { None };
        let nobody = || OwnedStr::new(b"");
        let has_user = with_session || wait_ms.is_some();
        let user = has_user.then(|| ctx.user_name().unwrap_or_else(nobody));
        // Nobody asks for the user of another request.
        let user = user.as_ref().map_or(token.0, OwnedStr::as_str);
        let request = Request { token: token.0, lease_ms, with_fence, session, user };
        let wait_ms = wait_ms.map_or(0, i64::unsigned_abs);
        let answer = Lock::acquire(ctx, memory, key.0, &request, wait_ms)?;
        if answer == Some(NOT_ACQUIRED) {
            metrics::LOCKS_REFUSED.count();
        }
        Ok(answer.map_or(Reply::Later, Reply::Integer))
    }
}

/// The connection of the command, to tie a lock to. From now on the module is notified when it
/// closes.
fn connection(ctx: Ctx<'_>, memory: &Memory) -> Result<ConnectionId, CommandError> {
    let connection = ctx.connection().ok_or(CommandError::NoConnection)?;
    memory.lines.hear_turns(ctx);
    memory.sessions.hear_connections(ctx);
    Ok(ConnectionId(connection))
}
