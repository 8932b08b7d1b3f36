//! A client's end of a pipe to the real edge: it signs, sends in pieces, hangs up if it feels like it, and reads the answer.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use lazuli_http::{Accounts, Service};
use lazuli_model::Timestamp;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::scene::{Mischief, Scene};
use crate::chance::Chance;
use crate::client::ACCOUNT;

#[derive(Clone, Debug)]
pub struct Request {
    pub method: &'static str,
    /// Without the account.
    pub target: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn new(method: &'static str, target: impl Into<String>) -> Self {
        Self { method, target: target.into(), headers: vec![("x-ms-version", "2021-12-02".into())], body: Vec::new() }
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub fn with_some(self, name: &'static str, value: Option<impl Into<String>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }
}

#[derive(Clone, PartialEq)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    /// Nobody was told.
    pub fn unknown() -> Self {
        Self { status: 0, headers: Vec::new(), body: Vec::new() }
    }

    pub fn is_known(&self) -> bool {
        self.status != 0
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn good(&self) -> bool {
        self.is_known() && self.status < 300
    }

    /// The error's code, from wherever the service puts it.
    pub fn code(&self) -> String {
        if let Some(code) = self.header("x-ms-error-code") {
            return code.to_owned();
        }
        let text = self.text();
        let code = text.split("\"code\":\"").nth(1).or_else(|| text.split("<Code>").nth(1)).unwrap_or_default();
        code.split(['"', '<']).next().unwrap_or_default().to_owned()
    }

    /// An ETag as the number that it is.
    pub fn etag(&self) -> Option<u64> {
        self.header("etag").and_then(etag)
    }
}

pub fn etag(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim_matches('"').strip_prefix("0x")?, 16).ok()
}

/// As much as a reader of a history needs.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_known() {
            return f.write_str("(nobody was told)");
        }
        write!(f, "{}", self.status)?;
        if !self.good() {
            return write!(f, " {}", self.code());
        }
        let told = ["etag", "x-ms-snapshot", "x-ms-version-id", "x-ms-meta-m", "x-ms-lease-state", "x-ms-popreceipt"];
        for name in told {
            if let Some(value) = self.header(name) {
                write!(f, " {name}={value}")?;
            }
        }
        if !self.body.is_empty() {
            let text: String = self.text().chars().filter(|c| !c.is_control()).take(600).collect();
            write!(f, " [{} bytes] {text:?}", self.body.len())?;
        }
        Ok(())
    }
}

/// Turns of everybody after which a call has ended, also one that nobody waits for.
const SETTLED: usize = 400;

/// What became of a call.
pub enum Told {
    Answer(Answer),
    /// Nobody knows whether it happened.
    Nothing,
    /// It was not sent as a whole, or not signed by anybody known: it must not happen.
    Void,
    /// The server said something that it may not say.
    Wrong(String),
}

pub struct Wire {
    scene: Arc<Scene>,
    service: Service,
    pipe: Option<DuplexStream>,
    held: Vec<u8>,
}

impl Wire {
    pub fn new(scene: Arc<Scene>, service: Service) -> Self {
        Self { scene, service, pipe: None, held: Vec::new() }
    }

    fn connect(&mut self) -> DuplexStream {
        self.held.clear();
        let (near, far) = tokio::io::duplex(16 << 10);
        let (edge, service) = (self.scene.edge.clone(), self.service);
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        tokio::spawn(async move {
            let (_run, stop) = tokio::sync::watch::channel(false);
            edge.serve(far, peer, service, false, stop).await;
        });
        near
    }

    pub async fn ask(&mut self, request: &Request, chance: &mut Chance) -> Told {
        let mischief = self.scene.mischief;
        let forged = chance.below(1000) < mischief.forgeries;
        let hangs_up = chance.below(1000) < mischief.hang_ups;
        let accounts = if forged { &self.scene.strangers } else { &self.scene.accounts };
        let now = self.scene.time.outside();
        let head = head(accounts, self.service, now, request);
        let message = [head.as_bytes(), &request.body].concat();
        let whole = message.len();
        // Half of those who hang up do so before the last byte.
        let sent = if hangs_up && chance.one_in(2) { chance.below(whole) } else { whole };
        let mut pipe = match self.pipe.take() {
            Some(pipe) => pipe,
            None => self.connect(),
        };
        let (mut reader, mut writer) = tokio::io::split(&mut pipe);
        let steps = 1 + chance.below(3);
        let bodiless = request.method == "HEAD";
        let held = &mut self.held;
        let writing = async {
            for piece in message[..sent].chunks(sent / steps + 1) {
                if writer.write_all(piece).await.is_err() {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        if hangs_up {
            writing.await;
            for _ in 0..chance.below(12) {
                tokio::task::yield_now().await;
            }
            drop(pipe);
            // What it began goes on without it; long before this it has ended.
            for _ in 0..SETTLED {
                tokio::task::yield_now().await;
            }
            return if sent < whole || forged { Told::Void } else { Told::Nothing };
        }
        // Both at once: a pipe is small, and the answer may come before the last byte is sent.
        let ((), answer) = tokio::join!(writing, read(&mut reader, held, bodiless));
        let Some(answer) = answer else { return self.broken(forged, "the connection was closed") };
        self.pipe = Some(pipe);
        if forged {
            return match answer.status {
                403 => Told::Void,
                503 => self.broken(true, "503"),
                status => Told::Wrong(format!("{status} to a request with a wrong signature: {request:?}")),
            };
        }
        match answer.status {
            503 => self.broken(false, "503"),
            500.. if self.scene.mischief.damaged => Told::Nothing,
            500.. => Told::Wrong(format!("{answer:?} to {request:?}")),
            _ => Told::Answer(answer),
        }
    }

    /// Right only where there are faults.
    fn broken(&self, void: bool, what: &str) -> Told {
        let Mischief { faults, damaged, .. } = self.scene.mischief;
        match (faults > 0 || damaged, void) {
            (true, true) => Told::Void,
            (true, false) => Told::Nothing,
            (false, _) => Told::Wrong(format!("{what}, where nothing was broken")),
        }
    }
}

fn head(accounts: &Accounts, service: Service, now: Timestamp, request: &Request) -> String {
    let mut headers = request.headers.clone();
    headers.push(("x-ms-date", now.to_http()));
    headers.sort();
    let path = format!("/{ACCOUNT}{}", request.target);
    let length = request.body.len();
    let mut head = format!("{} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {length}\r\n", request.method);
    let signed = |text: String| accounts.get(ACCOUNT).expect("the account").sign(text.as_bytes());
    if service == Service::Table {
        let bare = path.split('?').next().unwrap_or_default();
        head += &format!(
            "authorization: SharedKeyLite {ACCOUNT}:{}\r\n",
            signed(format!("{}\n/{ACCOUNT}{bare}", now.to_http()))
        );
    } else {
        let text = string_to_sign(request.method, &path, &headers, length);
        head += &format!("authorization: SharedKey {ACCOUNT}:{}\r\n", signed(text));
    }
    for (name, value) in &headers {
        head += &format!("{name}: {value}\r\n");
    }
    head + "\r\n"
}

fn string_to_sign(method: &str, path: &str, headers: &[(&str, String)], length: usize) -> String {
    let header = |name: &str| headers.iter().find(|(other, _)| *other == name).map_or("", |(_, value)| value.as_str());
    let length = if length == 0 { String::new() } else { length.to_string() };
    let mut text = format!("{method}\n\n\n{length}\n{}\n{}\n\n", header("content-md5"), header("content-type"));
    for name in ["if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"] {
        text += &format!("{}\n", header(name));
    }
    for (name, value) in headers.iter().filter(|(name, _)| name.starts_with("x-ms-")) {
        text += &format!("{name}:{value}\n");
    }
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    text += &format!("/{ACCOUNT}{path}");
    let mut query: Vec<_> = query.split('&').filter_map(|pair| pair.split_once('=')).collect();
    query.sort_unstable();
    for (name, value) in query {
        text += &format!("\n{name}:{}", unescape(value));
    }
    text
}

/// Undoes [`escape`].
fn unescape(text: &str) -> String {
    text.replace("%3A", ":").replace("%2B", "+").replace("%2F", "/").replace("%3D", "=").replace("%20", " ")
}

/// A value for a query.
pub fn escape(text: &str) -> String {
    text.replace(':', "%3A").replace('+', "%2B").replace('/', "%2F").replace('=', "%3D").replace(' ', "%20")
}

async fn read(from: &mut (impl AsyncReadExt + Unpin), held: &mut Vec<u8>, bodiless: bool) -> Option<Answer> {
    let end = loop {
        if let Some(at) = held.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        more(from, held).await?;
    };
    let head = String::from_utf8(held.drain(..end + 4).collect()).ok()?;
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let pairs = lines.filter_map(|line| line.split_once(": "));
    let headers: Vec<_> = pairs.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
    let mut answer = Answer { status, headers, body: Vec::new() };
    let length = answer.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    if !bodiless && status != 304 {
        while held.len() < length {
            more(from, held).await?;
        }
        answer.body = held.drain(..length).collect();
    }
    Some(answer)
}

async fn more(from: &mut (impl AsyncReadExt + Unpin), held: &mut Vec<u8>) -> Option<()> {
    let mut buffer = [0; 4096];
    let count = from.read(&mut buffer).await.ok()?;
    held.extend_from_slice(&buffer[..count]);
    (count > 0).then_some(())
}
