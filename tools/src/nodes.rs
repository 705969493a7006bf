//! Connections to the node of a key, in a cluster or where there is only one server: each its own,
//! for commands that wait.

use std::collections::BTreeSet;

use redis::aio::MultiplexedConnection;
use redis::{ConnectionAddr, ErrorKind, RedisError, RedisResult, Value};

use crate::server::{Place, node_at};
use crate::server_errors::unreached;

/// A server, or the nodes of its cluster.
#[derive(Clone)]
pub struct Nodes {
    place: Place,
    /// The nodes that are known, the one that answered last first.
    known: Vec<ConnectionAddr>,
}

impl Nodes {
    pub fn new(place: Place) -> Self {
        let known = vec![place.addr().clone()];
        Self { place, known }
    }

    /// A connection of its own to the server, or to the node that has `key`.
    pub async fn connect(&mut self, key: &str) -> RedisResult<MultiplexedConnection> {
        if self.place.is_by_sentinels() {
            return self.place.connect().await;
        }
        self.through(async |nodes, node| nodes.connect_through(node, key).await).await
    }

    /// The same, for who can't go on without: the error names the place.
    pub async fn reach(&mut self, key: &str) -> anyhow::Result<MultiplexedConnection> {
        let reached = self.connect(key).await;
        reached.map_err(|error| unreached(self.place.name(), error))
    }

    /// A connection to the server, or to each primary of its cluster.
    pub async fn primaries(&mut self) -> RedisResult<Vec<MultiplexedConnection>> {
        if self.place.is_by_sentinels() {
            return Ok(vec![self.place.connect().await?]);
        }
        self.through(async |nodes, node| nodes.primaries_through(node).await).await
    }

    /// Goes through one known node after the other, until one answers.
    async fn through<T>(
        &mut self,
        ask: impl AsyncFn(&mut Self, ConnectionAddr) -> RedisResult<T>,
    ) -> RedisResult<T> {
        let mut last = (ErrorKind::InvalidClientConfig, "no node is known").into();
        for node in self.known.clone() {
            match ask(self, node).await {
                Ok(found) => return Ok(found),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn primaries_through(
        &mut self,
        node: ConnectionAddr,
    ) -> RedisResult<Vec<MultiplexedConnection>> {
        let mut connection = self.place.at(node.clone()).connect().await?;
        let Some(ranges) = self.ask_slots(&node, &mut connection).await? else {
            return Ok(vec![connection]);
        };
        let firsts = ranges.into_iter().filter_map(|nodes| nodes.into_iter().next());
        let mut primaries = Vec::new();
        for (host, port) in firsts.collect::<BTreeSet<_>>() {
            primaries.push(self.place.at(node_at(&node, &host, port)).connect().await?);
        }
        Ok(primaries)
    }

    /// Asks a node for the others and where `key` is, and goes there.
    async fn connect_through(
        &mut self,
        node: ConnectionAddr,
        key: &str,
    ) -> RedisResult<MultiplexedConnection> {
        let mut connection = self.place.at(node.clone()).connect().await?;
        let refused = match self.ask_slots(&node, &mut connection).await {
            Ok(None) => return Ok(connection),
            Ok(Some(_)) => None,
            // Only a node of a cluster must be asked.
            Err(error) if error.code() == Some("NOPERM") => Some(error),
            Err(error) => return Err(error),
        };
        let asked: RedisResult<i64> =
            redis::cmd("EXISTS").arg(key).query_async(&mut connection).await;
        let error = match (asked, refused) {
            (Ok(_), _) => return Ok(connection),
            (Err(error), Some(refused)) if error.code() == Some("MOVED") => return Err(refused),
            (Err(_), Some(_)) => return Ok(connection),
            (Err(error), None) => error,
        };
        let moved = (error.code() == Some("MOVED")).then(|| error.redirect_node()).flatten();
        let Some((address, _)) = moved else { return Err(error) };
        let Some((host, port)) = address.rsplit_once(':') else { return Err(error) };
        let Ok(port) = port.parse() else { return Err(error) };
        let owner = node_at(&node, host, port);
        let mut connection = self.place.at(owner).connect().await?;
        redis::cmd("EXISTS").arg(key).query_async::<i64>(&mut connection).await?;
        Ok(connection)
    }

    /// The nodes of each range of slots, which are kept; none of a server that is in no cluster.
    async fn ask_slots(
        &mut self,
        node: &ConnectionAddr,
        connection: &mut MultiplexedConnection,
    ) -> RedisResult<Option<Vec<RangeNodes>>> {
        let asked = redis::cmd("CLUSTER").arg("SLOTS").query_async(connection).await;
        let ranges = match asked {
            Ok(slots) => ranges_of(&slots),
            Err(error) if is_no_cluster(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut known = vec![node.clone()];
        known.extend(self.known.iter().filter(|other| *other != node).cloned());
        for (host, port) in ranges.iter().flatten() {
            let other = node_at(node, host, *port);
            if !known.contains(&other) {
                known.push(other);
            }
        }
        self.known = known;
        Ok(Some(ranges))
    }
}

fn is_no_cluster(error: &RedisError) -> bool {
    let texts = ["cluster support disabled", "unknown command"];
    let has = |text: &str| texts.iter().any(|part| text.contains(part));
    error.code() == Some("ERR") && error.detail().is_some_and(has)
}

/// The nodes of a range of slots, as host and port, the primary first.
type RangeNodes = Vec<(String, u16)>;

/// The ranges in a reply of CLUSTER SLOTS: from, to, and nodes of host, port, and more.
fn ranges_of(slots: &Value) -> Vec<RangeNodes> {
    let node = |node: &Value| {
        let [host, Value::Int(port), ..] = node.as_sequence()? else { return None };
        let host = match host {
            Value::BulkString(host) => String::from_utf8_lossy(host).into_owned(),
            _ => String::new(),
        };
        Some((host, u16::try_from(*port).ok()?))
    };
    let ranges = slots.as_sequence().unwrap_or_default().iter();
    let nodes = ranges.map(|range| range.as_sequence().unwrap_or_default().iter().skip(2));
    nodes.map(|nodes| nodes.filter_map(node).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_found_in_the_reply() {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let node = |host: &str, port| {
            Value::Array(vec![text(host), Value::Int(port), text("id"), Value::Array(Vec::new())])
        };
        let range = |first, last| {
            let of = vec![Value::Int(first), Value::Int(last), node("10.0.0.1", 6379)];
            Value::Array(of.into_iter().chain([node("", 6380)]).collect())
        };
        let slots = Value::Array(vec![range(0, 99), range(100, 199)]);
        let nodes = [("10.0.0.1".to_owned(), 6379), (String::new(), 6380)];
        assert_eq!(ranges_of(&slots), [&nodes, &nodes]);
    }
}
