//! Real servers for tests: started in fresh directories, killed by their child handles.
//!
//! The only file of the tests that starts servers. It decides where a server's files are, how it is
//! configured and when it counts as up; it knows no command of the module.
//! The server program is REDIS_SERVER (`redis-server` by default), the module SECKILL_MODULE
//! (by default it is built once per test process). SECKILL_SETTINGS: lines of redis.conf for all
//! servers, divided by `;`; SECKILL_DATABASE: the database of the nodes of clusters.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use redis::{ConnectionInfo, Value};
use tempfile::TempDir;

pub mod library;
mod parts;
mod wire;

pub use parts::{
    DEADLINE, Port, database, in_time, is_started_in, last_appended, left_out, module, program,
    root, side_by_side, text, tool, wait_for, write_program,
};
use parts::{address, copy_data, read_log, settings_of_all};
pub use wire::Wire;

/// A running server, killed when dropped.
pub struct Server {
    dir: TempDir,
    port: Option<Port>,
    _bus: Option<Port>,
    database: i64,
    env: Vec<(String, OsString)>,
    child: Child,
    client: Mutex<Client>,
}

/// The configuration with which a server is started.
#[derive(Clone, Default)]
pub struct Builder {
    lines: Vec<String>,
    env: Vec<(String, OsString)>,
    module_args: String,
    without_module: bool,
    port: bool,
    data: Option<PathBuf>,
}

/// A connection that returns error replies as values and never waits past the deadline.
pub struct Client {
    connection: Wire,
    log: PathBuf,
}

impl Server {
    /// A server with the module at its defaults, on a unix socket, that saves nothing.
    pub fn start() -> Self {
        Self::with().start()
    }

    pub fn with() -> Builder {
        Builder::default()
    }

    /// The client for all calls that don't ask for another one.
    pub fn own(&self) -> MutexGuard<'_, Client> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the server's own client a new connection after the old one was closed.
    pub fn reconnect(&self) {
        *self.own() = self.client();
    }

    pub fn call<A: AsRef<[u8]>>(&self, args: &[A]) -> Value {
        self.own().call(args)
    }

    /// A connection of its own, RESP2, in the server's own [`database`].
    pub fn client(&self) -> Client {
        Client::connect(&self.address(), self.log_path())
            .unwrap_or_else(|error| panic!("cannot connect: {error}\n{}", self.log()))
    }

    /// The address at which any Redis client reaches this server.
    pub fn address(&self) -> ConnectionInfo {
        address(self.dir(), self.port.as_ref(), self.database)
    }

    /// The port of a server started with `port`, `replica_of` or `cluster`.
    pub fn port(&self) -> u16 {
        self.port.as_ref().expect("this server was started on a unix socket").number
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn log(&self) -> String {
        read_log(&self.log_path())
    }

    fn log_path(&self) -> PathBuf {
        self.dir.path().join("log")
    }

    /// Kills the server as a power failure would: no save, no flush, no goodbye.
    pub fn kill9(&mut self) {
        self.child.kill().expect("kill the server");
        self.child.wait().expect("reap the server");
    }

    /// Asks the server to shut down; it saves what its configuration says.
    pub fn stop(&mut self) -> ExitStatus {
        self.own().send(&["SHUTDOWN"]);
        let status = wait_for("the server's end", || self.child.try_wait().ok().flatten());
        status.unwrap_or_else(|late| panic!("{late}\n{}", self.log()))
    }

    /// Starts the dead or stopped server again in its directory, with the same configuration.
    pub fn start_again(&mut self) {
        self.child = spawn(self.dir.path(), &self.env);
        let address = self.address();
        let client = wait_until_up(&mut self.child, &address, self.dir.path());
        self.client = Mutex::new(client.unwrap_or_else(|log| panic!("no restart:\n{log}")));
    }

    /// Has the server's own checker fix the append-only file of the dead server.
    pub fn fix_aof(&self) {
        // The server acts as its own checker when it is called by this name.
        let name = program().to_string_lossy().replace("-server", "-check-aof");
        let mut checker = Command::new(program())
            .arg0(name)
            .arg("--fix")
            .arg(last_appended(self.dir()))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("run the checker");
        // The checker asks only if there is something to fix.
        let _ = checker.stdin.take().expect("piped").write_all(b"y\n");
        assert!(checker.wait().expect("the checker").success(), "the file can't be fixed");
    }

    /// Stops the process, as on a machine that hangs, until it is woken up.
    pub fn freeze(&self) {
        assert!(tool(&["sh", "-c", &format!("kill -STOP {}", self.child.id())]));
    }

    pub fn wake(&self) {
        assert!(tool(&["sh", "-c", &format!("kill -CONT {}", self.child.id())]));
    }

    /// Waits until something is true; fails with the log.
    pub fn until(&self, what: &str, mut is_true: impl FnMut() -> bool) {
        let done = wait_for(what, || is_true().then_some(()));
        done.unwrap_or_else(|late| panic!("{late}\n{}", self.log()));
    }

    pub fn restart(&mut self) {
        self.stop();
        self.start_again();
    }

    /// One field of INFO, whatever section it is in.
    pub fn info(&self, field: &str) -> Option<String> {
        let everything = text(&self.call(&["INFO", "everything"]));
        everything.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name == field).then(|| value.trim_end().to_owned())
        })
    }

    pub fn info_number(&self, field: &str) -> i64 {
        let value = self.info(field).unwrap_or_else(|| panic!("INFO has no field {field}"));
        value.parse().unwrap_or_else(|_| panic!("INFO {field} is no integer: {value}"))
    }

    /// A digest of all keys and values of all databases (not of expiry times).
    pub fn digest(&self) -> String {
        text(&self.call(&["DEBUG", "DIGEST"]))
    }

    /// Waits until `replica` has applied everything this server has written.
    pub fn wait_for_replica(&self, replica: &Server) {
        replica.until("the replica to catch up", || {
            let up = replica.info("master_link_status").as_deref() == Some("up");
            up && self.info("master_repl_offset") == replica.info("slave_repl_offset")
        });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // An error means that the server is dead already, which is enough here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Builder {
    /// Adds one line of redis.conf. `sentinel monitor` makes it a Sentinel.
    pub fn config(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    /// Adds a variable to the environment of the server's process.
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }

    /// Arguments after `loadmodule <path>`, spelled as in redis.conf.
    pub fn module_args(mut self, args: &str) -> Self {
        args.clone_into(&mut self.module_args);
        self
    }

    pub fn without_module(mut self) -> Self {
        self.without_module = true;
        self
    }

    /// Writes every effect to an append-only file before its client is answered.
    pub fn aof(self) -> Self {
        self.config("appendonly yes").config("appendfsync always")
    }

    /// Listens on a free loopback port instead of a unix socket.
    pub fn port(mut self) -> Self {
        self.port = true;
        self
    }

    pub fn replica_of(self, primary: &Server) -> Self {
        self.port().config(format!("replicaof 127.0.0.1 {}", primary.port()))
    }

    /// A cluster node that owns no slot yet. What is asked of it is in its own [`database`].
    pub fn cluster(self) -> Self {
        let node = self.port().config("cluster-enabled yes\ncluster-config-file nodes.conf");
        if database() == 0 { node } else { node.config("cluster-databases 16") }
    }

    /// Starts from a copy of the files that another server has written.
    pub fn data_of(self, other: &Server) -> Self {
        self.data_in(other.dir())
    }

    /// Starts from a copy of the files of a server in a folder.
    pub fn data_in(mut self, folder: &Path) -> Self {
        self.data = Some(folder.to_owned());
        self
    }

    pub fn start(self) -> Server {
        self.try_start().unwrap_or_else(|log| panic!("the server did not start:\n{log}"))
    }

    /// `Err` is the log of a server that exited during its start.
    pub fn try_start(self) -> Result<Server, String> {
        // A program other than a test may have taken a port that was free.
        for _ in 0..5 {
            match self.clone().start_once() {
                Err(log) if log.contains("Address already in use") => {}
                outcome => return outcome,
            }
        }
        Err("five free ports were taken before the server could listen".into())
    }

    fn start_once(self) -> Result<Server, String> {
        let dir = tempfile::Builder::new().prefix("seckill-").tempdir().expect("a directory");
        if let Some(data) = &self.data {
            copy_data(data, dir.path());
        }
        let port = self.port.then(Port::free);
        let is_node = self.lines.iter().any(|line| line.starts_with("cluster-enabled yes"));
        let bus = is_node.then(Port::free);
        let database = database();
        let conf = self.conf(dir.path(), port.as_ref(), bus.as_ref());
        fs::write(dir.path().join("redis.conf"), conf).expect("conf");
        let mut child = spawn(dir.path(), &self.env);
        let address = address(dir.path(), port.as_ref(), database);
        let mut client = wait_until_up(&mut child, &address, dir.path())?;
        library::load(&mut client, self.without_module);
        Ok(Server {
            dir,
            port,
            _bus: bus,
            database,
            env: self.env,
            child,
            client: Mutex::new(client),
        })
    }

    fn conf(&self, dir: &Path, port: Option<&Port>, bus: Option<&Port>) -> String {
        let number = port.map_or(0, |port| port.number);
        let mut conf = format!("port {number}\nbind 127.0.0.1\n");
        if port.is_none() {
            conf += &format!("unixsocket {}\n", dir.join("socket").display());
        }
        if let Some(bus) = bus {
            conf += &format!("cluster-port {}\n", bus.number);
        }
        conf += &format!("dir {}\nsave \"\"\n", dir.display());
        conf += "enable-debug-command yes\nenable-module-command yes\n";
        conf += "repl-diskless-sync-delay 0\n";
        conf += &settings_of_all();
        for line in &self.lines {
            conf += &format!("{line}\n");
        }
        if !self.without_module && !library::is_wanted() {
            conf += &format!("loadmodule {} {}\n", module().display(), self.module_args);
        }
        conf
    }
}

impl Client {
    pub fn connect(address: &ConnectionInfo, log: PathBuf) -> std::io::Result<Self> {
        Ok(Self { connection: Wire::connect(address, DEADLINE)?, log })
    }

    /// Sends a command and returns its reply, which may be an error. A dead connection fails the
    /// test with the server's log.
    pub fn call<A: AsRef<[u8]>>(&mut self, args: &[A]) -> Value {
        self.send(args);
        self.receive()
    }

    /// Sends commands without waiting for replies in between.
    pub fn together<A: AsRef<[u8]>>(&mut self, commands: &[Vec<A>]) -> Vec<Value> {
        commands.iter().for_each(|command| self.send(command));
        commands.iter().map(|_| self.receive()).collect()
    }

    pub fn send<A: AsRef<[u8]>>(&mut self, args: &[A]) {
        let packed = redis::Cmd::new().arg(library::as_sent(args)).get_packed_command();
        let sent = self.connection.send_packed_command(&packed);
        sent.unwrap_or_else(|error| panic!("cannot send: {error}\n{}", read_log(&self.log)));
    }

    /// The next reply or pushed message.
    pub fn receive(&mut self) -> Value {
        let reply = self.connection.recv_response();
        reply.unwrap_or_else(|error| panic!("no reply: {error}\n{}", read_log(&self.log)))
    }

    /// The server's log.
    pub fn log(&self) -> String {
        read_log(&self.log)
    }

    /// For what redis-rs does better than this wrapper.
    pub fn raw(&mut self) -> &mut Wire {
        &mut self.connection
    }
}

fn spawn(dir: &Path, env: &[(String, OsString)]) -> Child {
    let program = program();
    let conf = fs::read_to_string(dir.join("redis.conf")).expect("conf");
    let is_sentinel = conf.contains("\nsentinel monitor ");
    let log = File::options().create(true).append(true).open(dir.join("log")).expect("log");
    Command::new(&program)
        .arg(dir.join("redis.conf"))
        .args(is_sentinel.then_some("--sentinel"))
        .current_dir(dir)
        .envs(env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("log"))
        .stderr(log)
        .spawn()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", program.display()))
}

fn wait_until_up(child: &mut Child, to: &ConnectionInfo, dir: &Path) -> Result<Client, String> {
    let log = dir.join("log");
    let up = wait_for("the server to answer PING", || {
        if let Ok(Some(_)) = child.try_wait() {
            return Some(Err(read_log(&log)));
        }
        let mut client = Client::connect(to, log.clone()).ok()?;
        let pong = redis::cmd("PING").query::<String>(client.raw()).ok()?;
        let is_up = pong == "PONG" && is_started_in(dir, client.raw());
        is_up.then_some(Ok(client))
    });
    up.unwrap_or_else(|late| {
        let _ = child.kill();
        let _ = child.wait();
        Err(format!("{late}\n{}", read_log(&log)))
    })
}
