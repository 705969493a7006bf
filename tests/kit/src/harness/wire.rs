//! A connection to a server that keeps waiting for a reply after an interrupted system call.
//!
//! `redis::Connection` reports an interrupted read as an error and then takes the reply for a late
//! one. Linux interrupts a read with a time-out even without a signal handler, for example when the
//! process is stopped and continued (signal(7)).

use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use redis::{ConnectionAddr, ConnectionInfo, ConnectionLike, Parser, RedisResult, Value};

trait Stream: Read + Write + Send {}

impl Stream for TcpStream {}
impl Stream for UnixStream {}

/// Repeats a read that was interrupted.
struct Patient(Box<dyn Stream>);

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }
}

/// A connection whose reads and writes fail after a time-out.
pub struct Wire {
    stream: BufReader<Patient>,
    parser: Parser,
    is_open: bool,
}

impl Wire {
    /// Connects to a local port or a unix socket, without TLS or user, and selects the database.
    pub fn connect(address: &ConnectionInfo, time_out: Duration) -> io::Result<Self> {
        let stream: Box<dyn Stream> = match address.addr() {
            ConnectionAddr::Tcp(host, port) => {
                let stream = TcpStream::connect((host.as_str(), *port))?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(time_out))?;
                stream.set_write_timeout(Some(time_out))?;
                Box::new(stream)
            }
            ConnectionAddr::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(time_out))?;
                stream.set_write_timeout(Some(time_out))?;
                Box::new(stream)
            }
            other => return Err(io::Error::other(format!("no address of a test: {other}"))),
        };
        let stream = BufReader::new(Patient(stream));
        let mut wire = Self { stream, parser: Parser::new(), is_open: true };
        let database = address.redis_settings().db();
        if database != 0 {
            redis::cmd("SELECT").arg(database).exec(&mut wire).map_err(io::Error::other)?;
        }
        Ok(wire)
    }

    pub fn send_packed_command(&mut self, command: &[u8]) -> RedisResult<()> {
        let sent = self.stream.get_mut().0.write_all(command);
        self.is_open &= sent.is_ok();
        Ok(sent?)
    }

    /// The next reply or pushed message.
    pub fn recv_response(&mut self) -> RedisResult<Value> {
        let reply = self.parser.parse_value(&mut self.stream);
        self.is_open &= reply.is_ok();
        reply
    }
}

impl ConnectionLike for Wire {
    fn req_packed_command(&mut self, command: &[u8]) -> RedisResult<Value> {
        self.send_packed_command(command)?;
        self.recv_response()
    }

    fn req_packed_commands(
        &mut self,
        commands: &[u8],
        offset: usize,
        count: usize,
    ) -> RedisResult<Vec<Value>> {
        self.send_packed_command(commands)?;
        let replies = (0..offset + count).map(|_| self.recv_response());
        Ok(replies.collect::<RedisResult<Vec<_>>>()?.split_off(offset))
    }

    fn get_db(&self) -> i64 {
        0
    }

    fn check_connection(&mut self) -> bool {
        redis::cmd("PING").query::<String>(self).is_ok()
    }

    fn is_open(&self) -> bool {
        self.is_open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream on which every second read is interrupted.
    struct Shaken(&'static [u8], bool);

    impl Read for Shaken {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            self.0.read(&mut buffer[..1])
        }
    }

    impl Write for Shaken {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Stream for Shaken {}

    #[test]
    fn interrupted_reads_lose_no_reply() {
        let shaken = Shaken(b":1\r\n+two\r\n*1\r\n:3\r\n", false);
        let stream = BufReader::new(Patient(Box::new(shaken)));
        let mut wire = Wire { stream, parser: Parser::new(), is_open: true };
        let replies: Vec<Value> = (0..3).map(|_| wire.recv_response().unwrap()).collect();
        let three = Value::Array(vec![Value::Int(3)]);
        assert_eq!(replies, [Value::Int(1), Value::SimpleString("two".into()), three]);
        assert!(wire.recv_response().is_err());
    }
}
