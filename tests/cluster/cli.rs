//! `redis-cli` as a process: REDIS_CLI, or that of the path.

use std::process::{Command, Stdio};

use crate::harness::Server;

/// Runs redis-cli on the port of a server and gives what it printed; fails unless it ended well.
pub fn redis_cli(server: &Server, arguments: &[&str]) -> String {
    let program = std::env::var_os("REDIS_CLI").unwrap_or_else(|| "redis-cli".into());
    let output = Command::new(&program)
        .args(["-p", &server.port().to_string()])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", program.display()));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {printed}\n{complaint}");
    printed
}
