//! Commands that are encoded before the measurement, and the loop that sends them in pipelines.
//!
//! A load has the exact bytes of every expected reply, so a turn with an error or another outcome
//! ends the benchmark instead of being measured.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::Result;

/// Commands in flight per connection. A batch of any contender fits into one read (16 KiB) of the
/// server, so all contenders need the same number of turns of its event loop.
pub const PIPELINE: usize = 100;
/// Connections of a pipelined load: several, so that the server always has a next batch.
pub const LANES: usize = 4;
/// A server that says nothing for this long ends the benchmark.
pub const SILENCE_MAX: Duration = Duration::from_secs(30);

/// Commands with their expected replies, in batches of `depth`.
pub struct Load {
    /// The bytes of each: commands and replies.
    pub batches: Vec<(Vec<u8>, Vec<u8>)>,
    pub commands: usize,
    depth: usize,
    /// One if a reply depends on the commands before.
    lanes: usize,
}

impl Load {
    pub fn new(depth: usize) -> Self {
        Self { batches: Vec::new(), commands: 0, depth, lanes: LANES }
    }

    /// A load whose commands must run in the order in which they are pushed.
    pub fn in_order(depth: usize) -> Self {
        Self { lanes: 1, ..Self::new(depth) }
    }

    pub fn push(&mut self, words: &[impl AsRef<[u8]>], reply: &str) {
        if self.commands.is_multiple_of(self.depth) {
            self.batches.push((Vec::new(), Vec::new()));
        }
        if let Some((commands, replies)) = self.batches.last_mut() {
            let mut command = redis::Cmd::new();
            words.iter().for_each(|word| _ = command.arg(word.as_ref()));
            commands.extend(command.get_packed_command());
            replies.extend_from_slice(reply.as_bytes());
        }
        self.commands += 1;
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
        let batches = load.batches.len() * passes;
        for step in 0..batches + LANES {
            let lane = step % load.lanes;
            if let Some(sent) = step.checked_sub(LANES) {
                let (_, replies) = &load.batches[sent % load.batches.len()];
                self.read.resize(replies.len(), 0);
                self.streams[lane].read_exact(&mut self.read)?;
                check(&self.read, replies)?;
            }
            if step < batches {
                self.streams[lane].write_all(&load.batches[step % load.batches.len()].0)?;
            }
        }
        Ok(())
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
    stream.set_read_timeout(Some(SILENCE_MAX))?;
    Ok(stream)
}

pub fn ping(stream: &mut UnixStream) -> Result<()> {
    stream.write_all(b"PING\r\n")?;
    let mut reply = [0; 7];
    stream.read_exact(&mut reply)?;
    check(&reply, b"+PONG\r\n")
}
