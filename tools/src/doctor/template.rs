//! Texts with places in them: for what the caller puts into KEYS and ARGV, or for KEYS and ARGV.

use std::fmt;

use itertools::Itertools;
use seckill_tools::sanitize::sanitize_bytes;

use crate::call::{Call, Slot, Values};
use crate::reply::quoted;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part<T> {
    Text(Vec<u8>),
    Place(T),
    /// The number that is there, as a script writes it that has made one of it.
    Number(T),
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Pattern<T>(pub Vec<Part<T>>);

/// A text of a run, with the places where the caller's KEYS and ARGV are in it.
pub type Template = Pattern<Slot>;

/// The shortest value that is recognized inside of another text.
const MARK_LEN_MIN: usize = 4;

impl<T: Copy> Pattern<T> {
    /// The longest values are recognized first: a key may contain an argument.
    pub fn of(text: &[u8], places: &[(T, Vec<u8>)]) -> Self {
        if let Some((place, _)) = places.iter().find(|(_, value)| value == text) {
            return Self::place(*place);
        }
        let mut marks: Vec<_> =
            places.iter().filter(|(_, value)| value.len() >= MARK_LEN_MIN).collect();
        marks.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        let (mut parts, mut plain, mut rest) = (Vec::new(), Vec::new(), text);
        while let Some((first, tail)) = rest.split_first() {
            let found = marks.iter().find_map(|(place, value)| {
                rest.strip_prefix(value.as_slice()).map(|rest| (*place, rest))
            });
            let Some((place, tail)) = found else {
                plain.push(*first);
                rest = tail;
                continue;
            };
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(Part::Place(place));
            rest = tail;
        }
        if !plain.is_empty() || parts.is_empty() {
            parts.push(Part::Text(plain));
        }
        Self(parts)
    }

    pub fn place(place: T) -> Self {
        Self(vec![Part::Place(place)])
    }

    pub fn constant_of(text: &str) -> Self {
        Self(vec![Part::Text(text.into())])
    }

    pub fn after(prefix: &str, place: T) -> Self {
        Self(vec![Part::Text(prefix.into()), Part::Place(place)])
    }

    pub fn filled(&self, value: impl Fn(T) -> Vec<u8>) -> Vec<u8> {
        let of = |part: &Part<T>| match part {
            Part::Text(text) => text.clone(),
            Part::Place(place) | Part::Number(place) => value(*place),
        };
        self.0.iter().flat_map(of).collect()
    }

    pub fn places(&self) -> impl Iterator<Item = T> {
        let place = |part: &Part<T>| match part {
            Part::Place(place) | Part::Number(place) => Some(*place),
            Part::Text(_) => None,
        };
        self.0.iter().filter_map(place)
    }

    /// The place, if there is nothing else.
    pub fn only(&self) -> Option<T> {
        match self.0.as_slice() {
            [Part::Place(place)] => Some(*place),
            _ => None,
        }
    }

    /// The text, if there is no place.
    pub fn constant(&self) -> Option<&[u8]> {
        match self.0.as_slice() {
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The text and the place, if that is all.
    pub fn prefixed(&self) -> Option<(&[u8], T)> {
        match self.0.as_slice() {
            [Part::Text(text), Part::Place(place)] => Some((text, *place)),
            _ => None,
        }
    }
}

impl<T: fmt::Display> fmt::Display for Pattern<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(&sanitize_bytes(text)),
            Part::Place(place) | Part::Number(place) => write!(f, "{place}"),
        })
    }
}

impl Template {
    pub fn text(&self, call: &Call, values: &Values) -> Vec<u8> {
        self.filled(|slot| call.word(slot).map(|word| word.value(values)).unwrap_or_default())
    }

    /// The Lua expression for the text.
    pub fn lua(&self) -> String {
        let of = |part: &Part<Slot>| match part {
            Part::Text(text) => quoted(text),
            Part::Place(slot) => slot.to_string(),
            Part::Number(slot) => format!("tonumber({slot})"),
        };
        self.0.iter().map(of).join(" .. ")
    }

    /// A word of `seckill.scripts`; none if that can't say it.
    pub fn word(&self) -> Option<String> {
        match self.0.as_slice() {
            [Part::Place(slot)] => Some(slot.to_string()),
            [Part::Text(text)] => {
                let is_word = |byte: &u8| byte.is_ascii_graphic() && !b";\"'\\#".contains(byte);
                let text = std::str::from_utf8(text).ok().filter(|text| !text.is_empty())?;
                let is_index = text.starts_with("KEYS[") || text.starts_with("ARGV[");
                (text.bytes().all(|byte| is_word(&byte)) && !is_index).then(|| text.to_owned())
            }
            _ => None,
        }
    }
}
