//! TLS to servers. A program that is built without it has `no_tls` in its place.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use redis::cluster::ClusterClientBuilder;
use redis::sentinel::SentinelClientBuilder;
use redis::{Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, TlsCertificates, TlsMode};

use crate::tls_options::TlsOptions;

/// What is trusted, and what is shown to the server.
pub type Certificates = TlsCertificates;

/// How to reach the server of a URL with the options of TLS, and the certificates that they name.
pub fn secured(
    options: &TlsOptions,
    url: &str,
    info: ConnectionInfo,
) -> Result<(ConnectionInfo, Option<Certificates>)> {
    let ConnectionAddr::TcpTls { host, port, insecure, .. } = info.addr().clone() else {
        ensure!(
            !options.are_given(),
            "--cacert, --cert and --insecure need a --redis that begins with rediss://"
        );
        return Ok((info, None));
    };
    let is_both = url.contains("#insecure") && options.cacert.is_some();
    ensure!(!is_both, "#insecure in --redis would make --cacert meaningless: give one of them");
    let insecure = insecure || options.insecure;
    let addr = ConnectionAddr::TcpTls { host, port, insecure, tls_params: None };
    let info = info.set_addr(addr);
    let read = |option: &str, path: &Path| {
        std::fs::read(path).with_context(|| format!("{option} {}", path.display()))
    };
    let root_cert = match &options.cacert {
        Some(path) => Some(read("--cacert", path)?),
        None => None,
    };
    let has_authority = root_cert.as_ref().is_none_or(|pem| contains(pem, b"-----BEGIN CERT"));
    ensure!(has_authority, "--cacert has no certificate in PEM");
    let client_tls = match (&options.cert, &options.key) {
        (Some(cert), Some(key)) => {
            let (client_cert, client_key) = (read("--cert", cert)?, read("--key", key)?);
            Some(ClientTlsConfig { client_cert, client_key })
        }
        _ => None,
    };
    if root_cert.is_none() && client_tls.is_none() {
        return Ok((info, None));
    }
    let certificates = TlsCertificates { client_tls, root_cert };
    let client = Client::build_with_tls(info, certificates.clone());
    let client = client.context("--cacert, --cert, --key")?;
    Ok((client.get_connection_info().clone(), Some(certificates)))
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// The nodes of a cluster are reached as the one that is named.
pub fn of_cluster(
    builder: ClusterClientBuilder,
    addr: &ConnectionAddr,
    certificates: Option<&Certificates>,
) -> ClusterClientBuilder {
    let ConnectionAddr::TcpTls { insecure, .. } = addr else { return builder };
    let builder = builder.tls(mode(*insecure));
    match certificates {
        Some(certificates) => builder.certs(certificates.clone()),
        None => builder,
    }
}

/// Sentinels and their server are reached alike.
pub fn of_sentinels(
    builder: SentinelClientBuilder,
    addr: &ConnectionAddr,
    certificates: Option<&Certificates>,
) -> SentinelClientBuilder {
    let ConnectionAddr::TcpTls { insecure, .. } = addr else { return builder };
    let builder = builder
        .set_client_to_redis_tls_mode(mode(*insecure))
        .set_client_to_sentinel_tls_mode(mode(*insecure));
    match certificates {
        Some(certificates) => builder
            .set_client_to_redis_certificates(certificates.clone())
            .set_client_to_sentinel_certificates(certificates.clone()),
        None => builder,
    }
}

fn mode(insecure: bool) -> TlsMode {
    if insecure { TlsMode::Insecure } else { TlsMode::Secure }
}
