//! Connections to the server, and in a cluster to the right node; what its errors mean.

use anyhow::Result;
use redis::aio::MultiplexedConnection;
use redis::{ConnectionAddr, ErrorKind, RedisError, RedisResult, Value};
use seckill_tools::server::{Place, ServerOptions, is_untrusted, node_at};

use crate::shown::shown;

/// How to reach a server, or the nodes of a cluster.
#[derive(Clone, Debug)]
pub struct Link {
    place: Place,
    is_cluster: bool,
    /// The nodes that are known, the one that answered last first. Of a cluster only.
    nodes: Vec<ConnectionAddr>,
}

impl Link {
    pub fn new(server: &ServerOptions, is_cluster: bool) -> Result<Self> {
        let place = server.place()?;
        let nodes = vec![place.addr().clone()];
        Ok(Self { place, is_cluster, nodes })
    }

    /// A connection of its own to the server, or to the node that has `key`.
    pub async fn connect(&mut self, key: &str) -> RedisResult<MultiplexedConnection> {
        if !self.is_cluster {
            return self.place.connect().await;
        }
        let mut last = None;
        for node in self.nodes.clone() {
            match self.connect_through(node, key).await {
                Ok(connection) => return Ok(connection),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| (ErrorKind::InvalidClientConfig, "no node is known").into()))
    }

    /// Asks a node for the others and where `key` is, and goes there.
    async fn connect_through(
        &mut self,
        node: ConnectionAddr,
        key: &str,
    ) -> RedisResult<MultiplexedConnection> {
        let mut connection = self.place.at(node.clone()).connect().await?;
        let slots: Value = redis::cmd("CLUSTER").arg("SLOTS").query_async(&mut connection).await?;
        let mut known = vec![node.clone()];
        known.extend(self.nodes.iter().filter(|other| **other != node).cloned());
        for (host, port) in nodes_of(&slots) {
            let other = node_at(&node, &host, port);
            if !known.contains(&other) {
                known.push(other);
            }
        }
        self.nodes = known;
        let asked: RedisResult<i64> =
            redis::cmd("EXISTS").arg(key).query_async(&mut connection).await;
        let error = match asked {
            Ok(_) => return Ok(connection),
            Err(error) => error,
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

/// What is to be done about an error of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A stream or its group is gone: make them.
    NoGroup,
    /// The server is away, or not ready, or another one now: connect again.
    Away,
    /// Connecting again won't help: somebody must mend something.
    Wrong,
}

pub fn trouble(error: &RedisError) -> Trouble {
    if matches!(error.kind(), ErrorKind::AuthenticationFailed | ErrorKind::InvalidClientConfig) {
        return Trouble::Wrong;
    }
    if error.code().is_none() && is_untrusted(&error.to_string()) {
        return Trouble::Wrong;
    }
    match error.code() {
        Some("NOGROUP" | "UNBLOCKED") => Trouble::NoGroup,
        Some(
            "LOADING" | "READONLY" | "TRYAGAIN" | "CLUSTERDOWN" | "MASTERDOWN" | "MOVED" | "ASK"
            | "BUSY" | "MISCONF" | "NOREPLICAS" | "OOM",
        )
        | None => Trouble::Away,
        Some(_) => Trouble::Wrong,
    }
}

/// The error as the server wrote it, in one line.
pub fn told(error: &RedisError) -> String {
    let text = match (error.code(), error.detail()) {
        (Some(code), Some(detail)) => format!("{code} {detail}"),
        _ => error.to_string(),
    };
    shown(&text)
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
        let range = vec![Value::Int(0), Value::Int(99), node("10.0.0.1", 6379), node("", 6380)];
        let nodes = nodes_of(&Value::Array(vec![Value::Array(range)]));
        assert_eq!(nodes, [("10.0.0.1".to_owned(), 6379), (String::new(), 6380)]);
    }

    #[test]
    fn a_server_that_is_not_ready_is_waited_for() {
        let error = |line: &str| redis::parse_redis_value(line.as_bytes()).unwrap().extract_error();
        for (line, want) in [
            ("-LOADING Redis is loading the dataset in memory\r\n", Trouble::Away),
            ("-READONLY You can't write against a read only replica.\r\n", Trouble::Away),
            ("-CLUSTERDOWN The cluster is down\r\n", Trouble::Away),
            ("-MOVED 3999 127.0.0.1:6381\r\n", Trouble::Away),
            ("-NOGROUP No such key\r\n", Trouble::NoGroup),
            ("-WRONGTYPE Operation against a key\r\n", Trouble::Wrong),
            ("-NOAUTH Authentication required.\r\n", Trouble::Wrong),
            ("-ERR unknown command\r\n", Trouble::Wrong),
        ] {
            assert_eq!(trouble(&error(line).unwrap_err()), want, "{line}");
        }
        let lost = RedisError::from(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        assert_eq!(trouble(&lost), Trouble::Away);
    }
}
