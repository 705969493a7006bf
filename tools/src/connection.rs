//! A connection to a server, or to all nodes of a cluster, each command to the node of its key.

use anyhow::{Context, Result};
use futures_util::future::join_all;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster::{ClusterClient, ClusterClientBuilder};
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo};
use redis::{
    Cmd, FromRedisValue, Pipeline, ProtocolVersion, RedisError, RedisFuture, RedisResult, Value,
};

use crate::server::{ANSWER_WAIT, CONNECT_WAIT, Place};
use crate::server_errors::{is_full, its_reason, unreached};
use crate::server_info::{fields, is_node};
use crate::tls;

/// A server or a cluster, whichever it is.
#[derive(Clone)]
pub struct Target {
    place: Place,
    cluster: Option<ClusterClient>,
}

/// A connection; to a cluster, one to each node, with redirections followed.
#[derive(Clone)]
pub enum Connection {
    Server(MultiplexedConnection),
    Cluster(ClusterConnection),
}

impl Target {
    /// Asks the server whether it is a node of a cluster.
    pub async fn find(place: Place) -> Result<Target> {
        let mut target = Target { place, cluster: None };
        let info: String =
            redis::cmd("INFO").arg("cluster").query_async(&mut target.connect().await?).await?;
        if is_node(&fields(&info)) {
            target.cluster = Some(cluster_client(&target.place).context("--redis")?);
        }
        Ok(target)
    }

    pub fn is_cluster(&self) -> bool {
        self.cluster.is_some()
    }

    pub async fn connect(&self) -> Result<Connection> {
        let connected = match &self.cluster {
            Some(cluster) => cluster.get_async_connection().await.map(Connection::Cluster),
            None => self.place.connect().await.map(Connection::Server),
        };
        connected.map_err(|error| unreached(self.place.name(), error))
    }
}

fn cluster_client(place: &Place) -> RedisResult<ClusterClient> {
    let builder = ClusterClientBuilder::new([place.info().clone()])
        .connection_timeout(CONNECT_WAIT)
        .response_timeout(ANSWER_WAIT)
        .use_protocol(ProtocolVersion::RESP2);
    tls::of_cluster(builder, place.addr(), place.certificates()).build()
}

fn pipeline(commands: &[&Cmd]) -> Pipeline {
    let mut all = Pipeline::new();
    commands.iter().for_each(|command| _ = all.add_command((*command).clone()));
    all
}

impl From<MultiplexedConnection> for Connection {
    fn from(server: MultiplexedConnection) -> Self {
        Self::Server(server)
    }
}

impl Connection {
    /// Sends INFO of a section to the server, or to every primary of the cluster.
    pub async fn info(&mut self, section: &str) -> Result<Vec<String>> {
        let mut info = redis::cmd("INFO");
        Ok(self.ask_primaries(info.arg(section)).await?)
    }

    /// The clock of the server in Unix milliseconds; of a cluster the earliest of its primaries, by
    /// which nothing is over too soon.
    pub async fn time_ms(&mut self) -> RedisResult<i64> {
        let clocks = self.ask_primaries::<(i64, i64)>(&redis::cmd("TIME")).await?;
        let ms = |(seconds, micros): (i64, i64)| {
            seconds.saturating_mul(1_000).saturating_add(micros / 1_000)
        };
        Ok(clocks.into_iter().map(ms).min().unwrap_or(0))
    }

    /// Sends a command to the server, or to every primary of the cluster.
    async fn ask_primaries<T: FromRedisValue>(&mut self, command: &Cmd) -> RedisResult<Vec<T>> {
        let cluster = match self {
            Connection::Server(server) => return Ok(vec![command.query_async(server).await?]),
            Connection::Cluster(cluster) => cluster,
        };
        let all = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
        let replies = match cluster.route_command(command.clone(), all).await? {
            Value::Map(replies) => replies,
            other => vec![(Value::Nil, other)],
        };
        let replies = replies.into_iter();
        replies.map(|(_, reply)| Ok(redis::from_redis_value(reply)?)).collect()
    }

    /// Runs commands in a transaction. None if a watched key has changed.
    pub async fn transact(&mut self, commands: &[&Cmd]) -> RedisResult<Option<Vec<Value>>> {
        let mut all = pipeline(commands);
        all.atomic().query_async(self).await.map_err(|error| its_reason(&error))
    }

    /// Runs commands in a transaction. A full Redis 7.0 queues none: there they are sent together,
    /// and another client may do something in between.
    pub async fn at_once(&mut self, commands: &[&Cmd]) -> RedisResult<Vec<Value>> {
        let done = self.transact(commands).await;
        if !done.as_ref().is_err_and(is_full) {
            return Ok(done?.unwrap_or_default());
        }
        pipeline(commands).query_async(self).await.map_err(|error| its_reason(&error))
    }

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
            Connection::Cluster(cluster) => cluster,
            Connection::Server(server) => {
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

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Connection::Server(server) => server.req_packed_command(command),
            Connection::Cluster(cluster) => cluster.req_packed_command(command),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match self {
            Connection::Server(server) => server.req_packed_commands(pipeline, offset, count),
            Connection::Cluster(cluster) => cluster.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Connection::Server(server) => server.get_db(),
            Connection::Cluster(cluster) => cluster.get_db(),
        }
    }
}
