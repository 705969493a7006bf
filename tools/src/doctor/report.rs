//! What is said of scripts, for people and for programs; of many in one table, and in one block of
//! redis.conf, since a server has one value of each setting.

use std::collections::BTreeMap;

use console::{Color, style};
use itertools::Itertools;
use seckill_tools::sanitize::{is_hidden, sanitize};
use serde::Serialize;
use serde_json::{Value, json};

use crate::bench::{DEFAULTS, Setting, shown};
use crate::compare::Replacement;
use crate::examine::{Report, Verdict};
use crate::session::Session;

impl Verdict {
    pub fn exit_code(self) -> u8 {
        [0, 3, 1][self as usize]
    }

    fn word(self) -> &'static str {
        ["replaceable", "undecided", "broken"][self as usize]
    }
}

/// JSON in one line, with escapes for the characters that no reader sees.
pub fn printed(value: &Value) -> String {
    let letter = |letter: char| match is_hidden(letter) {
        true => {
            letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
        }
        false => letter.to_string(),
    };
    value.to_string().chars().map(letter).collect()
}

/// A paragraph whose first line begins with `first`, and the others with spaces.
fn wrapped(first: &str, text: &str) -> String {
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

/// A line of redis.conf.
fn conf_line((name, value): &(&str, String)) -> String {
    let bare = |c: char| !c.is_whitespace() && !"\"'\\#".contains(c) && !is_hidden(c);
    if !value.is_empty() && value.chars().all(bare) {
        return format!("{name} {value}");
    }
    let letter = |letter: char| match letter {
        '"' | '\\' => format!("\\{letter}"),
        hidden if is_hidden(hidden) => {
            hidden.to_string().bytes().map(|byte| format!("\\x{byte:02x}")).collect()
        }
        letter => letter.to_string(),
    };
    format!("{name} \"{}\"", value.chars().map(letter).collect::<String>())
}

impl Report {
    pub fn json(&self) -> Value {
        let mut all = json!(self);
        all["verdict"] = json!(self.verdict());
        all
    }

    /// For people; alone, with its lines of redis.conf.
    pub fn text(&self, alone: bool) -> String {
        let color = [Color::Green, Color::Yellow, Color::Red][self.verdict() as usize];
        let word = style(self.verdict().word().to_uppercase()).fg(color);
        let mut text = format!("{}: {}\n", self.file, word.bold());
        for seen in &self.seen {
            // What a terminal would obey is escaped already, but for quotes of scripts.
            let is_hidden = seen.chars().any(is_hidden);
            text += &wrapped("  ", &if is_hidden { sanitize(seen) } else { seen.clone() });
        }
        text.extend(self.session.iter().map(|session| session.text(&self.path)));
        for (number, one) in self.replacements.iter().enumerate() {
            text += &one.text(&self.sha1, number == 0, alone);
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
}

impl Session {
    /// Lines for a shell, in the folder where the doctor was started.
    fn text(&self, path: &str) -> String {
        let mut text = heading(&sanitize(&self.harm));
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
    /// The entry of `seckill.scripts`.
    fn entry(&self, sha: &str) -> Option<String> {
        self.native.as_ref().map(|words| format!("{sha} {words}"))
    }

    fn text(&self, sha: &str, is_first: bool, alone: bool) -> String {
        let mut text = String::new();
        let mut lines = self.settings.iter().map(conf_line).collect_vec();
        if let Some(entry) = self.entry(sha) {
            let or = if is_first { "Change nothing" } else { "Or change nothing" };
            text += &heading(&format!("{or}: let the module answer your script"));
            lines.push(conf_line(&("seckill.scripts", entry.clone())));
            text += &match alone {
                true => format!(
                    "  redis.conf   {}\n  or at once   CONFIG SET {}\n",
                    lines.join("\n               "),
                    lines.join(" ")
                ),
                false => format!("  one entry    {entry}\n"),
            };
        }
        let head = if text.is_empty() && is_first { "Put this" } else { "Or put this" };
        text += &heading(&format!("{head} in place of your script"));
        text += &format!("  {}\n", self.lua);
        if self.native.is_none() {
            text.extend(lines.iter().map(|line| format!("  with {line}\n")));
        }
        text.extend(self.notes.iter().map(|note| wrapped("  ", note)));
        let compared = &self.compared;
        let calls = format!(
            "{} calls in {} histories, their replies and all keys; {}. The call was {}.",
            compared.calls,
            compared.histories,
            compared.about.iter().format("; "),
            compared.call
        );
        text += &wrapped("  Compared: ", &calls);
        if !compared.not_the_same.is_empty() {
            let about = compared.not_the_same.iter().format("; ");
            let what = "the line does something else there, or one of the two answers an error";
            text += &wrapped("  Not the same: ", &format!("{about}: {what}."));
        }
        let not = compared.not_compared.iter().map(String::as_str);
        let mut not = ["the order of the fields in an entry"].into_iter().chain(not);
        text + &wrapped("  Not compared: ", &format!("{}.", not.join("; ")))
    }

    /// Each setting that must have this value for the line, also if it is the default.
    fn needs(&self) -> impl Iterator<Item = Setting> {
        let is_try = self.lua.contains("SECKILL.TRY");
        let needed = DEFAULTS.into_iter().filter(move |(name, _)| match *name {
            "seckill.scripts" => false,
            "seckill.unlimited-stock" => is_try,
            _ => self.by_names,
        });
        needed.map(|(name, default)| {
            let own = self.settings.iter().find(|(own, _)| *own == name);
            (name, own.map_or(default, |(_, value)| value).to_owned())
        })
    }
}

/// One line per script.
pub fn summary(all: &[Report]) -> String {
    let width = all.iter().map(|one| one.file.chars().count()).max().unwrap_or(0);
    let mut text = String::from("Summary\n");
    for one in all {
        let harm = one.session.as_ref().map(|session| &session.harm);
        let line = one.replacements.first().map(|line| line.native.as_ref().unwrap_or(&line.lua));
        let why = harm.or(line).or(one.seen.first()).map_or("", String::as_str);
        let why: String = why.chars().take(70).collect();
        text += &format!("  {:<width$}  {:<11}  {why}\n", one.file, one.verdict().word());
    }
    text
}

/// All that is to be pasted into redis.conf for many scripts, and what must be known about it.
#[derive(Default, Serialize)]
pub struct Block {
    conf: Vec<String>,
    notes: Vec<String>,
}

impl Block {
    /// Scripts that need no settings come first. One that would need others than are set already
    /// gets a line that needs none.
    pub fn of(all: &[Report]) -> Option<Self> {
        let mut set: BTreeMap<&str, String> = BTreeMap::new();
        let (mut entries, mut notes) = (Vec::new(), Vec::new());
        let is_set = |one: &&Report| one.replacements.first().map(|line| !line.settings.is_empty());
        for one in all.iter().sorted_by_key(is_set) {
            let fits = |line: &&Replacement| {
                line.needs().all(|(name, value)| set.get(name).is_none_or(|own| *own == value))
            };
            let line = one.replacements.iter().find(fits);
            let entry = line.and_then(|line| line.entry(&one.sha1));
            match (line, one.replacements.first().is_none_or(|first| fits(&first))) {
                (_, true) if entry.is_some() => {}
                (_, true) => notes.push(format!("{} is not in it, see above.", one.file)),
                (line, false) => {
                    let advice = match line {
                        Some(_) if entry.is_some() => "SECKILL.TRYKEYS answers it here".to_owned(),
                        Some(line) => format!("put this in its place: {}", line.lua),
                        None => "it needs another server".to_owned(),
                    };
                    notes.push(format!("{} needs other settings: {advice}.", one.file));
                }
            }
            entries.extend(entry);
            set.extend(line.into_iter().flat_map(Replacement::needs));
        }
        let is_other = |setting: &Setting| !DEFAULTS.contains(&(setting.0, &setting.1));
        let entries = Some(entries)
            .filter(|all| !all.is_empty())
            .map(|entries| entries.into_iter().sorted().dedup().join("; "));
        let settings =
            DEFAULTS.iter().filter_map(|(name, _)| Some((*name, set.get(name)?.clone())));
        let settings = settings.filter(is_other).chain(entries.map(|all| ("seckill.scripts", all)));
        let conf = settings.map(|setting| conf_line(&setting)).collect_vec();
        (!conf.is_empty() && all.len() > 1).then_some(Self { conf, notes })
    }

    pub fn text(&self) -> String {
        let mut text =
            "\nFor redis.conf, all of it, in place of what it has of these settings\n".to_owned();
        text.extend(self.conf.iter().map(|line| format!("  {line}\n")));
        text.extend(self.notes.iter().map(|note| wrapped("  - ", note)));
        text
    }
}
