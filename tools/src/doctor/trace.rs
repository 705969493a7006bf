//! Watches a script at work: which commands it calls, on which keys, by MONITOR on a second
//! connection. The script itself stays as it is.

use anyhow::{Context, Result};
use redis::Value;

use crate::reply::Reply;
use crate::server::{Client, Server};

/// A command as the script called it, its name in capitals.
pub type Call = Vec<Vec<u8>>;

/// Two connections to a server without the module.
pub struct Watch {
    pub client: Client,
    monitor: Client,
}

/// What was seen of one run.
pub struct Seen {
    pub reply: Reply,
    pub calls: Vec<Call>,
}

const END: &[u8] = b"seckill-doctor-end-of-the-run";

impl Watch {
    pub fn of(server: &Server) -> Result<Self> {
        let client = server.client()?;
        let mut monitor = server.client()?;
        monitor.must(&["MONITOR"])?;
        Ok(Self { client, monitor })
    }

    pub fn run(&mut self, eval: &[Vec<u8>]) -> Result<Seen> {
        let reply = self.client.eval(eval)?;
        self.client.must(&[b"ECHO", END])?;
        let mut calls = Vec::new();
        loop {
            let line = match self.monitor.next()? {
                Value::SimpleString(line) => line.into_bytes(),
                Value::BulkString(line) => line,
                _ => continue,
            };
            let (by_script, call) = parse(&line).context("a line of MONITOR")?;
            if by_script {
                calls.push(call);
            } else if call.get(1).is_some_and(|word| word == END) {
                return Ok(Seen { reply, calls });
            }
        }
    }
}

/// Whether a script called, and what: `1700000000.123456 [0 lua] "GET" "seckill:stock:7"`.
fn parse(line: &[u8]) -> Option<(bool, Call)> {
    let from = line.iter().position(|byte| *byte == b'[')?;
    let to = from + line[from..].iter().position(|byte| *byte == b']')?;
    let by_script = line[from..to].ends_with(b" lua");
    let mut call = words(&line[to + 1..]);
    if let Some(name) = call.first_mut() {
        name.make_ascii_uppercase();
    }
    Some((by_script, call))
}

/// Quoted words, with the escapes that the server writes.
fn words(text: &[u8]) -> Call {
    let mut words: Call = Vec::new();
    let mut open: Option<Vec<u8>> = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (&mut open, byte) {
            (None, b'"') => open = Some(Vec::new()),
            (None, _) => {}
            (Some(_), b'"') => words.extend(open.take()),
            (Some(word), b'\\') => match bytes.next() {
                Some(b'n') => word.push(b'\n'),
                Some(b'r') => word.push(b'\r'),
                Some(b't') => word.push(b'\t'),
                Some(b'a') => word.push(7),
                Some(b'b') => word.push(8),
                Some(b'x') => {
                    let digits: String = bytes.by_ref().take(2).map(char::from).collect();
                    word.push(u8::from_str_radix(&digits, 16).unwrap_or_default());
                }
                Some(other) => word.push(other),
                None => {}
            },
            (Some(word), other) => word.push(other),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_apart() {
        let (by_script, call) = parse(br#"17.1 [0 lua] "get" "a b\"\\" "\x00\xff\n""#).unwrap();
        assert!(by_script);
        assert_eq!(call, [&b"GET"[..], b"a b\"\\", b"\x00\xff\n"]);
        let (by_script, call) = parse(br#"17.1 [0 unix:/a/socket] "PING""#).unwrap();
        assert!(!by_script);
        assert_eq!(call, [b"PING"]);
    }
}
