//! A network between the worker and a database: a proxy that hands on every byte after a delay.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::Result;

/// One way; a reply takes as long again.
const DELAY: Duration = Duration::from_micros(500);

/// The port of a proxy to a socket. It ends with the process.
pub fn to(socket: PathBuf) -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            // The client sees a refused connection as a closed one.
            if let Ok(server) = UnixStream::connect(&socket)
                && let Err(error) = join(client, server)
            {
                eprintln!("rows: the proxy: {error}");
            }
        }
    });
    Ok(port)
}

fn join(client: TcpStream, server: UnixStream) -> Result<()> {
    client.set_nodelay(true)?;
    let (there, back) = (server.try_clone()?, client.try_clone()?);
    delay(client.try_clone()?, there, move |server| _ = server.shutdown(Shutdown::Write));
    delay(server, back, |client| _ = client.shutdown(Shutdown::Write));
    Ok(())
}

/// Bytes don't wait for those before them: the delay costs time, not bandwidth.
fn delay<To: Write + Send + 'static>(
    mut from: impl Read + Send + 'static,
    mut to: To,
    end: impl FnOnce(&mut To) + Send + 'static,
) {
    let (sender, receiver) = mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut bytes = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            if sender.send((Instant::now() + DELAY, bytes[..count].to_vec())).is_err() {
                return;
            }
        }
    });
    thread::spawn(move || {
        for (due, bytes) in receiver {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                return;
            }
        }
        end(&mut to);
    });
}
