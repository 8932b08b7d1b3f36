//! `multipart/mixed` bodies whose parts are HTTP requests: batches of blobs, and entity group transactions, whose parts may have parts of
//! their own. Clients differ in line ends, in blank lines, in the headers of their parts and in the end of the last line; what is read here is
//! what all of them have in common.

use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use memchr::{memchr, memmem};

/// A part: of what type it is, by which `Content-ID` it goes, and what it contains.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    pub kind: &'a str,
    pub id: Option<&'a str>,
    pub content: &'a [u8],
}

/// A request within a part.
#[derive(Clone, Debug)]
pub struct Inner<'a> {
    pub method: Method,
    pub url: &'a str,
    pub headers: HeaderMap,
    pub body: &'a [u8],
}

/// The boundary that a `Content-Type` of `multipart/mixed` names.
pub fn boundary(content_type: &str) -> Option<&str> {
    let mut fields = content_type.split(';').map(str::trim);
    if !fields.next()?.eq_ignore_ascii_case("multipart/mixed") {
        return None;
    }
    let named = fields.find_map(|field| {
        let (name, value) = field.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"'))
    });
    // RFC 2046 allows 70 characters.
    named.filter(|boundary| (1..=70).contains(&boundary.len()))
}

/// What is between the boundaries, in order; `None` when the body is not what the boundary says. A body with more than `most` parts has too
/// many, and is read no further.
pub fn sections<'a>(body: &'a [u8], boundary: &str, most: usize) -> Option<Vec<&'a [u8]>> {
    let delimiter = format!("--{boundary}");
    let mut sections = Vec::new();
    let mut begun: Option<usize> = None;
    for at in memmem::find_iter(body, delimiter.as_bytes()) {
        let begins_a_line = at == 0 || body[at - 1] == b'\n';
        let end = line_end(body, at);
        let behind = body[at + delimiter.len()..end].trim_ascii_end();
        if !begins_a_line || !(behind.is_empty() || behind == b"--") {
            continue;
        }
        if let Some(start) = begun {
            sections.push(without_last_line_end(&body[start..at]));
        }
        if sections.len() > most {
            return Some(sections);
        }
        if behind == b"--" {
            return Some(sections).filter(|sections| !sections.is_empty());
        }
        begun = Some(end);
    }
    None
}

/// Behind the line that begins at `at`.
fn line_end(text: &[u8], at: usize) -> usize {
    memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length + 1)
}

/// The line end before a boundary belongs to the boundary.
fn without_last_line_end(content: &[u8]) -> &[u8] {
    let content = content.strip_suffix(b"\n").unwrap_or(content);
    content.strip_suffix(b"\r").unwrap_or(content)
}

impl<'a> Part<'a> {
    /// `None` if its headers are none.
    pub fn read(section: &'a [u8]) -> Option<Self> {
        let (mut kind, mut id) = (None, None);
        let content = headers(section, |name, value| {
            let text = std::str::from_utf8(value).ok();
            if kind.is_none() && name == header::CONTENT_TYPE {
                kind = text.filter(|kind| kind.is_ascii()).or(Some(""));
            }
            if id.is_none() && name == CONTENT_ID {
                id = text.filter(|id| id.is_ascii());
            }
            // What no header may have refuses the batch, as in the requests within.
            value.iter().all(|byte| !byte.is_ascii_control() || *byte == b'\t').then_some(())
        })?;
        Some(Self { kind: kind.unwrap_or_default(), id, content })
    }

    /// The request that it contains.
    pub fn request(&self) -> Option<Inner<'a>> {
        let content = self.content.trim_ascii_start();
        let end = line_end(content, 0);
        let line = std::str::from_utf8(&content[..end]).ok()?.trim();
        let (method, rest) = line.split_once(' ')?;
        // A URL may have blanks in it that the client did not encode.
        let (url, version) = rest.rsplit_once(' ')?;
        if !version.starts_with("HTTP/1.") {
            return None;
        }
        let method = Method::from_bytes(method.as_bytes()).ok()?;
        let mut all = HeaderMap::with_capacity(12);
        let body = headers(&content[end..], |name, value| {
            all.try_append(name, HeaderValue::from_bytes(value).ok()?).ok().map(drop)
        })?;
        Some(Inner { method, url: url.trim(), headers: all, body: body.trim_ascii() })
    }
}

const CONTENT_ID: HeaderName = HeaderName::from_static("content-id");

/// Shows `each` the header lines up to a blank one; what follows.
fn headers<'a>(text: &'a [u8], mut each: impl FnMut(HeaderName, &'a [u8]) -> Option<()>) -> Option<&'a [u8]> {
    let mut at = 0;
    while at < text.len() {
        let end = line_end(text, at);
        let line = text[at..end].trim_ascii();
        at = end;
        if line.is_empty() {
            return Some(&text[at..]);
        }
        let colon = memchr(b':', line)?;
        let name = HeaderName::from_bytes(line[..colon].trim_ascii()).ok()?;
        each(name, line[colon + 1..].trim_ascii())?;
    }
    Some(&[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::noise::survive;

    /// As the Python client sends it.
    const PYTHON: &str = "--batch_c2\r\nContent-Type: application/http\r\nContent-ID: 0\r\nContent-Transfer-Encoding: binary\r\n\r\n\
        DELETE /c/b%20x? HTTP/1.1\r\nx-ms-if-tags: \"tag1\"='a: b'\r\nAuthorization: SharedKey a:b=\r\nContent-Length: 0\r\n\r\n\r\n\
        --batch_c2\r\nContent-Type: application/http\r\nContent-ID: 1\r\nContent-Transfer-Encoding: binary\r\n\r\n\
        PUT /c/b?comp=tier HTTP/1.1\r\nx-ms-access-tier: Cool\r\n\r\n\r\n--batch_c2--\r\n";

    fn requests<'a>(body: &'a str, boundary: &str) -> Option<Vec<(Option<&'a str>, Inner<'a>)>> {
        let parts = sections(body.as_bytes(), boundary, 1024)?.into_iter().map(|section| {
            let part = Part::read(section)?;
            Some((part.id, part.request()?))
        });
        parts.collect()
    }

    #[test]
    fn parts_are_found() {
        // The same with bare line feeds, with a preamble, and without an end of the last line.
        let plain = PYTHON.replace('\r', "");
        let preamble = format!("ignored\r\n\r\n{PYTHON}");
        for body in [PYTHON, &plain, &preamble, PYTHON.trim_end()] {
            let requests = requests(body, "batch_c2").expect("requests");
            let seen: Vec<_> = requests.iter().map(|(id, inner)| (*id, inner.method.as_str(), inner.url)).collect();
            assert_eq!(seen, [(Some("0"), "DELETE", "/c/b%20x?"), (Some("1"), "PUT", "/c/b?comp=tier")]);
            assert_eq!(requests[0].1.headers["x-ms-if-tags"], "\"tag1\"='a: b'");
            assert_eq!(requests[1].1.headers["x-ms-access-tier"], "Cool");
        }
    }

    #[test]
    fn what_is_no_batch_is_refused() {
        let part = "--x\r\nContent-Type: application/http\r\n\r\n";
        for body in [
            "".to_owned(),
            "--x--".to_owned(),
            "--x\r\n--x--".to_owned(),
            format!("{part}--x--"),
            format!("{part}DELETE /c/b HTTP/1.1\r\n\r\n"),
            format!("{part}DELETE /c/b\r\n\r\n--x--"),
            format!("{part}DELETE /c/b HTTP/1.1\r\nno header\r\n\r\n--x--"),
            format!("{part}DELETE /c/b HTTP/1.1 more\r\n\r\n--x--"),
            format!("{part}DELETE /c/b HTTP/1.1\r\nx: \u{1}\r\n\r\n--x--"),
        ] {
            assert!(requests(&body, "x").is_none(), "{body:?}");
        }
    }

    #[test]
    fn boundaries() {
        for (content_type, expected) in [
            ("multipart/mixed; boundary=batch_1", Some("batch_1")),
            ("Multipart/Mixed;charset=x; Boundary=\"a b\"", Some("a b")),
            ("multipart/mixed", None),
            ("multipart/mixed; boundary=", None),
            ("application/json; boundary=x", None),
        ] {
            assert_eq!(boundary(content_type), expected, "{content_type}");
        }
    }

    #[test]
    fn nonsense_does_not_panic() {
        survive(&[PYTHON.as_bytes()], |bytes| {
            for section in sections(bytes, "batch_c2", 8).unwrap_or_default() {
                drop(Part::read(section).and_then(|part| part.request()));
            }
        });
    }

    #[test]
    fn more_parts_than_there_may_be_are_not_read() {
        let body = "--x\r\n\r\n".repeat(9);
        assert_eq!(sections(body.as_bytes(), "x", 5).map(|sections| sections.len()), Some(6));
        assert_eq!(sections(body.as_bytes(), "x", 9), None, "it has no end");
    }
}
