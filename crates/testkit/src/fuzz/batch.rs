//! Batches of both kinds: the Blob service's, whose parts are heads, and the Table service's, with change sets and bodies. What the parts
//! of one contain is found in it, in order.

use lazuli_http::table::multipart as table;
use lazuli_http::wire::multipart as blob;

use super::request::split;

pub const WORDS: &[&str] = &[
    "--b\r\n",
    "--b--\r\n",
    "\r\n",
    "\r\n\r\n",
    "Content-Type: application/http\r\n",
    "Content-Type: multipart/mixed; boundary=c\r\n",
    "Content-ID: 0\r\n",
    "Content-Transfer-Encoding: binary\r\n",
    "DELETE /c/b HTTP/1.1\r\n",
    "GET /t() HTTP/1.1\r\n",
    "--c\r\n",
    "--c--\r\n",
    "x-ms-date: a\r\n",
    "{\"PartitionKey\":\"a\"}",
];

/// The content type in the first line, then the body.
pub fn run(input: &[u8]) {
    let Some((kind, body)) = split(input, b"\n") else { return };
    let Some(boundary) = blob::boundary(&String::from_utf8_lossy(kind)).map(str::to_owned) else { return };
    assert!((1..=70).contains(&boundary.len()));
    if let Some(parts) = blob::parts(body, &boundary) {
        assert!(!parts.is_empty(), "a batch has parts");
        let delimiters = body.windows(boundary.len()).filter(|window| *window == boundary.as_bytes()).count();
        assert!(parts.len() < delimiters, "there are more parts than boundaries");
    }
    parts_in_order(body, &boundary, 0);
}

fn parts_in_order(body: &[u8], boundary: &str, depth: usize) {
    let Ok(parts) = table::parts(body, boundary) else { return };
    let mut at = body.as_ptr() as usize;
    for part in &parts {
        if !part.content.is_empty() {
            assert!(part.content.as_ptr() as usize >= at, "parts overlap");
            at = part.content.as_ptr() as usize + part.content.len();
            assert!(at <= body.as_ptr() as usize + body.len());
        }
        if let Ok(request) = table::request(part) {
            assert!(request.body.len() <= part.content.len());
        }
        let inner = blob::boundary(part.kind);
        if let Some(inner) = inner.filter(|_| depth < 3) {
            parts_in_order(part.content, inner, depth + 1);
        }
    }
}
