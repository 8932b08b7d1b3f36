//! The processes that are measured: started, watched through /proc, paused while another is measured, ended by pid.
//!
//! Each is started with a parent-death signal, so that nothing outlives the benchmark, however it ends.

use crate::clock::{now, pause};
use crate::process::Process;
use crate::reply::Reply;
use crate::request::Request;
use rustix::process::Signal;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long a server may take to answer after its start, and to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(60);

/// How to start a server, as often as wanted.
pub struct Launch {
    pub name: &'static str,
    pub at: SocketAddr,
    pub command: Vec<String>,
}

pub struct Server {
    pub name: &'static str,
    pub at: SocketAddr,
    /// From starting the process to the end of its first good answer.
    pub first_answer: Duration,
    pub process: Process,
    child: Child,
}

/// A port that was free a moment ago.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

impl Launch {
    pub fn new(name: &'static str, port: u16, command: &[&str]) -> Launch {
        let command = command.iter().map(|&word| word.to_owned()).collect();
        Launch { name, at: (Ipv4Addr::LOCALHOST, port).into(), command }
    }

    /// Starts it and waits until it answers `probe` as it should.
    pub fn start(&self, probe: &Request) -> io::Result<Server> {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "--"]).args(&self.command).stdin(Stdio::null()).stdout(Stdio::null());
        let began = now();
        let child = command.spawn()?;
        let process = Process::of(&child);
        let mut server = Server { name: self.name, at: self.at, first_answer: Duration::ZERO, process, child };
        loop {
            let answer = ask(self.at, probe);
            server.first_answer = now() - began;
            match answer {
                Ok(()) => return Ok(server),
                Err(error) if server.first_answer > PATIENCE => return Err(named(self.name, error)),
                Err(error) => {
                    if let Some(status) = server.child.try_wait()? {
                        return Err(named(self.name, format!("ended at its start ({status}): {error}")));
                    }
                    pause(Duration::from_millis(1));
                }
            }
        }
    }
}

/// One request on its own connection, whose answer has to be right.
pub fn ask(at: SocketAddr, request: &Request) -> io::Result<()> {
    let received = receive(at, request)?;
    if request.headless_reply {
        return Ok(());
    }
    let right =
        body(&received).ok_or_else(|| "the reply is no HTTP".to_owned()).and_then(|body| request.right.check(&body));
    right.map_err(io::Error::other)
}

/// The whole reply, as it came.
fn receive(at: SocketAddr, request: &Request) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(at)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut head = request.head.clone();
    request.set_number(&mut head, 0);
    stream.write_all(&head)?;
    stream.write_all(&request.body)?;
    let (mut reply, mut buffer, mut received) = (Reply::new(), vec![0; 64 << 10], Vec::new());
    loop {
        let length = match stream.read(&mut buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        received.extend_from_slice(&buffer[..length]);
        if reply.take(&buffer[..length], request.status, request.headless_reply)? {
            return Ok(received);
        }
    }
}

/// The body of a whole reply, out of its chunks if it came in such.
fn body(reply: &[u8]) -> Option<Vec<u8>> {
    let end = reply.windows(4).position(|part| part == b"\r\n\r\n")? + 4;
    let (head, mut rest) = reply.split_at(end);
    if !String::from_utf8_lossy(head).to_ascii_lowercase().contains("transfer-encoding: chunked") {
        return Some(rest.to_vec());
    }
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|part| part == b"\r\n")?;
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..line]).ok()?, 16).ok()?;
        if length == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(line + 2..line + 2 + length)?);
        rest = rest.get(line + 2 + length + 2..)?;
    }
}

impl Server {
    /// Asks it to end and waits for it.
    pub fn stop(mut self) -> io::Result<()> {
        self.end(Signal::TERM)
    }

    /// As a power cut would, but for the page cache.
    pub fn kill(mut self) -> io::Result<()> {
        self.end(Signal::KILL)
    }

    fn end(&mut self, how: Signal) -> io::Result<()> {
        self.process.release()?;
        self.process.signal(how)?;
        let asked = now();
        while self.child.try_wait()?.is_none() {
            if now() - asked > PATIENCE {
                self.child.kill()?;
                self.child.wait()?;
                return Err(named(self.name, "did not end when asked to"));
            }
            pause(Duration::from_millis(1));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // Only after a failure elsewhere, which is what the user must see.
            let _ = self.end(Signal::TERM);
        }
    }
}

fn named(name: &str, error: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("{name}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_what_was_sent() {
        let table: [(&[u8], Option<&[u8]>); 4] = [
            (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", Some(b"hello")),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", Some(b"hello")),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhe", None),
            (b"HTTP/1.1 200 OK\r\n", None),
        ];
        for (reply, expected) in table {
            assert_eq!(body(reply).as_deref(), expected, "{}", reply.escape_ascii());
        }
    }
}
