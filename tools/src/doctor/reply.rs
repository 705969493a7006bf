//! The reply of a script or a command, as a client sees it and as Lua writes it.

use std::fmt;

use itertools::Itertools;
use seckill_tools::sanitize::{sanitize, sanitize_bytes};

#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reply {
    Int(i64),
    Text(Vec<u8>),
    Status(String),
    /// The reply for a script's `false` and `nil`.
    #[default]
    Nil,
    /// A run-time error, with the line of the script if it is known.
    Error(String, Option<usize>),
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
        let numbers = text.split("user_script:").skip(1);
        let line = numbers.filter_map(|rest| {
            rest.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok())
        });
        let line = line.last();
        Self::Error(without_place(&text), line)
    }

    pub fn is_error(&self) -> bool {
        matches!(self, Self::Error(..))
    }

    /// An error of either kind.
    pub fn refuses(&self) -> bool {
        matches!(self, Self::Error(..) | Self::Refusal(_))
    }

    /// Equal, or both errors, at least one of them at run time: the texts of such errors differ.
    pub fn is_like(&self, other: &Self) -> bool {
        let meant = !self.is_error() && !other.is_error();
        self == other || (self.refuses() && other.refuses() && !meant)
    }

    /// The text of a string or status.
    pub fn text(&self) -> String {
        match self {
            Self::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Self::Status(text) | Self::Refusal(text) | Self::Error(text, _) => text.clone(),
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
    pub fn lua(&self) -> Option<String> {
        match self {
            Self::Int(number) => Some(number.to_string()),
            Self::Text(bytes) => Some(quoted(bytes)),
            Self::Status(text) => Some(format!("{{ok = {}}}", quoted(text.as_bytes()))),
            Self::Nil => Some("false".into()),
            Self::Error(text, _) | Self::Refusal(text) => {
                Some(format!("{{err = {}}}", quoted(text.as_bytes())))
            }
            Self::List(all) => {
                let all = all.iter().map(Self::lua).collect::<Option<Vec<_>>>()?;
                Some(format!("{{{}}}", all.join(", ")))
            }
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
            Self::Error(text, _) | Self::Refusal(text) => write!(f, "error ({})", sanitize(text)),
            Self::List(items) => {
                write!(f, "[{}]", items.iter().join(", "))
            }
        }
    }
}

/// The text of an error without its place in the script, which no reader needs.
fn without_place(text: &str) -> String {
    let text = text.split(" script: ").next().unwrap_or_default();
    let text = text.split(" @user_script").next().unwrap_or_default();
    let mut words = text.split_whitespace().filter(|word| !word.starts_with("user_script:"));
    words.join(" ").trim_end_matches('.').to_owned()
}

/// A string of Lua.
pub fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from("'");
    for byte in bytes {
        match byte {
            b'\'' | b'\\' => text.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => text.push(char::from(*byte)),
            other => text += &format!("\\{other:03}"),
        }
    }
    text + "'"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_lua_hold_any_byte() {
        assert_eq!(quoted(b"it's \\ \x00\xff1"), r"'it\'s \\ \000\2551'");
    }

    #[test]
    fn places_are_cut_off_and_kept_apart() {
        let seven = "ERR user_script:6: attempt to compare nil with number script: 5c5b, on \
            @user_script:6.";
        let error = Reply::error(seven.as_bytes());
        assert_eq!(error, Reply::Error("ERR attempt to compare nil with number".into(), Some(6)));
        assert_eq!(Reply::error(b"NOVOUCHER \xff").text(), "NOVOUCHER \u{fffd}");
    }

    #[test]
    fn errors_that_were_meant_are_told_apart() {
        let refusal = |text: &str| Reply::Refusal(text.into());
        let error = |text: &str| Reply::Error(text.into(), None);
        assert!(error("ERR a").is_like(&error("ERR b")));
        assert!(error("ERR a").is_like(&refusal("NO")));
        assert!(refusal("NO").is_like(&refusal("NO")));
        assert!(!refusal("NO").is_like(&refusal("YES")));
        assert!(!error("ERR a").is_like(&Reply::Int(1)));
    }
}
