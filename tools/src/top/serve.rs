//! Serves the page for browsers, its figures and the metrics: of one reading an interval, however
//! many ask.

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use seckill_tools::http::{self, Content, Page};
use seckill_tools::sanitize::sanitize;
use seckill_tools::server_errors::with_causes;
use seckill_tools::signals::asked_to_end;
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;

use crate::feed::feed;
use crate::history::History;
use crate::metrics::metrics;
use crate::options::Options;
use crate::source::Source;

const PAGE: &str = include_str!("page.html");
const PATHS: [&str; 4] = ["/", "/sales.json", "/metrics", "/healthz"];

/// A browser runs the page's own script, and loads nothing but the figures from here.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |tag: &str| {
        let text = PAGE.split_once(&format!("<{tag}>")).map_or("", |(_, rest)| rest);
        let text = text.split_once(&format!("</{tag}>")).map_or("", |(text, _)| text);
        format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)))
    };
    format!(
        "default-src 'none'; script-src {}; style-src {}; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        hash("script"),
        hash("style")
    )
});

/// Serves until it is asked to end.
pub async fn serve(options: &Options, address: SocketAddr) -> Result<()> {
    let ends = asked_to_end()?;
    let interval = options.interval;
    let latest = Arc::new(Mutex::new(Latest {
        source: Source::new(options)?,
        history: History::default(),
        trouble: None,
        is_read: false,
        interval,
    }));
    let (listener, address) = http::listen(address).await?;
    eprintln!("seckill-top: page at http://{address}/, metrics at http://{address}/metrics");
    let mut reading = Arc::clone(&latest).lock_owned().await;
    let reads = {
        let latest = Arc::clone(&latest);
        async move {
            loop {
                reading.read().await;
                drop(reading);
                tokio::time::sleep(interval).await;
                reading = Arc::clone(&latest).lock_owned().await;
            }
        }
    };
    // Who asks while the server is read waits for that reading.
    let answer = move |path: String| {
        let latest = Arc::clone(&latest);
        async move {
            match &*path {
                "/" => Page { content: Content::Html(&POLICY), ..Page::found(PAGE.to_owned()) },
                "/sales.json" => latest.lock().await.figures(),
                "/metrics" => latest.lock().await.metrics(),
                "/healthz" => latest.lock().await.health(),
                _ => Page::not_found(&PATHS),
            }
        }
    };
    tokio::select! {
        () = http::serve(listener, answer) => Ok(()),
        () = reads => Ok(()),
        () = ends => Ok(()),
    }
}

/// Asks a program that serves how it is, and says so; an error when it is not well.
pub async fn ask_health(address: SocketAddr) -> Result<()> {
    let asked = http::get(address, "/healthz").await;
    let Page { status, text, .. } = asked.with_context(|| format!("--health {address}"))?;
    let text = text.trim_end();
    ensure!(status == 200, "{address} answers {status}: {text}");
    println!("{}", sanitize(text));
    Ok(())
}

/// The latest reading, and those before.
struct Latest {
    source: Source,
    history: History,
    /// Why the latest reading failed, or is not whole; known, so that it is logged once.
    trouble: Option<String>,
    /// Whether the latest reading did not fail.
    is_read: bool,
    interval: Duration,
}

impl Latest {
    async fn read(&mut self) {
        let read = self.source.read().await;
        self.is_read = read.is_ok();
        let trouble = match read {
            Ok(reading) => {
                let notes = reading.notes.join("; ");
                self.history.push(reading);
                (!notes.is_empty()).then_some(notes)
            }
            Err(error) => Some(with_causes(&error)),
        };
        if let Some(trouble) = trouble.as_ref().filter(|_| trouble != self.trouble) {
            eprintln!("seckill-top: {trouble}");
        }
        self.trouble = trouble;
    }

    fn figures(&self) -> Page {
        let trouble = self.trouble.as_deref().filter(|_| !self.is_read);
        let figures = feed(&self.history, trouble, self.interval.as_millis());
        Page { content: Content::Json, ..Page::found(figures) }
    }

    fn metrics(&self) -> Page {
        Page::of_metrics(metrics(self.history.now().filter(|_| self.is_read)))
    }

    fn health(&self) -> Page {
        Page::of_health(self.trouble.clone().filter(|_| !self.is_read))
    }
}
