//! What the server says of itself: its settings, and fields of its INFO.

use super::api::api;
use super::call::Call;
use super::ctx::{Ctx, IS_IMPORTING};
use super::string::OwnedStr;
use std::ffi::CStr;

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

/// Is this a Valkey? Its numbers of events and options beyond those of Redis 7.2 mean other things
/// than Redis' own.
pub(super) fn is_valkey(ctx: Ctx<'_>) -> bool {
    let [version] = fields_of_info(ctx, c"server", [c"valkey_version"]);
    version.is_some()
}

/// The setting's name.
pub(super) const IMPORT_MODE: &CStr = c"import-mode";

/// Asks again: at the load, and when it was set. Without `CONFIG` nobody can tell, or change it.
pub(crate) fn notice_import_mode(ctx: Ctx<'_>) {
    let words = [b"GET", IMPORT_MODE.to_bytes()].map(OwnedStr::new);
    let [get, name] = &words;
    let reply = Call::read(ctx, c"CONFIG", &[get.as_str(), name.as_str()]);
    // The name, then the value; nothing where there is no such setting.
    IS_IMPORTING.set(reply.is_ok_and(|reply| reply.texts().nth(1) == Some(b"yes")));
}
