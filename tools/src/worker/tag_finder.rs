//! Finds the hash tags of the server's order streams, by repeated SCANs.

use std::collections::BTreeSet;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{RedisResult, cmd};
use seckill_tools::nodes::Nodes;
use seckill_tools::scan::literal;

use crate::halt::{Halt, rest};
use crate::in_flight::Shared;
use crate::options::{Streams, tag_of_stream};
use crate::pairing::other_database;

/// The keys that one SCAN looks at, and the pause after it: this takes 1% of a server's time.
const KEYS_PER_STEP: u32 = 1_000;
const STEP_REST: Duration = Duration::from_millis(20);
/// The primaries of a cluster are looked up once per this many looks.
const CONNECT_EVERY: u32 = 10;
/// The limit exists because each tag has a connection of its own.
pub const TAGS_MAX: usize = 1_024;

pub struct TagFinder {
    shared: Shared,
    nodes: Nodes,
    known: BTreeSet<String>,
    /// To all primaries; renewed now and then, since a cluster's primaries may change.
    connections: Vec<MultiplexedConnection>,
    looks: u32,
}

/// The streams to read.
pub enum Found {
    /// The server has one stream of orders.
    One(Streams),
    /// The streams of new tags, and how many tags exceed the limit.
    New(Vec<Streams>, usize),
}

impl TagFinder {
    pub fn new(shared: Shared, nodes: Nodes) -> Self {
        let (known, connections) = (BTreeSet::new(), Vec::new());
        Self { shared, nodes, known, connections, looks: 0 }
    }

    /// Looks at all keys once. Tags that were found are remembered.
    pub async fn look(&mut self) -> Result<Found, Halt> {
        let mut stop = self.shared.stop.clone();
        let found = tokio::select! {
            found = self.look_on() => found,
            _ = stop.wait_for(|stop| *stop) => Err(Halt::Stopped),
        };
        if found.is_err() {
            self.connections.clear();
        }
        found
    }

    async fn look_on(&mut self) -> Result<Found, Halt> {
        if self.connections.is_empty() || self.looks.is_multiple_of(CONNECT_EVERY) {
            self.connections = self.nodes.primaries().await?;
            if let Some(first) = self.connections.first_mut()
                && !self.shared.options.compare(first).await?.has_tags
            {
                return Ok(Found::One(self.shared.options.site.streams_of(None)));
            }
        }
        self.looks = self.looks.wrapping_add(1);
        let mut tags = BTreeSet::new();
        for mut connection in self.connections.clone() {
            self.scan(&mut connection, &mut tags).await?;
        }
        if tags.is_empty()
            && !self.shared.options.fields.unchecked
            && let [connection] = &mut self.connections[..]
            && let Some(text) = other_database(connection, 0).await?
        {
            return Err(Halt::Unpaired(text));
        }
        let mut new: Vec<String> = tags.difference(&self.known).cloned().collect();
        let left_out = new.len().saturating_sub(TAGS_MAX - self.known.len());
        new.truncate(new.len() - left_out);
        let streams =
            new.iter().map(|tag| self.shared.options.site.streams_of(Some(tag))).collect();
        self.known.extend(new);
        Ok(Found::New(streams, left_out))
    }

    async fn scan(
        &mut self,
        connection: &mut MultiplexedConnection,
        tags: &mut BTreeSet<String>,
    ) -> Result<(), Halt> {
        let stream = self.shared.options.site.stream.as_bytes();
        let pattern = [literal(stream), b":{*}".to_vec()].concat();
        let mut cursor = "0".to_owned();
        loop {
            let mut scan = cmd("SCAN");
            scan.arg(&cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(KEYS_PER_STEP);
            scan.arg("TYPE").arg("stream");
            let reply: RedisResult<(String, Vec<Vec<u8>>)> = scan.query_async(connection).await;
            let (next, keys) = reply?;
            tags.extend(keys.iter().filter_map(|key| tag_of_stream(key, stream)));
            if next == "0" {
                return Ok(());
            }
            cursor = next;
            if !self.shared.options.once {
                rest(&mut self.shared.stop, STEP_REST).await?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_all_between_the_braces() {
        let of = |key: &str| tag_of_stream(key.as_bytes(), b"stream.orders");
        assert_eq!(of("stream.orders:{7}").as_deref(), Some("7"));
        assert_eq!(of("stream.orders:{7#3}").as_deref(), Some("7#3"));
        for key in ["stream.orders", "stream.orders:{}", "stream.orders:{a}b}", "stream.orders:{a"]
        {
            assert_eq!(of(key), None, "{key}");
        }
        assert_eq!(of("stream.orders.released:{7}"), None);
        assert_eq!(of("stream.orders:{7}.dlq"), None);
    }
}
