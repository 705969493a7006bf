//! A connection to a server, or to all nodes of a cluster, each command to the node of its key.
#![allow(dead_code, reason = "each program that includes it uses a part of it")]

use std::time::Duration;

use anyhow::{Context, Result};
use futures_util::future::join_all;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster::{ClusterClient, ClusterClientBuilder};
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo};
use redis::{
    AsyncConnectionConfig, Client, Cmd, FromRedisValue, Pipeline, RedisError, RedisFuture,
    RedisResult, Value,
};

/// A server that answers later than this counts as lost.
const ANSWER_WAIT: Duration = Duration::from_secs(10);
const CONNECT_WAIT: Duration = Duration::from_secs(5);

/// Where a server or a cluster is.
#[derive(Clone)]
pub struct Place {
    client: Client,
    cluster: Option<ClusterClient>,
}

/// A connection. Of a cluster, one to each node; redirections are followed.
#[derive(Clone)]
pub enum Link {
    Server(MultiplexedConnection),
    Cluster(ClusterConnection),
}

impl Place {
    /// Asks the server at `url` whether it is a node of a cluster.
    pub async fn find(url: &str) -> Result<Place> {
        let client = Client::open(url).context("--url")?;
        let mut place = Place { client, cluster: None };
        let info: String =
            redis::cmd("INFO").arg("cluster").query_async(&mut place.connect().await?).await?;
        if info.lines().any(|line| line.trim() == "cluster_enabled:1") {
            let builder = ClusterClientBuilder::new([url]);
            let builder = builder.connection_timeout(CONNECT_WAIT).response_timeout(ANSWER_WAIT);
            place.cluster = Some(builder.build().context("--url")?);
        }
        Ok(place)
    }

    pub fn is_cluster(&self) -> bool {
        self.cluster.is_some()
    }

    pub async fn connect(&self) -> Result<Link> {
        let to = || format!("connecting to {}", self.client.get_connection_info().addr());
        if let Some(cluster) = &self.cluster {
            return Ok(Link::Cluster(cluster.get_async_connection().await.with_context(to)?));
        }
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_WAIT))
            .set_response_timeout(Some(ANSWER_WAIT));
        let connection = self.client.get_multiplexed_async_connection_with_config(&config).await;
        Ok(Link::Server(connection.with_context(to)?))
    }
}

impl Link {
    /// Sends INFO of a section to the server, or to every primary of the cluster.
    pub async fn info(&mut self, section: &str) -> Result<Vec<String>> {
        let mut info = redis::cmd("INFO");
        info.arg(section);
        let cluster = match self {
            Link::Server(server) => return Ok(vec![info.query_async(server).await?]),
            Link::Cluster(cluster) => cluster,
        };
        let all = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
        let replies = match cluster.route_command(info, all).await? {
            Value::Map(replies) => replies,
            other => vec![(Value::Nil, other)],
        };
        let texts = replies.into_iter().map(|(_, text)| Ok(redis::from_redis_value(text)?));
        texts.collect()
    }
}

impl Link {
    /// Sends commands at once and gives what each was answered. An error when a connection is lost,
    /// for then nobody knows what became of them.
    pub async fn ask_all<T: FromRedisValue>(
        &mut self,
        commands: Vec<Cmd>,
    ) -> RedisResult<Vec<RedisResult<T>>> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        let cluster = match self {
            Link::Cluster(cluster) => cluster,
            Link::Server(server) => {
                let mut pipeline = redis::pipe();
                pipeline.ignore_errors();
                for command in commands {
                    pipeline.add_command(command);
                }
                return pipeline.query_async(server).await;
            }
        };
        // One by one, so that each follows its own redirection.
        let asked = commands.into_iter().map(|command| {
            let mut cluster = cluster.clone();
            async move { command.query_async::<T>(&mut cluster).await }
        });
        let answers = join_all(asked).await;
        let is_lost = |error: &RedisError| error.code().is_none();
        match answers.iter().position(|answer| answer.as_ref().is_err_and(is_lost)) {
            None => Ok(answers),
            Some(lost) => {
                Err(answers.into_iter().nth(lost).and_then(Result::err).unwrap_or_else(|| {
                    RedisError::from((redis::ErrorKind::Io, "a connection was lost"))
                }))
            }
        }
    }
}

impl ConnectionLike for Link {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Link::Server(server) => server.req_packed_command(command),
            Link::Cluster(cluster) => cluster.req_packed_command(command),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match self {
            Link::Server(server) => server.req_packed_commands(pipeline, offset, count),
            Link::Cluster(cluster) => cluster.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Link::Server(server) => server.get_db(),
            Link::Cluster(cluster) => cluster.get_db(),
        }
    }
}
