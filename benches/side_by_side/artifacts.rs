//! The library with the baselines: named by `BASELINE_MODULE`, otherwise built here.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Result;

const PACKAGE: &str = "seckill-baseline";
const LIBRARY: &str = "seckill_baseline";

pub fn baseline() -> Result<PathBuf> {
    match env::var_os("BASELINE_MODULE") {
        Some(path) => Ok(PathBuf::from(path).canonicalize()?),
        None => build(),
    }
}

/// Asks cargo for the file it built, so that any target directory works.
fn build() -> Result<PathBuf> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--release", "--message-format=json-render-diagnostics", "-p", PACKAGE])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("cargo could not build {PACKAGE}").into());
    }
    output
        .stdout
        .split(|&byte| byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .filter(|message| message["reason"] == "compiler-artifact")
        .filter(|message| message["target"]["name"] == LIBRARY)
        .find_map(|message| message["filenames"][0].as_str().map(PathBuf::from))
        .ok_or_else(|| format!("cargo named no file for {PACKAGE}").into())
}
