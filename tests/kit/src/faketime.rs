//! Servers whose wall clock is set by libfaketime while they run; their monotonic clock continues.

use std::fs;
use std::path::PathBuf;

use crate::harness::{Server, left_out, wait_for};
use crate::sales::unix_ms;
use tempfile::TempDir;

/// Where distributions install the library.
const LIBRARIES: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/faketime/libfaketime.so.1",
    "/usr/lib64/faketime/libfaketime.so.1",
];

const HOUR_MS: i64 = 3_600_000;

/// The file with the offset of a server's clock.
pub struct Clock {
    offset: PathBuf,
    _dir: TempDir,
}

impl Clock {
    /// Starts a server whose clock can be set. None if the library is missing or the server does
    /// not run with it.
    pub fn start() -> Option<(Self, Server)> {
        let library = LIBRARIES.iter().find(|path| fs::exists(path).unwrap_or(false));
        let Some(library) = library else {
            left_out("tests of a clock that is set: libfaketime is not installed");
            return None;
        };
        let dir = tempfile::tempdir().expect("a directory");
        let offset = dir.path().join("offset");
        fs::write(&offset, "+0\n").expect("the offset");
        let with = || {
            let server = Server::with().env("FAKETIME_TIMESTAMP_FILE", &offset);
            let server = server.env("FAKETIME_NO_CACHE", "1");
            let server = server.env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
            // jemalloc reads the clock before the library is ready for it: libc replaces it.
            server.env("LD_PRELOAD", format!("{library} libc.so.6"))
        };
        if let Err(log) = with().without_module().try_start() {
            let last = log.lines().last().unwrap_or_default();
            left_out(&format!("tests of a clock that is set: no server with libfaketime: {last}"));
            return None;
        }
        let server = with().start();
        Some((Self { offset, _dir: dir }, server))
    }

    /// Sets the clock this many hours off the true time.
    pub fn set(&self, server: &Server, hours: i64) {
        self.set_off(server, hours * HOUR_MS, HOUR_MS / 2);
    }

    /// Sets the clock this much off the true time, as exactly as `slack_ms`.
    pub fn set_off(&self, server: &Server, ms: i64, slack_ms: i64) {
        self.write(&format!("{:+}\n", ms / 1000));
        let off = || server.clock_ms() - unix_ms();
        let is_set =
            wait_for("the clock to be set", || ((off() - ms).abs() < slack_ms).then_some(()));
        is_set.unwrap_or_else(|late| panic!("{late}: {} off", off()));
    }
}

impl Clock {
    /// Sets the clock in the library's own words.
    pub fn write(&self, offset: &str) {
        let new = self.offset.with_extension("new");
        fs::write(&new, offset).expect("the offset");
        // Renamed, so that the server never reads a partial file.
        fs::rename(new, &self.offset).expect("the offset is replaced");
    }
}
