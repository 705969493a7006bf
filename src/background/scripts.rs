//! Scripts that commands answer instead of Lua: a call of such a script becomes a command before
//! the server looks at it.

use crate::config;
use crate::memory::Memory;
use crate::server::{CommandFilter, Ctx, Filter, FilteredCall, OwnedStr};
use domain::scripts::{ArgumentSource, Replacement, Scripts};
use std::ops::Range;

/// Applies the current setting. If it names no script, no filter is registered and nothing is paid.
///
/// Nor on a replica: a primary before Redis 7.0 may send scripts as they are, and they must do what
/// they did there. Clients of a replica can't write by scripts or by commands.
pub(super) fn configure(ctx: Ctx<'_>, memory: &Memory) {
    let setting = if ctx.is_replica() { Vec::new() } else { config::SCRIPTS.with(<[u8]>::to_vec) };
    if !memory.scripts.are_of(&setting) {
        // It was checked when it was set.
        let scripts = config::parse_scripts(&setting);
        debug_assert!(scripts.is_ok());
        let scripts = scripts.unwrap_or_default();
        remember(ctx, memory, setting, scripts);
    }
}

fn remember(ctx: Ctx<'_>, memory: &Memory, setting: Vec<u8>, scripts: Scripts) {
    let are_any = !scripts.is_empty();
    memory.scripts.configure(setting, scripts, |filter| match filter {
        None if are_any => CommandFilter::register::<Calls>(ctx),
        Some(filter) if !are_any => {
            filter.unregister(ctx);
            None
        }
        filter => filter,
    });
}

/// `EVALSHA` and `EVAL`. Not `EVALSHA_RO` and `EVAL_RO`: their clients ask that nothing be written.
struct Calls;

impl Filter for Calls {
    #[inline]
    fn wants(name: &[u8]) -> bool {
        match name.len() {
            7 => name.eq_ignore_ascii_case(b"EVALSHA"),
            4 => name.eq_ignore_ascii_case(b"EVAL"),
            _ => false,
        }
    }

    fn see(call: FilteredCall<'_>) {
        match command_for(&call) {
            None => {}
            Some(Made::Cut(name, arguments)) => call.cut(name, arguments),
            Some(Made::Words(words)) => call.replace(words),
        }
    }
}

/// The command that answers a call.
enum Made {
    /// Its name, and where in the call its arguments are.
    Cut(OwnedStr, Range<usize>),
    Words(Vec<OwnedStr>),
}

/// The command that answers a call of a script, if one does.
fn command_for(call: &FilteredCall<'_>) -> Option<Made> {
    let memory = Memory::current()?;
    let name = call.word(0)?.bytes();
    let script = call.word(1)?.bytes();
    let is_text = name.len() == b"EVAL".len();
    let found =
        if is_text { memory.scripts.of_text(script) } else { memory.scripts.of_sha1(script) };
    let script = found?;
    // In a script the server refuses EVALSHA and EVAL.
    if call.is_sent() { made(call, &script) } else { None }
}

fn made(call: &FilteredCall<'_>, script: &Replacement) -> Option<Made> {
    let numkeys = call.word(2)?.bytes();
    let name = || OwnedStr::new(script.command.as_bytes());
    if let Some(piece) = script.piece(call.len(), numkeys) {
        return Some(Made::Cut(name(), piece));
    }
    let arguments = script.arguments(call.len(), numkeys)?;
    let mut words = Vec::with_capacity(arguments.len().saturating_add(1));
    words.push(name());
    for argument in arguments {
        words.push(match argument {
            ArgumentSource::Call(place) => call.word(place)?.retain(),
            // No string is used twice, not even in two places of one command.
            ArgumentSource::CallAgain(place) => OwnedStr::new(call.word(place)?.bytes()),
            ArgumentSource::Word(word) => OwnedStr::new(word),
        });
    }
    Some(Made::Words(words))
}
