//! `LOCK.ACQUIRE key token lease-ms [BLOCK ms] [FENCE] [SESSION]`: acquires a lock, with BLOCK in
//! the queue, and with SESSION for as long as the connection is open.

use super::locks::Lock;
use super::{Answering, Command};
use crate::args::{Said, arguments};
use crate::config;
use crate::error::CommandError;
use crate::memory::Memory;
use crate::metrics;
use crate::server::{Access, ArgSpec, CommandSpec, Ctx, Max, OwnedStr, Reply, handler};
use crate::typed::{LockName, NewToken};
use domain::lock::{LockRequest, NOT_ACQUIRED};
use domain::sessions::ConnectionId;

arguments! {
    /// A lock, who wants it, for how long, and how.
    Given<'a> {
        key: LockName<'a> = LOCK,
        token: NewToken<'a> = TOKEN,
        lease_ms: i64 = LEASE_MS,
        [wait_ms: i64 = BLOCK]
        [fence: Said = FENCE]
        [session: Said = SESSION]
    }
}

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"lock.acquire",
    handler: handler::<Answering<Acquire>>(),
    flags: c"write deny-oom fast blocking",
    summary: c"Acquires a lock for a lease, or waits for it in the queue",
    complexity: c"O(1), O(log N) to wait, where N is the number of clients in the queue",
    since: c"0.1.0",
    args: Given::SPECS,
};

const LOCK: ArgSpec = ArgSpec::key(
    c"key",
    Access::Update,
    c"The lock, a string. With FENCE the fence key is derived from it",
);
pub(super) const TOKEN: ArgSpec = ArgSpec::text(c"token");
pub(super) const LEASE_MS: ArgSpec =
    ArgSpec::ms(c"lease-ms", 1, Max::Set(config::lock_lease_ms_max));
const BLOCK: ArgSpec =
    ArgSpec::ms(c"wait-ms", 0, Max::Set(config::lock_wait_ms_max)).after(c"BLOCK");
const FENCE: ArgSpec = ArgSpec::word(c"fence", c"FENCE");
const SESSION: ArgSpec = ArgSpec::word(c"session", c"SESSION");

struct Acquire;

impl Command for Acquire {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, memory: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let Given { key, token, lease_ms, wait_ms, fence, session } = given;
        let (with_fence, with_session) = (fence.is_some(), session.is_some());
        let session = if with_session { Some(connection(ctx, memory)?) } else { None };
        let nobody = || OwnedStr::new(b"");
        let has_user = with_session || wait_ms.is_some();
        let user = has_user.then(|| ctx.user_name().unwrap_or_else(nobody));
        // Nobody asks for the user of another request.
        let user = user.as_ref().map_or(token.0, OwnedStr::as_str);
        let request = LockRequest { token: token.0, lease_ms, with_fence, session, user };
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
    memory.queues.hear_turns(ctx);
    memory.sessions.hear_connections(ctx);
    Ok(ConnectionId(connection))
}
