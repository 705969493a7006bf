//! How clients of the worker's port affect the worker, and what the port reports.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::harness::{DEADLINE, Port, wait_for};
use crate::shop::Shop;
use crate::worker::Worker;
use kit::slow::answered_before;

/// The worker's limit of open files.
const FILES: u32 = 64;

/// The answer to GET of a path: the status and the text.
fn answer(port: u16, path: &str) -> Option<(u16, String)> {
    let mut client = TcpStream::connect(("127.0.0.1", port)).ok()?;
    client.set_read_timeout(Some(DEADLINE)).ok()?;
    write!(client, "GET {path} HTTP/1.1\r\nHost: here\r\n\r\n").ok()?;
    let mut answer = String::new();
    client.read_to_string(&mut answer).ok()?;
    let (head, text) = answer.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, text.to_owned()))
}

/// The page of metrics.
pub fn http_get(port: u16) -> Option<String> {
    answer(port, "/metrics").map(|(_, page)| page)
}

/// A metric whose name contains these words, with or without labels.
pub fn metric(page: &str, words: &str) -> Option<f64> {
    let line = page.lines().find(|line| !line.starts_with('#') && line.contains(words))?;
    line.split(' ').next_back()?.parse().ok()
}

/// A fixed fault: no rows were written for 8 s, and no client was ever disconnected.
#[test]
fn slow_clients_hurt_neither_rows_nor_others() {
    let shop = Shop::of("phone 1000");
    let port = Port::free();
    let mut args = shop.worker_args();
    args.extend(["--metrics".to_owned(), format!("127.0.0.1:{}", port.number)]);
    let mut worker = Worker::start_with_files(FILES, &args, shop.server.dir());
    worker.wait("the metrics", || http_get(port.number).is_some());
    shop.buy_many("phone", 0..20);
    let address = ([127, 0, 0, 1], port.number).into();
    let (page, slow) = answered_before(address, || http_get(port.number).expect("an answer"));
    assert!(metric(&page, "rows_inserted").is_some(), "{page}");
    shop.wait_until_drained(&mut worker);
    shop.check();
    for mut client in slow {
        client.set_read_timeout(Some(DEADLINE)).expect("a time-out");
        let mut bytes = Vec::new();
        // Disconnected, with or without an answer.
        let ended = client.read_to_end(&mut bytes);
        let is_closed = ended.as_ref().is_ok_and(|_| !bytes.starts_with(b"HTTP/1.1 200"));
        let is_reset =
            ended.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset);
        assert!(is_closed || is_reset, "{ended:?} {}", String::from_utf8_lossy(&bytes));
    }
    assert!(worker.terminate().success(), "{}", worker.log());
}

#[test]
fn health_says_what_is_away() {
    let mut shop = Shop::of("phone 1000");
    let port = Port::free();
    let mut worker = shop.worker(&["--metrics", &format!("127.0.0.1:{}", port.number)]);
    let wait = |worker: &Worker, status: u16, words: &str| {
        let told = wait_for("the health", || {
            answer(port.number, "/healthz")
                .filter(|(found, text)| *found == status && text.contains(words))
        });
        let told = told.unwrap_or_else(|late| {
            panic!("{late} {words}: {:?}\n{}", answer(port.number, "/healthz"), worker.log())
        });
        assert_eq!(told.1.lines().count(), 1, "{told:?}");
    };
    shop.buy("phone", "ann", "o1");
    shop.wait_until_drained(&mut worker);
    wait(&worker, 200, "ok");
    shop.run("SAVE");
    shop.server.kill9();
    wait(&worker, 503, "the server of stream.orders can't be reached: ");
    shop.server.start_again();
    wait(&worker, 200, "ok");
    assert_eq!(answer(port.number, "/").map(|(status, _)| status), Some(404));
    assert!(worker.terminate().success(), "{}", worker.log());
}
