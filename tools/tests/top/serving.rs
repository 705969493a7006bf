//! seckill-top as a service: health, SIGTERM.

use std::net::SocketAddr;

use crate::harness::{Server, wait_for};
use crate::metrics::{get, sale, served};
use crate::program::{run, run_all, text};

const REQUEST: &str = "GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n";

fn health(address: SocketAddr) -> Option<(String, String)> {
    let answer = get(address, "GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n")?;
    let (head, text) = answer.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.to_owned(), text.to_owned()))
}

#[test]
fn health_is_that_of_the_server() {
    let mut server = Server::start();
    let (_service, address) = served(&server);
    let ok = || Some(("200".to_owned(), "ok\n".to_owned()));
    assert_eq!(health(address), ok());
    server.kill9();
    let told = wait_for("its health", || {
        health(address)
            .filter(|(status, text)| status == "503" && text.contains("no connection to "))
    });
    told.unwrap_or_else(|late| panic!("{late}: {:?}", health(address)));
    server.start_again();
    let well = wait_for("its health", || (health(address) == ok()).then_some(()));
    well.unwrap_or_else(|late| panic!("{late}: {:?}", health(address)));
}

#[test]
fn health_is_asked_for_by_the_program_itself() {
    let mut server = Server::start();
    let (mut service, address) = served(&server);
    let ask = || {
        let asked = run(&["--health", &address.to_string()]);
        (asked.status.code(), text(&asked.stdout), text(&asked.stderr))
    };
    assert_eq!(ask(), (Some(0), "ok\n".to_owned(), String::new()));
    server.kill9();
    let told = wait_for("its health", || {
        let (code, out, error) = ask();
        (code == Some(1) && out.is_empty() && error.contains(" answers 503: no connection to "))
            .then_some(())
    });
    told.unwrap_or_else(|late| panic!("{late}: {:?}", ask()));
    assert!(service.terminate().success(), "{}", service.log());
    let (code, _, error) = ask();
    assert!(code == Some(1) && error.contains(&format!("--health {address}: ")), "{error}");
}

/// It also ends while the server does not answer.
#[test]
fn it_ends_when_it_is_told_to() {
    let server = Server::start();
    let (mut service, address) = served(&server);
    server.freeze();
    let waiting = std::thread::spawn(move || get(address, REQUEST));
    assert!(service.terminate().success(), "{}", service.log());
    server.wake();
    waiting.join().expect("a client");
}

/// A consumer that was killed stays in its group; what is told is that nobody reads.
#[test]
fn a_group_that_nobody_reads_is_told() {
    let server = sale();
    let (_service, address) = served(&server);
    let silent_ms = || {
        let answer = get(address, "GET /sales.json HTTP/1.1\r\nHost: here\r\n\r\n")?;
        let (_, json) = answer.split_once("\r\n\r\n")?;
        let json: serde_json::Value = serde_json::from_str(json).ok()?;
        let reader = &json["way"]["reader"];
        assert_eq!(reader["has_consumer"], true, "{json:#}");
        Some(reader["silent_ms"].as_u64())
    };
    let told = wait_for("a silent group", || silent_ms()?);
    assert!(told.expect("a silent group") >= 5_000);
    run_all(&server, &["XREADGROUP GROUP g1 c1 COUNT 1 STREAMS stream.orders >"]);
    let reads = wait_for("a group that reads", || silent_ms()?.is_none().then_some(()));
    reads.expect("a group that reads");
}
