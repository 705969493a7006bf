//! Connections to the doctor's own servers. Replies are kept as bytes: an error may quote a script
//! that is cut inside a character, and the redis crate refuses text that is not UTF-8.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::reply::{Reply, Words};

/// How long a server may take to answer, and how long a script may run. Usual ones take
/// milliseconds.
const DEADLINE: Duration = Duration::from_secs(60);
const SCRIPT_DEADLINE: Duration = Duration::from_secs(10);

/// How much memory a server may have, Lua's included: the keys' bound does not count that.
pub const MEMORY_MAX_MB: u64 = 1024;

/// A script may reply with anything, and MONITOR shows it.
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
        let reply = self.scripts.read().with_context(|| {
            let seconds = SCRIPT_DEADLINE.as_secs();
            format!(
                "the script did not end in {seconds} s, or took the server's {MEMORY_MAX_MB} MB"
            )
        })?;
        let is_full = reply.refuses() && reply.text().contains("not enough memory");
        ensure!(!is_full, "the script and its server took more than {MEMORY_MAX_MB} MB of memory");
        Ok(reply)
    }

    /// The next message that the server sends without a request.
    pub fn next(&mut self) -> Result<Reply> {
        self.own.read()
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
