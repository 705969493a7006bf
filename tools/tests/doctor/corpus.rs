//! The corpus: scripts of every kind, with the facts about each in `corpus/truth.toml`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::doctor::{corpus, doctor, run, script};

/// The facts about a script.
pub struct Truth {
    pub kind: String,
    pub verdict: String,
    /// Codes of its faults, and words that the report must contain. It has no other fault.
    says: Vec<String>,
}

impl Truth {
    fn is_said(&self, said: &Value) -> bool {
        let findings = said["findings"].as_array().expect("findings").iter();
        let mut broken = findings.filter(|finding| finding["weight"] == "broken");
        let text = said.to_string();
        said["verdict"] == *self.verdict
            && broken.all(|finding| self.says.iter().any(|word| finding["code"] == **word))
            && self.says.iter().all(|word| text.contains(word))
    }
}

pub fn truths() -> BTreeMap<String, Truth> {
    let text = fs::read_to_string(corpus().join("truth.toml")).expect("the table of truth");
    let kinds: BTreeMap<String, BTreeMap<String, Vec<String>>> =
        toml::from_str(&text).expect("a table");
    let mut truths = BTreeMap::new();
    for (kind, scripts) in kinds {
        for (name, mut says) in scripts {
            let verdict = says.remove(0);
            truths.insert(name, Truth { kind: kind.clone(), verdict, says });
        }
    }
    truths
}

/// The doctor's reports about scripts, by their names.
pub fn said_of(paths: &[PathBuf]) -> BTreeMap<String, Value> {
    let output = run(doctor().arg("--json").args(paths));
    let lines = String::from_utf8(output.stdout).expect("text");
    let objects = lines.lines().map(|line| serde_json::from_str(line).expect("an object a line"));
    // The last object is the block of redis.conf.
    let of_script = |said: Value| {
        let name = said["file"].as_str()?.trim_end_matches(".lua").to_owned();
        Some((name, said))
    };
    objects.filter_map(of_script).collect()
}

#[test]
fn what_is_said_of_the_corpus_is_true() {
    let truths = truths();
    let said = said_of(&[corpus(), script("seckill"), script("unlock")]);
    assert_eq!(
        truths.keys().collect::<Vec<_>>(),
        said.keys().collect::<Vec<_>>(),
        "scripts and their truths"
    );
    let wrong = truths.iter().filter(|(name, truth)| !truth.is_said(&said[*name]));
    let wrong: Vec<String> = wrong.map(|(name, _)| format!("{name}: {:#}", said[name])).collect();
    assert!(wrong.is_empty(), "of {} scripts, wrong are\n{}", truths.len(), wrong.join("\n"));
    // A line that omits a check of the script does not replace it.
    let checks = truths.iter().filter(|(_, truth)| truth.says.contains(&"It also looks at".into()));
    for (name, _) in checks {
        assert_eq!(said[name]["cures"], json!([]), "{name}");
    }
}
