//! What a script or a command replied, as a client sees it and as Lua writes it.

use std::fmt;

use redis::Value;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reply {
    Int(i64),
    Text(Vec<u8>),
    Status(String),
    /// What a script's `false` and `nil` become.
    Nil,
    Error(String),
    /// An error that a script returned of its own accord, and so a word for an outcome.
    Refusal(String),
    /// A list, or anything else that is no single value.
    Other(String),
}

impl Reply {
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Int(number) => Self::Int(*number),
            Value::BulkString(bytes) => Self::Text(bytes.clone()),
            Value::Okay => Self::Status("OK".into()),
            Value::SimpleString(text) => Self::Status(text.clone()),
            Value::Nil => Self::Nil,
            Value::ServerError(error) => {
                let text = format!("{} {}", error.code(), error.details().unwrap_or_default());
                Self::Error(without_place(&text))
            }
            Value::Array(items) => {
                let items: Vec<_> = items.iter().map(|item| Self::of(item).to_string()).collect();
                Self::Other(format!("[{}]", items.join(", ")))
            }
            other => Self::Other(format!("{other:?}")),
        }
    }

    /// The reply of a script. The server adds the place of what a script failed at.
    pub fn of_script(value: &Value) -> Self {
        let fails = match value {
            Value::ServerError(error) => {
                error.details().is_some_and(|text| text.contains("user_script"))
            }
            _ => false,
        };
        match Self::of(value) {
            Self::Error(text) if !fails => Self::Refusal(text),
            other => other,
        }
    }

    pub fn is_error(&self) -> bool {
        matches!(self, Self::Error(_))
    }

    /// An error of either kind.
    pub fn refuses(&self) -> bool {
        matches!(self, Self::Error(_) | Self::Refusal(_))
    }

    /// Equal, or both errors of which one was not meant: the texts of errors differ.
    pub fn is_like(&self, other: &Self) -> bool {
        let meant = !self.is_error() && !other.is_error();
        self == other || (self.refuses() && other.refuses() && !meant)
    }

    /// The text of a string or status.
    pub fn text(&self) -> String {
        match self {
            Self::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Self::Status(text) => text.clone(),
            _ => String::new(),
        }
    }

    /// What a script has to return for this reply; nothing for a list.
    pub fn lua(&self) -> Option<String> {
        match self {
            Self::Int(number) => Some(number.to_string()),
            Self::Text(bytes) => Some(quoted(bytes)),
            Self::Status(text) => Some(format!("{{ok = {}}}", quoted(text.as_bytes()))),
            Self::Nil => Some("false".into()),
            Self::Error(text) | Self::Refusal(text) => {
                Some(format!("{{err = {}}}", quoted(text.as_bytes())))
            }
            Self::Other(_) => None,
        }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => write!(f, "{number}"),
            Self::Text(bytes) => write!(f, "\"{}\"", bytes.escape_ascii()),
            Self::Status(text) => f.write_str(text),
            Self::Nil => f.write_str("nil"),
            Self::Error(text) | Self::Refusal(text) => write!(f, "error ({text})"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

/// The text of an error without where in which script it came up, which no reader needs.
fn without_place(text: &str) -> String {
    let text = text.split(" script: ").next().unwrap_or_default();
    let text = text.split(" @user_script").next().unwrap_or_default();
    let words = text.split_whitespace().filter(|word| !word.starts_with("user_script:"));
    words.collect::<Vec<_>>().join(" ").trim_end_matches('.').to_owned()
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
    fn places_are_cut_off() {
        let seven = "ERR user_script:6: attempt to compare nil with number script: 5c5b, on \
            @user_script:6.";
        assert_eq!(without_place(seven), "ERR attempt to compare nil with number");
        assert_eq!(without_place("NOVOUCHER no stock key"), "NOVOUCHER no stock key");
    }

    #[test]
    fn booleans_are_what_clients_see() {
        assert_eq!(Reply::Nil.lua().as_deref(), Some("false"));
        assert_eq!(Reply::Int(-1).lua().as_deref(), Some("-1"));
        assert_eq!(Reply::Status("OK".into()).lua().as_deref(), Some("{ok = 'OK'}"));
        assert_eq!(Reply::Other("[1]".into()).lua(), None);
        assert_eq!(Reply::Refusal("NO".into()).lua().as_deref(), Some("{err = 'NO'}"));
    }

    #[test]
    fn errors_that_were_meant_are_told_apart() {
        let refusal = |text: &str| Reply::Refusal(text.into());
        let error = |text: &str| Reply::Error(text.into());
        assert!(error("ERR a").is_like(&error("ERR b")));
        assert!(error("ERR a").is_like(&refusal("NO")));
        assert!(refusal("NO").is_like(&refusal("NO")));
        assert!(!refusal("NO").is_like(&refusal("YES")));
        assert!(!error("ERR a").is_like(&Reply::Int(1)));
    }
}
