//! How far the group is behind in its streams, measured with a timer and a connection of its own,
//! since the numbers matter most while a database hangs.

use std::time::Duration;

use redis::RedisResult;
use seckill_tools::nodes::Nodes;
use seckill_tools::server_errors::message;
use tracing::debug;

use crate::halt::rest;
use crate::in_flight::Shared;
use crate::options::Streams;
use crate::order_events::Which;
use crate::source::{Source, reply};
use crate::totals::Totals;

const EVERY: Duration = Duration::from_secs(1);

/// Sets the gauges of some streams until asked to stop.
pub async fn keep(shared: Shared, streams: Streams, mut nodes: Nodes) {
    let Shared { options, totals, mut stop, .. } = shared;
    let mut source: Option<Source> = None;
    loop {
        let measured = match &mut source {
            Some(source) => measure(source, &totals).await.map(|_| ()),
            None => match nodes.connect(&streams.orders).await {
                Ok(connection) => {
                    source =
                        Some(Source::new(connection, streams.clone(), &options.site.group, ""));
                    continue;
                }
                Err(error) => Err(error),
            },
        };
        if let Err(error) = measured {
            debug!("no gauges: {}", message(&error));
            source = None;
        }
        if rest(&mut stop, EVERY).await.is_err() {
            return;
        }
    }
}

/// Sets lag and pending entries of the streams as gauges, and returns them in words.
pub async fn measure(source: &mut Source, totals: &Totals) -> RedisResult<String> {
    let mut words = String::new();
    for which in source.all() {
        let (lag, pending) = standing(source, which).await?;
        totals.stands(source.name(which), lag, pending);
        words += &format!("; {}: lag {lag}, pending {pending}", source.name(which));
    }
    Ok(words)
}

/// How far the group is behind, and what is pending. The server's own lag also counts entries that
/// are gone, and it may not know it, after a failover or after unread entries were deleted.
async fn standing(source: &mut Source, which: Which) -> RedisResult<(u64, u64)> {
    let stream = reply::stream_info(&source.ask(&source.info("STREAM", which)).await?)?;
    let Some(group) = source.ours(which).await? else { return Ok((stream.length, 0)) };
    let last = group.last_delivered;
    let lag = match group.lag {
        _ if last >= stream.last => 0,
        _ if stream.first.is_none_or(|first| first > last) => stream.length,
        Some(lag) => lag.min(stream.length),
        None => source.unread(which, last).await?,
    };
    Ok((lag, group.pending))
}
