//! Why a worker no longer serves streams, and how it is asked to stop.

use std::time::Duration;

use anyhow::anyhow;
use redis::RedisError;
use seckill_tools::server_errors::message;
use tokio::sync::watch;

use crate::options::Site;

/// Set once the worker is to stop.
pub type Stop = watch::Receiver<bool>;

/// Waits, unless the worker is asked to stop.
pub async fn rest(stop: &mut Stop, wait: Duration) -> Result<(), Halt> {
    tokio::select! {
        () = tokio::time::sleep(wait) => Ok(()),
        _ = stop.wait_for(|stop| *stop) => Err(Halt::Stopped),
    }
}

/// Why a consumer no longer serves its streams.
pub enum Halt {
    Redis(RedisError),
    /// The worker was asked to stop.
    Stopped,
    /// The server's settings differ from the worker's; the text is for the operator.
    Settings(String),
    /// The server does not look like the one of these tables; the text is for the operator.
    Unpaired(String),
}

impl Halt {
    /// The error that a program ends with.
    pub fn error(self, site: &Site) -> anyhow::Error {
        let text = match self {
            Self::Redis(error) => message(&error),
            Self::Settings(text) | Self::Unpaired(text) => text,
            Self::Stopped => "asked to stop".to_owned(),
        };
        anyhow!("{}: {text}", site.server.without_password())
    }
}

impl From<RedisError> for Halt {
    fn from(error: RedisError) -> Self {
        Self::Redis(error)
    }
}
