//! What a command answers when it did its work.

use crate::error::CommandError;
use crate::server::{Answer, Part};
use domain::order_id::Id;
use domain::sale::Outcome;

/// A reply. A command that refuses answers a [`CommandError`] instead.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Integer(i64),
    /// The client is blocked, and is answered later.
    Later,
    Bytes(Vec<u8>),
    /// There is no such thing.
    Null,
    /// `+OK`
    Ok,
    Array(Vec<Reply>),
    /// An outcome, and the text that goes with it, or null.
    Pair(i64, Option<Vec<u8>>),
    /// Names and values; pairs in one flat array for clients of RESP2.
    Map(Vec<(&'static str, Reply)>),
    /// An error in place of an element of an array.
    Error(CommandError),
    /// A bulk string: ids exceed 2^53, beyond which JavaScript rounds integers.
    Id(Id),
}

impl Reply {
    /// The reply as it is sent.
    #[inline]
    pub(crate) fn answer(self) -> Answer {
        // What nearly every try and release answers.
        if let Self::Integer(value) = self {
            Answer::One(Part::Integer(value))
        } else {
            self.parts()
        }
    }

    fn parts(self) -> Answer {
        let mut parts = Vec::new();
        self.add_to(&mut parts);
        Answer::All(parts)
    }

    fn add_to(self, parts: &mut Vec<Part>) {
        match self {
            Self::Later => {}
            Self::Integer(value) => parts.push(Part::Integer(value)),
            Self::Bytes(bytes) => parts.push(Part::Bytes(bytes)),
            Self::Null => parts.push(Part::Null),
            Self::Ok => parts.push(Part::Ok),
            Self::Array(elements) => {
                parts.reserve(elements.len().saturating_add(1));
                parts.push(Part::Array(len(elements.len())));
                elements.into_iter().for_each(|element| element.add_to(parts));
            }
            Self::Pair(outcome, text) => {
                let text = text.map_or(Part::Null, Part::Bytes);
                parts.extend([Part::Array(2), Part::Integer(outcome), text]);
            }
            Self::Map(pairs) => {
                parts.push(Part::Map(len(pairs.len())));
                for (name, value) in pairs {
                    parts.push(Part::Bytes(name.as_bytes().to_vec()));
                    value.add_to(parts);
                }
            }
            Self::Error(error) => parts.push(Part::Error(error.line())),
            Self::Id(id) => parts.push(Part::Bytes(id.text().bytes().to_vec())),
        }
    }

    pub(crate) fn text(text: &str) -> Self {
        Self::Bytes(text.as_bytes().to_vec())
    }

    /// The number, or null where there is none.
    pub(crate) fn integer_or_null(value: Option<i64>) -> Self {
        value.map_or(Self::Null, Self::Integer)
    }
}

/// A length as the protocol has it. No reply here comes near the bound.
fn len(len: usize) -> i64 {
    i64::try_from(len).unwrap_or(i64::MAX)
}

impl From<Outcome> for Reply {
    fn from(outcome: Outcome) -> Self {
        Self::Integer(outcome.code())
    }
}
