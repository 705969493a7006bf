//! A disk so small that it is soon full.

use std::fs;
use std::path::{Path, PathBuf};

use crate::acknowledged;
use crate::crash::ask_for_locks;
use crate::harness::{Server, left_out, tool, wait_for};
use crate::length::{Tally, histories};
use crate::load::{Load, tally};
use crate::whole::assert_whole;
use crate::world::{free_locks, make, wait_for_holds};
use tempfile::TempDir;

/// A file system in memory that has half a megabyte left.
struct SmallDisk(TempDir);

/// Once the filler is gone, there is room for all that waits to be written: a server whose fsync is
/// slow, as on a busy machine, gathers two seconds of load before it writes.
const DISK_LEN: usize = 32 << 20;
const LEFT_LEN: usize = 1 << 19;

impl SmallDisk {
    /// None if mounting is not allowed.
    fn mount() -> Option<Self> {
        let dir = tempfile::Builder::new().prefix("seckill-").tempdir().expect("a directory");
        let path = dir.path().to_str().expect("a name").to_owned();
        let options = format!("size={DISK_LEN},mode=700");
        if !tool(&["mount", "-t", "tmpfs", "-o", &options, "none", &path]) {
            left_out("storms on a small disk: it can't be mounted here");
            return None;
        }
        let disk = Self(dir);
        fs::write(disk.filler(), vec![0; DISK_LEN - LEFT_LEN]).expect("something on the disk");
        Some(disk)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn filler(&self) -> PathBuf {
        self.path().join("filler")
    }

    fn make_room(&self) {
        fs::remove_file(self.filler()).expect("room");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A server that is being killed may still use it.
        let path = self.path().to_string_lossy().into_owned();
        let _ = wait_for("the disk to be free", || tool(&["umount", &path]).then_some(()));
    }
}

fn server_on(disk: &SmallDisk, appendfsync: &str) -> Server {
    let lines = [
        "appendonly yes".to_owned(),
        format!("appendfsync {appendfsync}"),
        format!("dir {}", disk.path().display()),
    ];
    lines.into_iter().fold(Server::with(), |with, line| with.config(line)).start()
}

#[test]
fn a_small_disk_that_is_full_ends_a_server_that_always_syncs_and_loses_nothing() {
    histories("small disk, appendfsync always", 1, |seed| {
        let Some(disk) = SmallDisk::mount() else { return Tally::default() };
        let mut server = server_on(&disk, "always");
        make(&server, 600_000);
        let load = Load::start(&server, seed, 0);
        // This waits until the server stops.
        load.wait_for_answers(usize::MAX);
        let mut logs = load.end();
        assert!(server.log().contains("recover from AOF write error"), "{}", server.log());
        disk.make_room();
        server.kill9();
        server.fix_aof();
        server.start_again();
        logs.push(ask_for_locks(&server, 0));
        let state = assert_whole(&server);
        acknowledged::check(&server, &state, &logs);
        free_locks(&server);
        let digest = server.digest();
        server.kill9();
        server.start_again();
        assert_eq!(server.digest(), digest);
        Tally { ends: 1, ..tally(&logs) }
    });
}

#[test]
fn a_small_disk_that_is_full_stops_the_sale_until_there_is_room() {
    histories("small disk, appendfsync everysec", 1, |seed| {
        let Some(disk) = SmallDisk::mount() else { return Tally::default() };
        let mut server = server_on(&disk, "everysec");
        make(&server, 30);
        let load = Load::start(&server, seed, 0);
        let is_full = |is: &str| {
            server.until("the disk to be full, or not", || {
                server.info("aof_last_write_status").as_deref() == Some(is)
            });
        };
        is_full("err");
        load.wait_for_more_answers(100);
        let refused = server.say("SECKILL.TRY u late olate");
        assert!(refused.starts_with("MISCONF "), "{refused}");
        disk.make_room();
        is_full("ok");
        let logs = load.end();
        wait_for_holds(&server, 30);
        let state = assert_whole(&server);
        acknowledged::check(&server, &state, &logs);
        free_locks(&server);
        let digest = server.digest();
        server.restart();
        assert_eq!(server.digest(), digest);
        Tally { ends: 1, ..tally(&logs) }
    });
}
