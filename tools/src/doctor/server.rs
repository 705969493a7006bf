//! Throw-away servers: started in a new folder, on a unix socket, and ended with the program,
//! however that ends; the program connects to no other server. Replies are kept as bytes: an error
//! may quote a script that is cut inside a character, and the redis crate refuses text that is not
//! UTF-8.

use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use crate::reply::{Reply, Words};

/// How long a server may take to answer, and how long a script may run. Usual ones take
/// milliseconds.
const DEADLINE: Duration = Duration::from_secs(60);
const SCRIPT_DEADLINE: Duration = Duration::from_secs(10);

/// How much memory a server may have, Lua's included: the keys' bound does not count that.
pub const MEMORY_MAX_MB: u64 = 1024;

/// A script may reply with anything.
const REPLY_LEN_MAX: u64 = 64 << 20;

/// The ACL user that runs scripts: it may do what scripts of shops do, and nothing to the server.
pub const SCRIPT_USER: &str = "user script on nopass ~* &* +@all -@admin -@dangerous +keys +sort \
    +sort_ro +info";

const NO_ANSWER: &str = "no answer from the doctor's own server";

/// A connection that keeps error replies as values, and another one for scripts.
pub struct Client {
    own: Wire,
    scripts: Wire,
}

struct Wire(BufReader<UnixStream>);

impl Client {
    pub fn open(socket: &Path) -> Result<Self> {
        let mut scripts = Wire::open(socket, SCRIPT_DEADLINE)?;
        scripts.send(&["AUTH", "script", ""])?;
        scripts.read()?;
        Ok(Self { own: Wire::open(socket, DEADLINE)?, scripts })
    }

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
        self.scripts.send(words)?;
        self.scripts.read().with_context(|| {
            let seconds = SCRIPT_DEADLINE.as_secs();
            format!(
                "the script did not end in {seconds} s, or took the server's {MEMORY_MAX_MB} MB"
            )
        })
    }
}

impl Wire {
    fn open(socket: &Path, deadline: Duration) -> Result<Self> {
        let stream =
            UnixStream::connect(socket).context("connecting to the doctor's own server")?;
        stream.set_read_timeout(Some(deadline))?;
        stream.set_write_timeout(Some(deadline))?;
        Ok(Self(BufReader::new(stream)))
    }

    fn send<A: AsRef<[u8]>>(&mut self, words: &[A]) -> Result<()> {
        let words: Vec<&[u8]> = words.iter().map(AsRef::as_ref).collect();
        let packed = redis::Cmd::new().arg(words).get_packed_command();
        self.0.get_mut().write_all(&packed).context(NO_ANSWER)
    }

    fn read(&mut self) -> Result<Reply> {
        let mut left = (&mut self.0).take(REPLY_LEN_MAX);
        let reply = read(&mut left);
        ensure!(left.limit() > 0, "a reply is longer than {} MB", REPLY_LEN_MAX >> 20);
        reply
    }
}

fn read(from: &mut dyn BufRead) -> Result<Reply> {
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line).context(NO_ANSWER)?;
    let line = line.strip_suffix(b"\r\n").and_then(<[u8]>::split_first);
    let (kind, text) = line.context("the doctor's own server closed the connection")?;
    let number = || String::from_utf8_lossy(text).parse::<i64>();
    Ok(match kind {
        b'+' => Reply::Status(String::from_utf8_lossy(text).into_owned()),
        b'-' => Reply::error(text),
        b':' => Reply::Int(number()?),
        b'$' | b'*' if number()? < 0 => Reply::Nil,
        b'$' => {
            let (len, mut bytes) = (usize::try_from(number()?)?, Vec::new());
            let end = len as u64 + 2;
            from.take(end).read_to_end(&mut bytes).context(NO_ANSWER)?;
            ensure!(bytes.len() as u64 == end, NO_ANSWER);
            bytes.truncate(len);
            Reply::Text(bytes)
        }
        b'*' => Reply::List((0..number()?).map(|_| read(from)).collect::<Result<_>>()?),
        _ => bail!("the doctor's own server did not answer in RESP"),
    })
}

const START_DEADLINE: Duration = Duration::from_secs(60);

/// Started by root, servers run as the user nobody, who owns no files, since they run unknown
/// scripts.
const NOBODY: u32 = 65534;

/// Becomes the server `$0` in the folder `$1`, with bounds of memory (in kB) and of each file (in
/// blocks of 512 bytes) from its first moment; where a lower one is set, that one stays. The shell
/// beside it waits for a line. If the program ends without one, it ends the server and removes the
/// folder.
const SHELL: &str = r#"trap '' HUP INT XFSZ
exec 3<&0 </dev/null
(read -r line <&3 || { kill -9 $$; cd /; rm -rf "$1"; }) >/dev/null 2>&1 &
exec 3<&-
ulimit -v "$2"; ulimit -f 2048
exec "$0" "$1/redis.conf""#;

/// The files that servers are started from.
pub struct Programs {
    pub server: PathBuf,
    pub module: PathBuf,
}

/// A running server, ended when dropped.
pub struct Server {
    child: Child,
    dir: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        // An error means that it has ended already. The line is for the shell beside it.
        let _ = self.child.kill();
        let _ = self.child.stdin.take().map(|mut shell| shell.write_all(b"\n"));
        let _ = self.child.wait();
    }
}

impl Server {
    /// Listens on its socket alone: where a port is open, any process of the machine is the
    /// administrator.
    pub fn start(programs: &Programs, module: bool) -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("seckill-doctor-").tempdir()?;
        let (path, is_root) = (dir.path(), rustix::process::geteuid().is_root());
        // A script must not reach another server: MIGRATE is the only command that could.
        let mut conf = format!(
            "port 0\nunixsocket {0}/socket\ndir {0}\nsave \"\"\nappendonly no\n\
             rename-command MIGRATE \"\"\nmaxmemory 256mb\n{SCRIPT_USER}\n",
            path.display()
        );
        if module {
            let module =
                if is_root { copied(&programs.module, path)? } else { programs.module.clone() };
            conf += &format!("loadmodule {}\n", module.display());
        }
        fs::write(path.join("redis.conf"), conf)?;
        let log = File::create(path.join("log"))?;
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(SHELL).arg(&programs.server).arg(path);
        command.arg((MEMORY_MAX_MB << 10).to_string()).current_dir(path);
        command.stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log);
        if is_root {
            chown(path, Some(NOBODY), Some(NOBODY))?;
            command.uid(NOBODY).gid(NOBODY);
        }
        let child = command.spawn().context("cannot run /bin/sh, which starts the servers")?;
        let mut server = Self { child, dir };
        server.wait_until_up(is_root)?;
        Ok(server)
    }

    fn wait_until_up(&mut self, is_root: bool) -> Result<()> {
        let start = Instant::now();
        while !self.client().is_ok_and(|mut client| client.must(&["PING"]).is_ok()) {
            if !matches!(self.child.try_wait(), Ok(None)) {
                let log = fs::read(self.dir.path().join("log")).unwrap_or_default();
                let log = String::from_utf8_lossy(&log);
                let lines: Vec<&str> = log.lines().collect();
                let last = lines[lines.len().saturating_sub(6)..].join(" | ");
                let who = " as the user nobody, whom the doctor uses for root";
                bail!(
                    "the doctor's own server did not start{}: install redis-server, or name one \
                     by --server or REDIS_SERVER; its output ends with: {last}",
                    if is_root { who } else { "" }
                )
            }
            ensure!(start.elapsed() < START_DEADLINE, "the doctor's own server does not answer");
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    pub fn client(&self) -> Result<Client> {
        Client::open(&self.dir.path().join("socket"))
    }
}

/// The module in a place where a server of this folder can read it: executable, or no server loads
/// it.
fn copied(module: &Path, dir: &Path) -> Result<PathBuf> {
    let copy = dir.join("libseckill.so");
    fs::copy(module, &copy).with_context(|| format!("cannot read {}", module.display()))?;
    fs::set_permissions(&copy, Permissions::from_mode(0o755))?;
    Ok(copy)
}
