//! What is said of a script, for people and for programs.

use console::style;
use seckill_tools::sanitize::{is_hidden, sanitize};
use serde_json::{Map, Value, json};

use crate::bench::shown;
use crate::conf::{Setting, conf_line, config_set};
use crate::examine::{Examined, Verdict};
use crate::harm::Session;
use crate::replace::Replacement;

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Self::Broken => "broken",
            Self::Replaceable => "replaceable",
            Self::Undecided => "undecided",
        }
    }

    pub fn exit_code(self) -> u8 {
        match self {
            Self::Replaceable => 0,
            Self::Broken => 1,
            Self::Undecided => 3,
        }
    }

    /// The verdict that decides about the exit code of many scripts: the first of these.
    pub const BY_WEIGHT: [Self; 3] = [Self::Broken, Self::Undecided, Self::Replaceable];
}

/// JSON in one line, with escapes for the characters that no reader sees.
pub fn printed(value: &Value) -> String {
    let mut line = String::new();
    for letter in value.to_string().chars() {
        if is_hidden(letter) {
            let units = letter.encode_utf16(&mut [0; 2]).to_vec();
            line.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            line.push(letter);
        }
    }
    line
}

/// A paragraph whose first line begins with `first`, and the others with spaces.
pub fn wrapped(first: &str, text: &str) -> String {
    let indent = " ".repeat(first.chars().count());
    let options = textwrap::Options::new(98)
        .initial_indent(first)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::fill(text, options) + "\n"
}

fn heading(text: &str) -> String {
    format!("\n{}\n", style(text).bold())
}

impl Replacement {
    /// Its settings, with the entry of `seckill.scripts` last.
    pub fn settings_with(&self, sha1: &str) -> Vec<Setting> {
        let entry = self.entry(sha1).map(|entry| ("seckill.scripts", entry));
        self.settings.iter().cloned().chain(entry).collect()
    }

    pub fn entry(&self, sha1: &str) -> Option<String> {
        self.native.as_ref().map(|words| format!("{sha1} {words}"))
    }

    fn json(&self, sha1: &str) -> Value {
        let settings = self.settings_with(sha1);
        let conf: Vec<String> =
            settings.iter().map(|(name, value)| conf_line(name, value)).collect();
        let settings: Map<String, Value> =
            settings.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
        json!({
            "command": self.native.as_ref().unwrap_or(&self.lua), "lua": self.lua,
            "settings": settings, "conf": conf, "notes": self.notes, "call": self.compared.call,
        })
    }
}

impl Examined {
    pub fn json(&self) -> Value {
        let words = |session: &Session| -> Value {
            let command = |words: &Vec<Vec<u8>>| -> Value {
                words.iter().map(|word| json!(String::from_utf8_lossy(word))).collect()
            };
            session.commands.iter().map(command).collect()
        };
        let replacement = self.replacements.first();
        json!({
            "file": self.file,
            "sha1": self.sha1,
            "verdict": self.verdict().word(),
            "sessions": self.sessions.iter().map(words).collect::<Vec<_>>(),
            "harms": self.sessions.iter().map(|session| &session.harm).collect::<Vec<_>>(),
            "replacement": replacement.map(|one| one.json(&self.sha1)),
            "alternatives": self.replacements.iter().skip(1)
                .map(|one| one.json(&self.sha1)).collect::<Vec<_>>(),
            "compared": replacement.map(|one| json!(one.compared)),
            "seen": self.seen,
            "asks": self.asks,
        })
    }

    pub fn text(&self, alone: bool) -> String {
        let word = self.verdict().word().to_uppercase();
        let word = match self.verdict() {
            Verdict::Broken => style(word).red(),
            Verdict::Replaceable => style(word).green(),
            Verdict::Undecided => style(word).yellow(),
        };
        let mut text = format!("{}: {}\n", self.file, word.bold());
        for seen in &self.seen {
            text += &wrapped("  ", &sanitize_line(seen));
        }
        for session in &self.sessions {
            text += &self.session(session);
        }
        for (number, one) in self.replacements.iter().enumerate() {
            text += &self.replacement(one, number == 0, alone);
        }
        if !self.asks.is_empty() {
            text += &heading("If you know what is passed, complete this line");
            text.extend(self.asks.iter().map(|ask| format!("  {ask}\n")));
            text += &wrapped(
                "  ",
                "with, in place of each ?, a text with {voucher}, {user}, {orderid}, {units}, \
                 {lock}, {token}, {lease}, {request} or {changes}.",
            );
        }
        text
    }

    /// Lines for a shell, in the folder of the script.
    fn session(&self, session: &Session) -> String {
        let mut text = heading(&sanitize(&session.harm));
        for (words, reply) in session.commands.iter().zip(&session.replies) {
            let line = match words.as_slice() {
                [eval, _, rest @ ..] if eval == b"EVAL" => {
                    format!("EVAL \"$(cat {})\" {}", self.file, shown(rest))
                }
                words => shown(words),
            };
            text += &format!("  $ redis-cli {line}\n  {reply}\n");
        }
        text
    }

    fn replacement(&self, one: &Replacement, is_first: bool, alone: bool) -> String {
        let mut text = String::new();
        if let Some(entry) = one.entry(&self.sha1) {
            let or = if is_first { "Change nothing" } else { "Or change nothing" };
            text += &heading(&format!("{or}: let the module answer your script"));
            if alone {
                for (number, (name, value)) in one.settings_with(&self.sha1).iter().enumerate() {
                    let word = if number == 0 { "redis.conf" } else { "" };
                    text += &format!("  {word:<12} {}\n", conf_line(name, value));
                }
                let all = one.settings_with(&self.sha1);
                text += &format!("  or at once   {}\n", config_set(&all));
            } else {
                text += &format!("  one entry    {entry}\n");
            }
        }
        let head = if text.is_empty() && is_first { "Put this" } else { "Or put this" };
        text += &heading(&format!("{head} in place of your script"));
        text += &format!("  {}\n", one.lua);
        if one.native.is_none() {
            text.extend(
                one.settings
                    .iter()
                    .map(|(name, value)| format!("  with {}\n", conf_line(name, value))),
            );
        }
        for note in &one.notes {
            text += &wrapped("  ", note);
        }
        let compared = &one.compared;
        let about: Vec<&str> = compared.about.iter().copied().collect();
        text += &wrapped(
            "  Compared: ",
            &format!(
                "{} calls in {} histories, their replies and all keys; {}. The call was {}.",
                compared.calls,
                compared.histories,
                about.join("; "),
                compared.call
            ),
        );
        if !compared.refused.is_empty() {
            let refused: Vec<&str> = compared.refused.iter().copied().collect();
            text += &wrapped(
                "  Not the same: ",
                &format!(
                    "in {}, one answers an error where the other does something else.",
                    refused.join(", ")
                ),
            );
        }
        text += &wrapped("  In a cluster: ", &format!("{}.", compared.cluster));
        let mut not = vec!["the order of the fields in an entry".to_owned()];
        not.extend(compared.not_compared.iter().cloned());
        text += &wrapped("  Not compared: ", &format!("{}.", not.join("; ")));
        text
    }
}

/// The characters of a line that a terminal would obey are escaped already, but for quotes of
/// scripts.
fn sanitize_line(text: &str) -> String {
    if text.chars().any(is_hidden) { sanitize(text) } else { text.to_owned() }
}
