//! When a program is asked to end.

use std::future::Future;
use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// Over at the first SIGTERM or SIGINT from now on, which no longer end the program by themselves.
pub fn asked_to_end() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
