//! Serves a few small pages over HTTP, and bounds what its clients can cost: each connection is
//! for one request, has a deadline, and gives way to newer ones when there are too many. Asks for
//! such a page, too.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use http_body_util::{BodyExt as _, Empty, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::handshake;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderValue,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus::TextEncoder;
use prometheus::proto::MetricFamily;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// An address to serve pages at, as an option says it: a port alone is one of this machine's own
/// address, which no other machine reaches.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let own = text.parse().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let wrong = |_| "must be an address and a port, or a port of 127.0.0.1 alone".to_owned();
    own.or_else(|_| text.parse()).map_err(wrong)
}

/// A client that takes longer to send its request is hung up on.
const HEAD_WAIT: Duration = Duration::from_secs(2);
/// A client that takes longer for everything, the page included.
const CLIENT_WAIT: Duration = Duration::from_secs(20);
/// How long somebody who asks for a page waits for it.
const PAGE_WAIT: Duration = Duration::from_secs(4);
const PAGE_BYTES_MAX: usize = 1 << 20;
const REQUEST_BYTES_MAX: usize = 8_192;
/// Connections at once: the program's other files and sockets must not run short.
const CLIENTS_MAX: usize = 16;
/// How long to wait when no connection can be accepted, because there are too many open files say.
const ACCEPT_WAIT: Duration = Duration::from_millis(100);
/// The policy of what is no page for a browser.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

/// What a client is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub status: u16,
    pub text: String,
    pub content: Content,
}

/// What the text of a page is. The type of plain text is the one of a page of metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Plain,
    Json,
    /// With what a browser may load and run of it, a Content-Security-Policy.
    Html(&'static str),
}

impl Page {
    pub fn found(text: String) -> Self {
        Self::plain(200, text)
    }

    fn plain(status: u16, text: String) -> Self {
        Self { status, text, content: Content::Plain }
    }

    /// A page of `/metrics`, in the text format of Prometheus.
    pub fn of_metrics(metrics: prometheus::Result<Vec<MetricFamily>>) -> Self {
        match metrics.and_then(|metrics| TextEncoder::new().encode_to_string(&metrics)) {
            Ok(text) => Self::found(text),
            Err(error) => Self::plain(500, format!("{error}\n")),
        }
    }

    /// A page of `/healthz`: a sentence that says what is wrong, or none.
    pub fn of_health(trouble: Option<String>) -> Self {
        match trouble {
            None => Self::found("ok\n".to_owned()),
            Some(trouble) => Self::plain(503, trouble + "\n"),
        }
    }

    /// There are only these pages.
    pub fn not_found(paths: &[&str]) -> Self {
        Self::plain(404, format!("there are {}\n", paths.join(", ")))
    }
}

/// A client that is connected.
struct Client {
    task: JoinHandle<()>,
    /// Its request has come.
    has_asked: Arc<AtomicBool>,
}

/// Opens the port; where it is.
pub async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr)> {
    let listener =
        TcpListener::bind(address).await.with_context(|| format!("--metrics {address}"))?;
    let address = listener.local_addr().context("--metrics")?;
    Ok((listener, address))
}

/// Serves until it is dropped. `page` gives the page of a path.
pub async fn serve<F, P>(listener: TcpListener, page: F)
where
    F: Fn(String) -> P + Clone + Send + Sync + 'static,
    P: Future<Output = Page> + Send + 'static,
{
    let mut clients: VecDeque<Client> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_WAIT).await;
            continue;
        };
        make_room(&mut clients).await;
        let has_asked = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(answer(stream, page.clone(), Arc::clone(&has_asked)));
        clients.push_back(Client { task, has_asked });
    }
}

/// Hangs up on the oldest client that has not asked yet, else on the oldest: one that asks at once
/// is answered however many others are slow.
async fn make_room(clients: &mut VecDeque<Client>) {
    clients.retain(|client| !client.task.is_finished());
    if clients.len() < CLIENTS_MAX {
        return;
    }
    let silent = clients.iter().position(|client| !client.has_asked.load(Relaxed));
    if let Some(client) = clients.remove(silent.unwrap_or(0)) {
        client.task.abort();
        // Until then it has its socket. That it was cancelled is no news.
        let _ = client.task.await;
    }
}

async fn answer<F, P>(stream: TcpStream, page: F, has_asked: Arc<AtomicBool>)
where
    F: Fn(String) -> P,
    P: Future<Output = Page>,
{
    let service = service_fn(|request: Request<Incoming>| {
        has_asked.store(true, Relaxed);
        let is_get = matches!(*request.method(), Method::GET | Method::HEAD);
        let asked = is_get.then(|| page(request.uri().path().to_owned()));
        async move {
            let page = match asked {
                Some(page) => page.await,
                None => Page::plain(405, "only GET\n".to_owned()),
            };
            Ok::<_, Infallible>(response(page))
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_WAIT).keep_alive(false);
    http.max_buf_size(REQUEST_BYTES_MAX);
    // A client that is gone before it is answered is its own affair.
    let served = http.serve_connection(TokioIo::new(stream), service);
    let _ = tokio::time::timeout(CLIENT_WAIT, served).await;
}

/// What is answered at an address to GET of a path.
pub async fn get(address: SocketAddr, path: &str) -> Result<Page> {
    let asked = async {
        let stream = TcpStream::connect(address).await?;
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
        // Ends with the answer: one connection is for one request.
        let connection = tokio::spawn(connection);
        let request = Request::get(path).header(HOST, address.to_string());
        let response = sender.send_request(request.body(Empty::<Bytes>::new())?).await?;
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), PAGE_BYTES_MAX).collect().await;
        connection.abort();
        let body = body.map_err(|error| anyhow!("{error}"))?.to_bytes();
        Ok(Page::plain(status, String::from_utf8_lossy(&body).into_owned()))
    };
    tokio::time::timeout(PAGE_WAIT, asked).await.context("no answer in time")?
}

fn response(page: Page) -> Response<Full<Bytes>> {
    let status = StatusCode::from_u16(page.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = Response::new(Full::new(Bytes::from(page.text)));
    *response.status_mut() = status;
    let (kind, policy) = match page.content {
        Content::Plain => ("text/plain; version=0.0.4; charset=utf-8", NOTHING),
        Content::Json => ("application/json", NOTHING),
        Content::Html(policy) => ("text/html; charset=utf-8", policy),
    };
    let mut add =
        |name, value| response.headers_mut().insert(name, HeaderValue::from_static(value));
    add(CONTENT_TYPE, kind);
    add(CONTENT_SECURITY_POLICY, policy);
    add(X_CONTENT_TYPE_OPTIONS, "nosniff");
    add(CACHE_CONTROL, "no-store");
    if status == StatusCode::METHOD_NOT_ALLOWED {
        add(ALLOW, "GET, HEAD");
    }
    response
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fs;
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    use super::*;

    /// Connections to a port that a program has open, in whatever state.
    fn accepted(port: u16) -> usize {
        let table = fs::read_to_string("/proc/self/net/tcp").expect("the system's table");
        let rows = table.lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<_>>());
        // One that waits to be accepted has no inode yet, and the one that listens no peer. While
        // others come and go, the table lists some connections twice.
        let rows = rows.filter(|row| row[1].ends_with(&format!(":{port:04X}")));
        let rows = rows.filter(|row| !row[2].ends_with(":0000") && row[9] != "0");
        rows.map(|row| row[2]).collect::<HashSet<_>>().len()
    }

    #[tokio::test]
    async fn many_at_once_never_take_more_sockets_than_there_is_room_for() {
        let (listener, address) = listen(([127, 0, 0, 1], 0).into()).await.expect("a port");
        let connect = |_| TcpStream::connect(address).expect("a connection");
        let mut clients: Vec<TcpStream> = (0..CLIENTS_MAX * 6).map(connect).collect();
        let mut asks = clients.remove(CLIENTS_MAX - 1);
        asks.write_all(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n").expect("a request");
        let page = move |_| async move { Page::found(accepted(address.port()).to_string()) };
        let read = tokio::task::spawn_blocking(move || {
            let mut answer = String::new();
            asks.read_to_string(&mut answer).expect("an answer");
            answer
        });
        let answer = tokio::select! {
            () = serve(listener, page) => unreachable!("it serves until it is dropped"),
            answer = read => answer.expect("a thread"),
        };
        let (_, open) = answer.split_once("\r\n\r\n").expect("a page");
        let open: usize = open.parse().expect("a number");
        assert!((1..=CLIENTS_MAX + 1).contains(&open), "{open}");
    }
}
