//! Which arguments a command takes, and whether those of an entry can be some.

use std::fmt;

/// A command that may be named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callable {
    /// As documented, in capitals.
    pub name: String,
    /// How many words it needs behind its name.
    pub words_min: usize,
    pub arguments: Vec<Argument>,
}

/// An argument of a command. Those that must be there come first; options have any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    Required(Word),
    /// At most once.
    Optional(Vec<Word>),
    /// One to this many times.
    Repeated(Vec<Word>, usize),
}

/// A word of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// Whatever a client sends, under the name of the documentation.
    Any(String),
    /// One of these, in capitals or not.
    OneOf(Vec<String>),
}

impl Callable {
    /// Whether a call with these words could be one of the command. A word that is only known when
    /// a script is called, here None, could be any.
    pub(super) fn can_take(&self, words: &[Option<&[u8]>]) -> bool {
        let arguments: Vec<_> = self.arguments.iter().collect();
        words.len() >= self.words_min && can_be(&arguments, words)
    }
}

fn can_be(arguments: &[&Argument], words: &[Option<&[u8]>]) -> bool {
    match arguments {
        [] => words.is_empty(),
        [Argument::Required(word), others @ ..] => words
            .split_first()
            .is_some_and(|(given, left)| word.can_be(*given) && can_be(others, left)),
        [Argument::Repeated(part, max), ..] => {
            let times = words.chunks(part.len().max(1));
            (1..=*max).contains(&times.len()) && times.into_iter().all(|words| are(part, words))
        }
        [Argument::Optional(_), ..] => {
            let is_next = |(at, argument): (usize, &&Argument)| {
                let Argument::Optional(part) = argument else { return false };
                let Some((given, left)) = words.split_at_checked(part.len()) else { return false };
                let others = arguments.iter().enumerate().filter(|(other, _)| *other != at);
                let others: Vec<_> = others.map(|(_, argument)| *argument).collect();
                are(part, given) && can_be(&others, left)
            };
            words.is_empty() || arguments.iter().enumerate().any(is_next)
        }
    }
}

/// Whether the words can be those of one argument.
fn are(part: &[Word], words: &[Option<&[u8]>]) -> bool {
    part.len() == words.len() && part.iter().zip(words).all(|(word, given)| word.can_be(*given))
}

impl Word {
    fn can_be(&self, given: Option<&[u8]>) -> bool {
        match (self, given) {
            (Self::OneOf(words), Some(given)) => {
                words.iter().any(|word| word.as_bytes().eq_ignore_ascii_case(given))
            }
            _ => true,
        }
    }
}

/// The name and the arguments, as in the documentation.
impl fmt::Display for Callable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.arguments.iter().try_for_each(|argument| match argument {
            Argument::Required(word) => write!(f, " {word}"),
            Argument::Optional(part) => write!(f, " [{}]", joined(part)),
            Argument::Repeated(part, _) => write!(f, " {0} [{0} ...]", joined(part)),
        })
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any(name) => f.write_str(name),
            Self::OneOf(words) => f.write_str(&words.join("|")),
        }
    }
}

fn joined(part: &[Word]) -> String {
    part.iter().map(Word::to_string).collect::<Vec<_>>().join(" ")
}
