//! Kills a program right before or right after it has changed a shard: it reaches its server by a
//! port that counts its calls of functions.
//!
//! Moment 1 is before the server gets the first call, moment 2 after the server has answered it and
//! before the program hears that, and so on.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};

/// How each call begins on the wire. The program sends one command after the other.
const CALL: &[u8] = b"$5\r\nFCALL\r\n";

pub struct Gallows {
    listener: TcpListener,
    /// The server's host and port.
    server: String,
    moment: u32,
}

impl Gallows {
    /// A port before the server with this URL, and the URL of that port.
    pub fn before(url: &str, moment: u32) -> (Self, String) {
        let place = url.strip_prefix("redis://").expect("a plain URL");
        let (user, server) = match place.rsplit_once('@') {
            Some((user, server)) => (format!("{user}@"), server.to_owned()),
            None => (String::new(), place.to_owned()),
        };
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port();
        (Self { listener, server, moment }, format!("redis://{user}127.0.0.1:{port}"))
    }

    /// Lets the program's connections through until it is to die. The thread ends with the tests.
    pub fn wait_for(self, program: Pid) {
        let calls = Arc::new(AtomicU32::new(0));
        thread::spawn(move || {
            for client in self.listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(&self.server).expect("the server");
                let (calls, moment) = (Arc::clone(&calls), self.moment);
                thread::spawn(move || forward(client, server, &calls, moment, program));
            }
        });
    }
}

/// One connection, until either side closes it or the program is killed.
fn forward(client: TcpStream, server: TcpStream, calls: &AtomicU32, moment: u32, program: Pid) {
    let (mut from_client, mut to_server) = (&client, &server);
    let is_last = || 2 * calls.load(Relaxed) == moment;
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut from_server, mut to_client) = (&server, &client);
            let mut bytes = [0; 65_536];
            while let Ok(some @ 1..) = from_server.read(&mut bytes) {
                if is_last() {
                    let _ = kill_process(program, Signal::KILL);
                    return;
                }
                if to_client.write_all(&bytes[..some]).is_err() {
                    return;
                }
            }
            let _ = client.shutdown(std::net::Shutdown::Both);
        });
        let mut bytes = [0; 65_536];
        // What came before, as far as a call may have begun there.
        let mut before = Vec::new();
        while let Ok(some @ 1..) = from_client.read(&mut bytes) {
            before.extend_from_slice(&bytes[..some]);
            let begun = before.windows(CALL.len()).filter(|text| *text == CALL).count();
            let tail = before.len() - before.len().min(CALL.len() - 1);
            before.drain(..tail);
            let begun = calls.fetch_add(u32::try_from(begun).expect("few"), Relaxed)
                + u32::try_from(begun).expect("few");
            if begun > 0 && 2 * begun == moment + 1 {
                let _ = kill_process(program, Signal::KILL);
                break;
            }
            if to_server.write_all(&bytes[..some]).is_err() {
                break;
            }
        }
        let _ = server.shutdown(std::net::Shutdown::Both);
    });
}
