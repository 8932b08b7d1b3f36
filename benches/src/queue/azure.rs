//! A queue of Azure's, over HTTP: one connection, one request at a time, with an account SAS.

use super::{Connection, Peer, TEXT};
use crate::request::{self, ACCOUNT};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

pub struct Azure {
    name: &'static str,
    at: SocketAddr,
}

impl Azure {
    /// Creates the queue.
    pub fn new(name: &'static str, at: SocketAddr) -> io::Result<Self> {
        let mut client = Client::connect(at)?;
        client.ask("PUT", "bench", "", b"", 201)?;
        Ok(Self { name, at })
    }
}

impl Peer for Azure {
    fn name(&self) -> &'static str {
        self.name
    }

    fn connect(&self) -> io::Result<Box<dyn Connection>> {
        Ok(Box::new(Client::connect(self.at)?))
    }

    fn empty(&self) -> io::Result<()> {
        Client::connect(self.at)?.ask("DELETE", "bench/messages", "", b"", 204).map(drop)
    }

    fn fill(&self, count: u64) -> io::Result<()> {
        const CLIENTS: u64 = 64;
        std::thread::scope(|scope| {
            let fill = |share: u64| {
                let mut client = Client::connect(self.at)?;
                (0..share).try_for_each(|_| client.put())
            };
            let share = |client: u64| count / CLIENTS + u64::from(client < count % CLIENTS);
            let clients: Vec<_> = (0..CLIENTS).map(|client| scope.spawn(move || fill(share(client)))).collect();
            clients.into_iter().try_for_each(|client| client.join().expect("no client panics"))
        })
    }
}

struct Client {
    stream: BufReader<TcpStream>,
    sas: String,
    message: Vec<u8>,
}

impl Client {
    fn connect(at: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(at)?;
        stream.set_nodelay(true)?;
        let message = format!("<QueueMessage><MessageText>{}</MessageText></QueueMessage>", "x".repeat(TEXT));
        Ok(Self { stream: BufReader::new(stream), sas: request::sas(), message: message.into_bytes() })
    }

    fn ask(&mut self, method: &str, path: &str, query: &str, body: &[u8], status: u16) -> io::Result<String> {
        let head = format!(
            "{method} /{ACCOUNT}/{path}?{query}{} HTTP/1.1\r\nHost: 127.0.0.1\r\nx-ms-version: {}\r\nContent-Length: {}\r\n\r\n",
            self.sas,
            request::VERSION,
            body.len()
        );
        self.stream.get_mut().write_all(&[head.as_bytes(), body].concat())?;
        let (seen, answer) = self.answer()?;
        if seen == status {
            return Ok(answer);
        }
        Err(io::Error::other(format!("{method} {path}: {seen} {answer}")))
    }

    fn answer(&mut self) -> io::Result<(u16, String)> {
        let bad = || io::Error::other("an answer that is no HTTP");
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status: u16 = line.split(' ').nth(1).and_then(|text| text.parse().ok()).ok_or_else(bad)?;
        let (mut length, mut chunked) = (0, false);
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().map_err(|_| bad())?;
            }
            chunked |= name.eq_ignore_ascii_case("transfer-encoding");
        }
        let mut body = Vec::new();
        if !chunked {
            body.resize(length, 0);
            self.stream.read_exact(&mut body)?;
        }
        while chunked {
            line.clear();
            self.stream.read_line(&mut line)?;
            let length = usize::from_str_radix(line.trim(), 16).map_err(|_| bad())?;
            let at = body.len();
            body.resize(at + length, 0);
            self.stream.read_exact(&mut body[at..])?;
            self.stream.read_line(&mut line)?;
            chunked = length > 0;
        }
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }
}

impl Connection for Client {
    fn put(&mut self) -> io::Result<()> {
        let message = std::mem::take(&mut self.message);
        let answer = self.ask("POST", "bench/messages", "", &message, 201);
        self.message = message;
        answer.map(drop)
    }

    fn pair(&mut self) -> io::Result<()> {
        let answer = self.ask("GET", "bench/messages", "visibilitytimeout=30&", b"", 200)?;
        let value = |name: &str| {
            let rest = answer.split_once(&format!("<{name}>")).map(|(_, rest)| rest);
            rest.and_then(|rest| rest.split('<').next()).map(str::to_owned)
        };
        let found = value("MessageId").zip(value("PopReceipt"));
        let (id, receipt) = found.ok_or_else(|| io::Error::other("the queue is empty"))?;
        if value("MessageText") != Some("x".repeat(TEXT)) {
            return Err(io::Error::other(format!("another message than was put: {answer}")));
        }
        let receipt = request::encode(&receipt);
        self.ask("DELETE", &format!("bench/messages/{id}"), &format!("popreceipt={receipt}&"), b"", 204).map(drop)
    }
}
