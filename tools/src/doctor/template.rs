//! Texts with places in them: for what the caller puts into KEYS and ARGV, or for KEYS and ARGV.

use std::fmt;

use itertools::Itertools;
use seckill_tools::sanitize::sanitize_bytes;

use crate::reply::quoted;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PatternPart<T> {
    Text(Vec<u8>),
    /// A place, and the Lua for what is there, with `{}` for the place.
    Place(T, &'static str),
}

/// A place as it is; the number that is there, as a script writes it that has made one of it; and a
/// thousand times that number.
const PLAIN: &str = "{}";
const NUMBER: &str = "tonumber({})";
const THOUSANDFOLD: &str = "{} * 1000";

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Pattern<T>(pub Vec<PatternPart<T>>);

/// An argument of the script.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Slot {
    Key(usize),
    Arg(usize),
}

/// A text of a run, with the places where the caller's KEYS and ARGV are in it.
pub type Template = Pattern<Slot>;

/// The shortest value that is recognized inside of another text.
const MARK_LEN_MIN: usize = 4;

impl<T> Default for Pattern<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> Pattern<T> {
    /// The longest values are recognized first: a key may contain an argument.
    pub fn of(text: &[u8], places: &[(T, Vec<u8>)]) -> Self {
        if let Some((place, _)) = places.iter().find(|(_, value)| value == text) {
            return Self::place(*place);
        }
        let marks = places.iter().filter(|(_, value)| value.len() >= MARK_LEN_MIN);
        let marks = marks.sorted_by_key(|(_, value)| std::cmp::Reverse(value.len())).collect_vec();
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some((first, tail)) = rest.split_first() {
            let found =
                marks.iter().find_map(|(place, value)| Some((place, rest.strip_prefix(&**value)?)));
            match (found, parts.last_mut()) {
                (Some((place, _)), _) => parts.push(PatternPart::Place(*place, PLAIN)),
                (None, Some(PatternPart::Text(text))) => text.push(*first),
                (None, _) => parts.push(PatternPart::Text(vec![*first])),
            }
            rest = found.map_or(tail, |(_, tail)| tail);
        }
        if parts.is_empty() {
            parts.push(PatternPart::Text(Vec::new()));
        }
        Self(parts)
    }

    pub fn place(place: T) -> Self {
        Self(vec![PatternPart::Place(place, PLAIN)])
    }

    pub fn number(place: T) -> Self {
        Self(vec![PatternPart::Place(place, NUMBER)])
    }

    pub fn constant_of(text: &str) -> Self {
        Self(vec![PatternPart::Text(text.into())])
    }

    pub fn filled(&self, value: impl Fn(T) -> Vec<u8>) -> Vec<u8> {
        let of = |part: &PatternPart<T>| match part {
            PatternPart::Text(text) => text.clone(),
            PatternPart::Place(place, _) => value(*place),
        };
        self.0.iter().flat_map(of).collect()
    }

    pub fn places(&self) -> impl Iterator<Item = T> {
        self.0.iter().filter_map(|part| match part {
            PatternPart::Place(place, _) => Some(*place),
            PatternPart::Text(_) => None,
        })
    }

    /// The place, if there is nothing else.
    pub fn only(&self) -> Option<T> {
        match self.0.as_slice() {
            [PatternPart::Place(place, PLAIN)] => Some(*place),
            _ => None,
        }
    }

    /// The text, if there is no place.
    pub fn constant(&self) -> Option<&[u8]> {
        if let [PatternPart::Text(text)] = self.0.as_slice() { Some(text) } else { None }
    }

    /// The text and the place, if that is all.
    pub fn prefixed(&self) -> Option<(&[u8], T)> {
        match self.0.as_slice() {
            [PatternPart::Text(text), PatternPart::Place(place, _)] => Some((text, *place)),
            _ => None,
        }
    }
}

impl<T: fmt::Display> fmt::Display for Pattern<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            PatternPart::Text(text) => f.write_str(&sanitize_bytes(text)),
            PatternPart::Place(place, _) => write!(f, "{place}"),
        })
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(number) => write!(f, "KEYS[{number}]"),
            Self::Arg(number) => write!(f, "ARGV[{number}]"),
        }
    }
}

impl Template {
    /// For a lease in seconds, the same in ms.
    pub fn thousandfold(&self) -> Self {
        let parts = self.0.iter().map(|part| match part {
            PatternPart::Text(text) => PatternPart::Text([text, &b"000"[..]].concat()),
            PatternPart::Place(slot, _) => PatternPart::Place(*slot, THOUSANDFOLD),
        });
        Self(parts.collect())
    }

    /// The Lua expression for the text.
    pub fn lua(&self) -> String {
        let of = |part: &PatternPart<Slot>| match part {
            PatternPart::Text(text) => quoted(text),
            PatternPart::Place(slot, form) => form.replace("{}", &slot.to_string()),
        };
        self.0.iter().map(of).join(" .. ")
    }

    /// A word of `seckill.scripts`; none if that can't say it.
    pub fn word(&self) -> Option<String> {
        if let Some(slot) = self.only() {
            return Some(slot.to_string());
        }
        let is_bare = |byte: &u8| byte.is_ascii_graphic() && !b";\"'\\#".contains(byte);
        let text = String::from_utf8(self.constant()?.to_vec()).ok()?;
        let is_word = !text.is_empty() && text.bytes().all(|byte| is_bare(&byte));
        let is_index = text.starts_with("KEYS[") || text.starts_with("ARGV[");
        (is_word && !is_index).then_some(text)
    }
}
