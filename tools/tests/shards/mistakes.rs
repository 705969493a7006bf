//! One mistake has one sentence, whichever program it is made with, and changes nothing.

use std::net::TcpListener;
use std::process::Command;

use crate::harness::Server;

/// Each program, in a way that begins with the server.
fn programs(database: &str) -> [(&'static str, Vec<String>); 5] {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect();
    [
        (env!("CARGO_BIN_EXE_seckill-rush"), words("--tries 10")),
        (env!("CARGO_BIN_EXE_seckill-shards"), words("show --voucher 7")),
        (env!("CARGO_BIN_EXE_seckill-top"), words("--once")),
        (env!("CARGO_BIN_EXE_seckill-worker"), words(&format!("check --database {database}"))),
        (
            env!("CARGO_BIN_EXE_seckill-worker"),
            words(&format!("dead-letter 1-1 --database {database}")),
        ),
    ]
}

/// What a program ends with, behind its name.
fn sentence(program: &str, words: &[String], more: &[&str]) -> String {
    let output = Command::new(program).args(words).args(more).output().expect("a program");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(!output.status.success() && output.stdout.is_empty(), "{program}: {said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    said.trim().split_once(": ").expect("the program's name").1.to_owned()
}

#[test]
fn one_mistake_has_one_sentence_in_all_programs() {
    let server = Server::with().port().start();
    server.run("CONFIG SET requirepass right");
    let file = server.dir().join("rows.db");
    std::fs::write(&file, "").expect("a file");
    let database = format!("sqlite:{}", file.display());
    let socket = server.dir().join("nobody").display().to_string();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let free = taken.local_addr().expect("its address").port();
    drop(taken);
    let port = server.port();
    for (url, wanted) in [
        (
            format!("redis+unix://{socket}"),
            format!(
                "no connection to redis+unix://{socket}: No such file or directory (os error 2)"
            ),
        ),
        (
            format!("redis://127.0.0.1:{free}/"),
            format!(
                "no connection to redis://127.0.0.1:{free}/: Connection refused (os error 111)"
            ),
        ),
        (
            format!("redis://:wrong@127.0.0.1:{port}/"),
            format!("refused by the server at redis://127.0.0.1:{port}/: wrong name or password"),
        ),
        (
            "http://127.0.0.1/".to_owned(),
            "--redis must look like redis://127.0.0.1:6379/, rediss://user@host/, \
             redis+unix:///path or redis+sentinel://host,host/name: Redis URL did not parse"
                .to_owned(),
        ),
    ] {
        for (program, words) in programs(&database) {
            let said = sentence(program, &words, &["--redis", &url]);
            let said = said.split(" (name and password").next().unwrap_or_default();
            assert_eq!(said, wanted, "{program} {words:?}");
        }
    }
    assert_eq!(std::fs::read(&file).expect("the file"), b"", "a table was made");
}

#[test]
fn a_number_that_is_none_is_refused_by_its_bounds() {
    for (program, line, bounds) in [
        (env!("CARGO_BIN_EXE_seckill-rush"), "--tries x", "must be 1 to 4294967295"),
        (env!("CARGO_BIN_EXE_seckill-rush"), "--stock 1.5", "must be 1 to 9223372036854775807"),
        (env!("CARGO_BIN_EXE_seckill-shards"), "open --shards 0", "must be 1 to 4096"),
        (env!("CARGO_BIN_EXE_seckill-top"), "--vouchers-max 1e3", "must be 1 to 10000"),
        (env!("CARGO_BIN_EXE_seckill-worker"), "--replicas x", "must be 0 to 4294967295"),
        (env!("CARGO_BIN_EXE_seckill-worker"), "--batch 10001", "must be 1 to 10000"),
    ] {
        let output = Command::new(program).args(line.split(' ')).output().expect("a program");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        assert!(said.contains(bounds), "{line}: {said}");
    }
}
