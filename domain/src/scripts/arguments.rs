//! The arguments that a command takes, and whether an entry's words can be such arguments.

use std::fmt;

/// A command that an entry may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callable {
    /// As documented, in capitals.
    pub name: String,
    /// How many words it needs after its name.
    pub words_min: usize,
    pub arguments: Vec<Argument>,
}

/// An argument of a command. Required ones are first; options have any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    Required(WordPattern),
    /// At most once.
    Optional(Vec<WordPattern>),
    /// One to this many times, before required ones or none.
    Repeated(Vec<WordPattern>, usize),
}

/// A word of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WordPattern {
    /// Any value, with its name in the documentation.
    Any(String),
    /// One of these words, in upper or lower case.
    OneOf(Vec<String>),
}

impl Callable {
    /// Whether these words could be a call of the command. None stands for a word that is only
    /// known when the script is called, and could be any.
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
        [Argument::Repeated(part, max), others @ ..] => {
            let at = words.len().checked_sub(others.len());
            let Some((words, left)) = at.and_then(|at| words.split_at_checked(at)) else {
                return false;
            };
            let mut times = words.chunks(part.len().max(1));
            let is_count = (1..=*max).contains(&times.len());
            is_count && times.all(|words| are(part, words)) && can_be(others, left)
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

/// Whether the words can be one argument.
fn are(part: &[WordPattern], words: &[Option<&[u8]>]) -> bool {
    part.len() == words.len() && part.iter().zip(words).all(|(word, given)| word.can_be(*given))
}

impl WordPattern {
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

impl fmt::Display for WordPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any(name) => f.write_str(name),
            Self::OneOf(words) => f.write_str(&words.join("|")),
        }
    }
}

fn joined(part: &[WordPattern]) -> String {
    part.iter().map(WordPattern::to_string).collect::<Vec<_>>().join(" ")
}
