//! Throw-away servers: started in a new folder, on a unix socket, and ended with the program.
//!
//! The program connects to no other server. All servers it starts are in one list, so that a signal
//! can end them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, sink};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use crate::reply::Reply;
use crate::wire::{Wire, Words};

/// How long a server may take to start, or to answer.
const DEADLINE: Duration = Duration::from_secs(60);

/// How long a script may run. Usual scripts take milliseconds.
const SCRIPT_DEADLINE: Duration = Duration::from_secs(10);

/// The ACL user that runs scripts: it may do what scripts of shops do, and nothing to the server.
const SCRIPT_USER: &str = "script";
const SCRIPT_RULES: &str = "~* &* +@all -@admin -@dangerous +keys +sort +sort_ro +info";

/// How much of a server's output is kept, since a script may log without end.
const LOG_LEN_MAX: u64 = 1 << 20;

/// The longest file that a server may write.
const FILE_LEN_MAX: u64 = 64 << 20;

/// How much memory a server may have, Lua's included: the keys' bound does not count that.
const MEMORY_MAX: u64 = 1 << 30;

/// The files that servers are started from.
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

/// None once the program ends: after that no server may be started. A thread that starts or ends a
/// server holds the lock until it has finished, so that no server outlives the program.
static RUNNING: Mutex<Option<BTreeMap<u32, Running>>> = Mutex::new(Some(BTreeMap::new()));

fn running() -> MutexGuard<'static, Option<BTreeMap<u32, Running>>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Running {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ends every server, for when the program is asked to end.
pub fn end_all() {
    *running() = None;
}

impl Server {
    /// Listens on its socket alone: where a port is open, any process of the machine is the
    /// administrator.
    pub fn start(programs: &Programs, module: bool) -> Result<Self> {
        let mut running = running();
        let list = running.as_mut().context("the program is ending")?;
        let dir = tempfile::Builder::new().prefix("seckill-doctor-").tempdir()?;
        let socket = dir.path().join("socket");
        // A script must not reach another server: MIGRATE is the only command that could.
        let mut conf = format!(
            "port 0\nunixsocket {}\ndir {}\nsave \"\"\nappendonly no\n\
             rename-command MIGRATE \"\"\nmaxmemory 256mb\n\
             user {SCRIPT_USER} on nopass {SCRIPT_RULES}\n",
            socket.display(),
            dir.path().display()
        );
        if module {
            let module = module_for_a_server_in(dir.path(), programs)?;
            conf += &format!("loadmodule {}\n", module.display());
        }
        fs::write(dir.path().join("redis.conf"), conf)?;
        let (mut said, say) = std::io::pipe()?;
        let mut command = bounded(&programs.server);
        command
            .arg(dir.path().join("redis.conf"))
            .current_dir(dir.path())
            .stdin(Stdio::null())
            .stdout(say.try_clone()?)
            .stderr(say);
        if is_root() {
            given_to_nobody(dir.path())?;
            command.uid(NOBODY).gid(NOBODY);
        }
        let child = command.spawn().context("cannot run /bin/sh, which starts the servers")?;
        // It holds an end of the pipe, so the pipe would never close.
        drop(command);
        let id = child.id();
        let log = std::thread::spawn(move || {
            let mut log = Vec::new();
            // What can't be read is missing in the log.
            let _ = said.by_ref().take(LOG_LEN_MAX).read_to_end(&mut log);
            let _ = std::io::copy(&mut said, &mut sink());
            String::from_utf8_lossy(&log).into_owned()
        });
        list.insert(id, Running { child, _dir: dir });
        drop(running);
        let server = Self { id, socket };
        server.wait_until_up(log)?;
        Ok(server)
    }

    fn wait_until_up(&self, log: JoinHandle<String>) -> Result<()> {
        let start = Instant::now();
        let answers = || self.client().ok()?.call(&["PING"]).ok();
        while !answers().is_some_and(|reply| reply.text().contains("PONG")) {
            let ended = match running().as_mut().and_then(|list| list.get_mut(&self.id)) {
                Some(process) => !matches!(process.child.try_wait(), Ok(None)),
                None => true,
            };
            if ended {
                // The log is complete once the server has closed the pipe.
                let log = log.join().unwrap_or_default();
                let lines: Vec<&str> = log.lines().collect();
                let last = lines[lines.len().saturating_sub(6)..].join(" | ");
                let who = " as the user nobody, whom the doctor uses for root";
                let user = if is_root() { who } else { "" };
                bail!(
                    "the doctor's own server did not start{user}: install redis-server, or name \
                     one by --server or REDIS_SERVER; its output ends with: {last}"
                )
            }
            ensure!(start.elapsed() < DEADLINE, "the doctor's own server does not answer");
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    pub fn client(&self) -> Result<Client> {
        let mut scripts = Wire::open(&self.socket, SCRIPT_DEADLINE)?;
        scripts.send(&["AUTH", SCRIPT_USER, ""])?;
        scripts.read()?;
        Ok(Client { own: Wire::open(&self.socket, DEADLINE)?, scripts })
    }
}

/// A server whose memory and files are bounded from its first moment, by the shell that becomes the
/// server: this program keeps its own bounds, and prlimit on a process of the user nobody needs a
/// right that root lacks in most containers.
fn bounded(server: &Path) -> Command {
    use rustix::process::{Resource, getrlimit};
    let most = |of, ours: u64| getrlimit(of).maximum.map_or(ours, |most| most.min(ours));
    let memory = most(Resource::As, MEMORY_MAX) >> 10;
    let blocks = most(Resource::Fsize, FILE_LEN_MAX) >> 9;
    let bounds = format!("ulimit -v {memory} && ulimit -f {blocks} && exec \"$0\" \"$@\"");
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(bounds).arg(server);
    command
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(list) = running().as_mut() {
            list.remove(&self.id);
        }
    }
}

impl Client {
    /// Sends a command and returns its reply, even an error reply.
    pub fn call<A: AsRef<[u8]>>(&mut self, words: &[A]) -> Result<Reply> {
        self.own.send(words)?;
        self.own.read()
    }

    /// Sends a command for which an error reply is an error.
    pub fn must<A: AsRef<[u8]>>(&mut self, words: &[A]) -> Result<Reply> {
        let reply = self.call(words)?;
        if reply.refuses() {
            let command = words.first().map(|name| String::from_utf8_lossy(name.as_ref()));
            bail!("{} on the doctor's own server: {reply}", command.unwrap_or_default());
        }
        Ok(reply)
    }

    /// Sends many commands at once.
    pub fn replies(&mut self, commands: &[Words]) -> Result<Vec<Reply>> {
        commands.iter().try_for_each(|words| self.own.send(words))?;
        commands.iter().map(|_| self.own.read()).collect()
    }

    /// Runs a script, as a user that can do nothing to the server.
    pub fn eval<A: AsRef<[u8]>>(&mut self, words: &[A]) -> Result<Reply> {
        let (seconds, memory) = (SCRIPT_DEADLINE.as_secs(), MEMORY_MAX >> 20);
        self.scripts.send(words)?;
        let reply = self.scripts.read().with_context(|| {
            format!("the script did not end in {seconds} s, or took the server's {memory} MB")
        })?;
        let is_full = reply.refuses() && reply.text().contains("not enough memory");
        ensure!(!is_full, "the script and its server took more than {memory} MB of memory");
        Ok(reply)
    }

    /// The next message that the server sends without a request.
    pub fn next(&mut self) -> Result<Reply> {
        self.own.read()
    }
}

/// Started by root, servers run as this user, who owns no files, since they run unknown scripts.
const NOBODY: u32 = 65534;

fn given_to_nobody(path: &Path) -> std::io::Result<()> {
    std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY))
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The module's path, in a place where a server of that folder can read it.
fn module_for_a_server_in(dir: &Path, programs: &Programs) -> Result<PathBuf> {
    if !is_root() {
        return Ok(programs.module.clone());
    }
    let copy = dir.join("libseckill.so");
    fs::copy(&programs.module, &copy)
        .with_context(|| format!("cannot read {}", programs.module.display()))?;
    // The server only loads a module whose file is executable.
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755))?;
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_have_no_port_and_scripts_join_no_cluster() {
        let server = std::env::var_os("REDIS_SERVER").unwrap_or_else(|| "redis-server".into());
        let programs = Programs { server: server.into(), module: PathBuf::new() };
        let server = Server::start(&programs, false).expect("a server");
        let mut client = server.client().expect("a client");
        let port = client.call(&["CONFIG", "GET", "port"]).expect("a port").items();
        assert_eq!(port[1].clone().bytes(), b"0");
        for call in ["'CLUSTER', 'MEET', '127.0.0.1', '1'", "'REPLICAOF', '127.0.0.1', '1'"] {
            let script = format!("return redis.call({call})");
            let answer = client.eval(&["EVAL", &script, "0"]).expect("an answer");
            assert!(answer.refuses(), "{call}: {answer}");
        }
    }
}
