//! Throw-away servers: started in a fresh folder, on a unix socket, and ended with the program.
//!
//! The program talks to nothing else. Every server it starts is in one list, so that a signal ends
//! them all.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::reply::Reply;
use crate::wire::{Wire, Words};

/// How long a server may take to start, or to answer.
const DEADLINE: Duration = Duration::from_secs(60);

/// How long a script may take. The longest of those that are examined take milliseconds.
const SCRIPT_DEADLINE: Duration = Duration::from_secs(10);

/// The user whom scripts run as: it can do what scripts of shops do, and nothing to the server.
const SCRIPT_USER: &str = "script";
const SCRIPT_RULES: &str = "~* &* +@all -@admin -@dangerous +keys +sort +sort_ro +info";

/// How much of what a server says is kept: its start, and room for a crash report.
const LOG_LEN_MAX: u64 = 1 << 20;

/// The longest file that a server may write.
const FILE_LEN_MAX: u64 = 64 << 20;

/// What a server says before it ends because another process listens to its port.
const PORT_IS_TAKEN: &str = "Address already in use";

/// What the servers are made of.
pub struct Programs {
    pub server: PathBuf,
    pub module: PathBuf,
}

/// A running server, ended when dropped.
pub struct Server {
    id: u32,
    socket: PathBuf,
}

/// A connection that keeps error replies as values, and another one for scripts.
pub struct Client {
    own: Wire,
    scripts: Wire,
}

/// A process and the folder it runs in.
struct Running {
    child: Child,
    /// Removed when dropped, after the process has ended.
    _dir: TempDir,
}

/// None once the program ends: from then on no server may be started. A thread that starts or ends
/// a server holds the lock until it is done, so that the program leaves no server behind.
static RUNNING: Mutex<Option<BTreeMap<u32, Running>>> = Mutex::new(Some(BTreeMap::new()));

fn running() -> MutexGuard<'static, Option<BTreeMap<u32, Running>>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Running {
    fn drop(&mut self) {
        // Errors mean that it has ended already, which is all that is wanted here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ends every server, for when the program is asked to end.
pub fn end_all() {
    *running() = None;
}

impl Server {
    /// A standalone server without the module.
    pub fn plain(programs: &Programs) -> Result<Self> {
        Self::start(programs, &[], false)
    }

    /// A standalone server with the module.
    pub fn with_module(programs: &Programs) -> Result<Self> {
        Self::start(programs, &[], true)
    }

    /// The only node of a cluster, with all slots.
    pub fn cluster(programs: &Programs, module: bool) -> Result<Self> {
        let server = Self::node(programs, module, free_ports)?;
        let mut client = server.client()?;
        client.must(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"])?;
        client.wait_for_cluster()?;
        Ok(server)
    }

    /// A node has to listen somewhere, though nobody calls there: the system chooses where. Another
    /// process may take a port before the server does: then two others are tried.
    fn node(
        programs: &Programs,
        module: bool,
        mut ports: impl FnMut() -> Result<[u16; 2]>,
    ) -> Result<Self> {
        let mut retries = 10;
        loop {
            let [port, bus] = ports()?;
            let lines = [
                format!("port {port}"),
                format!("cluster-port {bus}"),
                "cluster-enabled yes".to_owned(),
                "cluster-require-full-coverage no".to_owned(),
            ];
            match Self::start(programs, &lines, module) {
                Err(error) if retries > 0 && error.to_string().contains(PORT_IS_TAKEN) => {
                    retries -= 1;
                }
                started => return started,
            }
        }
    }

    fn start(programs: &Programs, lines: &[String], module: bool) -> Result<Self> {
        let mut running = running();
        let list = running.as_mut().context("the program is ending")?;
        let dir = tempfile::Builder::new().prefix("seckill-doctor-").tempdir()?;
        let socket = dir.path().join("socket");
        // A script must not reach another server: MIGRATE is the one command that could.
        let mut conf = format!(
            "port 0\nbind 127.0.0.1\nunixsocket {}\ndir {}\nsave \"\"\nappendonly no\n\
             rename-command MIGRATE \"\"\nmaxmemory 256mb\n\
             user {SCRIPT_USER} on nopass {SCRIPT_RULES}\n",
            socket.display(),
            dir.path().display()
        );
        for line in lines {
            conf += &format!("{line}\n");
        }
        if module {
            conf += &format!(
                "loadmodule {}\n",
                module_for_a_server_in(dir.path(), programs)?.display()
            );
        }
        fs::write(dir.path().join("redis.conf"), conf)?;
        let log = dir.path().join("log");
        let file = File::create(&log)?;
        let (said, say) = std::io::pipe()?;
        let mut command = Command::new(&programs.server);
        command
            .arg(dir.path().join("redis.conf"))
            .current_dir(dir.path())
            .stdin(Stdio::null())
            .stdout(say.try_clone()?)
            .stderr(say);
        if is_root() {
            std::os::unix::fs::chown(dir.path(), Some(NOBODY), Some(NOBODY))?;
            command.uid(NOBODY).gid(NOBODY);
        }
        let child = command.spawn().with_context(|| {
            let server = programs.server.display();
            if is_root() {
                format!(
                    "cannot run {server} as the user nobody, whom the doctor uses when root \
                         runs it"
                )
            } else {
                format!(
                    "cannot run {server}: install redis-server, or name one by --server or \
                     REDIS_SERVER"
                )
            }
        })?;
        // It holds an end of the pipe, which would never be seen to close.
        drop(command);
        let id = child.id();
        let writer = std::thread::spawn(move || keep_the_beginning(said, file));
        list.insert(id, Running { child, _dir: dir });
        drop(running);
        let server = Self { id, socket };
        server.wait_until_up(&log, writer)?;
        Ok(server)
    }

    fn wait_until_up(&self, log: &Path, writer: JoinHandle<()>) -> Result<()> {
        wait_for("the doctor's own server to answer", || {
            let ended = match running().as_mut().and_then(|list| list.get_mut(&self.id)) {
                Some(process) => !matches!(process.child.try_wait(), Ok(None)),
                None => true,
            };
            let up =
                || self.client().ok()?.call(&["PING"]).ok()?.text().contains("PONG").then_some(());
            if ended { Some(Err(())) } else { up().map(Ok) }
        })?
        .or_else(|()| {
            // All that it said is in the log when its end of the pipe is closed.
            let _ = writer.join();
            let said = fs::read_to_string(log).unwrap_or_default();
            let lines: Vec<&str> = said.lines().collect();
            let last = lines.iter().rev().take(6).rev().copied().collect::<Vec<_>>().join("\n");
            bail!("the doctor's own server did not start; its output ends with:\n{last}")
        })
    }

    pub fn client(&self) -> Result<Client> {
        let mut scripts = Wire::open(&self.socket, SCRIPT_DEADLINE)?;
        scripts.send(&["AUTH", SCRIPT_USER, ""])?;
        scripts.read()?;
        Ok(Client { own: Wire::open(&self.socket, DEADLINE)?, scripts })
    }
}

/// Writes what a server says into its log until that is full, and no more: a script may log.
fn keep_the_beginning(mut said: std::io::PipeReader, mut log: File) {
    let mut beginning = (&mut said).take(LOG_LEN_MAX);
    // Errors mean that the log can't be read afterwards, which is said then.
    let _ = std::io::copy(&mut beginning, &mut log);
    let _ = std::io::copy(&mut said, &mut std::io::sink());
}

/// Bounds the files of this program, and with it those of the servers that it starts from now on:
/// none gets longer than it ever needs. To be called once, at the start.
pub fn bound_files() -> Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let most =
        getrlimit(Resource::Fsize).maximum.map_or(FILE_LEN_MAX, |most| most.min(FILE_LEN_MAX));
    let bound = Rlimit { current: Some(most), maximum: Some(most) };
    setrlimit(Resource::Fsize, bound).context("cannot bound the files of servers")
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(list) = running().as_mut() {
            list.remove(&self.id);
        }
    }
}

impl Client {
    /// Sends a command and gives its reply, an error reply too.
    pub fn call<A: AsRef<[u8]>>(&mut self, words: &[A]) -> Result<Reply> {
        self.own.send(words)?;
        self.own.read()
    }

    /// The same for what must not fail.
    pub fn must<A: AsRef<[u8]>>(&mut self, words: &[A]) -> Result<Reply> {
        let reply = self.call(words)?;
        if reply.refuses() {
            let command = words.first().map(|name| String::from_utf8_lossy(name.as_ref()));
            bail!("{} on the doctor's own server: {reply}", command.unwrap_or_default());
        }
        Ok(reply)
    }

    /// Many commands in one turn; what they reply is of no interest.
    pub fn all(&mut self, commands: &[Words]) -> Result<()> {
        commands.iter().try_for_each(|words| self.own.send(words))?;
        commands.iter().try_for_each(|_| self.own.read().map(drop))
    }

    /// A node takes a turn to see that slots have come or gone.
    pub fn wait_for_cluster(&mut self) -> Result<()> {
        wait_for("a cluster of one node", || {
            let info = self.call(&["CLUSTER", "INFO"]).ok()?;
            info.text().contains("cluster_state:ok").then_some(())
        })
    }

    /// Runs a script, as a user who can do nothing to the server.
    pub fn eval<A: AsRef<[u8]>>(&mut self, words: &[A]) -> Result<Reply> {
        self.scripts.send(words)?;
        self.scripts.read().with_context(|| {
            let seconds = SCRIPT_DEADLINE.as_secs();
            format!("the script did not end in {seconds} s, or ended the server")
        })
    }

    /// The next thing that the server sends by itself.
    pub fn next(&mut self) -> Result<Reply> {
        self.own.read()
    }
}

/// Root's servers run as this user, who owns nothing: scripts of others run in them.
const NOBODY: u32 = 65534;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The module where a server of that folder can read it.
fn module_for_a_server_in(dir: &Path, programs: &Programs) -> Result<PathBuf> {
    if !is_root() {
        return Ok(programs.module.clone());
    }
    let copy = dir.join("libseckill.so");
    fs::copy(&programs.module, &copy)
        .with_context(|| format!("cannot read {}", programs.module.display()))?;
    // The server loads no module that it could not run.
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755))?;
    Ok(copy)
}

/// Two ports that nobody listened to a moment ago.
fn free_ports() -> Result<[u16; 2]> {
    let free = || TcpListener::bind(("127.0.0.1", 0));
    // Both are bound before one of them is free again, so that they differ.
    let (first, second) = (free()?, free()?);
    Ok([first.local_addr()?.port(), second.local_addr()?.port()])
}

fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> Result<T> {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return Ok(answer);
        }
        if start.elapsed() > DEADLINE {
            bail!("{what} took longer than {} s", DEADLINE.as_secs());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_join_no_cluster() {
        let server = std::env::var_os("REDIS_SERVER").unwrap_or_else(|| "redis-server".into());
        let programs = Programs { server: server.into(), module: PathBuf::new() };
        let node = Server::cluster(&programs, false).expect("a node");
        let mut client = node.client().expect("a client");
        for call in ["'CLUSTER', 'MEET', '127.0.0.1', '1'", "'CLUSTER', 'RESET'"] {
            let script = format!("return redis.call({call})");
            let answer = client.eval(&["EVAL", &script, "0"]).expect("an answer");
            assert!(answer.refuses(), "{call}: {answer}");
        }
        let nodes = client.call(&["CLUSTER", "NODES"]).expect("nodes");
        assert_eq!(nodes.text().lines().count(), 1, "{}", nodes.text());
    }

    #[test]
    fn a_port_that_another_process_has_taken_is_no_failure() {
        let server = std::env::var_os("REDIS_SERVER").unwrap_or_else(|| "redis-server".into());
        let programs = Programs { server: server.into(), module: PathBuf::new() };
        let taken = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let taken = || taken.local_addr().expect("an address").port();
        let mut asked = 0;
        let node = Server::node(&programs, false, || {
            asked += 1;
            let [port, bus] = free_ports()?;
            Ok(match asked {
                1 => [taken(), bus],
                2 => [port, taken()],
                _ => [port, bus],
            })
        });
        let node = node.expect("a server");
        assert!(asked > 2, "asked {asked} times");
        let answer = node.client().expect("a client").call(&["PING"]).expect("an answer");
        assert!(answer.text().contains("PONG"));
        // Where all are taken it says so.
        let error = Server::node(&programs, false, || Ok([taken(), taken()])).err();
        assert!(error.expect("an error").to_string().contains(PORT_IS_TAKEN));
    }
}
