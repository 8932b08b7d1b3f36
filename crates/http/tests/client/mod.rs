//! A client that knows just enough: it signs with the account's key, writes a request and reads an answer.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lazuli_engine::{Clock, Memory, Stamp, content};
use lazuli_http::auth::{Mode, Trust};
use lazuli_http::recorder::Recorder;
use lazuli_http::{Accounts, Edge, Options, Service};
use lazuli_model::account::Transport;
use lazuli_model::{AccountName, Timestamp};
use lazuli_store::Store;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

pub const ACCOUNT: &str = "devstoreaccount1";
/// Another one, with the same key.
pub const OTHER: &str = "otheraccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

pub fn accounts() -> Accounts {
    let mut accounts = Accounts::new();
    for name in [ACCOUNT, OTHER] {
        accounts.add(AccountName::parse(name).unwrap(), &[KEY]).unwrap();
    }
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
    let store = Store::new(
        Arc::new(Memory::laid_out(lazuli_store::layout, lazuli_engine::Clock::system())),
        Arc::new(content::Memory::new()),
    );
    let next = AtomicU64::new(1);
    let ids = Arc::new(move || u128::from(next.fetch_add(1, Ordering::Relaxed)));
    let clock = store.clone();
    let edge = Edge::new(store.clone(), accounts, Options::default(), ids, Arc::new(move || clock.now()));
    Server { edge, store }
}

/// Waits a second for who takes nothing of an answer. Gives where content is, too.
pub fn start_impatient() -> (Server, content::Memory) {
    let content = content::Memory::new();
    let store = Store::new(Arc::new(Memory::new()), Arc::new(content.clone()));
    let options = Options { answer_idle_seconds: 1, ..Options::default() };
    let clock = store.clone();
    let edge = Edge::new(store.clone(), accounts(), options, Arc::new(|| 7), Arc::new(move || clock.now()));
    (Server { edge, store }, content)
}

/// With an engine whose time is so many seconds ahead of the wall clock, which stands still. Gives what that shows.
pub fn start_ahead(seconds: u64) -> (Server, Timestamp) {
    let wall = Timestamp::from_ticks(638_000_000_000_000_000);
    let engine = Memory::with_clock(Clock::new(move || Stamp(wall.plus_seconds(seconds).ticks())));
    let store = Store::new(Arc::new(engine), Arc::new(content::Memory::new()));
    let edge = Edge::new(store.clone(), accounts(), Options::default(), Arc::new(|| 7), Arc::new(move || wall));
    (Server { edge, store }, wall)
}

impl Server {
    /// Sweeps until there is nothing left to do.
    pub async fn sweep(&self) {
        for _ in 0..3 {
            while self.store.sweep_step().await.unwrap() {}
            for _ in 0..32 {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Copies what is replicated until there is nothing left to do.
    pub async fn replicate(&self) {
        let mut rounds = lazuli_store::ReplicationRounds::default();
        while self.store.replication_step(&mut rounds).await.unwrap() {}
    }

    /// Writes the logs and metrics of the requests so far.
    pub async fn flush_analytics(&self) {
        self.edge.flush_analytics().await.unwrap();
    }

    /// Records from now on.
    pub fn record(&self, bytes: u64) -> Arc<Recorder> {
        let recorder = Arc::new(Recorder::new(bytes));
        self.edge.record(recorder.clone());
        recorder
    }

    /// Changes settings of the account.
    pub async fn set(&self, changes: &[(&str, &str)]) {
        let changes = changes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.store.set_account(&AccountName::parse(ACCOUNT).unwrap(), changes).await.unwrap();
    }

    pub fn allow_sources(&self, sources: lazuli_http::sources::Sources) {
        self.edge.allow_sources(sources);
    }
}

/// An account SAS for everything, as a query.
pub fn account_sas() -> String {
    account_sas_until("2099-01-01T00:00:00Z")
}

pub fn account_sas_until(end: &str) -> String {
    let (version, permissions) = ("2019-02-02", "rwdxlacuptf");
    let text = format!("{ACCOUNT}\n{permissions}\nbqtf\nsco\n\n{end}\n\n\n{version}\n");
    let signature = accounts().get(ACCOUNT).unwrap().sign(text.as_bytes());
    let signature = signature.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    format!("sv={version}&ss=bqtf&srt=sco&sp={permissions}&se={end}&sig={signature}")
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
    account: &'static str,
    service: Service,
    /// Bytes read beyond the last answer.
    held: Vec<u8>,
}

impl Client {
    pub fn to(server: &Server) -> Self {
        Self::to_service(server, Service::Blob)
    }

    pub fn to_service(server: &Server, service: Service) -> Self {
        Self::over(server, service, Transport::Plain)
    }

    /// As if the connection were of this kind.
    pub fn over(server: &Server, service: Service, transport: Transport) -> Self {
        let (near, far) = tokio::io::duplex(64 << 10);
        let edge = server.edge.clone();
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        tokio::spawn(async move {
            let (_run, stop) = tokio::sync::watch::channel(false);
            edge.serve(far, peer, service, transport, stop).await;
        });
        let (store, accounts) = (server.store.clone(), accounts());
        Self { pipe: near, store, accounts, signs: true, account: ACCOUNT, service, held: Vec::new() }
    }

    pub fn of_account(server: &Server, account: &'static str) -> Self {
        Self { account, ..Self::to(server) }
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

    /// All that comes until the server closes the connection.
    pub async fn rest(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.held);
        self.pipe.read_to_end(&mut bytes).await.unwrap();
        bytes
    }

    pub async fn answer(&mut self, bodiless: bool) -> Answer {
        read(&mut self.pipe, &mut self.held, bodiless).await
    }

    pub fn head(&self, method: &str, target: &str, headers: &[(&str, &str)], length: usize) -> String {
        self.head_at(self.store.now(), method, target, headers, length)
    }

    /// Signed at `time`.
    pub fn head_at(
        &self,
        time: Timestamp,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        length: usize,
    ) -> String {
        let date = time.to_http();
        let mut headers: Vec<(String, String)> =
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        headers.push(("x-ms-date".into(), date));
        headers.sort();
        let account = self.account;
        let path = format!("/{account}{target}");
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {length}\r\n");
        if self.signs && self.service == Service::Table {
            let comp = path.split(['?', '&']).find(|pair| pair.starts_with("comp="));
            let comp = comp.map(|comp| format!("?{comp}")).unwrap_or_default();
            let bare = path.split('?').next().unwrap_or_default();
            let date = &headers.iter().find(|(name, _)| name == "x-ms-date").expect("it was pushed").1;
            let text = format!("{date}\n/{account}{bare}{comp}");
            let signed = self.accounts.get(account).unwrap().sign(text.as_bytes());
            head += &format!("authorization: SharedKeyLite {account}:{signed}\r\n");
        } else if self.signs {
            let signed = sign(&self.accounts, account, method, &path, &headers, length);
            head += &format!("authorization: SharedKey {account}:{signed}\r\n");
        }
        for (name, value) in &headers {
            head += &format!("{name}: {value}\r\n");
        }
        head + "\r\n"
    }
}

fn sign(
    accounts: &Accounts,
    account: &str,
    method: &str,
    path: &str,
    headers: &[(String, String)],
    length: usize,
) -> String {
    let header = |name: &str| headers.iter().find(|(other, _)| other == name).map_or("", |(_, value)| value.as_str());
    // Before 2015-02-21 a length of 0 was signed.
    let is_old = (1..).contains(&header("x-ms-version").len()) && header("x-ms-version") < "2015-02-21";
    let length = if length == 0 && !is_old { String::new() } else { length.to_string() };
    let mut text = format!("{method}\n\n\n{length}\n{}\n{}\n\n", header("content-md5"), header("Content-Type"));
    for name in ["if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"] {
        text += &format!("{}\n", header(name));
    }
    for (name, value) in headers.iter().filter(|(name, _)| name.starts_with("x-ms-")) {
        text += &format!("{}:{value}\n", name.to_lowercase());
    }
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    text += &format!("/{account}{path}");
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let mut query: Vec<_> = pairs.map(|(name, value)| (name.to_lowercase(), value)).collect();
    query.sort_unstable();
    for (name, value) in query {
        let value = percent_encoding::percent_decode_str(value).decode_utf8().unwrap();
        text += &format!("\n{name}:{value}");
    }
    accounts.get(account).unwrap().sign(text.as_bytes())
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
    if answer.header("transfer-encoding") == Some("chunked") {
        while let Some(chunk) = chunk(from, held).await {
            answer.body.extend(chunk);
        }
        return answer;
    }
    let length = answer.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    if !bodiless && status != 304 {
        while held.len() < length {
            more(from, held).await;
        }
        answer.body = held.drain(..length).collect();
    }
    answer
}

/// The next one; `None` at the end.
async fn chunk(from: &mut (impl AsyncReadExt + Unpin), held: &mut Vec<u8>) -> Option<Vec<u8>> {
    let end = loop {
        match held.windows(2).position(|window| window == b"\r\n") {
            Some(at) => break at,
            None => more(from, held).await,
        }
    };
    let size = usize::from_str_radix(std::str::from_utf8(&held[..end]).unwrap(), 16).unwrap();
    while held.len() < end + 2 + size + 2 {
        more(from, held).await;
    }
    let chunk: Vec<u8> = held.drain(..end + 2 + size + 2).skip(end + 2).take(size).collect();
    (size > 0).then_some(chunk)
}

async fn more(from: &mut (impl AsyncReadExt + Unpin), held: &mut Vec<u8>) {
    let mut buffer = vec![0; 64 << 10];
    let count = from.read(&mut buffer).await.unwrap();
    assert!(count > 0, "the server closed the connection");
    held.extend_from_slice(&buffer[..count]);
}
