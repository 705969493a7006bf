//! Serves the metrics: a page a request, read from the server when it is asked for.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::options::Options;
use crate::page::page;
use crate::reading::Reading;
use crate::shown::shown;
use crate::source::Source;

/// Who takes longer to ask or to take the answer is hung up on: one request is served at a time.
const REQUEST_WAIT: Duration = Duration::from_secs(2);
/// A request has no more bytes than this.
const REQUEST_MAX: usize = 8_192;

/// Serves until it is ended.
pub fn serve(options: &Options, address: SocketAddr) -> Result<()> {
    let listener = TcpListener::bind(address).with_context(|| format!("--metrics {address}"))?;
    let address = listener.local_addr().context("--metrics")?;
    eprintln!("seckill-top: metrics at http://{address}/metrics");
    let mut latest = Latest {
        source: Source::new(options)?,
        reading: None,
        read_at: None,
        interval: options.interval,
        trouble: None,
    };
    loop {
        // A client that is gone before it is answered is its own affair.
        if let Ok((mut client, _)) = listener.accept() {
            let _ = answer(&mut client, &mut latest);
        }
    }
}

/// The head of a request, which is all that there is of a GET.
fn request(client: &mut TcpStream) -> std::io::Result<String> {
    let until = Instant::now() + REQUEST_WAIT;
    let mut bytes = Vec::new();
    let mut piece = [0; 1_024];
    while !bytes.ends_with(b"\r\n\r\n") && bytes.len() < REQUEST_MAX {
        let left = until.saturating_duration_since(Instant::now());
        client.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        match client.read(&mut piece)? {
            _ if left.is_zero() => return Err(ErrorKind::TimedOut.into()),
            0 => break,
            count => bytes.extend_from_slice(piece.get(..count).unwrap_or_default()),
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The latest reading: however many ask, the server is read once an interval at most.
struct Latest {
    source: Source,
    reading: Option<Reading>,
    read_at: Option<Instant>,
    interval: Duration,
    /// What was told last, so that it is told once.
    trouble: Option<String>,
}

impl Latest {
    fn page(&mut self) -> String {
        let is_fresh = self.read_at.is_some_and(|at| at.elapsed() < self.interval);
        if !is_fresh {
            let read = self.source.read();
            self.read_at = Some(Instant::now());
            let trouble = match read {
                Ok(reading) => {
                    let notes = reading.notes.join("; ");
                    self.reading = Some(reading);
                    (!notes.is_empty()).then_some(notes)
                }
                Err(error) => {
                    self.reading = None;
                    Some(shown(&format!("{error:#}")))
                }
            };
            if let Some(trouble) = trouble.as_ref().filter(|_| trouble != self.trouble) {
                eprintln!("seckill-top: {trouble}");
            }
            self.trouble = trouble;
        }
        page(self.reading.as_ref())
    }
}

fn answer(client: &mut TcpStream, latest: &mut Latest) -> std::io::Result<()> {
    client.set_write_timeout(Some(REQUEST_WAIT))?;
    let request = request(client)?;
    let first = request.lines().next().unwrap_or_default();
    let mut words = first.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    let (status, body) = match (method, path) {
        ("GET" | "HEAD", "/metrics") => ("200 OK", latest.page()),
        ("GET" | "HEAD", _) => ("404 Not Found", "the metrics are at /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "only GET\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let body = if method == "HEAD" { "" } else { &body };
    client.write_all([head.as_bytes(), body.as_bytes()].concat().as_slice())
}
