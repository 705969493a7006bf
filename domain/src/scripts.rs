//! `seckill.scripts`: which commands replace which scripts, and where their arguments are in a call
//! of `EVALSHA` or `EVAL`.

mod arguments;

pub use arguments::{Argument, Callable, WordPattern};

use crate::integer;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

/// The sha1 of a script, in lower case hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sha1([u8; Self::LEN]);

impl Sha1 {
    const LEN: usize = 40;

    /// The sha1 of the text of a script.
    pub fn of(script: &[u8]) -> Self {
        let mut hex = [b'0'; Self::LEN];
        for (digit, byte) in hex.iter_mut().zip(sha1_smol::Sha1::from(script).hexdigest().bytes()) {
            *digit = byte;
        }
        Self(hex)
    }

    /// Reads 40 hexadecimal digits in lower or upper case.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let sha1 = Self::spelled(text)?;
        sha1.0.iter().all(u8::is_ascii_hexdigit).then_some(sha1)
    }

    /// Like [`Self::parse`], but for lookups: a text with other characters matches no script.
    fn spelled(text: &[u8]) -> Option<Self> {
        let mut hex: [u8; Self::LEN] = text.try_into().ok()?;
        hex.make_ascii_lowercase();
        Some(Self(hex))
    }
}

impl fmt::Display for Sha1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|digit| write!(f, "{}", char::from(*digit)))
    }
}

/// Where an argument of the command comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    /// `KEYS[n]`, counted from 0.
    Key(usize),
    /// `ARGV[n]`, counted from 0.
    Arg(usize),
    Word(Vec<u8>),
}

impl Source {
    fn parse(word: &[u8]) -> Result<Self, Fault> {
        let kinds = [(b"KEYS[", Self::Key as fn(usize) -> Self), (b"ARGV[", Self::Arg)];
        for (name, source) in kinds {
            let Some((start, rest)) = word.split_at_checked(name.len()) else { continue };
            if start.eq_ignore_ascii_case(name) {
                let number = rest.strip_suffix(b"]").and_then(integer::parse);
                let place = number.and_then(|n| usize::try_from(n.checked_sub(1)?).ok());
                // In lower case it is a mistake: it would be nil in a script, too.
                return place.filter(|_| start == name).map(source).ok_or(Fault::Number);
            }
        }
        Ok(Self::Word(word.to_vec()))
    }

    /// The word, if it is known before a call.
    fn word(&self) -> Option<&[u8]> {
        match self {
            Self::Word(word) => Some(word),
            Self::Key(_) | Self::Arg(_) => None,
        }
    }
}

/// Where to take an argument of the command from when a script is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentSource<'r> {
    /// The call's argument at this place, for the first time. `EVALSHA` itself is at 0.
    Call(usize),
    /// The call's argument at this place, which was already taken.
    CallAgain(usize),
    Word(&'r [u8]),
}

/// A script and the command that replaces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    pub sha1: Sha1,
    /// The name of the command, as documented.
    pub command: String,
    /// The sources, each with whether it occurred before.
    arguments: Vec<(Source, bool)>,
    /// How many keys and other arguments a call must have.
    keys: usize,
    args: usize,
    /// Are the arguments all keys and then all other arguments, in their order?
    is_in_order: bool,
}

impl Replacement {
    /// `EVALSHA sha1 numkeys` come before the keys.
    const KEYS_AT: usize = 3;

    /// The places of the command's arguments in a call with this many words, including its name,
    /// and this `numkeys`. None if the call lacks an argument: then the script runs.
    pub fn arguments(
        &self,
        words: usize,
        numkeys: &[u8],
    ) -> Option<impl ExactSizeIterator<Item = ArgumentSource<'_>>> {
        let args_at = self.args_at(words, numkeys)?;
        Some(self.arguments.iter().map(move |(source, is_again)| {
            let place = match source {
                Source::Key(n) => Self::KEYS_AT.saturating_add(*n),
                Source::Arg(n) => args_at.saturating_add(*n),
                Source::Word(word) => return ArgumentSource::Word(word),
            };
            if *is_again { ArgumentSource::CallAgain(place) } else { ArgumentSource::Call(place) }
        }))
    }

    /// The range of the command's arguments in the call, if they are contiguous. None if they are
    /// not, or if the call lacks one.
    pub fn piece(&self, words: usize, numkeys: &[u8]) -> Option<Range<usize>> {
        let args_at = self.args_at(words, numkeys)?;
        let start = if self.keys > 0 { Self::KEYS_AT } else { args_at };
        let is_whole =
            self.keys == 0 || self.args == 0 || args_at == start.checked_add(self.keys)?;
        let end = start.checked_add(self.arguments.len())?;
        (self.is_in_order && is_whole).then_some(start..end)
    }

    /// Where the arguments after the keys begin; none if the call lacks an argument.
    fn args_at(&self, words: usize, numkeys: &[u8]) -> Option<usize> {
        let given = words.checked_sub(Self::KEYS_AT)?;
        let keys = usize::try_from(integer::parse(numkeys)?).ok()?;
        let args = given.checked_sub(keys)?;
        let lacks_one = keys < self.keys || args < self.args;
        if lacks_one { None } else { Self::KEYS_AT.checked_add(keys) }
    }
}

/// What is wrong with an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fault {
    Sha1,
    Twice,
    NoCommand,
    Command,
    Number,
    Hole(&'static str),
    Arguments(Callable),
}

/// An invalid entry, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadEntry {
    /// The entry's number from 1, without blank ones.
    number: usize,
    sha1: Option<Sha1>,
    fault: Fault,
}

impl fmt::Display for BadEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entry {}", self.number)?;
        if let Some(sha1) = self.sha1 {
            write!(f, " ({sha1})")?;
        }
        match &self.fault {
            Fault::Sha1 => write!(f, ": must begin with the sha1 of a script, 40 hex digits"),
            Fault::Twice => write!(f, ": this sha1 already has an entry"),
            Fault::NoCommand => write!(f, ": must name a command after the sha1"),
            Fault::Command => write!(f, ": the module has no such command"),
            Fault::Number => write!(f, ": keys and arguments are KEYS[1], ARGV[1] and so on"),
            Fault::Hole(name) => write!(f, ": {name} has a gap in its numbers"),
            Fault::Arguments(command) => write!(f, ": its arguments do not match {command}"),
        }
    }
}

/// All scripts that commands replace.
#[derive(Clone, Debug, Default)]
pub struct Scripts {
    /// Sorted by sha1.
    entries: Vec<Rc<Replacement>>,
}

impl Scripts {
    /// Reads `<sha1> <COMMAND> <argument> ...` entries, separated by `;`. Blank ones are skipped.
    pub fn parse(text: &[u8], commands: &[Callable]) -> Result<Self, BadEntry> {
        let entries = text.split(|byte| *byte == b';').map(words);
        let entries = entries.filter(|words| !words.is_empty());
        let mut read: Vec<Rc<Replacement>> = Vec::new();
        let mut known = HashSet::new();
        for (words, number) in entries.zip(1..) {
            let (first, rest) = words.split_first().unzip();
            let sha1 = first.and_then(|word| Sha1::parse(word));
            let bad = |fault| BadEntry { number, sha1, fault };
            let sha1 = sha1.ok_or_else(|| bad(Fault::Sha1))?;
            if !known.insert(sha1.0) {
                return Err(bad(Fault::Twice));
            }
            let entry = parse_entry(sha1, rest.unwrap_or_default(), commands);
            read.push(Rc::new(entry.map_err(bad)?));
        }
        read.sort_by_key(|entry| entry.sha1);
        Ok(Self { entries: read })
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The replacement of the script with this sha1, in lower or upper case.
    pub fn of_sha1(&self, text: &[u8]) -> Option<Rc<Replacement>> {
        self.find(Sha1::spelled(text)?)
    }

    fn find(&self, sha1: Sha1) -> Option<Rc<Replacement>> {
        let place = self.entries.binary_search_by_key(&sha1, |entry| entry.sha1).ok()?;
        self.entries.get(place).cloned()
    }
}

fn words(entry: &[u8]) -> Vec<&[u8]> {
    let words = entry.split(u8::is_ascii_whitespace);
    words.filter(|word| !word.is_empty()).collect()
}

fn parse_entry(sha1: Sha1, words: &[&[u8]], commands: &[Callable]) -> Result<Replacement, Fault> {
    let (name, words) = words.split_first().ok_or(Fault::NoCommand)?;
    let command = commands.iter().find(|known| known.name.as_bytes().eq_ignore_ascii_case(name));
    let command = command.ok_or(Fault::Command)?;
    let mut seen = HashSet::new();
    let mut arguments = Vec::new();
    for word in words {
        let source = Source::parse(word)?;
        let is_again = match source {
            Source::Key(n) => !seen.insert((true, n)),
            Source::Arg(n) => !seen.insert((false, n)),
            Source::Word(_) => false,
        };
        arguments.push((source, is_again));
    }
    // Without a gap, there are as many different numbers as the greatest one.
    let count = |is_key: bool, name| {
        let numbers = || seen.iter().filter(|(of_key, _)| *of_key == is_key).map(|(_, n)| *n);
        let count = numbers().count();
        if numbers().all(|n| n < count) { Ok(count) } else { Err(Fault::Hole(name)) }
    };
    let (keys, args) = (count(true, "KEYS")?, count(false, "ARGV")?);
    let known: Vec<_> = arguments.iter().map(|(source, _)| source.word()).collect();
    if !command.can_take(&known) {
        return Err(Fault::Arguments(command.clone()));
    }
    let in_order = (0..keys).map(Source::Key).chain((0..args).map(Source::Arg));
    let is_in_order = arguments.iter().map(|(source, _)| source).eq(&in_order.collect::<Vec<_>>());
    Ok(Replacement { sha1, command: command.name.clone(), arguments, keys, args, is_in_order })
}

/// The texts of scripts that clients have sent with `EVAL`, so that a text is hashed once.
///
/// Remembers the text of every script with a replacement, and the latest text without one.
#[derive(Debug, Default)]
pub struct ScriptTexts {
    replaced: Vec<(Vec<u8>, Rc<Replacement>)>,
    other: Option<Vec<u8>>,
}

impl ScriptTexts {
    /// Longer texts are left to the server: hashing them would hold it up for clients without any
    /// right, since it checks rights later.
    pub const LEN_MAX: usize = 1 << 16;

    /// The replacement of the script with this text. `scripts` must be the same in all calls.
    pub fn find(&mut self, scripts: &Scripts, text: &[u8]) -> Option<Rc<Replacement>> {
        if text.len() > Self::LEN_MAX {
            return None;
        }
        if let Some((_, found)) = self.replaced.iter().find(|(known, _)| known == text) {
            return Some(Rc::clone(found));
        }
        // The texts of all replaced scripts are known, and this is none of them.
        let is_known = self.other.as_deref() == Some(text);
        if is_known || self.replaced.len() == scripts.entries.len() {
            return None;
        }
        let found = scripts.find(Sha1::of(text));
        match &found {
            Some(found) => self.replaced.push((text.to_vec(), Rc::clone(found))),
            None => self.other = Some(text.to_vec()),
        }
        found
    }
}

#[cfg(test)]
mod tests;
