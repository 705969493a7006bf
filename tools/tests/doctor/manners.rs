//! Exit codes, options, and that the doctor changes and leaves nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::doctor::{doctor, examine, run, script};
use crate::harness::{Server, wait_for};

#[test]
fn what_is_not_found_out_can_be_said() {
    let call = "EVALSHA {sha} 0 {voucher} {user}";
    let json = r#"EVALSHA {sha} 0 {"sale":{"voucher":"7"},"user":"ann"}"#;
    for (name, options, verdict) in [
        ("reckons", &["--call", call][..], "replaceable"),
        ("keys", &["--call", "EVALSHA {sha} 2 {voucher} buyers:{voucher} {user}"], "replaceable"),
        ("oversells", &["--call", "EVALSHA {sha} 0 {voucher} {user} {orderid}"], "broken"),
        ("unlock_number", &["--call", "EVALSHA {sha} 1 {lock} {token}"], "broken"),
        ("decodes", &["--call", json], "undecided"),
    ] {
        let said = examine(name, options);
        assert_eq!(said["verdict"], verdict, "{options:?}: {said:#}");
    }
    for (options, words) in [
        (["--call", "GET stock"], "EVALSHA"),
        (["--call", "EVALSHA {sha} 3 stock"], "number of its keys"),
    ] {
        let bad = run(doctor().args(options).arg(script("drift")));
        assert_eq!(bad.status.code(), Some(2));
        let why = String::from_utf8(bad.stderr).expect("text");
        assert!(why.contains(words), "{why}");
    }
}

#[test]
fn a_call_that_is_told_shows_as_much_as_one_that_is_found() {
    let lock = "EVALSHA {sha} 1 {lock} {token} {lease}";
    for (name, call, verdict) in [
        ("renew_lock", lock, "replaceable"),
        ("acquire_or_renew", lock, "replaceable"),
        ("renew_seconds", "EVALSHA {sha} 1 {lock} {token} 60", "replaceable"),
        ("units", "EVALSHA {sha} 2 stock:{voucher} buyers:{voucher} {units} {user}", "replaceable"),
        ("deducts_itself", "EVALSHA {sha} 1 stock:{voucher}", "replaceable"),
        ("bare_oversells", "EVALSHA {sha} 1 stock:{voucher} {units}", "broken"),
        ("bare_oversells", "EVALSHA {sha} 1 stock:{voucher} 2", "broken"),
        ("acquires_if_asked", "EVALSHA {sha} 1 {lock} {token} {lease} old", "undecided"),
        ("looks_only", "EVALSHA {sha} 1 stock:{voucher} {units} sell", "undecided"),
    ] {
        let said = examine(name, &["--call", call]);
        assert_eq!(said["verdict"], verdict, "{name}: {said:#}");
    }
}

/// Of a managed voucher, orders with one id are one order.
#[test]
fn the_id_of_an_order_is_passed_on_or_said_to_be_a_constant() {
    for (name, call, id) in [
        ("no_stream", "EVALSHA {sha} 0 {voucher} {user} {orderid}", "ARGV[3]"),
        ("keys", "EVALSHA {sha} 2 {voucher} buyers:{voucher} {user} {orderid}", "ARGV[2]"),
    ] {
        let [told, untold] = [&["--call", call][..], &[]].map(|options| examine(name, options));
        let line = |said: &Value| said["replacement"]["lua"].as_str().expect("a line").to_owned();
        assert!(line(&told).contains(id) && !line(&untold).contains(id), "{told:#} {untold:#}");
        let says = |said: &Value| said["seen"].to_string().contains("{orderid} in --call");
        assert!(!says(&told) && says(&untold), "{told:#} {untold:#}");
    }
}

#[test]
fn the_gravest_verdict_of_a_folder_is_the_exit_code() {
    let dir = tempfile::tempdir().expect("a folder");
    for name in ["seckill", "unlock", "unlock_number"] {
        fs::copy(script(name), dir.path().join(name).with_extension("lua")).expect("a copy");
    }
    let java = "class Shop {\n  String undo = \"if redis.call('srem', KEYS[2], ARGV[1]) == 1\" +\n\
        \" then redis.call('incr', KEYS[1]) end\";\n}\n";
    fs::write(dir.path().join("Shop.java"), java).expect("a class");
    let verdicts = |from_java: bool| {
        let output = run(doctor().args(from_java.then_some("--from-java")).arg(dir.path()));
        (output.status.code(), String::from_utf8(output.stdout).expect("text"))
    };
    // A broken script decides about the exit code, then an undecided one.
    let (code, said) = verdicts(true);
    assert_eq!(code, Some(1));
    for row in [
        "Shop.java:2: UNDECIDED", "seckill.lua: REPLACEABLE", "unlock.lua: REPLACEABLE",
        "unlock_number.lua: BROKEN",
    ] {
        assert!(said.lines().any(|line| line == row), "{row}: {said}");
    }
    assert_eq!(said.matches("redis.conf   seckill.scripts").count(), 2, "{said}");
    fs::remove_file(dir.path().join("unlock_number.lua")).expect("removed");
    assert_eq!(verdicts(true).0, Some(3));
    assert_eq!(verdicts(false).0, Some(0));
}

/// What is joined at run time has another text and another sha1.
#[test]
fn scripts_that_are_put_together_are_not_judged() {
    let dir = tempfile::tempdir().expect("a folder");
    let java = r#"class Shop {
  String take = "local left = redis.call('get', '" + PREFIX + ":' .. ARGV[1]) " +
      "if tonumber(left or '0') <= 0 then return 1 end " +
      "redis.call('decr', '" + PREFIX + ":' .. ARGV[1]) return 0";
  String check = "if redis.call('sismember', KEYS[2], ARGV[1]) == 1 then return 2 end ";
  String open = "if redis.call('exists', KEYS[1]) == 1 then ";
  // String old = "redis.call('decr', KEYS[1]) redis.call('oops')";
}
"#;
    fs::write(dir.path().join("Shop.java"), java).expect("a class");
    let output = run(doctor().args(["--json", "--from-java"]).arg(dir.path()));
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8(output.stdout).expect("text");
    let said: Vec<Value> =
        said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(said.len(), 3, "{said:#?}");
    for (said, words) in said.iter().zip(["joins", "did what a command does", "not compile"]) {
        assert!(said["seen"].to_string().contains(words), "{words}: {said:#}");
    }
}

#[test]
fn scripts_that_are_none_are_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let bad = dir.path().join("bad.lua");
    for args in [vec![dir.path().join("none.lua")], vec![dir.path().to_owned()], vec![]] {
        let output = run(doctor().args(&args));
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(!output.stderr.is_empty());
    }
    fs::write(&bad, "return 1").expect("a script");
    assert_eq!(run(doctor().arg(&bad)).status.code(), Some(3));
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
    for signal in [Signal::TERM, Signal::KILL] {
        let temp = tempfile::tempdir().expect("a folder");
        // Servers that root starts run as the user nobody, who removes their folders here.
        fs::set_permissions(temp.path(), fs::Permissions::from_mode(0o777)).expect("its owner");
        let mut child = doctor()
            .env("TMPDIR", temp.path())
            .arg(script("seckill"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("run seckill-doctor");
        let folders = || fs::read_dir(temp.path()).expect("the folder").flatten();
        let servers = || folders().filter(|folder| folder.path().join("socket").exists()).count();
        wait_for("its servers", || (servers() >= 2).then_some(())).expect("two servers");
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a pid");
        kill_process(pid, signal).expect("signal the doctor");
        let status = wait_for("its end", || child.try_wait().ok().flatten()).expect("an end");
        assert_eq!(status.signal(), Some(signal.as_raw()));
        // A server's folder is removed when the server has ended.
        wait_for("its servers' end", || (folders().count() == 0).then_some(()))
            .expect("no folder is left");
    }
}
