//! The test stand: one fresh server, the connections to it and its CPU clock.

use std::path::PathBuf;

use redis::Connection;
use serde::Serialize;

use crate::Result;
use crate::contender::{Contender, Scripts};
use crate::harness::Server;
use crate::lock_line::UNLOCK_AND_SIGNAL;
use crate::managed;
use crate::wire::{Lanes, Load};

/// Starts a stand for every part of the benchmark.
pub struct Lab {
    /// The library of `BASELINE.TRY` and `BASELINE.NOOP`.
    pub baseline: PathBuf,
}

pub struct Stand {
    pub control: Connection,
    pub scripts: Scripts,
    pub socket: PathBuf,
    lanes: Lanes,
    /// Held for its drop, which ends the server.
    _server: Server,
}

/// One figure of a contender over all rounds, in the unit of its turns.
#[derive(Serialize)]
pub struct Figure {
    pub contender: Contender,
    /// The lower quartile: what a cost is taken to be. Whatever else the machine does adds to the
    /// cost of a turn and never takes from it, so the higher turns tell of the neighbours.
    pub cost: f64,
    pub median: f64,
    pub lowest: f64,
    pub highest: f64,
}

impl Lab {
    pub fn stand(&self, aof: bool) -> Result<Stand> {
        // No snapshot and no AOF rewrite: a fork in the middle of a turn would be charged to it.
        let server = Server::with()
            .config(format!("appendonly {}", if aof { "yes" } else { "no" }))
            .config("appendfsync everysec")
            .config("auto-aof-rewrite-percentage 0")
            .config("maxclients 11000")
            .config(format!("loadmodule {}", self.baseline.display()))
            .try_start()
            .map_err(|log| format!("the server did not start:\n{log}"))?;
        let mut control = redis::Client::open(server.address())?.get_connection()?;
        let scripts = Scripts {
            buy: load_script(&mut control, include_str!("../../tests/it/seckill.lua"))?,
            unlock: load_script(&mut control, include_str!("../../tests/it/unlock.lua"))?,
            managed: managed::Scripts::load(&mut control)?,
            signal: load_script(&mut control, UNLOCK_AND_SIGNAL)?,
        };
        let socket = server.dir().join("socket");
        let lanes = Lanes::connect(&socket)?;
        Ok(Stand { control, scripts, socket, lanes, _server: server })
    }
}

impl Stand {
    /// Sends a load without looking at the clock.
    pub fn send(&mut self, load: &Load) -> Result<()> {
        self.lanes.run(load, 1)
    }

    /// Sends a load `passes` times and gives the microseconds of server CPU a command.
    pub fn measure(&mut self, load: &Load, passes: usize) -> Result<f64> {
        let before = cpu_seconds(&mut self.control)?;
        self.lanes.run(load, passes)?;
        let spent = cpu_seconds(&mut self.control)? - before;
        Ok(spent * 1e6 / (load.commands() * passes) as f64)
    }

    pub fn run<T: redis::FromRedisValue>(&mut self, words: &[&str]) -> Result<T> {
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        Ok(command.query(&mut self.control)?)
    }
}

/// Lets each contender have its turn in every round, each round starting with the next one, so
/// that a slow spell of the machine meets them all. The round before the first only warms up.
/// `turn` gets the place of its contender among `contenders`.
pub fn in_rounds(
    rounds: u32,
    contenders: &[Contender],
    mut turn: impl FnMut(usize) -> Result<f64>,
) -> Result<Vec<Figure>> {
    let mut values: Vec<Vec<f64>> = contenders.iter().map(|_| Vec::new()).collect();
    for round in 0..=rounds as usize {
        for step in 0..contenders.len() {
            let place = (round + step) % contenders.len();
            let value = turn(place)?;
            if round > 0 {
                values[place].push(value);
            }
        }
    }
    Ok(contenders.iter().zip(values).map(|(&who, values)| Figure::of(who, values)).collect())
}

/// The middle one, or what lies between the two in the middle.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

impl Figure {
    fn of(contender: Contender, mut values: Vec<f64>) -> Self {
        let median = median(&mut values);
        let last = values.len() - 1;
        let cost = values[last / 4];
        // What lies below a tenth of a nanosecond is noise.
        let round = |value: f64| (value * 1e4).round() / 1e4;
        let (lowest, highest) = (round(values[0]), round(values[last]));
        Self { contender, cost: round(cost), median: round(median), lowest, highest }
    }
}

/// The cost of one contender among several.
pub fn cost_of(figures: &[Figure], contender: Contender) -> Option<f64> {
    figures.iter().find(|figure| figure.contender == contender).map(|figure| figure.cost)
}

/// User and system time of the main thread, which runs every command. A server that doesn't tell
/// it apart (before 7.0) gives the time of the whole process.
pub fn cpu_seconds(control: &mut Connection) -> Result<f64> {
    let info: redis::InfoDict = redis::cmd("INFO").arg("cpu").query(control)?;
    let both = |user: &str, sys: &str| Some(info.get::<f64>(user)? + info.get::<f64>(sys)?);
    both("used_cpu_user_main_thread", "used_cpu_sys_main_thread")
        .or_else(|| both("used_cpu_user", "used_cpu_sys"))
        .ok_or_else(|| "INFO cpu names no CPU time".into())
}

/// Which of the two `cpu_seconds` reads.
pub fn clock_name(control: &mut Connection) -> Result<&'static str> {
    let info: redis::InfoDict = redis::cmd("INFO").arg("cpu").query(control)?;
    let main_thread = info.contains_key(&"used_cpu_user_main_thread");
    Ok(if main_thread { "main thread" } else { "whole process" })
}

pub fn load_script(control: &mut Connection, text: &str) -> Result<String> {
    Ok(redis::cmd("SCRIPT").arg("LOAD").arg(text).query(control)?)
}
