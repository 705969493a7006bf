//! The scripts that commands are measured against, by their SHA1 on the server under test.

use redis::Connection;

use crate::Result;

pub struct Scripts {
    /// The usual script of flash sales.
    pub buy: String,
    /// A script of one line that calls SECKILL.TRY.
    pub buy_one_line: String,
    /// The usual script with its keys declared.
    pub buy_declared: String,
    /// Many tries in one script.
    pub buy_batch: String,
    /// The usual script of a bare stock.
    pub deduct: String,
    /// The usual script that releases a lock.
    pub unlock: String,
    /// Releases the lock, and signals a client that waits with BLPOP.
    pub unlock_and_signal: String,
    pub managed_buy: String,
    pub managed_confirm: String,
    /// The script of a confirmation without the entry in the stream of confirmed orders.
    pub managed_confirm_unlisted: String,
    pub managed_cancel: String,
}

const ONE_LINE: &str = "return redis.call('SECKILL.TRY', ARGV[1], ARGV[2], ARGV[3])";

const CONFIRM: &str = include_str!("scripts/managed_confirm.lua");

/// A script without the line that appends to a stream.
fn without_entry(script: &str) -> String {
    script.lines().filter(|line| !line.contains("'XADD'")).collect::<Vec<_>>().join("\n")
}

impl Scripts {
    pub fn load(control: &mut Connection) -> Result<Self> {
        let mut load = |text: &str| -> Result<String> {
            Ok(redis::cmd("SCRIPT").arg("LOAD").arg(text).query(control)?)
        };
        Ok(Self {
            buy: load(include_str!("../../tests/it/seckill.lua"))?,
            buy_one_line: load(ONE_LINE)?,
            buy_declared: load(include_str!("scripts/try_declared.lua"))?,
            buy_batch: load(include_str!("scripts/try_batch.lua"))?,
            deduct: load(include_str!("scripts/deduct.lua"))?,
            unlock: load(include_str!("../../tests/it/unlock.lua"))?,
            unlock_and_signal: load(include_str!("scripts/unlock_and_signal.lua"))?,
            managed_buy: load(include_str!("scripts/managed_try.lua"))?,
            managed_confirm: load(CONFIRM)?,
            managed_confirm_unlisted: load(&without_entry(CONFIRM))?,
            managed_cancel: load(include_str!("scripts/managed_cancel.lua"))?,
        })
    }
}
