//! How a script is called: what each of KEYS and ARGV is, as the user says it or as one of the
//! usual calls has it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::{Result, bail, ensure};
use domain::integer;

use crate::lua::Lua;
use crate::template::Pattern;
use crate::wire::Words;

/// What a part of an argument is. Each call of a history has a value for every role.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    Voucher,
    User,
    Order,
    Units,
    Token,
    /// The name of a lock.
    Lock,
    /// A lease, in the unit that the script takes.
    Lease,
    /// Belongs to one call.
    Request,
    /// Of unknown meaning: one of ARGV by its number, or of KEYS from `FIRST_KEY` on.
    Other(u8),
}

const FIRST_KEY: u8 = 100;

const NAMES: [(&str, Role); 10] = [
    ("voucher", Role::Voucher),
    ("user", Role::User),
    ("order", Role::Order),
    ("orderid", Role::Order),
    ("units", Role::Units),
    ("token", Role::Token),
    ("lock", Role::Lock),
    ("lease", Role::Lease),
    ("request", Role::Request),
    ("changes", Role::Other(0)),
];

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(_, role)| role == self).map(|(name, _)| *name);
        match (self, name) {
            (Self::Order, _) => f.write_str("{orderid}"),
            (_, Some(name)) => write!(f, "{{{name}}}"),
            (Self::Other(number), None) => match number.checked_sub(FIRST_KEY) {
                Some(number) => write!(f, "{{KEYS[{number}]}}"),
                None => write!(f, "{{ARGV[{number}]}}"),
            },
            _ => f.write_str("?"),
        }
    }
}

/// One of KEYS or ARGV.
pub type Word = Pattern<Role>;

pub type Values = BTreeMap<Role, Vec<u8>>;

impl Word {
    /// From `stock:{voucher}`. Braces around anything else, such as `{7}` or JSON, stay as they
    /// are.
    fn parse(text: &str) -> Self {
        let places = NAMES.map(|(name, role)| (role, format!("{{{name}}}").into_bytes()));
        Self::of(text.as_bytes(), &places)
    }

    /// From one of the words of `--keys` and `--argv`.
    fn of_option(option: &str, word: &str) -> Result<Self> {
        let text = match (word, word.strip_prefix('=')) {
            (_, Some(text)) => text.to_owned(),
            ("stock" | "buyers", _) => format!("{word}:{{voucher}}"),
            ("stream", _) => "orders".to_owned(),
            ("counter", _) => "counter:{voucher}:{user}".to_owned(),
            ("-", _) => "{changes}".to_owned(),
            _ if word.contains('{') => word.to_owned(),
            _ if NAMES.iter().any(|(name, _)| *name == word) => format!("{{{word}}}"),
            _ => {
                let names = NAMES.map(|(name, _)| name).join(" ");
                bail!("{option}: {word} is none of stock buyers stream counter {names} - =text")
            }
        };
        Ok(Self::parse(&text))
    }

    pub fn value(&self, values: &Values) -> Vec<u8> {
        self.filled(|role| values.get(&role).cloned().unwrap_or_default())
    }
}

/// An argument of the script.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Slot {
    Key(usize),
    Arg(usize),
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(number) => write!(f, "KEYS[{number}]"),
            Self::Arg(number) => write!(f, "ARGV[{number}]"),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// The function of a library, which FCALL calls.
    pub function: Option<String>,
    pub keys: Vec<Word>,
    pub args: Vec<Word>,
    /// Whether the user said so.
    pub is_told: bool,
}

impl Call {
    /// From `EVALSHA {sha} 2 stock:{voucher} buyers:{voucher} {user} {orderid}`.
    pub fn parse(text: &str) -> Result<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [command, script, count, words @ ..] = words.as_slice() else {
            bail!("--call: give it as EVALSHA {{sha}} numkeys key ... arg ...");
        };
        let function = match command.to_uppercase().as_str() {
            "EVAL" | "EVALSHA" => None,
            "FCALL" => Some((*script).to_owned()),
            _ => bail!("--call: {command} is none of EVALSHA, EVAL and FCALL"),
        };
        let count = integer::parse_digits(count.as_bytes()).and_then(|n| usize::try_from(n).ok());
        let keys = count.and_then(|count| words.split_at_checked(count));
        let Some((keys, args)) = keys else { bail!("--call: it needs the number of its keys") };
        let read = |words: &[&str]| words.iter().map(|word| Word::parse(word)).collect();
        Ok(Self::told(function, read(keys), read(args)))
    }

    /// From the words of `--keys` and `--argv`.
    pub fn of_options(keys: Option<&str>, args: Option<&str>) -> Result<Option<Self>> {
        if keys.is_none() && args.is_none() {
            return Ok(None);
        }
        let read = |option: &str, text: Option<&str>| -> Result<Vec<Word>> {
            let words = text.unwrap_or_default().split_whitespace();
            words.map(|word| Word::of_option(option, word)).collect()
        };
        let (keys, args) = (read("--keys", keys)?, read("--argv", args)?);
        ensure!(keys.len() + args.len() <= 40, "--keys and --argv: too many words");
        Ok(Some(Self::told(None, keys, args)))
    }

    /// Each `{changes}` is an argument of its own.
    fn told(function: Option<String>, mut keys: Vec<Word>, mut args: Vec<Word>) -> Self {
        let all = args.iter_mut().zip(1..).chain(keys.iter_mut().zip(FIRST_KEY + 1..));
        for (word, number) in all.filter(|(word, _)| word.only() == Some(Role::Other(0))) {
            *word = Word::place(Role::Other(number));
        }
        Self { function, keys, args, is_told: true }
    }

    /// The same with other numbers in place of those that were told as constants.
    pub fn loosened(&self) -> Self {
        let mut call = self.clone();
        for (word, number) in call.args.iter_mut().zip(1..) {
            if word.constant().is_some_and(|text| integer::parse(text).is_some()) {
                *word = Word::place(Role::Other(number));
            }
        }
        call
    }

    /// The calls that are tried if none is told: every key belongs to a voucher, or all but the
    /// first are numbers, and what ARGV is shows when the script runs.
    pub fn usual(lua: &Lua, has_numbers: bool) -> Self {
        let key = |n| match n {
            2.. if has_numbers => Word::place(Role::Other(FIRST_KEY.saturating_add(n))),
            _ => Word::after(&format!("key{n}:"), Role::Voucher),
        };
        let arg = |n| Word::place(Role::Other(n));
        let count = |n: usize| 1..=u8::try_from(n).unwrap_or(u8::MAX);
        Self {
            function: None,
            keys: count(lua.keys).map(key).collect(),
            args: count(lua.args).map(arg).collect(),
            is_told: false,
        }
    }

    pub fn slots(&self) -> impl Iterator<Item = (Slot, &Word)> {
        let keys = self.keys.iter().enumerate().map(|(at, word)| (Slot::Key(at + 1), word));
        keys.chain(self.args.iter().enumerate().map(|(at, word)| (Slot::Arg(at + 1), word)))
    }

    /// What each of KEYS and ARGV is, but for numbers that never change: others may equal them.
    pub fn values(&self, values: &Values) -> Vec<(Slot, Vec<u8>)> {
        let is_number = |word: &Word| word.constant().is_some_and(|n| integer::parse(n).is_some());
        let all = self.slots().filter(|(_, word)| !is_number(word));
        all.map(|(slot, word)| (slot, word.value(values))).collect()
    }

    pub fn word(&self, slot: Slot) -> Option<&Word> {
        match slot {
            Slot::Key(number) => self.keys.get(number.wrapping_sub(1)),
            Slot::Arg(number) => self.args.get(number.wrapping_sub(1)),
        }
    }

    /// The roles in some of KEYS and ARGV.
    pub fn roles_of(&self, slots: impl IntoIterator<Item = Slot>) -> BTreeSet<Role> {
        let words = slots.into_iter().filter_map(|slot| self.word(slot));
        words.flat_map(Word::places).collect()
    }

    /// Every role that the call has a value of.
    pub fn roles(&self) -> Vec<Role> {
        let roles: BTreeSet<Role> = self.slots().flat_map(|(_, word)| word.places()).collect();
        roles.into_iter().collect()
    }

    /// Gives an argument of unknown meaning its role.
    pub fn learn(&mut self, slot: Option<Slot>, role: Role) {
        let word = match slot {
            Some(Slot::Arg(number)) => self.args.get_mut(number.wrapping_sub(1)),
            Some(Slot::Key(number)) => self.keys.get_mut(number.wrapping_sub(1)),
            None => None,
        };
        if let Some(word) = word
            && matches!(word.only(), Some(Role::Other(_)))
        {
            *word = Word::place(role);
        }
    }

    /// KEYS and ARGV with their count, as all commands that call scripts take them.
    pub fn arguments(&self, values: &Values) -> Words {
        let count = self.keys.len().to_string().into_bytes();
        let words = self.keys.iter().chain(&self.args);
        std::iter::once(count).chain(words.map(|word| word.value(values))).collect()
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.function {
            Some(name) => write!(f, "FCALL {name} {}", self.keys.len())?,
            None => write!(f, "EVALSHA {{sha}} {}", self.keys.len())?,
        }
        self.keys.iter().chain(&self.args).try_for_each(|word| write!(f, " {word}"))
    }
}
