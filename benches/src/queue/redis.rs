//! A queue in Redis: a list, and a second one of what was handed out. Commands are written as its protocol has them.

use super::{Connection, Peer, TEXT};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};

pub struct Redis {
    pub port: u16,
}

impl Peer for Redis {
    fn name(&self) -> &'static str {
        "Redis"
    }

    fn connect(&self) -> io::Result<Box<dyn Connection>> {
        Ok(Box::new(self.client()?))
    }

    fn empty(&self) -> io::Result<()> {
        self.client()?.command(&["DEL", "bench"]).map(drop)
    }

    fn fill(&self, count: u64) -> io::Result<()> {
        let mut client = self.client()?;
        let mut left = count;
        while left > 0 {
            let batch = left.min(1000);
            let messages: Vec<String> = (0..batch).map(|_| message()).collect();
            let words: Vec<&str> = ["RPUSH", "bench"].into_iter().chain(messages.iter().map(String::as_str)).collect();
            client.command(&words)?;
            left -= batch;
        }
        Ok(())
    }
}

impl Redis {
    fn client(&self) -> io::Result<Client> {
        let stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_nodelay(true)?;
        static CLIENTS: AtomicU64 = AtomicU64::new(0);
        // Each client has its own list of what it holds: to delete a message then costs the same whatever others do.
        let held = format!("held{}", CLIENTS.fetch_add(1, Ordering::Relaxed));
        Ok(Client { stream: BufReader::new(stream), held })
    }
}

/// Unlike all others, since LREM goes by value.
fn message() -> String {
    static MESSAGES: AtomicU64 = AtomicU64::new(0);
    format!("{:0width$}", MESSAGES.fetch_add(1, Ordering::Relaxed), width = TEXT)
}

struct Client {
    stream: BufReader<TcpStream>,
    held: String,
}

impl Client {
    fn command(&mut self, words: &[&str]) -> io::Result<Vec<u8>> {
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            write!(bytes, "${}\r\n{word}\r\n", word.len())?;
        }
        self.stream.get_mut().write_all(&bytes)?;
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let rest = line.get(1..).unwrap_or_default().trim_end().to_owned();
        match line.as_bytes().first() {
            Some(b'+' | b':') => Ok(rest.into_bytes()),
            Some(b'$') => {
                let length: usize = rest.parse().map_err(|_| io::Error::other("the queue is empty"))?;
                let mut value = vec![0; length + 2];
                self.stream.read_exact(&mut value)?;
                value.truncate(length);
                Ok(value)
            }
            _ => Err(io::Error::other(line)),
        }
    }
}

impl Connection for Client {
    fn put(&mut self) -> io::Result<()> {
        self.command(&["RPUSH", "bench", &message()]).map(drop)
    }

    fn pair(&mut self) -> io::Result<()> {
        let held = self.held.clone();
        let message = self.command(&["LMOVE", "bench", &held, "LEFT", "RIGHT"])?;
        let removed = self.command(&["LREM", &held, "1", &String::from_utf8_lossy(&message)])?;
        if removed == b"1" { Ok(()) } else { Err(io::Error::other("what was held is gone")) }
    }
}
