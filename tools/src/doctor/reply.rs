//! The reply of a script or a command, as a client sees it and as Lua writes it.

use std::fmt;

use itertools::Itertools;
use seckill_tools::sanitize::{sanitize, sanitize_bytes};

/// A command and its arguments.
pub type Words = Vec<Vec<u8>>;

pub fn command<const N: usize>(words: [&[u8]; N]) -> Words {
    words.map(<[u8]>::to_vec).to_vec()
}

#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reply {
    Int(i64),
    Text(Vec<u8>),
    Status(String),
    /// The reply for a script's `false` and `nil`.
    #[default]
    Nil,
    /// A run-time error.
    Error(String),
    /// An error that the script returned on purpose, so it stands for an outcome.
    Refusal(String),
    List(Vec<Reply>),
}

impl Reply {
    /// From an error as the server sends it, which names the place in the script only for run-time
    /// errors.
    pub fn error(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text);
        if !text.contains("user_script") {
            return Self::Refusal(text.into_owned());
        }
        let text = text.split(" script: ").next().and_then(|text| text.split(" @user_").next());
        Self::Error(text.unwrap_or_default().trim_end_matches('.').to_owned())
    }

    pub fn is_error(&self) -> bool {
        matches!(self, Self::Error(_))
    }

    /// An error of either kind.
    pub fn refuses(&self) -> bool {
        matches!(self, Self::Error(_) | Self::Refusal(_))
    }

    /// Equal, or both errors, at least one of them at run time: the texts of such errors differ.
    pub fn is_like(&self, other: &Self) -> bool {
        let is_at_run_time = self.is_error() || other.is_error();
        self == other || self.refuses() && other.refuses() && is_at_run_time
    }

    /// The text of a string, status or error.
    pub fn text(&self) -> String {
        match self {
            Self::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Self::Status(text) | Self::Refusal(text) | Self::Error(text) => text.clone(),
            _ => String::new(),
        }
    }

    pub fn bytes(self) -> Vec<u8> {
        match self {
            Self::Text(bytes) => bytes,
            Self::Int(number) => number.to_string().into_bytes(),
            other => other.text().into_bytes(),
        }
    }

    pub fn items(self) -> Vec<Reply> {
        if let Self::List(items) = self { items } else { Vec::new() }
    }

    /// What a script must return for this reply.
    pub fn lua(&self) -> String {
        match self {
            Self::Int(number) => number.to_string(),
            Self::Text(bytes) => quoted(bytes),
            Self::Status(text) => format!("{{ok = {}}}", quoted(text.as_bytes())),
            Self::Nil => "false".into(),
            Self::Error(text) | Self::Refusal(text) => {
                format!("{{err = {}}}", quoted(text.as_bytes()))
            }
            Self::List(all) => format!("{{{}}}", all.iter().map(Self::lua).join(", ")),
        }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => write!(f, "{number}"),
            Self::Text(bytes) => write!(f, "\"{}\"", sanitize_bytes(bytes).replace('"', "\\\"")),
            Self::Status(text) => f.write_str(&sanitize(text)),
            Self::Nil => f.write_str("nil"),
            Self::Error(text) | Self::Refusal(text) => write!(f, "error ({})", sanitize(text)),
            Self::List(items) => write!(f, "[{}]", items.iter().join(", ")),
        }
    }
}

/// A string of Lua.
pub fn quoted(bytes: &[u8]) -> String {
    let letter = |byte: &u8| match byte {
        b'\'' | b'\\' => format!("\\{}", char::from(*byte)),
        b' '..=b'~' => char::from(*byte).to_string(),
        other => format!("\\{other:03}"),
    };
    format!("'{}'", bytes.iter().map(letter).collect::<String>())
}
