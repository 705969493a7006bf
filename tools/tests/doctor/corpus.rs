//! The corpus: scripts of every kind, with the facts about each in `corpus/truth.toml`. The doctor
//! may know less than that, and report so; it may report nothing that is false.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use crate::doctor::{doctor, run};

/// The facts about a script.
#[derive(Deserialize)]
pub struct Truth {
    pub kind: String,
    /// `drop-in`, `differs`, `broken`, `helper`; `unclear` if only the caller can know.
    pub verdict: String,
    /// Codes of its faults, and words that the report must contain. It has no other fault.
    says: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mark {
    Right,
    Unhelpful,
    Wrong,
}

impl Truth {
    fn mark(&self, said: &Value) -> Mark {
        let findings = said["findings"].as_array().expect("findings").iter();
        let broken = findings.filter(|finding| finding["weight"] == "broken");
        let mut codes = broken.map(|finding| finding["code"].as_str().expect("a code"));
        let accuses_falsely = codes.any(|code| !self.says.iter().any(|word| word == code));
        let verdict = said["verdict"].as_str().expect("a verdict");
        let text = said.to_string();
        // A possibility left open is not a mistake; an impossible promise is one.
        let open = verdict == "unclear" || (verdict, &*self.verdict) == ("differs", "drop-in");
        if accuses_falsely || verdict != self.verdict && !open {
            Mark::Wrong
        } else if verdict != self.verdict || !self.says.iter().all(|word| text.contains(word)) {
            Mark::Unhelpful
        } else {
            Mark::Right
        }
    }
}

pub fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/doctor/corpus")
}

pub fn truths() -> BTreeMap<String, Truth> {
    let text = fs::read_to_string(corpus().join("truth.toml")).expect("the table of truth");
    toml::from_str(&text).expect("a table")
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
fn nothing_wrong_is_said_of_the_corpus() {
    let truths = truths();
    let said = said_of(&[corpus()]);
    assert_eq!(
        truths.keys().collect::<Vec<_>>(),
        said.keys().collect::<Vec<_>>(),
        "scripts and their truths"
    );
    let mut counts: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    let mut report = String::new();
    for (name, truth) in &truths {
        let mark = truth.mark(&said[name]);
        counts.entry(&truth.kind).or_default()[mark as usize] += 1;
        if mark != Mark::Right {
            report += &format!("{mark:?}: {name}: {:#}\n", said[name]);
        }
    }
    println!("{:<28} right  unhelpful  wrong", "kind");
    for (kind, [right, unhelpful, wrong]) in &counts {
        println!("{kind:<28} {right:>5}  {unhelpful:>9}  {wrong:>5}");
    }
    // A line that omits a check of the script does not replace it.
    let checks = truths.iter().filter(|(_, truth)| truth.says.contains(&"It also looks at".into()));
    for (name, _) in checks {
        assert_eq!(said[name]["cures"], serde_json::json!([]), "{name}");
    }
    let sum = |mark: Mark| counts.values().map(|marks| marks[mark as usize]).sum::<usize>();
    let all = [Mark::Right, Mark::Unhelpful, Mark::Wrong].map(sum);
    assert_eq!(all, [RIGHT, UNHELPFUL, 0], "right, unhelpful, wrong\n{report}");
}

/// For how many scripts of the corpus the doctor is right, and how many it only leaves open.
const RIGHT: usize = 213;
const UNHELPFUL: usize = 0;

#[test]
fn marks_can_be_wrong() {
    let truth =
        Truth { kind: "a".into(), verdict: "broken".into(), says: vec!["oversells".into()] };
    let said = |verdict: &str, code: &str| {
        let finding = serde_json::json!({ "weight": "broken", "code": code });
        serde_json::json!({ "verdict": verdict, "findings": [finding] })
    };
    assert_eq!(truth.mark(&said("broken", "oversells")), Mark::Right);
    assert_eq!(truth.mark(&said("broken", "undersells")), Mark::Wrong);
    assert_eq!(truth.mark(&said("unclear", "oversells")), Mark::Unhelpful);
    assert_eq!(truth.mark(&said("helper", "oversells")), Mark::Wrong);
    assert_eq!(
        truth.mark(&serde_json::json!({ "verdict": "drop-in", "findings": [] })),
        Mark::Wrong
    );
}
