//! A client that knows just enough: it signs with the account's key, writes a request and reads an answer.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lazuli_engine::{Memory, content};
use lazuli_http::auth::{Mode, Trust};
use lazuli_http::{Accounts, Edge, Options, Service};
use lazuli_model::{AccountName, Timestamp};
use lazuli_store::Store;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

pub const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

pub fn accounts() -> Accounts {
    let mut accounts = Accounts::new();
    accounts.add(AccountName::parse(ACCOUNT).unwrap(), &[KEY]).unwrap();
    accounts
}

pub struct Server {
    edge: Arc<Edge>,
    store: Store,
}

pub fn start() -> Server {
    start_with(accounts())
}

/// Believes every token of this issuer, and lets everybody everything.
pub fn start_trusting(issuer: &str) -> Server {
    let mut trust = Trust::new(Mode::Basic, vec![issuer.into()]);
    trust.insecure = true;
    let mut accounts = accounts();
    accounts.accept_tokens(Arc::new(trust));
    start_with(accounts)
}

fn start_with(accounts: Accounts) -> Server {
    let store = Store::new(Arc::new(Memory::new()), Arc::new(content::Memory::new()));
    let next = AtomicU64::new(1);
    let ids = Arc::new(move || u128::from(next.fetch_add(1, Ordering::Relaxed)));
    Server { edge: Edge::new(store.clone(), accounts, Options::default(), ids), store }
}

impl Server {
    pub fn allow_sources(&self, sources: lazuli_http::sources::Sources) {
        self.edge.allow_sources(sources);
    }
}

pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

pub struct Client {
    pipe: DuplexStream,
    store: Store,
    accounts: Accounts,
    signs: bool,
    service: Service,
    /// Bytes read beyond the last answer.
    held: Vec<u8>,
}

impl Client {
    pub fn to(server: &Server) -> Self {
        Self::to_service(server, Service::Blob)
    }

    pub fn to_service(server: &Server, service: Service) -> Self {
        let (near, far) = tokio::io::duplex(64 << 10);
        let edge = server.edge.clone();
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        tokio::spawn(async move {
            let (_run, stop) = tokio::sync::watch::channel(false);
            edge.serve(far, peer, service, false, stop).await;
        });
        Self { pipe: near, store: server.store.clone(), accounts: accounts(), signs: true, service, held: Vec::new() }
    }

    pub fn unsigned(server: &Server) -> Self {
        Self::unsigned_to(server, Service::Blob)
    }

    pub fn unsigned_to(server: &Server, service: Service) -> Self {
        Self { signs: false, ..Self::to_service(server, service) }
    }

    /// `target` is without the account.
    pub async fn send(&mut self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let head = self.head(method, target, headers, body.len());
        let message = [head.as_bytes(), body].concat();
        let (mut reader, mut writer) = tokio::io::split(&mut self.pipe);
        let held = &mut self.held;
        // Both at once: a pipe is small, and the answer may come before the last byte is sent.
        let (written, answer) = tokio::join!(writer.write_all(&message), read(&mut reader, held, method == "HEAD"));
        written.unwrap();
        answer
    }

    pub async fn write(&mut self, bytes: &[u8]) {
        self.pipe.write_all(bytes).await.unwrap();
    }

    pub async fn answer(&mut self, bodiless: bool) -> Answer {
        read(&mut self.pipe, &mut self.held, bodiless).await
    }

    pub fn head(&self, method: &str, target: &str, headers: &[(&str, &str)], length: usize) -> String {
        let date = Timestamp::to_http(self.store.now());
        let mut headers: Vec<(String, String)> =
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        headers.push(("x-ms-date".into(), date));
        headers.sort();
        let path = format!("/{ACCOUNT}{target}");
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {length}\r\n");
        if self.signs && self.service == Service::Table {
            let comp = if path.contains("comp=acl") { "?comp=acl" } else { "" };
            let bare = path.split('?').next().unwrap_or_default();
            let date = &headers.iter().find(|(name, _)| name == "x-ms-date").expect("it was pushed").1;
            let text = format!("{date}\n/{ACCOUNT}{bare}{comp}");
            let signed = self.accounts.get(ACCOUNT).unwrap().sign(text.as_bytes());
            head += &format!("authorization: SharedKeyLite {ACCOUNT}:{signed}\r\n");
        } else if self.signs {
            let signed = sign(&self.accounts, method, &path, &headers, length);
            head += &format!("authorization: SharedKey {ACCOUNT}:{signed}\r\n");
        }
        for (name, value) in &headers {
            head += &format!("{name}: {value}\r\n");
        }
        head + "\r\n"
    }
}

fn sign(accounts: &Accounts, method: &str, path: &str, headers: &[(String, String)], length: usize) -> String {
    let header = |name: &str| headers.iter().find(|(other, _)| other == name).map_or("", |(_, value)| value.as_str());
    let length = if length == 0 { String::new() } else { length.to_string() };
    let mut text = format!("{method}\n\n\n{length}\n{}\n{}\n\n", header("content-md5"), header("Content-Type"));
    for name in ["if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"] {
        text += &format!("{}\n", header(name));
    }
    for (name, value) in headers.iter().filter(|(name, _)| name.starts_with("x-ms-")) {
        text += &format!("{}:{value}\n", name.to_lowercase());
    }
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    text += &format!("/{ACCOUNT}{path}");
    let mut query: Vec<_> = query.split('&').filter_map(|pair| pair.split_once('=')).collect();
    query.sort_unstable();
    for (name, value) in query {
        text += &format!("\n{name}:{value}");
    }
    accounts.get(ACCOUNT).unwrap().sign(text.as_bytes())
}

async fn read(from: &mut (impl AsyncReadExt + Unpin), held: &mut Vec<u8>, bodiless: bool) -> Answer {
    let end = loop {
        if let Some(at) = held.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        more(from, held).await;
    };
    let head = String::from_utf8(held.drain(..end + 4).collect()).unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let pairs = lines.filter_map(|line| line.split_once(": "));
    let headers: Vec<_> = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let mut answer = Answer { status, headers, body: Vec::new() };
    let length = answer.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    if !bodiless && status != 304 {
        while held.len() < length {
            more(from, held).await;
        }
        answer.body = held.drain(..length).collect();
    }
    answer
}

async fn more(from: &mut (impl AsyncReadExt + Unpin), held: &mut Vec<u8>) {
    let mut buffer = vec![0; 64 << 10];
    let count = from.read(&mut buffer).await.unwrap();
    assert!(count > 0, "the server closed the connection");
    held.extend_from_slice(&buffer[..count]);
}
