//! The module's section of INFO.

use super::api::api;
use super::ctx::Ctx;
use super::panics::guarded;
use redis_module::raw;
use std::ffi::{CStr, CString, c_int};
use std::ptr;

/// Where the fields of the section go.
pub(crate) struct InfoSection(*mut raw::RedisModuleInfoCtx);

impl InfoSection {
    /// Adds one field. The server puts the module's name and `_` before `name`.
    pub(crate) fn field(&mut self, name: &CStr, value: u64) {
        // SAFETY: the section was begun and is live. It fails only outside of a wanted section.
        unsafe { api!(RedisModule_InfoAddFieldULongLong(self.0, name.as_ptr(), value)) };
    }

    /// Adds one field with a text without NUL bytes and line breaks.
    pub(crate) fn text(&mut self, name: &CStr, value: &str) {
        let Ok(value) = CString::new(value) else { return };
        // SAFETY: as for a number; the server copies the text.
        unsafe { api!(RedisModule_InfoAddFieldCString(self.0, name.as_ptr(), value.as_ptr())) };
    }
}

/// Writes the section.
pub(crate) trait FillInfo {
    fn fill(section: &mut InfoSection);
}

/// Makes `F` write the section from now on. False when the server refuses.
pub(crate) fn register<F: FillInfo>(ctx: Ctx<'_>) -> bool {
    // SAFETY: called while the module loads, with a function of the right type.
    let status = unsafe { api!(RedisModule_RegisterInfoFunc(ctx.as_ptr(), Some(on_info::<F>))) };
    status == raw::REDISMODULE_OK as c_int
}

unsafe extern "C" fn on_info<F: FillInfo>(
    ctx: *mut raw::RedisModuleInfoCtx,
    for_crash_report: c_int,
) {
    // A server that crashes is in no state to be asked: it may do so in the middle of our own work.
    if for_crash_report != 0 {
        return;
    }
    // SAFETY: the server's context; a null name makes the section bear the module's own.
    let wanted = unsafe { api!(RedisModule_InfoAddSection(ctx, ptr::null())) };
    if wanted == raw::REDISMODULE_OK as c_int {
        guarded(|| F::fill(&mut InfoSection(ctx)));
    }
}
