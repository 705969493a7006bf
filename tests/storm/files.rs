//! Append-only files that end too early, and disks that accept no more data.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::crash::hold_ms;
use crate::evidence::assert_suffix_lost;
use crate::harness::{Server, last_appended, left_out};
use crate::length::{Tally, histories};
use crate::load::{Load, Log, tally};
use crate::whole::{assert_same, assert_whole};
use crate::world::{STREAMS, State, free_locks, make, stream, wait_for_holds};
use redis::Value;

fn length(path: &Path) -> u64 {
    fs::metadata(path).expect("the append-only file").len()
}

#[test]
fn what_survives_of_a_cut_file_is_a_whole_beginning() {
    histories("append-only file cut at random bytes", 2, |seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let hold_ms = hold_ms(&mut random);
        let mut server = Server::with().aof().start();
        make(&server, hold_ms);
        let file = last_appended(server.dir());
        let start = length(&file);
        let load = Load::start(&server, seed, 0);
        load.wait_for_answers(random.usize(500..4000));
        server.kill9();
        let logs = load.end();
        let whole = Server::with().aof().without_module().data_of(&server).start();
        let all = STREAMS.map(|name| stream(&whole, name));
        let mut cuts: Vec<u64> = (0..5).map(|_| random.u64(start..length(&file))).collect();
        cuts.sort_unstable();
        let mut tally = Tally { ends: cuts.len(), ..tally(&logs) };
        for cut in cuts.into_iter().rev() {
            File::options()
                .write(true)
                .open(&file)
                .and_then(|file| file.set_len(cut))
                .expect("a cut");
            let aof = || Server::with().aof().config("aof-load-truncated yes");
            let plain = aof().without_module().data_of(&server).start();
            for (name, all) in STREAMS.iter().zip(&all) {
                let left = stream(&plain, name);
                assert!(all.starts_with(&left), "{name} is no beginning when cut at {cut}");
            }
            let (lost, _) = assert_suffix_lost(&State::read(&plain), &logs);
            tally.lost += lost;
            let again = aof().data_of(&server).start();
            wait_for_holds(&again, hold_ms);
            assert_whole(&again);
        }
        tally
    });
}

/// Starts from the files of `dead`, sells, and is killed: the digest then, and the digest after the
/// next start from its file.
fn sell_and_start_again(dead: &Server) -> (Server, [String; 2]) {
    let mut server = Server::with().aof().data_of(dead).start();
    assert_whole(&server);
    assert_eq!(server.run("SECKILL.TRY s later later"), Value::Int(0));
    let digest = server.digest();
    server.kill9();
    let again = Server::with().aof().without_module().data_of(&server).start().digest();
    (server, [digest, again])
}

/// If a write is cut in the middle of a transaction, a server cuts off the command in which the
/// file ends. Unless it is Valkey 9.1 or newer, it keeps `MULTI` and the commands after it. For the
/// next start, its next writes are then part of that transaction. The server's checker cuts at the
/// start of the transaction.
#[test]
fn a_try_that_is_cut_is_not_done_by_a_later_start() {
    histories("a try cut in the file", 1, |seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut server = Server::with().aof().start();
        make(&server, 600_000);
        let file = last_appended(server.dir());
        let start = usize::try_from(length(&file)).expect("a length");
        assert_eq!(server.run("SECKILL.TRY m user order"), Value::Int(0));
        server.kill9();
        let whole = fs::read(&file).expect("the append-only file");
        let mut half = 0;
        let cuts = 10;
        for _ in 0..cuts {
            let cut = &whole[..random.usize(start..whole.len())];
            fs::write(&file, cut).expect("a cut");
            let (plain, [digest, again]) = sell_and_start_again(&server);
            let is_cut = plain.log().contains("Truncating the AOF");
            assert!(digest == again || is_cut, "not explained, cut at {}", cut.len());
            half += usize::from(digest != again);
            fs::write(&file, cut).expect("the same cut");
            server.fix_aof();
            let (_, [digest, again]) = sell_and_start_again(&server);
            assert_eq!(digest, again, "cut at {}", cut.len());
        }
        println!("{half} of {cuts} cuts were done by halves by the second start, unless fixed");
        Tally { ends: cuts * 2, commands: cuts * 2, answered: cuts * 2, lost: 0, amid: 0 }
    });
}

/// A server whose append-only file is on a full disk: `/dev/full` accepts no byte.
fn with_full_disk() -> Option<Server> {
    if !Path::new("/dev/full").exists() {
        left_out("storms on a full disk: this machine has no /dev/full");
        return None;
    }
    let server = Server::with().config("appendfsync everysec").start();
    Some(server)
}

/// What is sold while the server can't write, once this field of INFO says so.
fn until_refused(server: &Server, seed: u64, field: &str, break_it: impl FnOnce()) -> Vec<Log> {
    make(server, 600_000);
    let load = Load::start(server, seed, 0);
    load.wait_for_answers(300);
    break_it();
    server.until(field, || server.info(field).as_deref() == Some("err"));
    load.wait_for_more_answers(500);
    let logs = load.end();
    assert_whole(server);
    free_locks(server);
    let before = server.digest();
    for voucher in ["m", "u"] {
        let refused = server.say(&format!("SECKILL.TRY {voucher} late olate"));
        assert!(refused.starts_with("MISCONF "), "{refused}");
    }
    assert_eq!(server.digest(), before);
    let refusals = logs.iter().flatten().filter(|sent| match sent.answer() {
        Some(Value::ServerError(error)) => error.code() == "MISCONF",
        _ => false,
    });
    assert!(refusals.count() > 0, "no connection was refused");
    logs
}

#[test]
fn a_full_disk_refuses_and_nothing_is_half_done() {
    histories("full disk", 1, |seed| {
        let Some(server) = with_full_disk() else { return Tally::default() };
        // The server writes to this name while it starts a file, and renames the link later.
        let folder = server.dir().join("appendonlydir");
        fs::create_dir(&folder).expect("a folder");
        symlink("/dev/full", folder.join("temp-appendonly.aof.incr")).expect("a link");
        let logs = until_refused(&server, seed, "aof_last_write_status", || {
            assert_eq!(server.run("CONFIG SET appendonly yes"), Value::Okay);
        });
        // The disk has room again. On a busy machine the load may have bought everything.
        assert_eq!(server.run("CONFIG SET appendonly no"), Value::Okay);
        assert!(matches!(server.run("SECKILL.RESTOCK s 5"), Value::Int(5..)));
        assert_eq!(server.run("SECKILL.TRY s late olate"), Value::Int(0));
        assert_whole(&server);
        Tally { ends: 1, ..tally(&logs) }
    });
}

#[test]
fn a_failed_save_refuses_and_nothing_is_half_done() {
    histories("failed BGSAVE", 1, |seed| {
        let server = Server::with().config("save 100000 100000").start();
        let logs = until_refused(&server, seed, "rdb_last_bgsave_status", || {
            fs::create_dir(server.dir().join("dump.rdb")).expect("what no file can replace");
            server.run("BGSAVE");
        });
        fs::remove_dir(server.dir().join("dump.rdb")).expect("room again");
        assert_eq!(server.run("SAVE"), Value::Okay);
        let copy = Server::with().without_module().data_of(&server).start();
        assert_same(&server, &copy);
        Tally { ends: 1, ..tally(&logs) }
    });
}
