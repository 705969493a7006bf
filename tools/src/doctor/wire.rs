//! A connection to one of the doctor's servers. Replies are kept as bytes: an error may quote a
//! script that is cut inside a character, and the redis crate refuses text that is not UTF-8.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::reply::Reply;

pub type Words = Vec<Vec<u8>>;

/// A script may reply with anything, and MONITOR shows it.
const REPLY_LEN_MAX: u64 = 64 << 20;

pub struct Wire(BufReader<UnixStream>);

impl Wire {
    pub fn open(socket: &Path, deadline: Duration) -> Result<Self> {
        let stream =
            UnixStream::connect(socket).context("connecting to the doctor's own server")?;
        stream.set_read_timeout(Some(deadline))?;
        stream.set_write_timeout(Some(deadline))?;
        Ok(Self(BufReader::new(stream)))
    }

    pub fn send<A: AsRef<[u8]>>(&mut self, words: &[A]) -> Result<()> {
        let words: Vec<&[u8]> = words.iter().map(AsRef::as_ref).collect();
        let packed = redis::Cmd::new().arg(words).get_packed_command();
        self.0.get_mut().write_all(&packed).context("no answer from the doctor's own server")
    }

    pub fn read(&mut self) -> Result<Reply> {
        self.read_within(&mut REPLY_LEN_MAX.clone())
    }

    /// Reads a reply that is not longer than `left`, of which it takes what it has read.
    fn read_within(&mut self, left: &mut u64) -> Result<Reply> {
        let mut line = Vec::new();
        let len = (&mut self.0).take(*left).read_until(b'\n', &mut line);
        let len = len.context("no answer from the doctor's own server")?;
        *left = left.saturating_sub(len as u64);
        ensure!(*left > 0, "a reply is longer than {} MB", REPLY_LEN_MAX >> 20);
        let Some((kind, text)) = line.strip_suffix(b"\r\n").and_then(<[u8]>::split_first) else {
            bail!("the doctor's own server closed the connection");
        };
        let number = || String::from_utf8_lossy(text).parse::<i64>();
        Ok(match kind {
            b'+' => Reply::Status(String::from_utf8_lossy(text).into_owned()),
            b'-' => Reply::error(text),
            b':' => Reply::Int(number()?),
            b'$' => match usize::try_from(number()?) {
                Ok(len) => Reply::Text(self.bytes(len, left)?),
                Err(_) => Reply::Nil,
            },
            b'*' => match number()? {
                -1 => Reply::Nil,
                len => {
                    Reply::List((0..len).map(|_| self.read_within(left)).collect::<Result<_>>()?)
                }
            },
            _ => bail!("the doctor's own server did not answer in RESP"),
        })
    }

    fn bytes(&mut self, len: usize, left: &mut u64) -> Result<Vec<u8>> {
        *left = left.saturating_sub(len as u64);
        ensure!(*left > 0, "a reply is longer than {} MB", REPLY_LEN_MAX >> 20);
        let mut bytes = vec![0; len + 2];
        self.0.read_exact(&mut bytes).context("no answer from the doctor's own server")?;
        bytes.truncate(len);
        Ok(bytes)
    }
}
