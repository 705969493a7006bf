//! Commands that are encoded before the measurement, and the loop that sends them in pipelines.
//!
//! A load has the exact bytes of every expected reply, so a turn with an error or another outcome
//! ends the benchmark instead of being measured.

use std::io::{Read, Write};
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::Result;

/// Commands in flight per connection. A batch of any contender fits into one read (16 KiB) of the
/// server, so all contenders need the same number of turns of its event loop.
pub const PIPELINE: usize = 100;

/// Connections of a pipelined load: several, so that the server always has a next batch.
pub const LANES: usize = 4;

const REPLY_TIMEOUT: Duration = Duration::from_secs(30);

/// One command as an array of bulk strings, appended to `into`.
pub fn encode(into: &mut Vec<u8>, args: &[&[u8]]) {
    into.extend_from_slice(format!("*{}\r\n", args.len()).as_bytes());
    for arg in args {
        into.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
        into.extend_from_slice(arg);
        into.extend_from_slice(b"\r\n");
    }
}

/// One request as it goes over the wire.
pub fn request(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(&mut bytes, words);
    bytes
}

/// Commands with their expected replies, in batches of `depth`.
pub struct Load {
    requests: Joined,
    replies: Joined,
    reply: Vec<u8>,
    depth: usize,
    /// Sent on one connection, since a reply depends on the commands before.
    in_order: bool,
}

/// Texts one after the other, with the end of each.
#[derive(Default)]
struct Joined {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Joined {
    fn end_one(&mut self) {
        self.ends.push(self.bytes.len());
    }

    fn slice(&self, texts: &Range<usize>) -> &[u8] {
        let start = texts.start.checked_sub(1).map_or(0, |last| self.ends[last]);
        &self.bytes[start..self.ends[texts.end - 1]]
    }
}

impl Load {
    /// `reply` is the exact reply to each command that is pushed without its own reply.
    pub fn new(depth: usize, reply: &[u8]) -> Self {
        let (requests, replies) = (Joined::default(), Joined::default());
        Self { requests, replies, reply: reply.to_vec(), depth, in_order: false }
    }

    /// A load whose commands must run in the order in which they are pushed.
    pub fn in_order(depth: usize) -> Self {
        Self { in_order: true, ..Self::new(depth, b"") }
    }

    pub fn push(&mut self, args: &[&[u8]]) {
        self.push_all(&[args]);
    }

    /// Several commands that count as one; the load's reply is all their replies together.
    pub fn push_all(&mut self, commands: &[&[&[u8]]]) {
        for args in commands {
            encode(&mut self.requests.bytes, args);
        }
        self.requests.end_one();
        self.replies.bytes.extend_from_slice(&self.reply);
        self.replies.end_one();
    }

    /// One command with its own reply.
    pub fn push_answered(&mut self, args: &[&[u8]], reply: &[u8]) {
        encode(&mut self.requests.bytes, args);
        self.requests.end_one();
        self.replies.bytes.extend_from_slice(reply);
        self.replies.end_one();
    }

    pub fn commands(&self) -> usize {
        self.requests.ends.len()
    }

    pub fn batches(&self) -> usize {
        self.commands().div_ceil(self.depth)
    }

    /// The bytes of batch `index` and the expected replies.
    pub fn batch(&self, index: usize) -> (&[u8], &[u8]) {
        let start = index * self.depth;
        let commands = start..(start + self.depth).min(self.commands());
        (self.requests.slice(&commands), self.replies.slice(&commands))
    }
}

/// The connections of a pipelined load.
pub struct Lanes {
    streams: Vec<UnixStream>,
    read: Vec<u8>,
}

impl Lanes {
    pub fn connect(socket: &Path) -> Result<Self> {
        let streams = (0..LANES).map(|_| connect(socket)).collect::<Result<_>>()?;
        Ok(Self { streams, read: Vec::new() })
    }

    /// Sends the whole load `passes` times and checks every reply.
    pub fn run(&mut self, load: &Load, passes: usize) -> Result<()> {
        let batches = load.batches() * passes;
        for step in 0..batches + LANES {
            let lane = if load.in_order { 0 } else { step % LANES };
            if let Some(sent) = step.checked_sub(LANES) {
                self.expect(lane, load.batch(sent % load.batches()).1)?;
            }
            if step < batches {
                self.streams[lane].write_all(load.batch(step % load.batches()).0)?;
            }
        }
        Ok(())
    }

    fn expect(&mut self, lane: usize, replies: &[u8]) -> Result<()> {
        self.read.resize(replies.len(), 0);
        self.streams[lane].read_exact(&mut self.read)?;
        check(&self.read, replies)
    }
}

/// An error with the first replies, if they differ from the expected ones.
pub fn check(got: &[u8], wanted: &[u8]) -> Result<()> {
    if got == wanted {
        return Ok(());
    }
    let start = |bytes: &[u8]| bytes[..bytes.len().min(60)].escape_ascii().to_string();
    Err(format!("answered \"{}\", expected \"{}\"", start(got), start(wanted)).into())
}

pub fn connect(socket: &Path) -> Result<UnixStream> {
    let stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(REPLY_TIMEOUT))?;
    Ok(stream)
}
