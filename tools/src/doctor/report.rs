//! What is said of a script, for people and for programs.

use itertools::Itertools;
use seckill_tools::sanitize::{is_hidden, sanitize};
use serde::Serialize;
use serde_json::json;

use crate::compare::{Compared, Replacement};
use crate::examination::shown;
use crate::harm::Session;
use crate::source::{Source, quoted_path};

/// What is said of a script.
#[derive(Clone, Default, Serialize)]
pub struct Report {
    pub file: String,
    /// The path of a file with the text that was examined, for a shell.
    #[serde(skip)]
    pub path: String,
    /// Of the text that was examined; empty if the server can't compile it.
    pub sha1: String,
    pub session: Option<Session>,
    pub replacement: Option<Replacement>,
    /// A line to complete, which would help.
    pub ask: Option<String>,
    /// What was seen.
    pub seen: Vec<String>,
}

/// The gravest verdict of many decides about the exit code: the last of these.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Replaceable,
    Undecided,
    Broken,
}

impl Verdict {
    pub fn exit_code(self) -> u8 {
        [0, 3, 1][self as usize]
    }
}

/// A line of redis.conf.
fn conf_line((name, value): &(&str, String)) -> String {
    let is_bare = |c: char| !c.is_whitespace() && !"\"'\\#".contains(c) && !is_hidden(c);
    match !value.is_empty() && value.chars().all(is_bare) {
        true => format!("{name} {value}"),
        false => format!("{name} \"{}\"", sanitize(value).replace('"', "\\\"")),
    }
}

impl Report {
    pub fn new(source: &Source) -> Self {
        let (file, path) = (source.name.clone(), quoted_path(&source.path));
        Self { file, path, ..Self::default() }
    }

    pub fn verdict(&self) -> Verdict {
        match (&self.session, &self.replacement) {
            (Some(_), _) => Verdict::Broken,
            (None, Some(_)) => Verdict::Replaceable,
            (None, None) => Verdict::Undecided,
        }
    }

    pub fn saw(&mut self, text: impl Into<String>) {
        self.seen.push(text.into());
    }

    pub fn with(mut self, text: impl Into<String>) -> Self {
        self.saw(text);
        self
    }

    /// In one line, with escapes for the characters that no reader sees.
    pub fn json(&self) -> String {
        let mut all = json!(self);
        all["verdict"] = json!(self.verdict());
        let unit = |unit: &u16| format!("\\u{unit:04x}");
        let letter = |letter: char| match is_hidden(letter) {
            true => letter.encode_utf16(&mut [0; 2]).iter().map(unit).collect(),
            false => letter.to_string(),
        };
        all.to_string().chars().map(letter).collect::<String>() + "\n"
    }

    /// For people.
    pub fn text(&self) -> String {
        let verdict = format!("{:?}", self.verdict()).to_uppercase();
        let mut text = format!("{}: {verdict}\n", self.file);
        for seen in &self.seen {
            // What a terminal would obey is escaped already, but for quotes of scripts.
            let is_hidden = seen.chars().any(is_hidden);
            text += &format!("  {}\n", if is_hidden { sanitize(seen) } else { seen.clone() });
        }
        text.extend(self.session.iter().map(|session| session.text(&self.path)));
        text.extend(self.replacement.iter().map(|one| one.text(&self.sha1)));
        if let Some(ask) = &self.ask {
            text += &format!("\nIf you know what is passed, complete this line\n  {ask}\n");
            text +=
                "  with, in place of each ?, a text with {voucher}, {user}, {orderid}, {units},\n";
            text += "  {lock}, {token}, {lease}, {request} or {changes}.\n";
        }
        text
    }
}

impl Session {
    /// Lines for a shell, in the folder where the doctor was started.
    fn text(&self, path: &str) -> String {
        let mut text = format!("\n{}\n", sanitize(&self.harm));
        for (words, reply) in self.commands.iter().zip(&self.replies) {
            let line = match words.as_slice() {
                [eval, _, rest @ ..] if eval == b"EVAL" => {
                    format!("EVAL \"$(cat {path})\" {}", shown(rest))
                }
                words => shown(words),
            };
            text += &format!("  $ redis-cli {line}\n  {reply}\n");
        }
        text
    }
}

impl Replacement {
    fn text(&self, sha: &str) -> String {
        let mut text = String::new();
        let mut lines = self.settings.iter().map(conf_line).collect_vec();
        if let Some(words) = &self.native {
            lines.push(conf_line(&("seckill.scripts", format!("{sha} {words}"))));
            text += &format!(
                "\nChange nothing: let the module answer your script\n  redis.conf   {}\n\n\
                 Or put this in place of your script\n",
                lines.join("\n               ")
            );
        } else {
            text += "\nPut this in place of your script\n";
        }
        text += &format!("  {}\n", self.lua);
        if self.native.is_none() {
            text.extend(lines.iter().map(|line| format!("  with {line}\n")));
        }
        let Compared { call, histories, calls, about, not_the_same, .. } = &self.compared;
        text += &format!(
            "  Compared: {calls} calls in {histories} histories, their replies and all keys\n"
        );
        text.extend(about.iter().map(|about| format!("    {about}\n")));
        text += &format!("  The call was {call}.\n");
        if !not_the_same.is_empty() {
            text += "  Not the same: one answers an error, or the command is known to differ\n";
            text.extend(not_the_same.iter().map(|about| format!("    {about}\n")));
        }
        text + "  Not compared: the order of the fields in an entry.\n"
    }
}
