//! A text of a run, with the places where the caller's KEYS and ARGV are in it.

use crate::call::{Call, Slot, Values};
use crate::reply::quoted;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    Text(Vec<u8>),
    Slot(Slot),
    /// An argument that the script makes a number of.
    Number(Slot),
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Template(pub Vec<Part>);

/// The shortest value that is recognized inside of another text.
const MARK_LEN_MIN: usize = 4;

impl Template {
    /// The longest values are recognized first: a key may contain an argument.
    pub fn of(text: &[u8], slots: &[(Slot, Vec<u8>)]) -> Self {
        if let Some((slot, _)) = slots.iter().find(|(_, value)| value == text) {
            return Self(vec![Part::Slot(*slot)]);
        }
        let mut marks: Vec<_> =
            slots.iter().filter(|(_, value)| value.len() >= MARK_LEN_MIN).collect();
        marks.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        let (mut parts, mut plain, mut rest) = (Vec::new(), Vec::new(), text);
        while let Some((first, tail)) = rest.split_first() {
            match marks.iter().find(|(_, value)| rest.starts_with(value)) {
                Some((slot, value)) => {
                    if !plain.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut plain)));
                    }
                    parts.push(Part::Slot(*slot));
                    rest = rest.get(value.len()..).unwrap_or_default();
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

    pub fn text(&self, call: &Call, values: &Values) -> Vec<u8> {
        let of = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Slot(slot) | Part::Number(slot) => {
                call.word(*slot).map(|word| word.value(values)).unwrap_or_default()
            }
        };
        self.0.iter().flat_map(of).collect()
    }

    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        let slot = |part: &Part| match part {
            Part::Slot(slot) | Part::Number(slot) => Some(*slot),
            Part::Text(_) => None,
        };
        self.0.iter().filter_map(slot)
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

    /// The prefix and the slot, if the template is a prefix followed by a slot.
    pub fn prefixed(&self) -> Option<(&[u8], Slot)> {
        match self.0.as_slice() {
            [Part::Text(text), Part::Slot(slot)] => Some((text, *slot)),
            _ => None,
        }
    }

    /// The Lua expression for the text.
    pub fn lua(&self) -> String {
        let of = |part: &Part| match part {
            Part::Text(text) => quoted(text),
            Part::Slot(slot) => slot.to_string(),
            Part::Number(slot) => format!("tonumber({slot})"),
        };
        self.0.iter().map(of).collect::<Vec<_>>().join(" .. ")
    }

    /// A word of `seckill.scripts`; none if that can't say it.
    pub fn word(&self) -> Option<String> {
        match self.0.as_slice() {
            [Part::Slot(slot)] => Some(slot.to_string()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_value_is_found_first() {
        let slots = [(Slot::Arg(1), b"83911".to_vec()), (Slot::Key(1), b"stock:83911".to_vec())];
        let of = |text: &str| Template::of(text.as_bytes(), &slots).lua();
        assert_eq!(of("stock:83911"), "KEYS[1]");
        assert_eq!(of("a:stock:83911:b"), "'a:' .. KEYS[1] .. ':b'");
        assert_eq!(of("order:83911"), "'order:' .. ARGV[1]");
        assert_eq!(of(""), "''");
        assert_eq!(Template::of(b"7", &[(Slot::Arg(2), b"7".to_vec())]).slot(), Some(Slot::Arg(2)));
    }
}
