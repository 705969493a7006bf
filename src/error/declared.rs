//! What errors say of arguments, in the words of their declaration.

use crate::server::{ArgKind, ArgSpec};
use std::ffi::CStr;
use std::fmt;

/// That an argument lacks its value, in the words of its declaration: `UNITS needs n`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needs(pub(crate) &'static ArgSpec);

impl PartialEq for Needs {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Needs {}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |parts: &[ArgSpec], between| {
            parts.iter().map(ArgSpec::label).collect::<Vec<_>>().join(between)
        };
        let word = self.0.word.map_or(self.0.label().into(), CStr::to_string_lossy);
        let needed = match self.0.kind {
            ArgKind::Integer { unit: "", .. } => "n".to_owned(),
            ArgKind::Integer { unit, .. } => unit.trim_start().to_owned(),
            ArgKind::OneOf(ways) => names(ways, "|"),
            ArgKind::Block(parts) | ArgKind::Repeated { parts, .. } => names(parts, " "),
            ArgKind::Key(..) | ArgKind::Text | ArgKind::Word => self.0.label().to_owned(),
        };
        write!(f, "{word} needs {needed}")
    }
}

/// The options among the arguments of a command, by their words: `, the options are UNITS, SALE`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options(pub(crate) &'static [ArgSpec]);

impl PartialEq for Options {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Options {}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ways = |option: &ArgSpec| match option.kind {
            ArgKind::OneOf(ways) if option.word.is_none() => {
                ways.iter().map(|way| way.word).collect()
            }
            _ => vec![option.word],
        };
        let options = self.0.iter().filter(|argument| argument.is_optional);
        let words: Vec<_> = options.flat_map(ways).flatten().map(CStr::to_string_lossy).collect();
        if words.is_empty() { Ok(()) } else { write!(f, ", the options are {}", words.join(", ")) }
    }
}
