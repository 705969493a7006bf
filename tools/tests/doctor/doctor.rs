//! The doctor as a process, and its JSON output.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::harness::module;

pub fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/doctor/corpus")
}

/// A script of the corpus, or one of the two usual scripts.
pub fn script(name: &str) -> PathBuf {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = match name {
        "seckill" => tools.join("benches/side_by_side/scripts"),
        "unlock" => tools.join("../tests/it"),
        _ => corpus(),
    };
    folder.join(name).with_extension("lua")
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
pub fn examine(name: &str, options: &[&str]) -> Value {
    let output = run(doctor().arg("--json").args(options).arg(script(name)));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let why = String::from_utf8_lossy(&output.stderr);
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}{why}"))
}
