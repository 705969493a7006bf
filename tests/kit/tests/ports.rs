//! The harness separates servers: a port belongs to one server, and a test never mistakes another
//! test's server for its own.

use std::collections::BTreeSet;
use std::net::{TcpListener, UdpSocket};
use std::thread;

use kit::harness::{Port, Server, is_started_in};

#[test]
fn a_port_is_handed_out_once_while_it_is_kept() {
    let threads = (0..8).map(|_| {
        thread::spawn(|| {
            let ports = (0..200).map(|_| Port::free());
            ports.collect::<Vec<_>>()
        })
    });
    let threads: Vec<_> = threads.collect();
    let ports = threads.into_iter().flat_map(|thread| thread.join().expect("a thread"));
    let ports: Vec<_> = ports.collect();
    let numbers: BTreeSet<_> = ports.iter().map(|port| port.number).collect();
    assert_eq!(numbers.len(), 8 * 200);
    // No other process can reserve it, and it is free for a server.
    for port in &ports {
        assert!(UdpSocket::bind(("127.0.0.1", port.number)).is_err(), "{}", port.number);
    }
    assert!(TcpListener::bind(("127.0.0.1", ports[0].number)).is_ok());
}

/// A server that is slow to notice that its port is taken does not answer yet: the owner of the
/// port does.
#[test]
fn a_server_is_known_by_its_directory() {
    let ones = [Server::with().port().start(), Server::start()];
    let others = [Server::with().port().start(), Server::start()];
    for (one, other) in ones.iter().zip(&others) {
        assert!(is_started_in(one.dir(), one.client().raw()));
        assert!(!is_started_in(one.dir(), other.client().raw()));
    }
    let sentinel = Server::with()
        .without_module()
        .port()
        .config(format!("sentinel monitor sale 127.0.0.1 {} 1", ones[0].port()))
        .start();
    assert!(is_started_in(sentinel.dir(), sentinel.client().raw()));
}
