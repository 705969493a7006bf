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

const NO_ANSWER: &str = "no answer from the doctor's own server";

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
        self.0.get_mut().write_all(&packed).context(NO_ANSWER)
    }

    pub fn read(&mut self) -> Result<Reply> {
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
