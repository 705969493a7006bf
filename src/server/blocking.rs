//! Clients that wait for their reply.

use super::api::api;
use super::ctx::Ctx;
use super::panics::guarded;
use super::reply::Reply;
use redis_module::raw;
use std::ffi::c_int;
use std::ptr::{self, NonNull};

/// What happens to blocked clients. Exactly one of these is called for each client, once.
pub(crate) trait Blocking {
    /// [`BlockedClient::unblock`] was used: the answer to the client.
    fn reply(ctx: Ctx<'_>, client: ClientId) -> Reply;

    /// CLIENT UNBLOCK asked for what happens at the end of a wait: the answer to the
    /// client. Unblocks it if that has not been done.
    fn timed_out(ctx: Ctx<'_>, client: ClientId) -> Reply;

    /// The client can't be answered any more: unblocks it if that has not been done. Must not
    /// write.
    fn gone(ctx: Ctx<'_>, client: ClientId);
}

/// Identifies a blocked client. Meaningless once the client is no longer blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ClientId(usize);

/// The right to unblock a client, once.
///
/// To drop it leaves the client blocked.
#[must_use = "the client stays blocked"]
pub(crate) struct BlockedClient(NonNull<raw::RedisModuleBlockedClient>);

/// Blocks the client of a command, which may not answer it then. No timeout: the caller ends it.
///
/// Must be called only where [`Ctx::may_block`]. None when the server would not.
pub(crate) fn block<B: Blocking>(ctx: Ctx<'_>) -> Option<(ClientId, BlockedClient)> {
    // SAFETY: the context is that of a command, the functions have the right types, and no
    // private data is ever set that would have to be freed.
    let raw = unsafe {
        api!(RedisModule_BlockClient(
            ctx.as_ptr(),
            Some(on_reply::<B>),
            Some(on_timeout::<B>),
            None,
            0,
        ))
    };
    let raw = NonNull::new(raw)?;
    // SAFETY: the handle was made just now.
    unsafe { api!(RedisModule_SetDisconnectCallback(raw.as_ptr(), Some(on_disconnect::<B>))) };
    Some((id_of(raw.as_ptr()), BlockedClient(raw)))
}

impl BlockedClient {
    /// Unblocks the client. Before the turn of the event loop is over, the server asks
    /// [`Blocking::reply`] for the answer, or calls [`Blocking::gone`].
    pub(crate) fn unblock(self) {
        // SAFETY: the handle was given once, is used once because this takes it by value, and
        // the server keeps it until then.
        unsafe { api!(RedisModule_UnblockClient(self.0.as_ptr(), ptr::null_mut())) };
    }
}

fn id_of(raw: *mut raw::RedisModuleBlockedClient) -> ClientId {
    ClientId(raw.addr())
}

fn current(ctx: Ctx<'_>) -> ClientId {
    // SAFETY: the context is that of a callback for a blocked client.
    id_of(unsafe { api!(RedisModule_GetBlockedClientHandle(ctx.as_ptr())) })
}

unsafe extern "C" fn on_reply<B: Blocking>(
    ctx: *mut raw::RedisModuleCtx,
    _argv: *mut *mut raw::RedisModuleString,
    _argc: c_int,
) -> c_int {
    // SAFETY: the server's context lives for this call.
    let ctx = unsafe { Ctx::new(ctx) };
    Reply::of(|| B::reply(ctx, current(ctx))).send(ctx);
    raw::REDISMODULE_OK as c_int
}

unsafe extern "C" fn on_timeout<B: Blocking>(
    ctx: *mut raw::RedisModuleCtx,
    _argv: *mut *mut raw::RedisModuleString,
    _argc: c_int,
) -> c_int {
    // SAFETY: the server's context lives for this call.
    let ctx = unsafe { Ctx::new(ctx) };
    Reply::of(|| B::timed_out(ctx, current(ctx))).send(ctx);
    raw::REDISMODULE_OK as c_int
}

unsafe extern "C" fn on_disconnect<B: Blocking>(
    ctx: *mut raw::RedisModuleCtx,
    client: *mut raw::RedisModuleBlockedClient,
) {
    // SAFETY: the server's context lives for this call.
    let ctx = unsafe { Ctx::new(ctx) };
    guarded(|| B::gone(ctx, id_of(client)));
}
