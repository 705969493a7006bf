//! Malicious scripts: forbidden commands are refused, and their resources are limited.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::Duration;

use crate::doctor::doctor;

/// A script that sells, and executes this code before.
fn selling_and(deed: &str) -> String {
    format!(
        "{deed}\nlocal stock = 'seckill:stock:' .. ARGV[1]\n\
         local buyers = 'seckill:order:' .. ARGV[1]\n\
         if tonumber(redis.call('get', stock)) <= 0 then return 1 end\n\
         if redis.call('sismember', buyers, ARGV[2]) == 1 then return 2 end\n\
         redis.call('incrby', stock, -1)\nredis.call('sadd', buyers, ARGV[2])\n\
         redis.call('xadd', 'stream.orders', '*', 'userId', ARGV[2], 'voucherId', ARGV[1], \
         'id', ARGV[3])\nreturn 0\n"
    )
}

/// The doctor's output for a script with this code, and the size of its largest file at any moment.
/// No server runs as root.
fn examined(deed: &str) -> (std::process::Output, u64) {
    let temp = tempfile::tempdir().expect("a folder");
    // Servers that root starts run as the user nobody, who needs access to the folder.
    fs::set_permissions(temp.path(), fs::Permissions::from_mode(0o755)).expect("its owner");
    let path = temp.path().join("seckill.lua");
    fs::write(&path, selling_and(deed)).expect("a script");
    let servers = temp.path().join("servers");
    fs::create_dir(&servers).expect("a folder");
    let mut child = doctor()
        .env("TMPDIR", &servers)
        .arg(&path)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("run seckill-doctor");
    let (mut greatest, mut sockets) = (0, 0);
    while child.try_wait().expect("its state").is_none() {
        for dir in fs::read_dir(&servers).expect("the folder").flatten() {
            for file in fs::read_dir(dir.path()).into_iter().flatten().flatten() {
                let Ok(of) = file.metadata() else { continue };
                if file.file_name() != "libseckill.so" {
                    greatest = greatest.max(of.len());
                }
                if file.file_name() == "socket" {
                    assert_ne!(of.uid(), 0, "a server runs as root");
                    sockets += 1;
                }
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(sockets > 0, "no server was seen");
    (child.wait_with_output().expect("its end"), greatest)
}

fn said(output: &std::process::Output) -> String {
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
        // The script never sells, because its first command is refused.
        assert_eq!(output.status.code(), Some(2), "{deed}: {}", said(&output));
        assert!(said(&output).contains("Not understood"), "{deed}: {}", said(&output));
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
        assert!(said(&output).contains("seckill.lua: sells"), "{deed}: {}", said(&output));
    }
}

#[test]
fn a_script_that_logs_fills_no_disk() {
    let deed = "for i = 1, 300 do redis.log(redis.LOG_WARNING, string.rep('x', 900)) end";
    let (output, greatest) = examined(deed);
    assert!(greatest > 0 && greatest <= 1 << 20, "{greatest} bytes: {}", said(&output));
}

#[test]
fn a_script_without_an_end_is_ended() {
    let (output, _) = examined("while true do end");
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("the script did not end in 10 s"), "{}", said(&output));
}
