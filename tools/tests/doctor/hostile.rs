//! Malicious scripts: forbidden commands are refused, and their resources are limited.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::doctor::{doctor, run, script};
use crate::harness::{wait_for, write_program};

/// Writes a server program that notes, in a file of its own once it has ended, the user it ran as
/// and the length of its largest file at any moment. A look from outside would miss a server that
/// lives for milliseconds.
fn noting_server(folder: &Path, notes: &Path) -> PathBuf {
    let server = std::env::var("REDIS_SERVER").unwrap_or_else(|_| "redis-server".to_owned());
    let notes = notes.display();
    let program = folder.join("noting-server");
    let text = format!(
        "#!/bin/sh\n: > '{notes}'/$$\n(lens=\n\
         while kill -0 $$; do\n\
         lens=\"$lens $(find . -type f ! -name libseckill.so -printf '%s ')\"; sleep 0.01; done\n\
         greatest=$(printf '%s\\n' 0 $lens | sort -n | tail -n 1)\n\
         echo $(id -u) $greatest > '{notes}'/$$) > /dev/null 2>&1 &\n\
         exec '{server}' \"$@\"\n"
    );
    write_program(&program, &text);
    program
}

/// The doctor's output for the usual script after this code, and the length of its servers' largest
/// file at any moment. No server runs as root.
fn examined(deed: &str) -> (Output, u64) {
    let temp = tempfile::tempdir().expect("a folder");
    let path = temp.path().join("seckill.lua");
    let usual = fs::read_to_string(script("seckill")).expect("the usual script");
    fs::write(&path, format!("{deed}\n{usual}")).expect("a script");
    let notes = temp.path().join("notes");
    fs::create_dir(&notes).expect("a folder");
    // Servers that root starts run as the user nobody.
    for (folder, mode) in [(temp.path(), 0o755), (notes.as_path(), 0o777)] {
        fs::set_permissions(folder, fs::Permissions::from_mode(mode)).expect("its owner");
    }
    let server = noting_server(temp.path(), &notes);
    let output = run(doctor().arg("--server").arg(server).arg(&path));
    let noted = wait_for("each server's note", || {
        let files = fs::read_dir(&notes).expect("the folder").map(|file| file.expect("a file"));
        let noted = files.map(|file| fs::read_to_string(file.path()).expect("a note"));
        noted.map(|note| note.ends_with('\n').then_some(note)).collect::<Option<Vec<_>>>()
    });
    let noted = noted.expect("notes");
    assert!(!noted.is_empty(), "no server was started");
    let lens = noted.iter().map(|note| {
        let (user, length) = note.trim().split_once(' ').expect("a user and a length");
        assert_ne!(user, "0", "a server runs as root");
        length.parse().expect("a length")
    });
    (output, lens.max().expect("a server"))
}

fn said(output: &Output) -> String {
    let both = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8_lossy(&both).into_owned()
}

#[test]
fn a_script_can_do_nothing_to_the_server() {
    for deed in [
        "redis.call('cluster', 'meet', '127.0.0.1', '1')",
        "redis.call('config', 'set', 'dir', '/')",
        "redis.call('flushall')",
        "redis.call('slowlog', 'reset')",
        "redis.call('latency', 'reset')",
        "redis.call('lastsave')",
        "redis.call('role')",
        "redis.call('acl', 'setuser', 'script', '+@all')",
        "redis.call('swapdb', '0', '1')",
    ] {
        let (output, ..) = examined(deed);
        // Its first command is refused.
        let said = said(&output);
        assert!(said.contains("UNDECIDED"), "{deed}: {said}");
        assert_ne!(output.status.code(), Some(0), "{deed}: {said}");
    }
}

#[test]
fn what_scripts_of_shops_do_is_allowed() {
    for deed in [
        "redis.call('keys', 'nothing:*')",
        "redis.call('time')",
        "redis.call('publish', 'orders', ARGV[1])",
        "redis.call('expire', 'none', 5)",
        "redis.call('info', 'server')",
    ] {
        let output = examined(deed).0;
        assert!(said(&output).contains("It takes units from"), "{deed}: {}", said(&output));
    }
}

#[test]
fn a_script_that_logs_fills_no_disk() {
    let deed = "for i = 1, 300 do redis.log(redis.LOG_WARNING, string.rep('x', 900)) end";
    let (output, greatest) = examined(deed);
    assert!(greatest > 0 && greatest <= 1 << 20, "{greatest} bytes: {}", said(&output));
}

#[test]
fn a_script_that_takes_memory_or_time_is_ended() {
    // One step asks for 1.3 GB, so nothing depends on how fast memory is written.
    let join = " .. x".repeat(160);
    let greedy = format!("local x = string.rep(string.rep('x', 2^10), 2^13) local y = x{join}");
    for (deed, why) in [
        (greedy.as_str(), "took more than 1024 MB of memory"),
        ("while true do end", "the script did not end in 10 s"),
    ] {
        let (output, _) = examined(deed);
        assert_eq!(output.status.code(), Some(3), "{}", said(&output));
        assert!(said(&output).contains(why), "{}", said(&output));
    }
}

/// A folder with links to itself, a pipe, and names and texts that a terminal would obey.
#[test]
fn only_regular_files_are_read_and_nothing_hidden_is_printed() {
    let temp = tempfile::tempdir().expect("a folder");
    let path = |name: &str| temp.path().join(name);
    for name in ["a", "b", "link.lua"] {
        std::os::unix::fs::symlink(".", path(name)).expect("a link");
    }
    let pipe = std::process::Command::new("mkfifo").arg(path("pipe.lua")).status();
    assert!(pipe.expect("mkfifo").success());
    let fake = "\u{1b}[2J\u{202e}\r\u{7f}\u{200b}REPLACEABLE";
    let sells = format!(
        "local left = tonumber(redis.call('GET', 'left:{fake}' .. ARGV[1]) or '0')\n\
         if left <= 0 then return {{err = 'none {fake}'}} end\n\
         redis.call('DECR', 'left:{fake}' .. ARGV[1])\n\
         redis.call('XADD', 'o', '*', '{fake}', ARGV[1])\nreturn '{fake}'"
    );
    fs::write(path(&format!("sells{fake}.lua")), sells).expect("a script");
    fs::write(path("fails.lua"), format!("oops('{fake}')")).expect("a script");
    fs::write(path("lock.lua"), format!("return redis.call('{fake}', KEYS[1])")).expect("a script");
    for json in [false, true] {
        let output = run(doctor().args(json.then_some("--json")).arg(temp.path()));
        let said = said(&output);
        let hidden = |letter: char| letter != '\n' && seckill_tools::sanitize::is_hidden(letter);
        assert!(!said.contains(hidden), "{said:?}");
        assert!(said.contains("4 links, pipes or devices"), "{said}");
        let escaped = r"\x1b[2J\u{202e}\r\x7f\u{200b}REPLACEABLE";
        let escaped = if json { escaped.replace('\\', r"\\") } else { escaped.to_owned() };
        assert!(said.contains(&format!("sells{escaped}.lua")), "{said}");
    }
    for (name, words) in [("link.lua", "is a link"), ("pipe.lua", "no regular file")] {
        let output = run(doctor().arg(path(name)));
        assert_eq!(output.status.code(), Some(2));
        assert!(said(&output).contains(words), "{}", said(&output));
    }
}

/// The parser recurses: whatever a text nests, the doctor ends by itself.
#[test]
fn no_text_is_too_deep() {
    let dir = tempfile::tempdir().expect("a folder");
    let nested = [("(", ")"), ("if a then ", "end "), ("{", "}"), ("f(", ")")];
    let chains = ["a .. ", "- ", "2^", "not ", "1+"].map(|chain| (chain, ""));
    for (number, (open, close)) in nested.into_iter().chain(chains).enumerate() {
        let many = (15 << 10) / (open.len() + close.len());
        let text = format!("return {}1{}", open.repeat(many), close.repeat(many));
        let text = format!("local a = redis.call('GET', KEYS[1])\n{text}");
        fs::write(dir.path().join(format!("{number}.lua")), text).expect("a script");
    }
    let output = run(doctor().arg(dir.path()));
    let said = said(&output);
    assert!([1, 3].map(Some).contains(&output.status.code()), "{said}");
    assert_eq!(said.matches(".lua: ").count(), 9, "{said}");
}
