//! Trims a stream by what every group has acknowledged, and by age.

use std::time::Duration;

use domain::entry_id::EntryId;
use redis::{RedisResult, cmd};
use seckill_tools::duration::millis;

use crate::source::Source;
use crate::stream_entry::Which;

/// Returns how many entries were removed. What groups have acknowledged stays so, and an id begins
/// with its entry's time: nothing that happens meanwhile makes an older entry needed.
pub async fn trim(source: &mut Source, which: Which, after: Duration) -> RedisResult<usize> {
    let Some(needed) = source.needed_from(which).await? else { return Ok(0) };
    let (seconds, micros): (u64, u64) = cmd("TIME").query_async(source.connection()).await?;
    let now_ms = seconds.saturating_mul(1_000).saturating_add(micros / 1_000);
    let old = EntryId { ms: now_ms.saturating_sub(millis(after)).saturating_add(1), seq: 0 };
    let mut trim = cmd("XTRIM");
    trim.arg(source.name(which)).arg("MINID").arg("=").arg(needed.min(old).to_string());
    trim.query_async(source.connection()).await
}
