//! Connections to the node of a key, in a cluster or where there is only one server: each its own,
//! for commands that wait.

use redis::aio::MultiplexedConnection;
use redis::{ConnectionAddr, ErrorKind, RedisError, RedisResult, Value};

use crate::server::{Place, node_at};

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
        let mut last = None;
        for node in self.known.clone() {
            match self.connect_through(node, key).await {
                Ok(connection) => return Ok(connection),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| (ErrorKind::InvalidClientConfig, "no node is known").into()))
    }

    /// A connection to the server, or to each primary of its cluster.
    pub async fn primaries(&mut self) -> RedisResult<Vec<MultiplexedConnection>> {
        if self.place.is_by_sentinels() {
            return Ok(vec![self.place.connect().await?]);
        }
        let mut last = None;
        for node in self.known.clone() {
            match self.primaries_through(node).await {
                Ok(connections) => return Ok(connections),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| (ErrorKind::InvalidClientConfig, "no node is known").into()))
    }

    async fn primaries_through(
        &mut self,
        node: ConnectionAddr,
    ) -> RedisResult<Vec<MultiplexedConnection>> {
        let mut connection = self.place.at(node.clone()).connect().await?;
        let Some(slots) = self.ask_slots(&node, &mut connection).await? else {
            return Ok(vec![connection]);
        };
        let mut primaries = Vec::new();
        for (host, port) in primaries_of(&slots) {
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

    /// The reply of CLUSTER SLOTS, whose nodes are kept; none of a server that is in no cluster.
    async fn ask_slots(
        &mut self,
        node: &ConnectionAddr,
        connection: &mut MultiplexedConnection,
    ) -> RedisResult<Option<Value>> {
        let asked = redis::cmd("CLUSTER").arg("SLOTS").query_async(connection).await;
        let slots: Value = match asked {
            Ok(slots) => slots,
            Err(error) if is_no_cluster(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut known = vec![node.clone()];
        known.extend(self.known.iter().filter(|other| *other != node).cloned());
        for (host, port) in nodes_of(&slots) {
            let other = node_at(node, &host, port);
            if !known.contains(&other) {
                known.push(other);
            }
        }
        self.known = known;
        Ok(Some(slots))
    }
}

fn is_no_cluster(error: &RedisError) -> bool {
    let texts = ["cluster support disabled", "unknown command"];
    let has = |text: &str| texts.iter().any(|part| text.contains(part));
    error.code() == Some("ERR") && error.detail().is_some_and(has)
}

/// The first node of each range, each once.
fn primaries_of(slots: &Value) -> Vec<(String, u16)> {
    let Value::Array(ranges) = slots else { return Vec::new() };
    let mut primaries = Vec::new();
    for range in ranges {
        let one = Value::Array(vec![range.clone()]);
        if let Some(first) = nodes_of(&one).into_iter().next()
            && !primaries.contains(&first)
        {
            primaries.push(first);
        }
    }
    primaries
}

/// The nodes in a reply of CLUSTER SLOTS: ranges of from, to, and nodes of host, port, and more.
fn nodes_of(slots: &Value) -> Vec<(String, u16)> {
    let Value::Array(ranges) = slots else { return Vec::new() };
    let mut nodes = Vec::new();
    for range in ranges {
        let Value::Array(range) = range else { continue };
        for node in range.iter().skip(2) {
            let Value::Array(node) = node else { continue };
            let [host, Value::Int(port), ..] = node.as_slice() else { continue };
            let host = match host {
                Value::BulkString(host) => String::from_utf8_lossy(host).into_owned(),
                _ => String::new(),
            };
            if let Ok(port) = u16::try_from(*port) {
                nodes.push((host, port));
            }
        }
    }
    nodes
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
        let one = [("10.0.0.1".to_owned(), 6379), (String::new(), 6380)];
        assert_eq!(nodes_of(&slots), [one.clone(), one].concat());
        assert_eq!(primaries_of(&slots), [("10.0.0.1".to_owned(), 6379)]);
    }
}
