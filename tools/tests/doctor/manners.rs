//! Exit codes, options, and that nothing is touched or left behind.

use std::fs;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::doctor::{doctor, examine_with, run, script};
use crate::harness::{Server, wait_for};

#[test]
fn the_worst_script_is_the_exit_code() {
    let output = run(doctor().args([script("seckill"), script("unlock"), script("unlock_never")]));
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stdout).expect("text");
    for words in ["seckill.lua: sells", "unlock.lua: releases a lock", "DROP-IN: ", "BROKEN: "] {
        assert!(said.contains(words), "{words}: {said}");
    }
    // Colours are for terminals.
    assert!(!said.contains('\x1b'));
}

#[test]
fn what_is_not_understood_is_said_and_what_helps() {
    let output = run(doctor().arg(script("reckons")));
    assert_eq!(output.status.code(), Some(2));
    let why = String::from_utf8(output.stderr).expect("text");
    assert!(why.contains("reckons.lua: not understood"), "{why}");
    assert!(why.contains("--argv"), "{why}");
    examine_with("reckons", &["--argv", "voucher user"]).is_drop_in();
}

#[test]
fn scripts_that_are_none_are_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let bad = dir.path().join("bad.lua");
    fs::write(&bad, "if then").expect("a script");
    for args in [vec![bad.clone()], vec![dir.path().join("none.lua")], vec![]] {
        let output = run(doctor().args(&args));
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(!output.stderr.is_empty());
    }
    fs::write(&bad, "return 1").expect("a script");
    assert_eq!(run(doctor().arg(&bad)).status.code(), Some(2));
}

#[test]
fn a_server_or_module_that_is_none_is_told() {
    for (option, path) in [("--server", "/nowhere/redis-server"), ("--module", "/nowhere/m.so")] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_seckill-doctor"));
        let output = run(command.args([option, path]).arg(script("seckill")));
        assert_eq!(output.status.code(), Some(2), "{option}");
        let why = String::from_utf8(output.stderr).expect("text");
        assert!(why.contains(path), "{why}");
    }
}

#[test]
fn another_server_hears_nothing_and_nothing_stays() {
    let other = Server::with().port().start();
    let temp = tempfile::tempdir().expect("a folder");
    let before = other.info("total_connections_received").expect("a number");
    let output = run(doctor().env("TMPDIR", temp.path()).arg(script("unlock")));
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(other.info("total_connections_received"), Some(before));
    assert_eq!(fs::read_dir(temp.path()).expect("the folder").count(), 0, "folders are left");
}

#[test]
fn a_signal_ends_its_servers_too() {
    let temp = tempfile::tempdir().expect("a folder");
    let mut child = doctor()
        .env("TMPDIR", temp.path())
        .args([script("seckill"), script("keys"), script("middle"), script("left")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("run seckill-doctor");
    let servers = || fs::read_dir(temp.path()).expect("the folder").count();
    wait_for("its servers", || (servers() >= 2).then_some(())).expect("two servers");
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a pid");
    kill_process(pid, Signal::TERM).expect("signal the doctor");
    let status = wait_for("its end", || child.try_wait().ok().flatten()).expect("an end");
    assert_eq!(status.code(), Some(2));
    assert_eq!(servers(), 0, "a server's folder is left");
}
