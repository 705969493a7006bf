//! Servers that Sentinels name: `redis+sentinel://user:password@host:port,host:port/name/db`.
//!
//! User and password are those of the server. The password of the Sentinels themselves, if they
//! have one, is in SECKILL_SENTINEL_PASSWORD.

use anyhow::{Context, Result, ensure};
use redis::sentinel::{SentinelClient, SentinelClientBuilder, SentinelServerType};
use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion, RedisResult};

use crate::address;
use crate::tls::{self, Certificates};

const PORT: u16 = 26_379;
const PASSWORD: &str = "SECKILL_SENTINEL_PASSWORD";

#[derive(Debug)]
pub struct SentinelUrl {
    addrs: Vec<ConnectionAddr>,
    service: String,
    /// The URL of a server that is reached in the same way as the primary that they name.
    pub server: String,
}

impl SentinelUrl {
    /// None for another kind of URL.
    pub fn parse(url: &str) -> Result<Option<Self>> {
        let Some((scheme, rest)) = url.split_once("+sentinel://") else { return Ok(None) };
        let (user, rest) = match rest.rsplit_once('@') {
            Some((user, rest)) => (format!("{user}@"), rest),
            None => (String::new(), rest),
        };
        let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (service, db) = path.split_once('/').unwrap_or((path, "0"));
        ensure!(!service.is_empty(), "the name of the service is missing: ..+sentinel://host/name");
        ensure!(!hosts.is_empty(), "the host of a Sentinel is missing: ..+sentinel://host/name");
        db.parse::<u32>().context("the database after the name of the service is not a number")?;
        let addr = |host: &str| -> Result<ConnectionAddr> {
            let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
            let port = if has_port { String::new() } else { format!(":{PORT}") };
            let info = format!("{scheme}://{host}{port}/").into_connection_info();
            Ok(info
                .with_context(|| format!("the Sentinel {}", address::shown(host)))?
                .addr()
                .clone())
        };
        let addrs = hosts.split(',').map(addr).collect::<Result<Vec<_>>>()?;
        let first = hosts.split(',').next().unwrap_or_default();
        let server = format!("{scheme}://{user}{first}/{db}");
        Ok(Some(Self { addrs, service: service.to_owned(), server }))
    }

    /// Asks the Sentinels for the primary, and reaches it as `server` is reached.
    pub fn client(
        self,
        server: &ConnectionInfo,
        certificates: Option<&Certificates>,
    ) -> RedisResult<SentinelClient> {
        let master = SentinelServerType::Master;
        let mut builder = SentinelClientBuilder::new(self.addrs, &self.service, master)?
            .set_client_to_redis_protocol(ProtocolVersion::RESP2)
            .set_client_to_redis_db(server.redis_settings().db());
        builder = tls::of_sentinels(builder, server.addr(), certificates);
        if let Some(user) = server.redis_settings().username() {
            builder = builder.set_client_to_redis_username(user);
        }
        if let Some(password) = server.redis_settings().password() {
            builder = builder.set_client_to_redis_password(password);
        }
        if let Some(password) = std::env::var(PASSWORD).ok().filter(|word| !word.is_empty()) {
            builder = builder.set_client_to_sentinel_password(password);
        }
        builder.build()
    }
}
