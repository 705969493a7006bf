//! How far the group is behind in its streams, measured with a timer and a connection of its own,
//! since the numbers matter most while a database hangs.

use std::sync::Arc;
use std::time::Duration;

use redis::RedisResult;
use seckill_tools::nodes::Nodes;
use seckill_tools::server_errors::told;
use tracing::debug;

use crate::halt::{Stop, rest};
use crate::options::{Options, Streams};
use crate::source::Source;
use crate::source::groups::Standing;
use crate::totals::Totals;

const EVERY: Duration = Duration::from_secs(1);

/// Sets the gauges of some streams until asked to stop.
pub async fn keep(options: Arc<Options>, streams: Streams, mut nodes: Nodes, mut stop: Stop) {
    let mut source: Option<Source> = None;
    loop {
        let measured = match &mut source {
            Some(source) => measure(source).await.map(|_| ()),
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
            debug!("no gauges: {}", told(&error));
            source = None;
        }
        if rest(&mut stop, EVERY).await.is_err() {
            return;
        }
    }
}

/// Sets lag and pending entries of the streams as gauges, and returns them in words.
pub async fn measure(source: &mut Source) -> RedisResult<String> {
    let mut words = String::new();
    for which in source.all() {
        let Standing { lag, pending } = source.standing(which).await?;
        Totals::stands(source.name(which), lag, pending);
        words += &format!("; {}: lag {lag}, pending {pending}", source.name(which));
    }
    Ok(words)
}
