//! What the server says of itself: its settings, and fields of its INFO.

use super::api::api;
use super::call::Call;
use super::ctx::Ctx;
use super::main_thread::MainThread;
use super::string::{OwnedStr, Str};
use std::ffi::CStr;

/// `CONFIG` can't be called: it was renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoConfig;

/// The value of a setting; none if this server has no such.
pub(super) fn setting(ctx: Ctx<'_>, name: &[u8]) -> Result<Option<String>, NoConfig> {
    let words = [b"GET".as_slice(), name].map(OwnedStr::new);
    let words: Vec<Str<'_>> = words.iter().map(OwnedStr::as_str).collect();
    let reply = Call::read_all(ctx, c"CONFIG", &words).map_err(|_| NoConfig)?;
    // The name, then the value.
    Ok(reply.texts().nth(1).map(|value| String::from_utf8_lossy(value).into_owned()))
}

/// Fields of a section of INFO, which needs no command. None for those that it lacks.
pub(super) fn fields_of_info<const N: usize>(
    ctx: Ctx<'_>,
    section: &CStr,
    names: [&CStr; N],
) -> [Option<String>; N] {
    // SAFETY: the context is live and the name a C string; what is given is freed below.
    let info = unsafe { api!(RedisModule_GetServerInfo(ctx.as_ptr(), section.as_ptr())) };
    let fields = names.map(|name| {
        // SAFETY: the section is live and the name a C string.
        let value = unsafe { api!(RedisModule_ServerInfoGetFieldC(info, name.as_ptr())) };
        // SAFETY: null, or a C string that lives as long as the section.
        (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) }.to_string_lossy().into_owned())
    });
    // SAFETY: it was made for us, and nothing of it is kept.
    unsafe { api!(RedisModule_FreeServerInfo(ctx.as_ptr(), info)) };
    fields
}

/// Is another server the truth, from which a tool copies data to this one? (`import-mode` of
/// Valkey.)
static IS_IMPORTING: MainThread<bool> = MainThread::new(false);

#[inline]
pub(super) fn is_importing() -> bool {
    IS_IMPORTING.get()
}

/// Asks again: at the load, and when a setting has changed. Without `CONFIG` nobody can tell, or
/// change it.
pub(crate) fn notice_import_mode(ctx: Ctx<'_>) {
    IS_IMPORTING.set(setting(ctx, b"import-mode").is_ok_and(|mode| mode.as_deref() == Some("yes")));
}
