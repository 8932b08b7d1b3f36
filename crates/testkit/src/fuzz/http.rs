//! Requests through the whole edge, over the memory engine: parsed, authorised, routed, decided and answered. No answer is a 500, every
//! answer is whole, and what says that it is XML or JSON reads as such.

use std::cell::RefCell;
use std::io::BufReader;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lazuli_engine::{Memory, content};
use lazuli_http::wire::xml;
use lazuli_http::{Accounts, Edge, Options, Service};
use lazuli_model::AccountName;
use lazuli_store::Store;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::{Builder, Runtime};

use super::request::{BREAK, Request, pieces, split};
use crate::client::{ACCOUNT, Answer, KEY, account_sas, read_answer};

pub const WORDS: &[&str] = &[
    "GET ",
    "PUT ",
    "DELETE ",
    "HEAD ",
    "PATCH ",
    "MERGE ",
    "OPTIONS ",
    "/c",
    "/c/b",
    "/q/messages",
    "/t",
    "/Tables",
    "/$batch",
    "/s/d/f",
    "?restype=container",
    "?restype=directory",
    "&comp=list",
    "&comp=metadata",
    "&comp=lease",
    "&comp=block&blockid=AAAA",
    "&comp=blocklist",
    "&comp=page",
    "&comp=appendblock",
    "&comp=tags",
    "&comp=range",
    "&comp=rename",
    "&comp=snapshot",
    "&snapshot=",
    "&versionid=",
    "&marker=",
    "&prefix=",
    "&delimiter=/",
    "&include=snapshots,metadata,tags,versions",
    "&where=",
    "&$filter=",
    "&$select=",
    "&$top=1",
    "&timeout=1",
    "x-ms-version: 2026-04-06\n",
    "x-ms-range: bytes=0-",
    "x-ms-blob-type: PageBlob\n",
    "If-Match: *\n",
    "x-ms-meta-a: b\n",
    "x-ms-tags: a=b\n",
    "x-ms-lease-id: 00000000-0000-0000-0000-000000000001\n",
    "x-ms-source-range: bytes=0-1\n",
    "x-ms-copy-source: http://a/devstoreaccount1/c/b\n",
    "Content-Type: application/atom+xml\n",
];

/// Requests in one input.
const REQUESTS_MAX: usize = 8;
/// No request of a fuzzer has a reason to take as long.
const LONG: Duration = Duration::from_secs(20);

thread_local! {
    static RUNTIME: RefCell<Runtime> = RefCell::new(Builder::new_current_thread().enable_all().build().expect("a runtime"));
}

pub fn run(input: &[u8]) {
    let Some((service, requests)) = split(input, b"\n") else { return };
    let (raw, service) = match service {
        b"blob" => (false, Service::Blob),
        b"queue" => (false, Service::Queue),
        b"table" => (false, Service::Table),
        b"file" => (false, Service::File),
        b"raw" => (true, Service::Blob),
        _ => return,
    };
    RUNTIME.with_borrow_mut(|runtime| {
        runtime.block_on(async {
            let edge = edge();
            for request in pieces(requests, REQUESTS_MAX) {
                let (bytes, method) = if raw { (raw_bytes(request), b"GET".to_vec()) } else { message(request) };
                let answered = tokio::time::timeout(LONG, ask(&edge, service, &bytes)).await;
                let answered = answered.unwrap_or_else(|_| panic!("nobody answers {}", shown(&bytes)));
                check(&answered, &method, raw, &bytes);
            }
        });
    });
}

fn edge() -> Arc<Edge> {
    let store = Store::new(
        Arc::new(Memory::laid_out(lazuli_store::layout, lazuli_engine::Clock::system())),
        Arc::new(content::Memory::new()),
    );
    let next = AtomicU64::new(1);
    let ids = Arc::new(move || u128::from(next.fetch_add(1, Ordering::Relaxed)));
    let mut accounts = Accounts::new();
    accounts.add(AccountName::parse(ACCOUNT).expect("a name"), &[KEY]).expect("a key");
    let clock = store.clone();
    Edge::new(store, accounts, Options::default(), ids, Arc::new(move || clock.now()))
}

/// As the client means it, with everything that lets it in.
fn message(request: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let Some(request) = Request::read(request) else { return (request.to_vec(), Vec::new()) };
    let joint = if request.target.contains(&b'?') { "&" } else { "?" };
    let mut out = [request.method, b" /", ACCOUNT.as_bytes(), request.target, joint.as_bytes()].concat();
    out.extend_from_slice(account_sas().as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\nHost: localhost\r\n");
    for (name, value) in &request.headers {
        out.extend_from_slice(&[name, b": ".as_slice(), value, b"\r\n"].concat());
    }
    if !request.has("content-length") && !request.has("transfer-encoding") {
        out.extend_from_slice(format!("Content-Length: {}\r\n", request.body.len()).as_bytes());
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(request.body);
    (out, request.method.to_vec())
}

/// Bytes as they are, but for the signature and for line ends.
fn raw_bytes(request: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(request.len() + 256);
    let mut rest = request;
    while let Some((before, after)) = split(rest, b"{sas}") {
        out.extend_from_slice(before);
        out.extend_from_slice(account_sas().as_bytes());
        rest = after;
    }
    out.extend_from_slice(rest);
    out
}

async fn ask(edge: &Arc<Edge>, service: Service, bytes: &[u8]) -> Vec<u8> {
    let (mut near, far) = tokio::io::duplex(64 << 10);
    let (_run, stop) = tokio::sync::watch::channel(false);
    let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    let serving = edge.serve(far, peer, service, false, stop);
    let asking = async {
        let (mut reader, mut writer) = tokio::io::split(&mut near);
        let mut answer = Vec::new();
        let sending = async {
            // Refused early, it may stop reading.
            let _ = writer.write_all(bytes).await;
            let _ = writer.shutdown().await;
        };
        let (_, read) = tokio::join!(sending, reader.read_to_end(&mut answer));
        read.expect("a pipe can be read");
        answer
    };
    tokio::join!(serving, asking).1
}

fn check(mut answered: &[u8], method: &[u8], raw: bool, asked: &[u8]) {
    // A head that is none gets no answer, or hyper's own.
    while !answered.is_empty() {
        let mut reader = BufReader::with_capacity(answered.len(), answered);
        let read =
            read_answer(&mut reader, method.eq_ignore_ascii_case(b"HEAD") || method.eq_ignore_ascii_case(b"OPTIONS"));
        let (answer, _) = match read {
            Ok(read) => read,
            // Cut off where a body broke, or a HEAD among raw bytes.
            Err(_) if raw => return,
            Err(error) => panic!("{error}: {} answers {}", shown(answered), shown(asked)),
        };
        answered = &answered[answered.len() - reader.buffer().len()..];
        assert_ne!(answer.status, 500, "{} {} answers {}", answer.code(), shown(&answer.body), shown(asked));
        reads(&answer, asked);
        if !raw {
            return;
        }
    }
}

fn reads(answer: &Answer, asked: &[u8]) {
    let kind = answer.header("content-type").unwrap_or_default();
    // What a blob was given is the client's own affair.
    let own = answer.header("x-ms-blob-type").is_none() && answer.header("x-ms-type").is_none();
    if answer.body.is_empty() || !own || answer.status == 202 {
        return;
    }
    if kind.starts_with("application/xml") || kind.starts_with("application/atom+xml") {
        let read = xml::Document::read(&answer.body).err();
        assert_eq!(read, None, "{} answers {}", shown(&answer.body), shown(asked));
    } else if kind.starts_with("application/json") {
        let read = serde_json::from_slice::<serde_json::Value>(&answer.body);
        assert!(read.is_ok(), "{read:?}: {} answers {}", shown(&answer.body), shown(asked));
    }
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]).into_owned()
}

/// Several requests as one input.
pub fn joined(service: &str, requests: &[&str]) -> Vec<u8> {
    let requests: Vec<&[u8]> = requests.iter().map(|request| request.as_bytes()).collect();
    [service.as_bytes(), b"\n", &requests.join(BREAK)].concat()
}
