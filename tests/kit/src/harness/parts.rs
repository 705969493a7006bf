//! What the harness needs besides servers: waiting, ports, texts, the files of servers, and the
//! module.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, Value};

/// How long a test may wait for anything, also on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Asks repeatedly until there is an answer; `Err` names what did not arrive.
pub fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> Result<T, String> {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return Ok(answer);
        }
        if start.elapsed() > DEADLINE {
            return Err(format!("waited {DEADLINE:?} without effect for {what}"));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Sets up something, for example a lease or a hold, that must be ready within this many ms. `None`
/// says that the machine was too slow: then it is repeated with four times as many.
pub fn in_time<T>(ms: u64, mut set_up: impl FnMut(u64) -> Option<T>) -> T {
    let done = [1, 4, 16, 64].into_iter().find_map(|factor| set_up(ms * factor));
    done.unwrap_or_else(|| panic!("not ready in {} ms either", ms * 64))
}

/// Runs each of these in a thread of its own, whose name a panic is printed with. What they return.
pub fn side_by_side<I: Send, T: Send>(
    items: impl IntoIterator<Item = I>,
    name: impl Fn(&I) -> String,
    run: impl Fn(I) -> T + Sync,
) -> Vec<T> {
    std::thread::scope(|scope| {
        let start = |item| {
            let thread = std::thread::Builder::new().name(name(&item));
            let run = &run;
            thread.spawn_scoped(scope, move || run(item)).expect("a thread")
        };
        let running: Vec<_> = items.into_iter().map(start).collect();
        running.into_iter().map(|thread| thread.join().expect("none has panicked")).collect()
    })
}

/// The text of a string reply or an error.
pub fn text(value: &Value) -> String {
    match value {
        Value::Okay => "OK".into(),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => text.clone(),
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Int(number) => number.to_string(),
        Value::ServerError(error) => match error.details() {
            Some(details) => format!("{} {details}", error.code()),
            None => error.code().to_owned(),
        },
        other => panic!("not a string: {other:?}"),
    }
}

/// A free TCP port, reserved for its owner until this is dropped.
///
/// The system would hand out a port that it chose for one server to the next process that asks,
/// until the server listens, and also to outgoing connections. So the port is outside of the
/// system's range, and a bound UDP port of the same number, which no server uses, reserves it
/// against all other tests, including those of other processes.
pub struct Port {
    pub number: u16,
    _reserved: UdpSocket,
}

impl Port {
    pub fn free() -> Self {
        let free = wait_for("a free port", || {
            let number = fastrand::u16(10_000..32_768);
            let _reserved = UdpSocket::bind(("127.0.0.1", number)).ok()?;
            // Programs other than tests also listen on ports.
            TcpListener::bind(("127.0.0.1", number)).ok()?;
            Some(Self { number, _reserved })
        });
        free.unwrap_or_else(|late| panic!("{late}"))
    }
}

/// Lines of redis.conf for every server, those of SECKILL_SETTINGS: scripts/matrix runs the tests
/// with settings that few tests are about.
pub fn settings_of_all() -> String {
    let lines = std::env::var("SECKILL_SETTINGS").unwrap_or_default();
    lines.split(';').map(|line| format!("{}\n", line.trim())).collect()
}

/// The database that is asked of servers: SECKILL_DATABASE, or 0. In a cluster only a server with
/// `cluster-databases` has others.
pub fn database() -> i64 {
    let number = std::env::var("SECKILL_DATABASE");
    number.map_or(0, |number| number.parse().expect("SECKILL_DATABASE is a number"))
}

/// The address of the server in a directory, on a port or its unix socket, and the database there.
pub fn address(dir: &Path, port: Option<&Port>, database: i64) -> ConnectionInfo {
    let address = match port {
        Some(port) => ConnectionAddr::Tcp("127.0.0.1".into(), port.number),
        None => ConnectionAddr::Unix(dir.join("socket")),
    };
    let info = address.into_connection_info().expect("an address that we made");
    let settings = info.redis_settings().clone().set_db(database);
    info.set_redis_settings(settings)
}

/// Was the server at the other end started in this directory? Another server may have the port by
/// now.
pub fn is_started_in(dir: &Path, connection: &mut impl redis::ConnectionLike) -> bool {
    let info = redis::cmd("INFO").arg("server").query::<String>(connection);
    let line = format!("config_file:{}", dir.join("redis.conf").display());
    info.is_ok_and(|info| info.lines().any(|shown| shown.trim_end() == line))
}

pub fn read_log(path: &Path) -> String {
    fs::read(path).map_or_else(|_| "(no log)".into(), |log| String::from_utf8_lossy(&log).into())
}

pub fn copy_data(from: &Path, to: &Path) {
    for name in ["dump.rdb", "appendonlydir"] {
        let source = from.join(name);
        if source.is_file() {
            fs::copy(&source, to.join(name)).expect("copy the RDB");
        } else if source.is_dir() {
            fs::create_dir(to.join(name)).expect("a directory for the AOF");
            for file in fs::read_dir(&source).expect("list the AOF").flatten() {
                fs::copy(file.path(), to.join(name).join(file.file_name())).expect("copy");
            }
        }
    }
}

/// The append-only file that a server wrote to last. The checker of Valkey 9.1 does not know the
/// start of the file before it, so it does not get the manifest.
pub fn last_appended(dir: &Path) -> PathBuf {
    let conf = fs::read_to_string(dir.join("redis.conf")).expect("conf");
    let data = conf.lines().rev().find_map(|line| line.strip_prefix("dir "));
    let folder = Path::new(data.expect("a dir")).join("appendonlydir");
    let manifest = fs::read_to_string(folder.join("appendonly.aof.manifest")).expect("a manifest");
    let last = manifest.lines().rfind(|line| line.contains(" type i")).expect("a file");
    folder.join(last.split(' ').nth(1).expect("its name"))
}

/// The path of the module's library.
pub fn module() -> &'static Path {
    static MODULE: OnceLock<PathBuf> = OnceLock::new();
    MODULE.get_or_init(|| match std::env::var_os("SECKILL_MODULE") {
        Some(path) => fs::canonicalize(path).expect("SECKILL_MODULE names a file"),
        None => build_module(),
    })
}

/// The folder of the workspace.
pub fn root() -> &'static Path {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    folders.find(|dir| dir.join("Cargo.lock").is_file()).expect("the workspace's root")
}

/// Reports what is not tested here and why, bypassing the capture of the test runner, and again at
/// the end of a CI run.
pub fn left_out(what: &str) {
    let told = Command::new(root().join("scripts/left-out")).arg(what).status();
    assert!(told.is_ok_and(|status| status.success()), "scripts/left-out {what}");
}

fn build_module() -> PathBuf {
    let root = root();
    let built = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--release", "--lib", "--package", "seckill"])
        .current_dir(root)
        .stdin(Stdio::null())
        .output()
        .expect("run cargo");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    // A relative CARGO_TARGET_DIR is relative to where cargo ran; an absolute one wins the join.
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root.join(target).join("release/libseckill.so")
}

/// Runs a program of the system. Did it succeed?
pub fn tool(words: &[&str]) -> bool {
    let status = Command::new(words[0]).args(&words[1..]).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Writes a program, by another process: a child of another test can hold open for a moment what
/// this one writes, and a file that is open for writing can't be run.
pub fn write_program(path: &Path, text: &str) {
    let mut install = Command::new("install");
    install.args(["-m", "755", "/dev/stdin"]).arg(path).stdin(Stdio::piped());
    let mut install = install.spawn().expect("run install");
    install.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("a program");
    assert!(install.wait().expect("its end").success(), "{}", path.display());
}

/// The server that is tested.
pub fn program() -> OsString {
    std::env::var_os("REDIS_SERVER").unwrap_or_else(|| "redis-server".into())
}
