//! The findings about a script, as text for people.

use console::style;
use serde::Serialize;
use serde_json::json;

use crate::cluster::Cluster;
use crate::conf::{self, conf_line};
use crate::cure::{Cure, Way};
use crate::finding::{Finding, Weight};
use crate::prove::{Row, Sameness};

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    DropIn,
    Helper,
    Differs,
    Broken,
    #[default]
    Unclear,
}

/// The result for one script.
#[derive(Default, Serialize)]
pub struct Examined {
    pub file: String,
    #[serde(skip)]
    pub sha1: String,
    pub what: &'static str,
    pub verdict: Verdict,
    pub understood: Vec<(&'static str, String)>,
    #[serde(rename = "scenarios")]
    pub rows: Vec<Row>,
    pub findings: Vec<Finding>,
    /// Why no command can replace it, and which command is nearest.
    pub obstacles: Vec<String>,
    /// The smallest change first.
    #[serde(skip)]
    pub cures: Vec<Cure>,
    #[serde(rename = "command")]
    pub direct: Option<String>,
    pub cluster: Option<Cluster>,
    pub saw: String,
}

impl Verdict {
    /// A helper must not fail a build.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::DropIn | Self::Helper => 0,
            Self::Differs | Self::Broken => 1,
            Self::Unclear => 2,
        }
    }
}

/// The name of a variant, as it is in JSON.
pub fn word(variant: impl Serialize) -> String {
    json!(variant).as_str().unwrap_or_default().to_owned()
}

/// A heading. What is styled has its colour on a terminal only, and not if NO_COLOR is set.
fn heading(text: &str) -> String {
    style(text).bold().to_string()
}

/// Wraps a text; the first line begins with `first`, the others with spaces.
pub fn wrapped(first: &str, text: &str) -> String {
    const COLUMNS: usize = 96;
    let indent = " ".repeat(first.chars().count());
    let (mut lines, mut line) = (String::new(), first.to_owned());
    let mut empty = true;
    for word in text.split(' ') {
        if !empty && line.chars().count() + 1 + word.chars().count() > COLUMNS {
            lines += &format!("{line}\n");
            line.clone_from(&indent);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line += word;
        empty = false;
    }
    lines + &line + "\n"
}

impl Examined {
    pub fn new(file: &str) -> Self {
        Self { file: file.to_owned(), what: "a script", ..Self::default() }
    }

    pub fn text(&self, alone: bool) -> String {
        let mut text = format!("{}\n\n", heading(&format!("{}: {}", self.file, self.what)));
        for (name, value) in &self.understood {
            text += &wrapped(&format!("  {name:<12}"), value);
        }
        text += &self.table();
        text += &self.of_script();
        text += &self.of_module();
        text += &self.in_a_cluster();
        text += &self.of_cures(alone);
        let last = self.last_line();
        if text.ends_with("\n\n") { text + &last } else { text + "\n" + &last }
    }

    fn table(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
        let name = width(&mut self.rows.iter().map(|row| row.name.len())).max(8);
        let yours = width(&mut self.rows.iter().map(|row| row.yours.len())).max(11);
        let module = |row: &Row| row.module.clone().unwrap_or_default();
        let ours = width(&mut self.rows.iter().map(|row| module(row).len())).max(6);
        let compared = self.rows.iter().any(|row| row.module.is_some());
        let ours_head = if compared { "module" } else { "" };
        let head = format!("  {:<name$}  {:<yours$}  {ours_head}", "scenario", "your script");
        let mut text = format!("\n{}\n", heading(head.trim_end()));
        for row in &self.rows {
            let word = word(row.sameness);
            let word = match row.sameness {
                Sameness::Same => style(word).green().to_string(),
                Sameness::Differs => style(word).red().to_string(),
                Sameness::Refused => style(word).yellow().to_string(),
                Sameness::Alone => word,
            };
            let cells =
                format!("  {:<name$}  {:<yours$}  {:<ours$}", row.name, row.yours, module(row));
            text += &format!("{}\n", format!("{cells}  {word}").trim_end());
        }
        text
    }

    fn of_script(&self) -> String {
        let mut text = String::new();
        for (weight, head) in [
            (Weight::Broken, "What is broken in your script"),
            (Weight::Weak, "What is weak in it"),
        ] {
            let found: Vec<_> =
                self.findings.iter().filter(|found| found.weight == weight).collect();
            if !found.is_empty() {
                let head =
                    if weight == Weight::Broken { style(head).red() } else { style(head).yellow() };
                text += &format!("\n{head}\n");
            }
            for finding in found {
                text += &wrapped("  - ", &format!("{} ({})", finding.text, word(finding.grade)));
            }
        }
        if text.starts_with('\n') && self.understood.is_empty() { text[1..].into() } else { text }
    }

    fn of_module(&self) -> String {
        let mut text = String::new();
        for (sameness, head) in [
            (Sameness::Differs, "Where the module differs"),
            (Sameness::Refused, "Where the module refuses and changes nothing"),
        ] {
            let rows: Vec<_> = self.rows.iter().filter(|row| row.sameness == sameness).collect();
            if !rows.is_empty() {
                text += &format!("\n{}\n", heading(head));
            }
            // For a broken script, further rows would only repeat that.
            let shown = if self.verdict == Verdict::Broken { 3 } else { rows.len() };
            for row in rows.iter().take(shown) {
                text += &wrapped("  - ", &format!("{}: {}", row.name, row.differences.join("; ")));
            }
            if rows.len() > shown {
                text += &format!("  - and {} more; --json has them all\n", rows.len() - shown);
            }
        }
        if !self.obstacles.is_empty() {
            let head = match self.verdict {
                Verdict::Helper => "What it is",
                Verdict::Unclear => "Not understood",
                _ => "Why no command takes its place as it is",
            };
            let gap = if self.understood.is_empty() { "" } else { "\n" };
            text += &format!("{gap}{}\n", heading(head));
            for obstacle in &self.obstacles {
                text += &wrapped("  - ", obstacle);
            }
        }
        text
    }

    fn in_a_cluster(&self) -> String {
        let Some(cluster) = &self.cluster else { return String::new() };
        let mut text = format!("\n{}\n", heading("In a cluster"));
        text += &wrapped("  your script  ", &cluster.script);
        if let Some(line) = &cluster.line {
            text += &wrapped("  the module   ", &format!("{line}: all its keys in one slot"));
        }
        text
    }

    /// The setting with which the module answers the script's own calls.
    pub fn scripts_line(&self, cure: &Cure) -> Option<String> {
        let Way::Native(command) = &cure.way else { return None };
        Some(format!("{} {command}", self.sha1))
    }

    /// The replacements; `alone` if no block for many scripts follows.
    fn of_cures(&self, alone: bool) -> String {
        let mut text = String::new();
        let broken = self.verdict == Verdict::Broken;
        for cure in &self.cures {
            let line = self.scripts_line(cure);
            let head = match (&line, broken) {
                (Some(_), false) => "Change nothing: let the module answer your script",
                (Some(_), true) => {
                    "Change nothing: let the module answer your script, as it was meant to"
                }
                (None, false) if self.verdict == Verdict::Differs => {
                    "Or put this in place of your script, if what differs does not matter"
                }
                (None, false) => "Or put this in place of your script",
                (None, true) => "Or put this in place of your script, for what it was meant to do",
            };
            let is_first = std::ptr::eq(cure, &raw const self.cures[0]);
            let head = if is_first && line.is_none() {
                head.replace("Or put", "Put")
            } else {
                head.into()
            };
            text += &format!("\n{}\n", heading(&head));
            if let Way::Lua(lua) = &cure.way {
                text += &format!("  {lua}\n");
            }
            // With other scripts, its entry is only a part of the line.
            let settings = cure.settings_with(line.clone().filter(|_| alone));
            for (number, (name, value)) in settings.iter().enumerate() {
                let word = if number == 0 { "redis.conf" } else { "" };
                text += &format!("  {word:<12} {}\n", conf_line(name, value));
            }
            if let Some(line) = line.filter(|_| !alone) {
                text += &format!("  one entry    {line}\n");
            }
            if alone && !settings.is_empty() {
                text += &format!("  or at once   {}\n", conf::config_set(&settings));
            }
            if !cure.settings.is_empty() {
                let warning = "The settings bind every application on this server that calls \
                    SECKILL.TRY, or SECKILL.TRYKEYS without FIELDS and MISSING.";
                text += &wrapped("  ", warning);
            }
            for note in &cure.notes {
                text += &wrapped("  ", note);
            }
            if let (Some(direct), Way::Lua(_)) = (&self.direct, &cure.way) {
                text += &wrapped("  ", &format!("or call the command itself: {direct}"));
            }
        }
        text
    }

    fn last_line(&self) -> String {
        let count = |sameness| self.rows.iter().filter(|row| row.sameness == sameness).count();
        let (same, refused) = (count(Sameness::Same), count(Sameness::Refused));
        let agree = format!("{same} of {} scenarios end alike", self.rows.len());
        match self.verdict {
            Verdict::DropIn => {
                let others = match refused {
                    0 => String::new(),
                    1 => ", in the other one the module refuses".into(),
                    _ => format!(", in the other {refused} the module refuses"),
                };
                format!("{}: {agree}{others}.\n", style("DROP-IN").green())
            }
            Verdict::Differs if !self.cures.is_empty() => {
                format!("{}: {agree}.\n", style("DIFFERS").red())
            }
            Verdict::Differs => {
                format!(
                    "{}: it works, and no command takes its place.\n",
                    style("DIFFERS").yellow()
                )
            }
            Verdict::Broken if self.cures.is_empty() => {
                format!("{}: see above. Correct it first.\n", style("BROKEN").red())
            }
            Verdict::Broken => {
                let put = if count(Sameness::Differs) > 0 {
                    "The command does what it was meant to do"
                } else {
                    "The command does the same"
                };
                format!("{}: see above. {put}.\n", style("BROKEN").red())
            }
            Verdict::Helper => format!("{}: nothing to replace.\n", style("HELPER").green()),
            Verdict::Unclear => format!("{}: no verdict.\n", style("UNCLEAR").yellow()),
        }
    }
}
