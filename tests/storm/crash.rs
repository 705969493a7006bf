//! SIGKILL at any moment, under load.
//!
//! A SIGKILL loses what is in the server's memory, but nothing that the kernel has. With
//! `appendfsync always` the kernel has everything before it is answered; with `everysec` too,
//! unless the disk is busy: then the server keeps up to two seconds in memory.
//!
//! A SIGKILL can also interrupt a write, and cut a transaction in the file. Most servers then cut
//! off less than they should, and the start after the next one executes the rest (`files`). So
//! before a server starts again, its file is fixed, as docs/operating.md says.

use std::time::Instant;

use crate::acknowledged;
use crate::evidence::{Evidence, assert_suffix_lost};
use crate::harness::{Builder, Server, wait_for};
use crate::length::{Tally, histories};
use crate::load::{Load, Log, Sent, tally};
use crate::whole::{assert_same, assert_whole};
use crate::world::{free_locks, make, wait_for_holds};
use redis::Value;

/// The duration of a history's holds in milliseconds: most of them end, or none does.
pub fn hold_ms(random: &mut fastrand::Rng) -> i64 {
    random.choice([30, 30, 600_000]).expect("one")
}

/// Asks for every lock, as a client with another token.
pub fn ask_for_locks(server: &Server, round: usize) -> Log {
    let ask = |lock: usize| {
        let line = format!("LOCK.ACQUIRE lock{lock} stranger{round} 5 FENCE");
        let at = Instant::now();
        let reply = server.run(&line);
        let words = line.split(' ').map(str::to_owned).collect();
        Sent { words, at, back: Some((Instant::now(), reply)) }
    };
    (0..3).map(ask).collect()
}

/// Repeatedly kills and starts a server that may lose nothing. `disturb` runs right before each
/// kill, during the load, and returns whether the kill interrupts something.
fn nothing_is_lost(
    seed: u64,
    builder: Builder,
    mut disturb: impl FnMut(&Server, &Load) -> bool,
) -> Tally {
    let mut random = fastrand::Rng::with_seed(seed);
    let hold_ms = hold_ms(&mut random);
    let mut server = builder.start();
    make(&server, hold_ms);
    let mut logs: Vec<Log> = Vec::new();
    let rounds = random.usize(1..4);
    let mut amid = 0;
    for round in 0..rounds {
        let load = Load::start(&server, seed, round);
        load.wait_for_answers(random.usize(1..2500));
        amid += usize::from(disturb(&server, &load));
        server.kill9();
        logs.extend(load.end());
        server.fix_aof();
        server.start_again();
        logs.push(ask_for_locks(&server, round));
        wait_for_holds(&server, hold_ms);
        let state = assert_whole(&server);
        acknowledged::check(&server, &state, &logs);
    }
    free_locks(&server);
    let copy = Server::with().aof().without_module().data_of(&server).start();
    assert_same(&server, &copy);
    Tally { ends: rounds, amid, ..tally(&logs) }
}

#[test]
fn nothing_acknowledged_is_lost_in_a_crash() {
    histories("crash, appendfsync always", 6, |seed| {
        nothing_is_lost(seed, Server::with().aof(), |_, _| false)
    });
}

/// Starts a save or a rewrite and waits for a random time. Is it still running?
fn during(server: &Server, load: &Load, command: &str, random: &mut fastrand::Rng) -> bool {
    let reply = server.run(command);
    assert!(!matches!(reply, Value::ServerError(_)), "{command}: {reply:?}");
    load.wait_for_more_answers(random.usize(0..400));
    let fields = ["rdb_bgsave_in_progress", "aof_rewrite_in_progress"];
    fields.iter().any(|field| server.info_number(field) == 1)
}

#[test]
fn nothing_acknowledged_is_lost_in_a_crash_during_a_rewrite_or_a_save() {
    histories("crash during BGREWRITEAOF or BGSAVE", 6, |seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let preamble = random.choice(["yes", "no"]).expect("one");
        let builder = Server::with()
            .aof()
            .config(format!("aof-use-rdb-preamble {preamble}"))
            .config(format!("rdb-key-save-delay {}", random.u32(0..8000)));
        let command = random.choice(["BGREWRITEAOF", "BGREWRITEAOF", "BGSAVE"]).expect("one");
        nothing_is_lost(seed, builder, |server, load| during(server, load, command, &mut random))
    });
}

#[test]
fn everysec_loses_the_last_moments_at_most() {
    histories("crash, appendfsync everysec", 4, |seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let hold_ms = hold_ms(&mut random);
        let builder = Server::with().config("appendonly yes").config("appendfsync everysec");
        let mut server = builder.start();
        make(&server, hold_ms);
        // The sale itself must survive; only the history may be lost. While the disk is slow, data
        // that is to be written waits in memory.
        let is_written = || (server.info_number("aof_buffer_length") == 0).then_some(());
        wait_for("the sale in the file", is_written).expect("written");
        let load = Load::start(&server, seed, 0);
        load.wait_for_answers(random.usize(1..4000));
        // The server keeps data in memory only while the disk is slow: nothing that was answered
        // before it had none there is lost.
        server.run("CLIENT PAUSE 600000 WRITE");
        wait_for("all in the file", is_written).expect("written");
        let written = Instant::now();
        server.run("CLIENT UNPAUSE");
        load.wait_for_more_answers(random.usize(0..4000));
        server.kill9();
        let logs = load.end();
        server.start_again();
        wait_for_holds(&server, hold_ms);
        let state = assert_whole(&server);
        let (lost, oldest) = assert_suffix_lost(&state, &logs);
        println!("{lost} answers lost");
        assert!(oldest.is_none_or(|at| at > written), "lost, though written before");
        Tally { ends: 1, lost, ..tally(&logs) }
    });
}

#[test]
fn an_rdb_alone_is_whole_and_as_old_as_its_save() {
    histories("crash, RDB only", 4, |seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let hold_ms = hold_ms(&mut random);
        let delay = random.u32(0..3000);
        let mut server = Server::with().config(format!("rdb-key-save-delay {delay}")).start();
        make(&server, hold_ms);
        server.run("SAVE");
        let load = Load::start(&server, seed, 0);
        load.wait_for_answers(random.usize(1..3000));
        let saved = Instant::now();
        assert_eq!(server.run("SAVE"), Value::Okay);
        load.wait_for_more_answers(random.usize(0..2000));
        let amid = during(&server, &load, "BGSAVE", &mut random).into();
        server.kill9();
        let logs = load.end();
        server.start_again();
        wait_for_holds(&server, hold_ms);
        let state = assert_whole(&server);
        let (lost, oldest) = assert_suffix_lost(&state, &logs);
        assert!(oldest.is_none_or(|at| at > saved), "lost, though answered before the save");
        let mut evidence = Evidence::of(&state);
        let kept = logs.iter().flatten().filter(|sent| evidence.is_there(sent) == Some(true));
        assert!(kept.count() > 0 || lost == 0, "nothing is left");
        Tally { ends: 1, amid, lost, ..tally(&logs) }
    });
}
