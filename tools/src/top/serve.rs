//! Serves the metrics: a page a request, read from the server when it is asked for.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use seckill_tools::http::{self, Page};
use seckill_tools::sanitize::{sanitize, told};
use seckill_tools::signals::asked_to_end;
use tokio::sync::Mutex;

use crate::options::Options;
use crate::page::metrics;
use crate::reading::Reading;
use crate::source::Source;

/// Serves until it is asked to end.
pub async fn serve(options: &Options, address: SocketAddr) -> Result<()> {
    let ends = asked_to_end()?;
    let latest = Arc::new(Mutex::new(Latest {
        source: Source::new(options)?,
        reading: None,
        read_at: None,
        interval: options.interval,
        trouble: None,
    }));
    let (listener, address) = http::listen(address).await?;
    eprintln!("seckill-top: metrics at http://{address}/metrics");
    let answer = move |path: String| {
        let latest = Arc::clone(&latest);
        async move {
            match &*path {
                "/metrics" => {
                    let mut latest = latest.lock().await;
                    latest.refresh().await;
                    Page::of_metrics(metrics(latest.reading.as_ref()))
                }
                "/healthz" => {
                    let mut latest = latest.lock().await;
                    latest.refresh().await;
                    let trouble = latest.reading.is_none().then(|| latest.trouble.clone());
                    Page::of_health(trouble.flatten())
                }
                _ => Page::not_found(),
            }
        }
    };
    tokio::select! {
        () = http::serve(listener, answer) => Ok(()),
        () = ends => Ok(()),
    }
}

/// Asks a program that serves how it is, and says so; an error when it is not well.
pub async fn ask_health(address: SocketAddr) -> Result<()> {
    let asked = http::get(address, "/healthz").await;
    let Page { status, text } = asked.with_context(|| format!("--health {address}"))?;
    let text = text.trim_end();
    ensure!(status == 200, "{address} answers {status}: {text}");
    println!("{}", sanitize(text));
    Ok(())
}

/// The latest reading: however many ask, the server is read once an interval at most.
struct Latest {
    source: Source,
    reading: Option<Reading>,
    read_at: Option<Instant>,
    interval: Duration,
    /// The last message, so that it is logged once.
    trouble: Option<String>,
}

impl Latest {
    async fn refresh(&mut self) {
        if self.read_at.is_some_and(|at| at.elapsed() < self.interval) {
            return;
        }
        let read = self.source.read().await;
        self.read_at = Some(Instant::now());
        let trouble = match read {
            Ok(reading) => {
                let notes = reading.notes.join("; ");
                self.reading = Some(reading);
                (!notes.is_empty()).then_some(notes)
            }
            Err(error) => {
                self.reading = None;
                Some(told(&error))
            }
        };
        if let Some(trouble) = trouble.as_ref().filter(|_| trouble != self.trouble) {
            eprintln!("seckill-top: {trouble}");
        }
        self.trouble = trouble;
    }
}
