//! The test stand: one new server with the scripts that commands are measured against, the
//! connections to it and its CPU clock.

use std::path::PathBuf;

use seckill_tools::server_info::{cpu_seconds, named};

use crate::Result;
use crate::harness::Server;
use crate::wire::{Lanes, Load};

/// seckill.lua, and the same as a single call of SECKILL.TRY.
pub const BUY: &str = include_str!("scripts/seckill.lua");
pub const BUY_ONE_LINE: &str = "return redis.call('SECKILL.TRY', ARGV[1], ARGV[2], ARGV[3])";
/// Many tries in one script.
pub const BUY_BATCH: &str = include_str!("scripts/try_batch.lua");
/// What the commands on a managed voucher do.
pub const MANAGED_TRY: &str = include_str!("scripts/managed_try.lua");
pub const MANAGED_TRYALL: &str = include_str!("scripts/managed_tryall.lua");
pub const MANAGED_CONFIRM: &str = include_str!("scripts/managed_confirm.lua");
pub const MANAGED_CANCEL: &str = include_str!("scripts/managed_cancel.lua");

const SCRIPTS: [&str; 7] =
    [BUY, BUY_ONE_LINE, BUY_BATCH, MANAGED_TRY, MANAGED_TRYALL, MANAGED_CONFIRM, MANAGED_CANCEL];

/// The words that call a script with these keys, before its arguments.
pub fn evalsha(script: &str, keys: &[&str]) -> Vec<String> {
    let sha = redis::Script::new(script).get_hash().to_owned();
    let words = ["EVALSHA".to_owned(), sha, keys.len().to_string()];
    words.into_iter().chain(keys.iter().map(|key| (*key).to_owned())).collect()
}

pub struct Stand {
    /// Ends when this is dropped.
    pub server: Server,
    pub socket: PathBuf,
    lanes: Lanes,
}

/// The names of rows with and without an append-only file.
pub const AOF: [(bool, &str); 2] = [(false, ""), (true, ", AOF everysec")];

impl Stand {
    pub fn new(aof: bool) -> Result<Self> {
        // No snapshot and no AOF rewrite: a fork during a turn would count as its cost.
        let server = Server::with()
            .config(format!("appendonly {}", if aof { "yes" } else { "no" }))
            .config("appendfsync everysec")
            .config("auto-aof-rewrite-percentage 0")
            .try_start()
            .map_err(|log| format!("the server did not start:\n{log}"))?;
        let socket = server.dir().join("socket");
        let mut stand = Self { lanes: Lanes::connect(&socket)?, socket, server };
        for script in SCRIPTS {
            let _: String = stand.run(&["SCRIPT", "LOAD", script])?;
        }
        Ok(stand)
    }

    /// Sends a load without measuring.
    pub fn send(&mut self, load: &Load) -> Result<()> {
        self.lanes.run(load, 1)
    }

    /// Sends a load `passes` times and returns the microseconds of server CPU per pass.
    pub fn measure(&mut self, load: &Load, passes: usize) -> Result<f64> {
        let before = self.cpu_seconds()?;
        self.lanes.run(load, passes)?;
        Ok((self.cpu_seconds()? - before) * 1e6 / passes as f64)
    }

    /// User and system time of the main thread, which runs every command.
    pub fn cpu_seconds(&mut self) -> Result<f64> {
        let info: String = self.run(&["INFO", "cpu"])?;
        Ok(cpu_seconds(&info, "_main_thread").ok_or("INFO cpu lacks the main thread")?)
    }

    /// The server's name and version.
    pub fn name(&mut self) -> Result<String> {
        Ok(named(&self.run::<String>(&["INFO", "server"])?))
    }

    /// Sets whether the server answers seckill.lua natively.
    pub fn answer_natively(&mut self, is_native: bool) -> Result<()> {
        let entry = format!("{} SECKILL.TRY ARGV[1] ARGV[2] ARGV[3]", evalsha(BUY, &[])[1]);
        self.run(&["CONFIG", "SET", "seckill.scripts", if is_native { &entry } else { "" }])
    }

    pub fn run<T: redis::FromRedisValue>(&mut self, words: &[impl AsRef<[u8]>]) -> Result<T> {
        Ok(redis::from_redis_value(self.server.call(words).extract_error()?)?)
    }
}
