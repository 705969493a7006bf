//! What `tls` is in a program that is built without it: servers are reached in plain text, and all
//! else is refused.

use anyhow::{Result, ensure};
use redis::cluster::ClusterClientBuilder;
use redis::sentinel::SentinelClientBuilder;
use redis::{ConnectionAddr, ConnectionInfo};

use crate::server::ServerOptions;

#[derive(Clone)]
pub enum Certificates {}

/// An error where TLS is asked for.
pub fn secured(
    options: &ServerOptions,
    info: ConnectionInfo,
) -> Result<(ConnectionInfo, Option<Certificates>)> {
    let is_asked = options.insecure || options.cacert.is_some() || options.cert.is_some();
    let is_plain = !matches!(info.addr(), ConnectionAddr::TcpTls { .. });
    ensure!(is_plain && !is_asked, "--redis: this program was built without TLS");
    Ok((info, None))
}

pub fn of_cluster(
    builder: ClusterClientBuilder,
    _: &ConnectionAddr,
    _: Option<&Certificates>,
) -> ClusterClientBuilder {
    builder
}

pub fn of_sentinels(
    builder: SentinelClientBuilder,
    _: &ConnectionAddr,
    _: Option<&Certificates>,
) -> SentinelClientBuilder {
    builder
}
