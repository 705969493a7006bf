//! The scripts against which the benchmark measures commands have the effects that they claim:
//! otherwise the comparison would mean nothing.
//!
//! A failing history is repeated with the seed that its message names: `SEED=<n> cargo test`.

use crate::differential::{everything, seed};
use crate::harness::{Client, Server, text};
use redis::Value;

const KEYS: [&str; 3] = ["seckill:stock:7", "seckill:order:7", "stream.orders"];
/// The largest batch that SECKILL.MTRY accepts.
const TRIES_MAX: usize = 1_024;

/// A server without the module, driven by scripts.
struct Side {
    client: Client,
    script: String,
}

impl Side {
    fn of(server: &Server, script: &str) -> Self {
        let mut client = server.client();
        let script = text(&client.call(&["SCRIPT", "LOAD", script]));
        Self { client, script }
    }

    /// Runs the script with the keys of the voucher, and with these arguments after the voucher.
    fn run(&mut self, args: &[&str]) -> Value {
        let call = ["EVALSHA", &self.script, "3", KEYS[0], KEYS[1], KEYS[2], "7"];
        self.client.call(&[&call, args].concat())
    }
}

/// Few users, so that many return, in the same batch and in later ones; spellings of one number are
/// different users.
fn random_user(random: &mut fastrand::Rng) -> String {
    match random.u8(0..4) {
        0 => random.choice(["1", "01", "", "u\u{e9}", "a b"]).expect("one").to_owned(),
        _ => random.u16(0..200).to_string(),
    }
}

fn random_tries(random: &mut fastrand::Rng) -> Vec<(String, String)> {
    let count = match random.u8(0..20) {
        0 => TRIES_MAX,
        1..5 => 1,
        _ => random.usize(1..50),
    };
    (0..count).map(|_| (random_user(random), random.u32(..).to_string())).collect()
}

/// What an operator does between two batches.
fn random_command(random: &mut fastrand::Rng) -> Vec<String> {
    let stock = random.choice(["-1", "0", "1", "7", "30", "1000"]).expect("one").to_owned();
    let user = random_user(random);
    let words = match random.u8(0..10) {
        0..6 => vec!["SET", KEYS[0], &stock],
        6 => vec!["SET", KEYS[0], &stock, "PXAT", "33333333333333"],
        7 => vec!["SREM", KEYS[1], &user],
        8 => vec!["DEL", KEYS[1]],
        _ => vec!["XTRIM", KEYS[2], "MAXLEN", "2"],
    };
    words.into_iter().map(str::to_owned).collect()
}

#[test]
fn a_batch_is_decided_as_its_tries_one_after_the_other() {
    let first = seed();
    println!("SEED={first}");
    let servers = [0; 2].map(|_| Server::with().without_module().start());
    let mut usual =
        Side::of(&servers[0], include_str!("../../tools/benches/side_by_side/scripts/seckill.lua"));
    let mut batch = Side::of(
        &servers[1],
        include_str!("../../tools/benches/side_by_side/scripts/try_batch.lua"),
    );
    let (mut outcomes, mut turns_within_a_batch) = ([0_usize; 3], 0);
    for history in 0..20 {
        let seed = first.wrapping_add(history);
        let mut random = fastrand::Rng::with_seed(seed);
        for side in [&mut usual, &mut batch] {
            side.client.run("FLUSHALL");
            side.client.call(&["SET", KEYS[0], "20"]);
        }
        for step in 0..30 {
            if random.u8(0..3) == 0 {
                let command = random_command(&mut random);
                for side in [&mut usual, &mut batch] {
                    side.client.call(&command);
                }
                continue;
            }
            let tries = random_tries(&mut random);
            let one_by_one: Vec<Value> = tries
                .iter()
                .map(|(user, order)| {
                    let call = ["EVALSHA", &usual.script, "0", "7", user, order];
                    usual.client.call(&call)
                })
                .collect();
            let args: Vec<&str> = tries.iter().flat_map(|(user, order)| [&**user, order]).collect();
            let together = batch.run(&args);
            assert_eq!(together, Value::Array(one_by_one.clone()), "SEED={seed} step {step}");
            for outcome in &one_by_one {
                let Value::Int(outcome) = outcome else { panic!("{outcome:?}") };
                outcomes[usize::try_from(*outcome).expect("0, 1 or 2")] += 1;
            }
            let starts_open = one_by_one.first() != Some(&Value::Int(1));
            let ends_sold_out = one_by_one.last() == Some(&Value::Int(1));
            turns_within_a_batch += usize::from(starts_open && ends_sold_out);
        }
        let [usual, batch] =
            [&mut usual, &mut batch].map(|side| everything(&mut side.client, str::to_owned));
        assert_eq!(batch, usual, "SEED={seed}");
    }
    // A history in which one outcome is rare would prove little.
    assert!(outcomes.iter().all(|count| *count > 100), "{outcomes:?}");
    assert!(turns_within_a_batch > 5, "{turns_within_a_batch}");
}
