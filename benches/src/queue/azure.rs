//! A queue of Azure's, over HTTP.

use super::{Connection, Peer, TEXT};
use crate::azure::{self, Call};
use crate::request;
use std::io;
use std::net::SocketAddr;

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
    http: azure::Client,
    message: Vec<u8>,
}

impl Client {
    fn connect(at: SocketAddr) -> io::Result<Self> {
        let message = format!("<QueueMessage><MessageText>{}</MessageText></QueueMessage>", "x".repeat(TEXT));
        Ok(Self { http: azure::Client::connect(at)?, message: message.into_bytes() })
    }

    fn ask(&mut self, method: &str, path: &str, query: &str, body: &[u8], status: u16) -> io::Result<String> {
        self.http.ask(&Call { method, path, query, headers: "", body, statuses: &[status] }, |_, _| ())
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
