//! What is said of a script, for people and for programs.

use std::collections::BTreeMap;

use console::style;
use itertools::Itertools;
use seckill_tools::sanitize::{is_hidden, sanitize};
use serde_json::{Value, json};

use crate::bench::shown;
use crate::compare::Replacement;
use crate::conf::{Setting, conf_line};
use crate::examine::{Examined, Verdict};
use crate::harm::Session;

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
    fn json(&self) -> Value {
        let conf = self.settings.iter().map(|(name, value)| conf_line(name, value));
        let settings: BTreeMap<_, _> = self.settings.iter().cloned().collect();
        json!({
            "command": self.command(), "lua": self.lua, "settings": settings,
            "conf": conf.collect::<Vec<_>>(), "notes": self.notes, "call": self.compared.call,
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
            "sessions": self.session.iter().map(words).collect::<Vec<_>>(),
            "harms": self.session.iter().map(|session| &session.harm).collect::<Vec<_>>(),
            "replacement": replacement.map(Replacement::json),
            "alternatives": self.replacements.iter().skip(1).map(Replacement::json)
                .collect::<Vec<_>>(),
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
        if let Some(session) = &self.session {
            text += &self.session(session);
        }
        for (number, one) in self.replacements.iter().enumerate() {
            text += &one.text(number == 0, alone);
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

    /// Lines for a shell, in the folder where the doctor was started.
    fn session(&self, session: &Session) -> String {
        let mut text = heading(&sanitize(&session.harm));
        for (words, reply) in session.commands.iter().zip(&session.replies) {
            let file = format!("\"$(cat {})\"", self.path);
            let line = match words.as_slice() {
                [eval, _, rest @ ..] if eval == b"EVAL" => format!("EVAL {file} {}", shown(rest)),
                [load, ..] if load == b"FUNCTION" => format!("FUNCTION LOAD REPLACE {file}"),
                words => shown(words),
            };
            text += &format!("  $ redis-cli {line}\n  {reply}\n");
        }
        text
    }
}

impl Replacement {
    fn text(&self, is_first: bool, alone: bool) -> String {
        let mut text = String::new();
        let lines = |settings: &[Setting]| -> Vec<String> {
            settings.iter().map(|(name, value)| conf_line(name, value)).collect()
        };
        if let Some(entry) = self.entry() {
            let or = if is_first { "Change nothing" } else { "Or change nothing" };
            text += &heading(&format!("{or}: let the module answer your script"));
            if alone {
                let lines = lines(&self.settings);
                text += &format!("  redis.conf   {}\n", lines.join("\n               "));
                text += &format!("  or at once   CONFIG SET {}\n", lines.join(" "));
            } else {
                text += &format!("  one entry    {entry}\n");
            }
        }
        let head = if text.is_empty() && is_first { "Put this" } else { "Or put this" };
        text += &heading(&format!("{head} in place of your script"));
        text += &format!("  {}\n", self.lua);
        if self.native.is_none() {
            text.extend(lines(&self.settings).iter().map(|line| format!("  with {line}\n")));
        }
        text.extend(self.notes.iter().map(|note| wrapped("  ", note)));
        let compared = &self.compared;
        let mut say = |first: &str, what: String| text += &wrapped(first, &what);
        say(
            "  Compared: ",
            format!(
                "{} calls in {} histories, their replies and all keys; {}. The call was {}.",
                compared.calls,
                compared.histories,
                compared.about.iter().format("; "),
                compared.call
            ),
        );
        if !compared.not_the_same.is_empty() {
            let about = compared.not_the_same.iter().format("; ");
            let what = "the line does something else there, or one of the two answers an error";
            say("  Not the same: ", format!("{about}: {what}."));
        }
        let not = compared.not_compared.iter().map(String::as_str);
        let mut not = ["the order of the fields in an entry"].into_iter().chain(not);
        say("  Not compared: ", format!("{}.", not.join("; ")));
        text
    }
}

/// The characters of a line that a terminal would obey are escaped already, but for quotes of
/// scripts.
fn sanitize_line(text: &str) -> String {
    if text.chars().any(is_hidden) { sanitize(text) } else { text.to_owned() }
}
