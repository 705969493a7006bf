//! How a script is called: what each of KEYS and ARGV is, as the user says it or as one of the
//! usual calls has it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::{Result, bail};
use domain::integer;

use crate::lua::Lua;
use crate::reply::{Words, command};
use crate::template::{Pattern, Slot, Template};

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
    /// Of unknown meaning.
    Other(Slot),
}

/// `changes` stands for the slot that it is.
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
    ("changes", CHANGES),
];

const CHANGES: Role = Role::Other(Slot::Arg(0));

/// The usual call has no more of KEYS, or of ARGV.
const SLOTS_MAX: usize = 99;

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, NAMES.iter().find(|(_, role)| role == self)) {
            (Self::Other(slot), _) => write!(f, "{{{slot}}}"),
            (_, name) => write!(f, "{{{}}}", name.map_or("", |(name, _)| name)),
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

/// A word with roles in braces.
fn word(text: &str) -> Word {
    let names = NAMES.map(|(name, role)| (role, format!("{{{name}}}").into_bytes()));
    Word::of(text.as_bytes(), &names)
}

#[derive(Clone)]
pub struct Call {
    /// What is passed, KEYS first.
    words: Vec<(Slot, Word)>,
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
        let keys = (1..).map(Slot::Key).zip(keys);
        let slots = keys.chain((1..).map(Slot::Arg).zip(args));
        let words = slots.map(|(slot, text)| match word(text) {
            word if word.only() == Some(CHANGES) => (slot, Word::place(Role::Other(slot))),
            word => (slot, word),
        });
        Ok(Self { words: words.collect(), is_told: true })
    }

    /// The call that is tried if none is told: every key belongs to a voucher, and what ARGV is
    /// shows when the script runs.
    pub fn usual(lua: &Lua) -> Self {
        let key = |n| (Slot::Key(n), word(&format!("key{n}:{{voucher}}")));
        let arg = |n| (Slot::Arg(n), Word::place(Role::Other(Slot::Arg(n))));
        let keys = (1..=lua.keys.min(SLOTS_MAX)).map(key);
        let words = keys.chain((1..=lua.args.min(SLOTS_MAX)).map(arg)).collect();
        Self { words, is_told: false }
    }

    fn keys(&self) -> usize {
        self.words.iter().filter(|(slot, _)| matches!(slot, Slot::Key(_))).count()
    }

    /// Whether the script uses as many KEYS and ARGV, or a number that its text does not show.
    pub fn fits(&self, lua: &Lua) -> bool {
        lua.computes || (lua.keys, lua.keys + lua.args) == (self.keys(), self.words.len())
    }

    /// Whether it passes a number that is always the same.
    pub fn has_constants(&self) -> bool {
        self.words.iter().any(|(slot, word)| matches!(slot, Slot::Arg(_)) && is_number(word))
    }

    pub fn slots(&self) -> impl Iterator<Item = &(Slot, Word)> {
        self.words.iter()
    }

    /// What each of KEYS and ARGV is, but for numbers that never change: others may equal them.
    pub fn values(&self, values: &Values) -> Vec<(Slot, Vec<u8>)> {
        let all = self.words.iter().filter(|(_, word)| !is_number(word));
        all.map(|(slot, word)| (*slot, word.value(values))).collect()
    }

    pub fn word(&self, slot: Slot) -> Option<&Word> {
        self.words.iter().find(|(own, _)| *own == slot).map(|(_, word)| word)
    }

    /// The slot that is a role, and nothing else.
    pub fn slot(&self, role: Role) -> Option<Slot> {
        self.words.iter().find(|(_, word)| word.only() == Some(role)).map(|(slot, _)| *slot)
    }

    /// The roles in some of KEYS and ARGV.
    pub fn roles_of(&self, slots: impl IntoIterator<Item = Slot>) -> BTreeSet<Role> {
        let words = slots.into_iter().filter_map(|slot| self.word(slot));
        words.flat_map(Word::places).collect()
    }

    /// Every role that the call has a value of.
    pub fn roles(&self) -> BTreeSet<Role> {
        self.words.iter().flat_map(|(_, word)| word.places()).collect()
    }

    /// Gives an argument of unknown meaning its role.
    pub fn learn(&mut self, slot: Slot, role: Role) {
        for (_, word) in self.words.iter_mut().filter(|(own, _)| *own == slot) {
            if word.only() == Some(Role::Other(slot)) {
                *word = Word::place(role);
            }
        }
    }

    /// The command that calls the script.
    pub fn words(&self, sha: &str, values: &Values) -> Words {
        let count = self.keys().to_string();
        let words = self.words.iter().map(|(_, word)| word.value(values));
        command([b"EVALSHA", sha.as_bytes(), count.as_bytes()]).into_iter().chain(words).collect()
    }
}

fn is_number(word: &Word) -> bool {
    word.constant().is_some_and(|text| integer::parse(text).is_some())
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EVALSHA {{sha}} {}", self.keys())?;
        self.words.iter().try_for_each(|(_, word)| write!(f, " {word}"))
    }
}
