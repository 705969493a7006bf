//! `redis-cli` as a process: REDIS_CLI, or the one in PATH.

use std::process::{Command, Stdio};

use crate::harness::{Server, wait_for};

/// Runs redis-cli on the port of a server and returns its output; fails unless it succeeded.
pub fn redis_cli(server: &Server, arguments: &[&str]) -> String {
    let (ended_well, printed) = attempt(server, arguments);
    assert!(ended_well, "{arguments:?}: {printed}");
    printed
}

/// Waits until all nodes agree on the owner of each slot: before that, redis-cli moves none. News
/// of new owners spreads a little later than the cluster is up.
pub fn wait_for_agreement(server: &Server) {
    let door = format!("127.0.0.1:{}", server.port());
    let mut last = String::new();
    let agreed = wait_for("the nodes to agree", || {
        let (ended_well, printed) = attempt(server, &["--cluster", "check", &door]);
        last = printed;
        (ended_well && last.contains("All nodes agree")).then_some(())
    });
    agreed.unwrap_or_else(|late| panic!("{late}\n{last}"));
}

fn attempt(server: &Server, arguments: &[&str]) -> (bool, String) {
    let program = std::env::var_os("REDIS_CLI").unwrap_or_else(|| "redis-cli".into());
    let output = Command::new(&program)
        .args(["-p", &server.port().to_string()])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", program.display()));
    let ended_well = output.status.success();
    let printed = if ended_well { output.stdout } else { [output.stdout, output.stderr].concat() };
    (ended_well, String::from_utf8_lossy(&printed).into_owned())
}
