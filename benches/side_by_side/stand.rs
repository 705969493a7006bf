//! The test stand: one new server, the connections to it and its CPU clock.

use std::path::PathBuf;

use redis::Connection;

use crate::Result;
use crate::harness::{Builder, Server, wait_for};
use crate::keys::Naming;
use crate::scripts::Scripts;
use crate::wire::{Lanes, Load};

/// Starts a stand for every part of the benchmark.
pub struct Lab {
    /// The library of `BASELINE.TRY` and `BASELINE.NOOP`.
    pub baseline: PathBuf,
}

pub struct Stand {
    pub control: Connection,
    pub scripts: Scripts,
    pub naming: Naming,
    pub socket: PathBuf,
    lanes: Lanes,
    /// Ends when this is dropped.
    pub server: Server,
}

impl Lab {
    pub fn stand(&self, aof: bool) -> Result<Stand> {
        let aof = format!("appendonly {}", if aof { "yes" } else { "no" });
        Stand::start(self.server().config(aof), Naming::Plain)
    }

    /// The only node of a cluster.
    pub fn cluster_node(&self) -> Result<Stand> {
        // The harness starts cluster servers on a port; lanes need a socket.
        let server = self.server().cluster().config("unixsocket socket");
        let mut stand = Stand::start(server, Naming::Tagged)?;
        let () = stand.run(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"])?;
        wait_for("the cluster to be up", || {
            let info: String = stand.run(&["CLUSTER", "INFO"]).ok()?;
            info.contains("cluster_state:ok").then_some(())
        })?;
        Ok(stand)
    }

    fn server(&self) -> Builder {
        // No snapshot and no AOF rewrite: a fork during a turn would count as its cost.
        Server::with()
            .config("appendfsync everysec")
            .config("auto-aof-rewrite-percentage 0")
            .config("maxclients 11000")
            .config(format!("loadmodule {}", self.baseline.display()))
    }
}

impl Stand {
    fn start(server: Builder, naming: Naming) -> Result<Self> {
        let started = server.try_start();
        let server = started.map_err(|log| format!("the server did not start:\n{log}"))?;
        let mut control = redis::Client::open(server.address())?.get_connection()?;
        let scripts = Scripts::load(&mut control)?;
        let socket = server.dir().join("socket");
        let lanes = Lanes::connect(&socket)?;
        Ok(Self { control, scripts, naming, socket, lanes, server })
    }

    /// Sends a load without measuring.
    pub fn send(&mut self, load: &Load) -> Result<()> {
        self.lanes.run(load, 1)
    }

    /// Sends a load `passes` times and returns the microseconds of server CPU per command.
    pub fn measure(&mut self, load: &Load, passes: usize) -> Result<f64> {
        let before = cpu_seconds(&mut self.control)?;
        self.lanes.run(load, passes)?;
        let spent = cpu_seconds(&mut self.control)? - before;
        Ok(spent * 1e6 / (load.commands() * passes) as f64)
    }

    /// Sets whether the server answers the usual script natively.
    pub fn answer_natively(&mut self, is_native: bool) -> Result<()> {
        let entry = format!("{} SECKILL.TRY ARGV[1] ARGV[2] ARGV[3]", self.scripts.buy);
        let entry = if is_native { entry.as_str() } else { "" };
        self.run(&["CONFIG", "SET", "seckill.scripts", entry])
    }

    /// Does the server have a command of this name?
    pub fn knows(&mut self, command: &str) -> Result<bool> {
        let found: Vec<Option<redis::Value>> = self.run(&["COMMAND", "INFO", command])?;
        Ok(found.iter().any(Option::is_some))
    }

    pub fn run<T: redis::FromRedisValue>(&mut self, words: &[&str]) -> Result<T> {
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        Ok(command.query(&mut self.control)?)
    }
}

/// User and system time of the main thread, which runs every command. For a server that does not
/// report it (before 7.0), the time of the whole process.
pub fn cpu_seconds(control: &mut Connection) -> Result<f64> {
    let info: redis::InfoDict = redis::cmd("INFO").arg("cpu").query(control)?;
    let both = |user: &str, sys: &str| Some(info.get::<f64>(user)? + info.get::<f64>(sys)?);
    both("used_cpu_user_main_thread", "used_cpu_sys_main_thread")
        .or_else(|| both("used_cpu_user", "used_cpu_sys"))
        .ok_or_else(|| "INFO cpu names no CPU time".into())
}

/// The name of the clock that `cpu_seconds` reads.
pub fn clock_name(control: &mut Connection) -> Result<&'static str> {
    let info: redis::InfoDict = redis::cmd("INFO").arg("cpu").query(control)?;
    let main_thread = info.contains_key(&"used_cpu_user_main_thread");
    Ok(if main_thread { "main thread" } else { "whole process" })
}
