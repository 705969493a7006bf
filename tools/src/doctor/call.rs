//! How a script is called: what each of KEYS and ARGV is, as the user says it or as one of the
//! usual calls has it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::{Result, bail};
use domain::integer;

use crate::lua::Lua;
use crate::reply::Words;
use crate::template::{Pattern, PatternPart, Slot, Template};

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
    Other(usize),
}

const FIRST_KEY: usize = 100;

const NAMES: [(&str, Role); 10] = [
    ("voucher", Role::Voucher),
    ("user", Role::User),
    ("orderid", Role::Order),
    ("order", Role::Order),
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
            (Self::Other(FIRST_KEY..), _) => f.write_str("{changes}"),
            (Self::Other(number @ 1..), _) => write!(f, "{{ARGV[{number}]}}"),
            _ => write!(f, "{{{}}}", name.unwrap_or_default()),
        }
    }
}

/// One of KEYS or ARGV.
pub type Word = Pattern<Role>;

pub type Values = BTreeMap<Role, Vec<u8>>;

impl Word {
    pub fn value(&self, values: &Values) -> Vec<u8> {
        self.filled(|role| values.get(&role).cloned().unwrap_or_default())
    }
}

impl Template {
    pub fn text(&self, call: &Call, values: &Values) -> Vec<u8> {
        self.filled(|slot| call.word(slot).map(|word| word.value(values)).unwrap_or_default())
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    pub keys: Vec<Word>,
    pub args: Vec<Word>,
    /// Whether the user said so.
    pub is_told: bool,
}

impl Call {
    /// From `EVALSHA {sha} 2 stock:{voucher} buyers:{voucher} {user} {orderid}`. Braces around
    /// anything else, such as `{7}` or JSON, stay as they are. Each `{changes}` is an argument of
    /// its own.
    pub fn parse(text: &str) -> Result<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let ["EVAL" | "EVALSHA" | "eval" | "evalsha", _, count, words @ ..] = words.as_slice()
        else {
            bail!("--call: give it as EVALSHA {{sha}} numkeys key ... arg ...");
        };
        let count = integer::parse_digits(count.as_bytes()).and_then(|n| usize::try_from(n).ok());
        let keys = count.and_then(|count| words.split_at_checked(count));
        let Some((keys, args)) = keys else { bail!("--call: it needs the number of its keys") };
        let names = NAMES.map(|(name, role)| (role, format!("{{{name}}}").into_bytes()));
        let read = |words: &[&str], first: usize| {
            let word = |(text, number): (&&str, usize)| match Word::of(text.as_bytes(), &names) {
                word if word.only() == Some(Role::Other(0)) => Word::place(Role::Other(number)),
                word => word,
            };
            words.iter().zip(first..).map(word).collect()
        };
        Ok(Self { keys: read(keys, FIRST_KEY + 1), args: read(args, 1), is_told: true })
    }

    /// Whether it passes a number that is always the same.
    pub fn has_constants(&self) -> bool {
        let mut constants = self.args.iter().filter_map(Word::constant);
        constants.any(|text| integer::parse(text).is_some())
    }

    /// The call that is tried if none is told: every key belongs to a voucher, and what ARGV is
    /// shows when the script runs.
    pub fn usual(lua: &Lua) -> Self {
        let key = |n| {
            Pattern(vec![
                PatternPart::Text(format!("key{n}:").into()),
                PatternPart::Place(Role::Voucher),
            ])
        };
        let (keys, args) = (lua.keys.min(FIRST_KEY), lua.args.min(FIRST_KEY - 1));
        let args = (1..=args).map(|number| Word::place(Role::Other(number))).collect();
        Self { keys: (1..=keys).map(key).collect(), args, is_told: false }
    }

    /// Whether the script uses as many KEYS and ARGV, or a number that its text does not show.
    pub fn fits(&self, lua: &Lua) -> bool {
        lua.computes || (lua.keys, lua.args) == (self.keys.len(), self.args.len())
    }

    pub fn slots(&self) -> impl Iterator<Item = (Slot, &Word)> {
        let keys = (1..).map(Slot::Key).zip(&self.keys);
        keys.chain((1..).map(Slot::Arg).zip(&self.args))
    }

    /// What each of KEYS and ARGV is, but for numbers that never change: others may equal them.
    pub fn values(&self, values: &Values) -> Vec<(Slot, Vec<u8>)> {
        let is_number = |word: &Word| word.constant().is_some_and(|n| integer::parse(n).is_some());
        let all = self.slots().filter(|(_, word)| !is_number(word));
        all.map(|(slot, word)| (slot, word.value(values))).collect()
    }

    pub fn word(&self, slot: Slot) -> Option<&Word> {
        self.slots().find(|(own, _)| *own == slot).map(|(_, word)| word)
    }

    /// The role that a slot is, if it is nothing else.
    pub fn role(&self, slot: Slot) -> Option<Role> {
        self.word(slot)?.only()
    }

    /// The roles in some of KEYS and ARGV.
    pub fn roles_of(&self, slots: impl IntoIterator<Item = Slot>) -> BTreeSet<Role> {
        let words = slots.into_iter().filter_map(|slot| self.word(slot));
        words.flat_map(Word::places).collect()
    }

    /// Every role that the call has a value of.
    pub fn roles(&self) -> BTreeSet<Role> {
        self.slots().flat_map(|(_, word)| word.places()).collect()
    }

    /// Gives an argument of unknown meaning its role.
    pub fn learn(&mut self, slot: Option<Slot>, role: Role) {
        let word = match slot {
            Some(Slot::Arg(number)) => self.args.get_mut(number - 1),
            Some(Slot::Key(number)) => self.keys.get_mut(number - 1),
            None => None,
        };
        if let Some(word) = word.filter(|word| matches!(word.only(), Some(Role::Other(_)))) {
            *word = Word::place(role);
        }
    }

    /// The command that calls the script.
    pub fn words(&self, sha: &str, values: &Values) -> Words {
        let count = self.keys.len().to_string();
        let first = ["EVALSHA", sha, &count].map(|word| word.as_bytes().to_vec());
        let words = self.keys.iter().chain(&self.args).map(|word| word.value(values));
        first.into_iter().chain(words).collect()
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EVALSHA {{sha}} {}", self.keys.len())?;
        self.keys.iter().chain(&self.args).try_for_each(|word| write!(f, " {word}"))
    }
}
