//! Batches of both kinds: the Blob service's, whose parts are heads, and the Table service's, with change sets and bodies. What the parts
//! of one contain is found in it, in order.

use lazuli_http::wire::multipart::{Part, boundary, sections};

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
    let Some(boundary) = boundary(&String::from_utf8_lossy(kind)).map(str::to_owned) else { return };
    assert!((1..=70).contains(&boundary.len()));
    if let Some(parts) = sections(body, &boundary, 8) {
        assert!(!parts.is_empty() && parts.len() <= 9, "a batch has parts, and is not read further than asked");
    }
    parts_in_order(body, &boundary, 0);
}

fn parts_in_order(body: &[u8], outer: &str, depth: usize) {
    let Some(sections) = sections(body, outer, usize::MAX) else { return };
    let delimiters = body.windows(outer.len()).filter(|window| *window == outer.as_bytes()).count();
    assert!(sections.len() < delimiters, "there are more parts than boundaries");
    let mut at = body.as_ptr() as usize;
    for part in sections.into_iter().filter_map(Part::read) {
        if !part.content.is_empty() {
            assert!(part.content.as_ptr() as usize >= at, "parts overlap");
            at = part.content.as_ptr() as usize + part.content.len();
            assert!(at <= body.as_ptr() as usize + body.len());
        }
        if let Some(request) = part.request() {
            assert!(request.body.len() <= part.content.len());
        }
        let inner = boundary(part.kind);
        if let Some(inner) = inner.filter(|_| depth < 3) {
            parts_in_order(part.content, inner, depth + 1);
        }
    }
}
