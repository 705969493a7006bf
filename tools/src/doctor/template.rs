//! How a text is made of the script's arguments: `seckill:stock:` and then `ARGV[1]`.
//!
//! Derived by calling the script with marks, which are texts that occur nowhere else, and looking
//! where they appear.

use std::fmt;

use seckill_tools::sanitize::sanitize_bytes;

use crate::reply::quoted;

/// A place in the call, counted from 1 as in Lua.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Slot {
    Key(usize),
    Arg(usize),
    /// A field of an argument that is a JSON object.
    Field(Field),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Field {
    pub arg: usize,
    /// Its number among the fields of all arguments.
    pub number: usize,
    pub name: &'static str,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    Text(Vec<u8>),
    Slot(Slot),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template(pub Vec<Part>);

impl Slot {
    /// The text in this slot while the script is watched. Marks of arguments are numbers, since a
    /// script may calculate with them.
    pub fn mark(self) -> Vec<u8> {
        match self {
            Self::Key(number) => format!("mark9081735{number:02}").into_bytes(),
            Self::Arg(number) => format!("9081726{number:02}").into_bytes(),
            Self::Field(field) => format!("9081727{:02}", field.number).into_bytes(),
        }
    }

    /// Whether a number is the mark of some argument.
    pub fn is_mark(number: i64) -> bool {
        (908_172_600..908_172_800).contains(&number)
    }

    pub fn is_key(self) -> bool {
        matches!(self, Self::Key(_))
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(number) => write!(f, "KEYS[{number}]"),
            Self::Arg(number) => write!(f, "ARGV[{number}]"),
            Self::Field(Field { arg, name, .. }) => write!(f, "cjson.decode(ARGV[{arg}]).{name}"),
        }
    }
}

impl Template {
    pub fn alone(slot: Slot) -> Self {
        Self(vec![Part::Slot(slot)])
    }

    /// The parts of a text that was made while the slots had their marks.
    pub fn of(text: &[u8], slots: &[Slot]) -> Self {
        let mut parts = Vec::new();
        let mut plain = Vec::new();
        let mut rest = text;
        while let Some((first, tail)) = rest.split_first() {
            match slots.iter().find(|slot| rest.starts_with(&slot.mark())) {
                Some(slot) => {
                    if !plain.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut plain)));
                    }
                    parts.push(Part::Slot(*slot));
                    rest = rest.get(slot.mark().len()..).unwrap_or_default();
                }
                None => {
                    plain.push(*first);
                    rest = tail;
                }
            }
        }
        if !plain.is_empty() || parts.is_empty() {
            parts.push(Part::Text(plain));
        }
        Self(parts)
    }

    /// The template with one slot replaced by another.
    pub fn with(&self, one: Slot, other: Slot) -> Self {
        let part = |part: &Part| match part {
            Part::Slot(slot) if *slot == one => Part::Slot(other),
            part => part.clone(),
        };
        Self(self.0.iter().map(part).collect())
    }

    /// The text with a value for every slot.
    pub fn text(&self, value: &impl Fn(Slot) -> Vec<u8>) -> Vec<u8> {
        let of = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Slot(slot) => value(*slot),
        };
        self.0.iter().flat_map(of).collect()
    }

    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        self.0.iter().filter_map(|part| match part {
            Part::Slot(slot) => Some(*slot),
            Part::Text(_) => None,
        })
    }

    /// The slot, if the template is a single slot.
    pub fn slot(&self) -> Option<Slot> {
        match self.0.as_slice() {
            [Part::Slot(slot)] => Some(*slot),
            _ => None,
        }
    }

    /// The text, if the template has no slot.
    pub fn constant(&self) -> Option<&[u8]> {
        match self.0.as_slice() {
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The prefix, if the template is a prefix followed by this slot.
    pub fn prefix_of(&self, slot: Slot) -> Option<Vec<u8>> {
        match self.0.as_slice() {
            [Part::Text(text), Part::Slot(last)] if *last == slot => Some(text.clone()),
            [Part::Slot(last)] if *last == slot => Some(Vec::new()),
            _ => None,
        }
    }

    /// The Lua expression for the text.
    pub fn lua(&self) -> String {
        let of = |part: &Part| match part {
            Part::Text(text) => quoted(text),
            Part::Slot(slot) => slot.to_string(),
        };
        self.0.iter().map(of).collect::<Vec<_>>().join(" .. ")
    }

    /// For people: `seckill:stock:<voucher>`.
    pub fn shown(&self, name: &impl Fn(Slot) -> String) -> String {
        let of = |part: &Part| match part {
            Part::Text(text) => sanitize_bytes(text),
            Part::Slot(slot) => format!("<{}>", name(*slot)),
        };
        self.0.iter().map(of).collect()
    }
}
