//! What `tls` is in a program that is built without it: servers are reached in plain text, and all
//! else is refused.

use anyhow::{Result, ensure};
use redis::cluster::ClusterClientBuilder;
use redis::sentinel::SentinelClientBuilder;
use redis::{ConnectionAddr, ConnectionInfo};

use crate::tls_options::TlsOptions;

#[derive(Clone)]
pub enum Certificates {}

/// An error where TLS is asked for.
pub fn secured(
    options: &TlsOptions,
    _: &str,
    info: ConnectionInfo,
) -> Result<(ConnectionInfo, Option<Certificates>)> {
    let is_plain = !matches!(info.addr(), ConnectionAddr::TcpTls { .. });
    ensure!(is_plain && !options.are_given(), "--redis: this program was built without TLS");
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
