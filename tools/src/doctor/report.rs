//! What was found of a script, as text for people and as JSON for programs.

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::cure::conf_line;
use crate::findings::{Finding, Weight};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Sale,
    Unlock,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    DropIn,
    Differs,
    Broken,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sameness {
    Same,
    /// The keys are damaged: the module refuses, and the script does something else.
    Refused,
    Differs,
    /// There is nothing to compare it with.
    Alone,
}

/// A scenario with its replies.
pub struct Row {
    pub name: String,
    pub yours: String,
    pub module: Option<String>,
    pub sameness: Sameness,
    pub differences: Vec<String>,
}

/// Everything about one script.
pub struct Examined {
    pub file: String,
    pub kind: Kind,
    pub verdict: Verdict,
    pub understood: Vec<(&'static str, String)>,
    pub rows: Vec<Row>,
    pub findings: Vec<Finding>,
    pub obstacles: Vec<String>,
    pub settings: Vec<(&'static str, String)>,
    pub keys_because: Option<String>,
    pub notes: Vec<String>,
    pub direct: Option<String>,
    pub replacement: Option<String>,
    pub cluster: Option<Cluster>,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Self::DropIn => "drop-in",
            Self::Differs => "differs",
            Self::Broken => "broken",
        }
    }
}

impl Sameness {
    fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Refused => "refused",
            Self::Differs => "differs",
            Self::Alone => "",
        }
    }
}

/// Paints words, on a terminal only.
#[derive(Clone, Copy)]
pub struct Paint(pub bool);

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn bad(self, text: &str) -> String {
        self.with("31", text)
    }

    fn odd(self, text: &str) -> String {
        self.with("33", text)
    }

    fn good(self, text: &str) -> String {
        self.with("32", text)
    }

    fn head(self, text: &str) -> String {
        self.with("1", text)
    }
}

/// Lines of at most so many columns, the first behind `first`, the others behind spaces.
fn wrapped(first: &str, text: &str) -> String {
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
    pub fn text(&self, paint: Paint) -> String {
        let what = match self.kind {
            Kind::Sale => "sells",
            Kind::Unlock => "releases a lock",
        };
        let mut text = format!("{}\n\n", paint.head(&format!("{}: {what}", self.file)));
        for (name, value) in &self.understood {
            text += &wrapped(&format!("  {name:<12}"), value);
        }
        text += &self.table(paint);
        text += &self.of_script(paint);
        text += &self.of_module(paint);
        text += &self.in_a_cluster(paint);
        text + &self.conclusion(paint)
    }

    fn table(&self, paint: Paint) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
        let name = width(&mut self.rows.iter().map(|row| row.name.len())).max(8);
        let yours = width(&mut self.rows.iter().map(|row| row.yours.len())).max(11);
        let module = |row: &Row| row.module.clone().unwrap_or_default();
        let ours = width(&mut self.rows.iter().map(|row| module(row).len())).max(6);
        let compared = self.replacement.is_some();
        let ours_head = if compared { "module" } else { "" };
        let head = format!("  {:<name$}  {:<yours$}  {ours_head}", "scenario", "your script");
        let mut text = format!("\n{}\n", paint.head(head.trim_end()));
        for row in &self.rows {
            let word = match row.sameness {
                Sameness::Same => paint.good("same"),
                Sameness::Differs => paint.bad("differs"),
                other => paint.odd(other.word()),
            };
            let cells =
                format!("  {:<name$}  {:<yours$}  {:<ours$}", row.name, row.yours, module(row));
            let line = if word.is_empty() { cells } else { format!("{cells}  {word}") };
            text += &format!("{}\n", line.trim_end());
        }
        text
    }

    fn of_script(&self, paint: Paint) -> String {
        let mut text = String::new();
        for (weight, head) in [
            (Weight::Broken, "What is broken in your script"),
            (Weight::Weak, "What is weak in it"),
        ] {
            let found: Vec<_> =
                self.findings.iter().filter(|found| found.weight == weight).collect();
            if !found.is_empty() {
                let head = if weight == Weight::Broken { paint.bad(head) } else { paint.odd(head) };
                text += &format!("\n{head}\n");
            }
            for finding in found {
                text += &wrapped("  - ", &finding.text);
            }
        }
        text
    }

    fn of_module(&self, paint: Paint) -> String {
        let mut text = String::new();
        for (sameness, head) in [
            (Sameness::Differs, "Where the module differs"),
            (Sameness::Refused, "Where the module refuses and changes nothing"),
        ] {
            let rows: Vec<_> = self.rows.iter().filter(|row| row.sameness == sameness).collect();
            if !rows.is_empty() {
                text += &format!("\n{}\n", paint.head(head));
            }
            // Where the script is broken, the others only say so again.
            let shown = if self.verdict == Verdict::Broken { 3 } else { rows.len() };
            for row in rows.iter().take(shown) {
                text += &wrapped("  - ", &format!("{}: {}", row.name, row.differences.join("; ")));
            }
            if rows.len() > shown {
                text += &format!("  - and {} more; --json has them all\n", rows.len() - shown);
            }
        }
        if !self.obstacles.is_empty() {
            text += &format!("\n{}\n", paint.head("Why no command takes its place as it is"));
            for obstacle in &self.obstacles {
                text += &wrapped("  - ", &format!("It {obstacle}. {}", advice(obstacle)));
            }
        }
        text
    }

    fn in_a_cluster(&self, paint: Paint) -> String {
        let Some(cluster) = &self.cluster else { return String::new() };
        let mut text = format!("\n{}\n", paint.head("In a cluster"));
        text += &wrapped("  your script  ", &cluster.script);
        if let Some(Ok(how) | Err(how)) = &cluster.module {
            text += &wrapped("  the module   ", how);
        }
        text
    }

    fn conclusion(&self, paint: Paint) -> String {
        let mut text = String::new();
        if let Some(replacement) = &self.replacement {
            if !self.settings.is_empty() {
                text += &format!("\n{}\n", paint.head("Settings, in redis.conf"));
                for (name, value) in &self.settings {
                    text += &format!("  {}\n", conf_line(name, value));
                }
            }
            text += &format!("\n{}\n", paint.head("Put this in place of your script"));
            text += &format!("  {replacement}\n");
            if let Some(why) = &self.keys_because {
                text += &wrapped(
                    "  ",
                    &format!("(SECKILL.TRYKEYS and not SECKILL.TRY, because {why})"),
                );
            }
            for note in &self.notes {
                text += &wrapped("  ", note);
            }
            if let Some(direct) = &self.direct {
                text += &wrapped("  ", &format!("or call the command itself: {direct}"));
            }
        }
        text + "\n" + &self.last_line(paint)
    }

    fn last_line(&self, paint: Paint) -> String {
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
                format!("{}: {agree}{others}.\n", paint.good("DROP-IN"))
            }
            Verdict::Differs if self.replacement.is_some() => {
                format!("{}: {agree}.\n", paint.bad("DIFFERS"))
            }
            Verdict::Differs => format!("{}: no command takes its place.\n", paint.bad("DIFFERS")),
            Verdict::Broken => {
                let put = match &self.replacement {
                    Some(_) if count(Sameness::Differs) > 0 => {
                        "The line above does what it was meant to do"
                    }
                    Some(_) => "The line above does the same, but for what is said there",
                    None => "Mend it first",
                };
                format!("{}: see above. {put}.\n", paint.bad("BROKEN"))
            }
        }
    }

    pub fn json(&self) -> Value {
        let row = |row: &Row| {
            json!({
                "name": row.name, "script": row.yours, "module": row.module,
                "result": row.sameness.word(), "differences": row.differences,
            })
        };
        let finding = |finding: &Finding| {
            let weight = if finding.weight == Weight::Broken { "broken" } else { "weak" };
            json!({ "weight": weight, "code": finding.code, "text": finding.text })
        };
        let settings: serde_json::Map<String, Value> =
            self.settings.iter().map(|(name, value)| ((*name).into(), json!(value))).collect();
        let understood: Vec<Value> =
            self.understood.iter().map(|(name, value)| json!([name, value])).collect();
        let cluster = self.cluster.as_ref().map(|cluster| {
            let module = cluster.module.as_ref().map(Result::is_ok);
            json!({ "script": cluster.script, "module": module })
        });
        json!({
            "file": self.file,
            "kind": match self.kind { Kind::Sale => "sell", Kind::Unlock => "unlock" },
            "verdict": self.verdict.word(),
            "understood": understood,
            "findings": self.findings.iter().map(finding).collect::<Vec<_>>(),
            "scenarios": self.rows.iter().map(row).collect::<Vec<_>>(),
            "obstacles": self.obstacles,
            "settings": settings,
            "replacement": self.replacement,
            "command": self.direct,
            "notes": self.notes,
            "cluster": cluster,
        })
    }
}

/// What the module has for who does it that way.
fn advice(obstacle: &str) -> &'static str {
    if obstacle.contains("no buyers") {
        "SECKILL.DEDUCT takes units from a bare stock and never below zero."
    } else if obstacle.contains("one name") {
        "Give the buyers a key of their own."
    } else if obstacle.contains("beside the sale") {
        "Keep that part behind the call, for when it replied 0."
    } else if obstacle.contains("hash") || obstacle.contains("key of their own") {
        "The module keeps the stock in a string and the buyers in a set; a managed voucher \
         (SECKILL.CREATE) has a limit a user. The data would have to be converted."
    } else {
        "Reply one number for each outcome, and look up the rest."
    }
}
