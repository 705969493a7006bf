//! The options that say where a program's server is, and connections to it: by TCP, TLS, a unix
//! socket, or to the primary that Sentinels name.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use redis::aio::MultiplexedConnection;
use redis::sentinel::SentinelClient;
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo,
    ProtocolVersion, RedisResult,
};
use tokio::sync::Mutex;

use crate::address;
use crate::sentinel::SentinelUrl;
use crate::tls::{self, Certificates};
use crate::tls_options::TlsOptions;

/// A server that answers later than this counts as lost. Longer than any blocking read of entries.
pub const ANSWER_WAIT: Duration = Duration::from_secs(10);
pub const CONNECT_WAIT: Duration = Duration::from_secs(5);
const PASSWORD: &str = "SECKILL_REDIS_PASSWORD";
/// The variables of these options, for a program's help.
pub const VARIABLES: &str = "
Environment:
  SECKILL_REDIS              the URL of the server, as --redis
  SECKILL_REDIS_PASSWORD     its password, if the URL has none
  SECKILL_SENTINEL_PASSWORD  the password of the Sentinels";
const CREDENTIAL: &str = "redis-password";

/// Where the server is. Options that redis-cli has too have its names.
#[derive(Args, Clone, Debug)]
pub struct ServerOptions {
    /// The server or any node of a cluster: `redis://user:password@host:port/db`, `rediss://..` for
    /// TLS, `redis+unix:///path`, or `redis+sentinel://host:port,host:port/name` for Sentinels; the
    /// password can also be in SECKILL_REDIS_PASSWORD
    #[arg(
        long,
        value_name = "URL",
        env = "SECKILL_REDIS",
        hide_env = true,
        default_value = "redis://127.0.0.1:6379/"
    )]
    pub redis: String,

    /// A file whose first line is the password of the server
    #[arg(long, value_name = "FILE")]
    pub redis_password_file: Option<PathBuf>,

    #[command(flatten)]
    pub tls: TlsOptions,
}

/// How to reach a server.
#[derive(Clone)]
pub struct Place {
    info: ConnectionInfo,
    certificates: Option<Certificates>,
    /// They know which server is the primary now.
    sentinels: Option<Arc<Mutex<SentinelClient>>>,
    /// For messages.
    name: String,
}

impl ServerOptions {
    pub fn place(&self) -> Result<Place> {
        let name = self.without_password();
        let sentinel = SentinelUrl::parse(&self.redis).context("--redis")?;
        let url = sentinel.as_ref().map_or(self.redis.as_str(), |sentinel| &sentinel.server);
        let mut info = url.into_connection_info().with_context(|| {
            "--redis must look like redis://127.0.0.1:6379/, rediss://user@host/, \
             redis+unix:///path or redis+sentinel://host,host/name"
        })?;
        // The programs parse RESP2 only, whatever the URL asks for.
        let mut settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP2);
        if settings.password().is_none()
            && let Some(password) = self.password()?
        {
            settings = settings.set_password(password);
        }
        info = info.set_redis_settings(settings);
        let (info, certificates) = tls::secured(&self.tls, &self.redis, info)?;
        let sentinels = match sentinel {
            None => None,
            Some(sentinel) => {
                let client = sentinel.client(&info, certificates.as_ref()).context("--redis")?;
                Some(Arc::new(Mutex::new(client)))
            }
        };
        Ok(Place { info, certificates, sentinels, name })
    }

    fn password(&self) -> Result<Option<String>> {
        if let Some(path) = &self.redis_password_file {
            return first_line(path)
                .with_context(|| format!("--redis-password-file {}", path.display()))
                .map(Some);
        }
        let variable = || std::env::var(PASSWORD).ok().filter(|password| !password.is_empty());
        Ok(credential(CREDENTIAL)?.or_else(variable))
    }

    /// The server without its password.
    pub fn without_password(&self) -> String {
        address::shown(&self.redis)
    }
}

/// The first line of a credential that systemd has loaded for this unit. None if there is none, or
/// if it is empty, as a unit's default is.
pub fn credential(name: &str) -> Result<Option<String>> {
    let Some(folder) = std::env::var_os("CREDENTIALS_DIRECTORY") else { return Ok(None) };
    let path = Path::new(&folder).join(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(text.lines().next().filter(|line| !line.is_empty()).map(str::to_owned)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("credential {}", path.display())),
    }
}

/// The first line of a password file.
pub fn first_line(path: &Path) -> Result<String> {
    let text = std::fs::read_to_string(path)?;
    let line = text.lines().next().unwrap_or_default();
    ensure!(!line.is_empty(), "its first line is empty");
    Ok(line.to_owned())
}

impl Place {
    pub fn addr(&self) -> &ConnectionAddr {
        self.info.addr()
    }

    pub fn info(&self) -> &ConnectionInfo {
        &self.info
    }

    pub fn certificates(&self) -> Option<&Certificates> {
        self.certificates.as_ref()
    }

    /// The server for messages, without its password.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether Sentinels say where the server is.
    pub fn is_by_sentinels(&self) -> bool {
        self.sentinels.is_some()
    }

    /// Another node, reached in the same manner.
    pub fn at(&self, addr: ConnectionAddr) -> Self {
        Self { info: self.info.clone().set_addr(addr), sentinels: None, ..self.clone() }
    }

    /// A new connection. Sentinels are asked each time, since the primary may have changed.
    pub async fn connect(&self) -> RedisResult<MultiplexedConnection> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_WAIT))
            .set_response_timeout(Some(ANSWER_WAIT));
        let client = match &self.sentinels {
            None => Client::open(self.info.clone())?,
            Some(sentinels) => {
                let mut sentinels = sentinels.lock().await;
                let asked = sentinels.async_get_client();
                let late = |_| (ErrorKind::Io, "the Sentinels don't answer");
                tokio::time::timeout(CONNECT_WAIT, asked).await.map_err(late)??
            }
        };
        client.get_multiplexed_async_connection_with_config(&config).await
    }
}

/// The address of a node as `teller` names it. A node without a host is the teller itself.
pub fn node_at(teller: &ConnectionAddr, node: &str, node_port: u16) -> ConnectionAddr {
    let named = |host: &String| match node {
        "" | "?" => host.clone(),
        node => node.to_owned(),
    };
    match teller {
        ConnectionAddr::Tcp(host, _) => ConnectionAddr::Tcp(named(host), node_port),
        ConnectionAddr::TcpTls { host, insecure, tls_params, .. } => ConnectionAddr::TcpTls {
            host: named(host),
            port: node_port,
            insecure: *insecure,
            tls_params: tls_params.clone(),
        },
        _ => ConnectionAddr::Tcp(node.to_owned(), node_port),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        server: ServerOptions,
    }

    fn place(line: &str) -> std::result::Result<Place, String> {
        let program =
            Program::try_parse_from(line.split(' ')).map_err(|error| error.to_string())?;
        program.server.place().map_err(|error| format!("{error:#}"))
    }

    #[cfg(feature = "tls")]
    #[test]
    fn options_of_tls_are_for_tls() {
        assert!(place("x --redis rediss://h:1/ --insecure").is_ok());
        for (line, words) in [
            ("x --insecure", "rediss://"),
            ("x --redis redis://h/ --cacert /x", "rediss://"),
            ("x --redis rediss://h/ --cacert /no/such", "--cacert /no/such"),
            ("x --redis rediss://h/ --cacert /etc/hostname", "no certificate in PEM"),
            ("x --redis rediss://h/ --cert /x", "--key"),
            ("x --redis rediss://h/ --cacert /x --insecure", "cannot be used with"),
            ("x --redis rediss://h/#insecure --cacert /x", "#insecure in --redis"),
            ("x --redis rediss+sentinel://h/shop#insecure --cacert /x", "#insecure in --redis"),
            ("x --redis http://h/", "--redis"),
            ("x --redis-password-file /no/such", "--redis-password-file"),
        ] {
            let refusal = place(line).err().unwrap_or_default();
            assert!(refusal.contains(words), "{line}: {refusal}");
        }
    }

    #[cfg(feature = "tls")]
    #[test]
    fn nodes_are_reached_as_their_teller_is() {
        let teller = ConnectionAddr::Tcp("example".to_owned(), 1);
        assert_eq!(node_at(&teller, "", 2), ConnectionAddr::Tcp("example".to_owned(), 2));
        let place = place("x --redis rediss://example:1/ --insecure").unwrap();
        let node = node_at(place.addr(), "10.0.0.1", 7);
        let ConnectionAddr::TcpTls { host, port, insecure, .. } = node else { panic!("{node:?}") };
        assert_eq!((&*host, port, insecure), ("10.0.0.1", 7, true));
    }

    #[cfg(feature = "tls")]
    #[test]
    fn sentinels_are_told_by_the_scheme() {
        let by = place("x --redis redis+sentinel://:secret@a:1,b/shop").unwrap();
        assert!(by.is_by_sentinels());
        assert_eq!(by.name(), "redis+sentinel://a:1,b/shop");
        assert!(place("x --redis rediss+sentinel://a:1/shop --insecure").is_ok());
        for (line, words) in [
            ("x --redis redis+sentinel://a:1/", "name of the service"),
            ("x --redis redis+sentinel:///shop", "host"),
            ("x --redis redis+sentinel://a:1/shop/x", "number"),
            ("x --redis redis+sentinel://a:1/shop --insecure", "rediss://"),
        ] {
            let refusal = place(line).err().unwrap_or_default();
            assert!(refusal.contains(words), "{line}: {refusal}");
        }
    }

    #[test]
    fn a_password_is_shown_nowhere() {
        for (line, want) in [
            ("x --redis redis://ann:secret@example:6379/0", "redis://example:6379/0"),
            ("x --redis redis+unix:///r.sock?user=eyes&pass=secret", "redis+unix:///r.sock"),
        ] {
            assert_eq!(place(line).unwrap().name(), want);
        }
        for url in ["redis+sentinel://a:x?pass=secret/shop", "redis://:secret"] {
            let refusal = place(&format!("x --redis {url}")).err().unwrap_or_default();
            assert!(refusal.contains("--redis") && !refusal.contains("secret"), "{url}: {refusal}");
        }
    }
}
