//! The corpus: one script for each rule, with its verdict and words of the report about it in
//! `corpus/truth.toml`.

use std::collections::BTreeMap;
use std::fs;
use std::sync::LazyLock;

use serde_json::Value;

use crate::doctor::{corpus, doctor, run, script};

/// What is to be said of each script: the verdict, and words of the report.
pub fn truths() -> BTreeMap<String, (String, Vec<String>)> {
    let text = fs::read_to_string(corpus().join("truth.toml")).expect("the table of truth");
    let verdicts: BTreeMap<String, BTreeMap<String, Vec<String>>> =
        toml::from_str(&text).expect("a table");
    let rows = verdicts.into_iter().flat_map(|(verdict, scripts)| {
        scripts.into_iter().map(move |(name, says)| (name, (verdict.clone(), says)))
    });
    rows.collect()
}

/// The doctor's reports about the corpus and the usual scripts, by their names. Made once.
pub static SAID: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    let scripts = [corpus(), script("seckill"), script("unlock")];
    let output = run(doctor().arg("--json").args(scripts));
    let lines = String::from_utf8(output.stdout).expect("text");
    let objects = lines.lines().map(|line| serde_json::from_str(line).expect("an object a line"));
    let name = |said: &Value| said["file"].as_str().expect("a name").replace(".lua", "");
    objects.map(|said: Value| (name(&said), said)).collect()
});

/// Those of the scripts that have a verdict.
pub fn said_of(verdict: &str) -> impl Iterator<Item = (&'static String, &'static Value)> {
    SAID.iter().filter(move |(_, said)| said["verdict"] == verdict)
}

#[test]
fn what_is_said_of_the_corpus_is_true() {
    let truths = truths();
    let said = &*SAID;
    assert_eq!(
        truths.keys().collect::<Vec<_>>(),
        said.keys().collect::<Vec<_>>(),
        "scripts and their truths"
    );
    let is_said = |name: &String, verdict: &str, says: &[String]| {
        let (said, text) = (&said[name], said[name].to_string());
        said["verdict"] == *verdict
            && said["session"].is_null() == (verdict != "broken")
            && said["replacement"].is_null() == (verdict != "replaceable")
            && says.iter().all(|word| text.contains(word.as_str()))
    };
    let wrong = truths.iter().filter(|(name, (verdict, says))| !is_said(name, verdict, says));
    let wrong: Vec<String> = wrong.map(|(name, _)| format!("{name}: {:#}", said[name])).collect();
    assert!(wrong.is_empty(), "of {} scripts, wrong are\n{}", truths.len(), wrong.join("\n"));
}
