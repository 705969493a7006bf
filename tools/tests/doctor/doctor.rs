//! The doctor as a process, and its JSON output.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::harness::module;

/// A script of `scripts/`, or one of the two usual scripts.
pub fn script(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    match name {
        "seckill" | "unlock" => root.join("../tests/it").join(name).with_extension("lua"),
        own => {
            let path = root.join("tests/doctor/scripts").join(own).with_extension("lua");
            let corpus = root.join("tests/doctor/corpus").join(own).with_extension("lua");
            if path.is_file() { path } else { corpus }
        }
    }
}

/// A doctor that uses the tested module.
pub fn doctor() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seckill-doctor"));
    command.arg("--module").arg(module()).stdin(Stdio::null());
    command
}

pub fn run(command: &mut Command) -> Output {
    command.output().expect("run seckill-doctor")
}

/// The report about one script.
pub struct Examined {
    pub json: Value,
    pub exit: i32,
}

pub fn examine(name: &str) -> Examined {
    examine_with(name, &[])
}

pub fn examine_with(name: &str, options: &[&str]) -> Examined {
    let output = run(doctor().arg("--json").args(options).arg(script(name)));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let why = String::from_utf8_lossy(&output.stderr);
    let json = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}{why}"));
    Examined { json, exit: output.status.code().expect("an exit code") }
}

impl Examined {
    fn strings(value: &Value) -> Vec<String> {
        let items = value.as_array().expect("a list").iter();
        items.map(|item| item.as_str().expect("a text").to_owned()).collect()
    }

    /// The codes of the findings of this weight.
    pub fn findings(&self, weight: &str) -> Vec<String> {
        let findings = self.json["findings"].as_array().expect("findings").iter();
        let of_weight = findings.filter(|finding| finding["weight"] == weight);
        of_weight.map(|finding| finding["code"].as_str().expect("a code").to_owned()).collect()
    }

    pub fn broken(&self) -> Vec<String> {
        self.findings("broken")
    }

    pub fn weak(&self) -> Vec<String> {
        self.findings("weak")
    }

    pub fn replacement(&self) -> &str {
        self.json["replacement"].as_str().unwrap_or_else(|| panic!("none: {:#}", self.json))
    }

    /// The replacements as printed lines, `scripts ...` or Lua, with their numbers of settings.
    pub fn cures(&self) -> Vec<(String, usize)> {
        let cure = |cure: &Value| {
            let line = cure["scripts"].as_str().or(cure["lua"].as_str()).expect("a line");
            (line.to_owned(), cure["settings"].as_object().expect("settings").len())
        };
        self.json["cures"].as_array().expect("cures").iter().map(cure).collect()
    }

    /// Settings of the first replacement as `name value`, without `seckill.`.
    pub fn settings(&self) -> Vec<String> {
        let settings = self.json["cures"][0]["settings"].as_object().expect("settings").iter();
        let line = |(name, value): (&String, &Value)| {
            format!("{} {}", name.trim_start_matches("seckill."), value.as_str().expect("a text"))
        };
        settings.map(line).collect()
    }

    pub fn obstacles(&self) -> Vec<String> {
        Self::strings(&self.json["obstacles"])
    }

    /// The names of the scenarios with this result.
    pub fn scenarios(&self, result: &str) -> Vec<String> {
        let rows = self.json["scenarios"].as_array().expect("scenarios").iter();
        let of_result = rows.filter(|row| row["result"] == result);
        of_result.map(|row| row["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// Asserts that the replacement can be used everywhere instead of the script.
    pub fn is_drop_in(&self) -> &Self {
        assert_eq!(self.json["verdict"], "drop-in", "{:#}", self.json);
        assert_eq!(self.exit, 0);
        assert!(self.scenarios("differs").is_empty(), "{:#}", self.json);
        assert!(self.scenarios("same").len() >= 8, "{:#}", self.json);
        self
    }

    /// Asserts that these are the faults of the script, in this order.
    pub fn is_broken(&self, codes: &[&str]) -> &Self {
        assert_eq!(self.broken(), codes, "{:#}", self.json);
        assert_eq!((self.json["verdict"].as_str(), self.exit), (Some("broken"), 1));
        self
    }
}
