//! Where the bytes of a file may be copied from: this server, under the rights that the source was named with; another host only
//! where the operator allows it.

mod client;

use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use client::{ACCOUNT, Client, Server, accounts, start, start_trusting};
use lazuli_http::Service;
use lazuli_http::client::{Dial, Wire};
use lazuli_http::sources::Sources;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const VERSION: (&str, &str) = ("x-ms-version", "2021-06-08");
const NEWER: (&str, &str) = ("x-ms-version", "2025-11-05");
const BODY: &str = "hello from elsewhere";

/// The heads of the requests that other hosts got.
type Heard = Arc<Mutex<Vec<String>>>;

/// What `elsewhere.example` answers, by path.
fn answer(head: &str) -> String {
    let target = head.split(' ').nth(1).unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default();
    let range =
        head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("range: bytes=").map(str::to_owned));
    let kind = "content-type: text/elsewhere\r\nx-ms-meta-from: afar\r\n";
    match (path, range.as_deref()) {
        ("/file", Some("6-9")) => {
            format!("HTTP/1.1 206 Partial Content\r\n{kind}content-length: 4\r\n\r\n{}", &BODY[6..10])
        }
        ("/file" | "/deaf", _) => format!("HTTP/1.1 200 OK\r\n{kind}content-length: {}\r\n\r\n{BODY}", BODY.len()),
        ("/endless", _) => "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n".into(),
        ("/secret", _) => {
            "HTTP/1.1 403 Forbidden\r\nx-ms-error-code: AuthenticationFailed\r\ncontent-length: 0\r\n\r\n".into()
        }
        _ => "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".into(),
    }
}

fn with_elsewhere(server: &Server) -> Heard {
    let heard = Heard::default();
    let kept = heard.clone();
    let dial: Dial = Arc::new(move |_, _, _| {
        let kept = kept.clone();
        Box::pin(async move {
            let (near, mut far) = tokio::io::duplex(4096);
            tokio::spawn(async move {
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n") && far.read_exact(&mut byte).await.is_ok() {
                    head.push(byte[0]);
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let said = answer(&head);
                kept.lock().unwrap().push(head);
                let _ = far.write_all(said.as_bytes()).await;
            });
            Ok(Box::new(near) as Box<dyn Wire>)
        })
    });
    server.allow_sources(Sources::new(Vec::new(), vec!["elsewhere.example".into()], Some(dial)));
    heard
}

async fn with_share(server: &Server) -> Client {
    let mut client = Client::to_service(server, Service::File);
    assert_eq!(client.send("PUT", "/sha?restype=share", &[VERSION], b"").await.status, 201);
    let file = [VERSION, ("x-ms-type", "file"), ("x-ms-content-length", "8")];
    assert_eq!(client.send("PUT", "/sha/f", &file, b"").await.status, 201);
    client
}

#[tokio::test]
async fn a_file_is_copied_from_another_host_that_is_allowed() {
    let server = start();
    let heard = with_elsewhere(&server);
    let mut client = with_share(&server).await;
    let source = ("x-ms-copy-source", "http://elsewhere.example/file?sig=s");
    let copied = client.send("PUT", "/sha/copy", &[VERSION, source], b"").await;
    assert_eq!((copied.status, copied.header("x-ms-copy-status")), (202, Some("success")), "{}", copied.text());
    let read = client.send("GET", "/sha/copy", &[VERSION], b"").await;
    assert_eq!((read.text().as_str(), read.header("content-type")), (BODY, Some("text/elsewhere")));
    assert_eq!(read.header("x-ms-meta-from"), Some("afar"));
    assert_eq!(read.header("x-ms-copy-source"), Some("http://elsewhere.example/file"));

    let ranges = [("x-ms-write", "update"), ("x-ms-range", "bytes=2-5"), ("x-ms-source-range", "bytes=6-9")];
    let token = ("x-ms-copy-source-authorization", "Bearer t");
    let put = client.send("PUT", "/sha/f?comp=range", &[&[VERSION, source, token], &ranges[..]].concat(), b"").await;
    assert_eq!(put.status, 201, "{}", put.text());
    assert_eq!(client.send("GET", "/sha/f", &[VERSION], b"").await.text(), "\0\0from\0\0");
    let heard = heard.lock().unwrap();
    let last = heard.last().unwrap().to_ascii_lowercase();
    assert!(last.contains("authorization: bearer t") && last.contains("range: bytes=6-9"), "{last}");
    assert!(!heard.iter().any(|head| head.contains("SharedKey")), "nobody's key leaves the server");
}

/// Status, and what newer versions name besides.
#[tokio::test]
async fn what_cannot_be_read_is_refused() {
    let server = start();
    with_elsewhere(&server);
    let mut client = with_share(&server).await;
    let own = "http://127.0.0.1/devstoreaccount1/sha/f";
    let table = [
        ("/sha/copy", "http://10.0.0.1/devstoreaccount1/sha/f", 403, "AuthorizationFailure"),
        ("/sha/copy", "http://elsewhere.example:81/file", 403, "AuthorizationFailure"),
        ("/sha/copy", "http://elsewhere.example/none", 404, "CannotVerifyCopySource"),
        ("/sha/copy", "http://elsewhere.example/secret", 403, "AuthenticationFailed"),
        ("/sha/copy", "http://elsewhere.example/endless", 411, "MissingContentLengthHeader"),
        ("/sha/f?comp=range", "http://elsewhere.example/deaf", 416, "InvalidRange"),
        ("/sha/f?comp=range", own, 401, "NoAuthenticationInformation"),
    ];
    let ranges = [("x-ms-write", "update"), ("x-ms-range", "bytes=2-5"), ("x-ms-source-range", "bytes=6-9")];
    for (target, source, status, code) in table {
        let ranges = if target.contains("comp=range") { &ranges[..] } else { &[] };
        let ask = |version| [&[version, ("x-ms-copy-source", source)], ranges].concat();
        let said = client.send("PUT", target, &ask(NEWER), b"").await;
        let named = (said.status, said.header("x-ms-error-code"), said.header("x-ms-copy-source-error-code"));
        assert_eq!(named, (status, Some("CannotVerifyCopySource"), Some(code)), "{source} {}", said.text());
        assert!(said.text().contains(&format!("<CopySourceErrorCode>{code}</CopySourceErrorCode>")), "{source}");
        let said = client.send("PUT", target, &ask(VERSION), b"").await;
        assert_eq!(said.header("x-ms-error-code"), Some("CannotVerifyCopySource"), "{source}");
        assert_eq!(said.header("x-ms-copy-source-error-code"), None, "{source}");
        assert!(!said.text().contains("CopySourceErrorCode"), "{source}");
    }
    // Observed in 2022: before it took tokens, the File service did not ask for one.
    let ask = [&[VERSION, ("x-ms-copy-source", own)], &ranges[..]].concat();
    assert_eq!(client.send("PUT", "/sha/f?comp=range", &ask, b"").await.status, 403);
    let invalid = client.send("PUT", "/sha/copy", &[VERSION, ("x-ms-copy-source", "ftp://127.0.0.1/a/b")], b"").await;
    assert_eq!((invalid.status, invalid.header("x-ms-error-code")), (400, Some("InvalidHeaderValue")));
}

/// Observed: Copy File reads a source of the same account under the token of the request; nothing else does.
#[tokio::test]
async fn a_token_opens_the_sources_of_its_account_to_copy_file() {
    let issuer = "https://issuer.example/";
    let server = start_trusting(issuer);
    with_share(&server).await;
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let claims = format!(r#"{{"iss":"{issuer}","aud":"https://storage.azure.com","exp":4102444800}}"#);
    let bearer = format!("Bearer {}.{}.", part(r#"{"alg":"none"}"#), part(&claims));
    let common =
        [("x-ms-version", "2021-12-02"), ("authorization", bearer.as_str()), ("x-ms-file-request-intent", "backup")];
    let source = ("x-ms-copy-source", "http://127.0.0.1/devstoreaccount1/sha/f");
    let mut client = Client::unsigned_to(&server, Service::File);
    let copied = client.send("PUT", "/sha/copy", &[&common[..], &[source]].concat(), b"").await;
    assert_eq!(copied.status, 202, "{}", copied.text());
    let range = [("x-ms-write", "update"), ("x-ms-range", "bytes=0-3"), ("x-ms-source-range", "bytes=0-3"), source];
    let refused = client.send("PUT", "/sha/copy?comp=range", &[&common[..], &range].concat(), b"").await;
    assert_eq!((refused.status, refused.header("x-ms-error-code")), (401, Some("CannotVerifyCopySource")));
}

/// Of the account, to read files with.
fn sas() -> String {
    let text = format!("{ACCOUNT}\nr\nf\no\n\n2099-01-01\n\n\n2019-12-12\n");
    let signature = accounts().get(ACCOUNT).unwrap().sign(text.as_bytes());
    let signature = signature.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    format!("sv=2019-12-12&ss=f&srt=o&sp=r&se=2099-01-01&sig={signature}")
}

/// Everything that takes a URL takes a file's: its bytes, headers and metadata, for clients that may read it.
#[tokio::test]
async fn a_file_becomes_a_blob() {
    let server = start();
    let mut files = with_share(&server).await;
    let file = [VERSION, ("x-ms-type", "file"), ("x-ms-content-length", "8"), ("x-ms-content-type", "text/file")];
    let file = [&file[..], &[("x-ms-meta-from", "share")]].concat();
    assert_eq!(files.send("PUT", "/sha/f", &file, b"").await.status, 201);
    let range = [VERSION, ("x-ms-write", "update"), ("x-ms-range", "bytes=2-5")];
    assert_eq!(files.send("PUT", "/sha/f?comp=range", &range, b"file").await.status, 201);
    let etag = files.send("HEAD", "/sha/f", &[VERSION], b"").await.header("etag").unwrap().to_owned();

    let mut blobs = Client::to_service(&server, Service::Blob);
    assert_eq!(blobs.send("PUT", "/con?restype=container", &[VERSION], b"").await.status, 201);
    let url = "http://devstoreaccount1.file.core.windows.net/sha/f";
    let source = ("x-ms-copy-source", url);
    let copied = blobs.send("PUT", "/con/copy", &[VERSION, source, ("x-ms-source-if-match", &etag)], b"").await;
    assert_eq!(copied.status, 202, "{}", copied.text());
    let mut read = blobs.send("GET", "/con/copy", &[VERSION], b"").await;
    while read.header("x-ms-copy-status") == Some("pending") {
        tokio::task::yield_now().await;
        read = blobs.send("GET", "/con/copy", &[VERSION], b"").await;
    }
    assert_eq!((read.text().as_str(), read.header("content-type")), ("\0\0file\0\0", Some("text/file")));
    assert_eq!((read.header("x-ms-meta-from"), read.header("x-ms-copy-source")), (Some("share"), Some(url)));
    let unmet = blobs.send("PUT", "/con/copy", &[VERSION, source, ("x-ms-source-if-none-match", &etag)], b"").await;
    assert_eq!((unmet.status, unmet.header("x-ms-error-code")), (412, Some("SourceConditionNotMet")));

    let signed = format!("{url}?{}", sas());
    let source = ("x-ms-copy-source", signed.as_str());
    let put = blobs.send("PUT", "/con/put", &[VERSION, source, ("x-ms-blob-type", "BlockBlob")], b"").await;
    assert_eq!(put.status, 201, "{}", put.text());
    assert_eq!(blobs.send("GET", "/con/put", &[VERSION], b"").await.text(), "\0\0file\0\0");
    let appended = [VERSION, ("x-ms-blob-type", "AppendBlob")];
    assert_eq!(blobs.send("PUT", "/con/log", &appended, b"").await.status, 201);
    let range = ("x-ms-source-range", "bytes=2-4");
    let append = blobs.send("PUT", "/con/log?comp=appendblock", &[VERSION, source, range], b"").await;
    assert_eq!(append.status, 201, "{}", append.text());
    assert_eq!(blobs.send("GET", "/con/log", &[VERSION], b"").await.text(), "fil");

    // Only Copy Blob takes the account's key for its source's too.
    let unsigned = [NEWER, ("x-ms-copy-source", url), ("x-ms-blob-type", "BlockBlob")];
    let refused = blobs.send("PUT", "/con/none", &unsigned, b"").await;
    assert_eq!((refused.status, refused.header("x-ms-error-code")), (401, Some("CannotVerifyCopySource")));
    assert_eq!(blobs.send("HEAD", "/con/none", &[VERSION], b"").await.status, 404);
}
