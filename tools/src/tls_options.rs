//! The options of TLS to a server, which every build of the programs takes.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Clone, Debug)]
pub struct TlsOptions {
    /// The CA certificates to trust, in PEM [default: those of the system]
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,

    /// The client certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,

    /// The private key of the client certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,

    /// Trust any certificate, which lets anybody in between read and change everything
    #[arg(long, conflicts_with = "cacert")]
    pub insecure: bool,
}

impl TlsOptions {
    /// Whether any of them is given.
    pub fn are_given(&self) -> bool {
        self.insecure || self.cacert.is_some() || self.cert.is_some()
    }
}
