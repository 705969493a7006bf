//! Clients of a service over HTTP that send half a request, and then nothing.

use std::io::{ErrorKind, Write as _};
use std::net::{SocketAddr, TcpStream};

use crate::harness::wait_for;

/// More than a service under test may have files open.
const CLIENTS: usize = 200;

fn half_a_request(address: SocketAddr) -> TcpStream {
    let mut client = TcpStream::connect(address).expect("connect");
    client.write_all(b"GET /metrics HTTP/1.1\r\nHost: h").expect("half a request");
    client
}

/// Does the service still wait for the rest of its request?
fn is_waited_for(client: &TcpStream) -> bool {
    client.set_nonblocking(true).expect("a socket");
    let peeked = client.peek(&mut [0]);
    client.set_nonblocking(false).expect("a socket");
    peeked.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

/// Asks a service behind many slow clients, whom it gives some time, until its answer has come
/// before the time of the last of them was over. Returns that answer, and the clients.
pub fn answered_before<T>(address: SocketAddr, mut ask: impl FnMut() -> T) -> (T, Vec<TcpStream>) {
    let answered = wait_for("an answer before slow clients are given up", || {
        let clients: Vec<_> = (0..CLIENTS).map(|_| half_a_request(address)).collect();
        let answer = ask();
        clients.last().is_some_and(is_waited_for).then_some((answer, clients))
    });
    answered.unwrap_or_else(|late| panic!("{late}"))
}
