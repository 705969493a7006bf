//! The compared ways to wait for a lock: the requests and replies of each.

use std::time::Duration;

use serde::Serialize;

use crate::Result;
use crate::stand::Stand;
use crate::wire::request;

pub const LOCK: &[u8] = b"lock:order:1000001";
pub const LEASE_MS: &[u8] = b"60000";

/// How to wait for a lock.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Manner {
    Line,
    Spin50,
    Spin1,
    Signal,
    Token,
}

pub const MANNERS: [Manner; 5] =
    [Manner::Line, Manner::Spin50, Manner::Spin1, Manner::Signal, Manner::Token];

/// The list of signals for clients that wait with BLPOP.
const SIGNAL: &[u8] = b"lock-signal:order:1000001";

impl Manner {
    pub fn label(self) -> &'static str {
        match self {
            Self::Line => "LOCK.ACQUIRE .. BLOCK",
            Self::Spin50 => "SET NX every 50 ms",
            Self::Spin1 => "SET NX every 1 ms",
            Self::Signal => "SET NX, then BLPOP of a signal",
            Self::Token => "BLPOP of the one token",
        }
    }

    /// The requests that acquire and release, as bytes.
    pub fn requests(self, stand: &Stand, token: &str) -> (Vec<u8>, Vec<u8>) {
        let token = token.as_bytes();
        match self {
            Self::Line => (
                request(&[b"LOCK.ACQUIRE", LOCK, token, LEASE_MS, b"BLOCK", b"3600000"]),
                request(&[b"LOCK.RELEASE", LOCK, token]),
            ),
            Self::Spin50 | Self::Spin1 => (
                request(&[b"SET", LOCK, token, b"NX", b"PX", LEASE_MS]),
                request(&[b"EVALSHA", stand.scripts.unlock.as_bytes(), b"1", LOCK, token]),
            ),
            Self::Signal => {
                let release = [
                    b"EVALSHA",
                    stand.scripts.unlock_and_signal.as_bytes(),
                    b"2",
                    LOCK,
                    SIGNAL,
                    token,
                    LEASE_MS,
                ];
                (request(&[b"SET", LOCK, token, b"NX", b"PX", LEASE_MS]), request(&release))
            }
            Self::Token => (request(&[b"BLPOP", LOCK, b"0"]), request(&[b"LPUSH", LOCK, b"1"])),
        }
    }

    pub fn is_acquired(self, reply: &[u8]) -> bool {
        match self {
            Self::Line => reply == b":1\r\n",
            Self::Spin50 | Self::Spin1 | Self::Signal => reply == b"+OK\r\n",
            Self::Token => reply.starts_with(b"*2\r\n"),
        }
    }

    pub fn is_refused(self, reply: &[u8]) -> bool {
        matches!(self, Self::Spin50 | Self::Spin1 | Self::Signal) && reply == b"$-1\r\n"
    }

    /// What a client does before its next attempt.
    pub fn patience(self) -> Patience {
        match self {
            Self::Spin50 => Patience::Sleep(Duration::from_millis(50)),
            Self::Signal => Patience::Request(request(&[b"BLPOP", SIGNAL, b"60"])),
            _ => Patience::Sleep(Duration::from_millis(1)),
        }
    }

    /// Pushes the only token, for which BLPOP waits.
    pub fn prepare(self, stand: &mut Stand) -> Result<()> {
        let lock = String::from_utf8_lossy(LOCK);
        let () = stand.run(&["DEL", &lock, &String::from_utf8_lossy(SIGNAL)])?;
        if self == Self::Token {
            let () = stand.run(&["LPUSH", &lock, "1"])?;
        }
        Ok(())
    }
}

/// How a client waits after a refusal.
pub enum Patience {
    Sleep(Duration),
    /// Until this request is answered.
    Request(Vec<u8>),
}
