//! `multipart/mixed` as entity group transactions have it: parts within parts, and requests with bodies. Lenient about line ends and
//! blank lines, because clients differ in them.

use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use lazuli_model::Refusal;
use memchr::{memchr, memmem};

use super::status::invalid;

/// A part: of what type it is, and what it contains.
pub struct Part<'a> {
    pub kind: &'a str,
    pub content: &'a [u8],
}

/// A request within a part.
pub struct Inner<'a> {
    pub method: Method,
    pub url: &'a str,
    pub headers: HeaderMap,
    pub body: &'a [u8],
}

pub fn parts<'a>(body: &'a [u8], boundary: &str) -> Result<Vec<Part<'a>>, Refusal> {
    let delimiter = format!("--{boundary}");
    let mut parts = Vec::new();
    let mut begun: Option<usize> = None;
    for at in memmem::find_iter(body, delimiter.as_bytes()) {
        let begins_a_line = at == 0 || body[at - 1] == b'\n';
        let end = line_end(body, at);
        let behind = body[at + delimiter.len()..end].trim_ascii_end();
        if !begins_a_line || !(behind.is_empty() || behind == b"--") {
            continue;
        }
        if let Some(start) = begun {
            parts.push(part(without_last_line_end(&body[start..at]))?);
        }
        if behind == b"--" {
            return Ok(parts);
        }
        begun = Some(end);
    }
    Err(invalid().into())
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

fn part(text: &[u8]) -> Result<Part<'_>, Refusal> {
    let mut kind = None;
    let content = headers(text, |name, value| {
        if kind.is_none() && name == header::CONTENT_TYPE {
            kind = std::str::from_utf8(value).ok().filter(|kind| kind.is_ascii()).or(Some(""));
        }
        // What no header may have refuses the batch, as in the requests within.
        let is_valid = value.iter().all(|byte| !byte.is_ascii_control() || *byte == b'\t');
        if is_valid { Ok(()) } else { Err(invalid().into()) }
    })?;
    Ok(Part { kind: kind.unwrap_or_default(), content })
}

/// Shows `each` the header lines up to a blank one; what follows.
fn headers<'a>(
    text: &'a [u8],
    mut each: impl FnMut(HeaderName, &'a [u8]) -> Result<(), Refusal>,
) -> Result<&'a [u8], Refusal> {
    let mut at = 0;
    while at < text.len() {
        let end = line_end(text, at);
        let line = text[at..end].trim_ascii();
        at = end;
        if line.is_empty() {
            return Ok(&text[at..]);
        }
        let colon = memchr(b':', line).ok_or_else(invalid)?;
        let name = HeaderName::from_bytes(line[..colon].trim_ascii()).map_err(|_| invalid())?;
        each(name, line[colon + 1..].trim_ascii())?;
    }
    Ok(&[])
}

/// The request that a part of type `application/http` contains.
pub fn request<'a>(part: &Part<'a>) -> Result<Inner<'a>, Refusal> {
    const HTTP: &str = "application/http";
    if !part.kind.get(..HTTP.len()).is_some_and(|kind| kind.eq_ignore_ascii_case(HTTP)) {
        return Err(invalid().into());
    }
    let content = part.content.trim_ascii_start();
    let end = line_end(content, 0);
    let line = std::str::from_utf8(&content[..end]).map_err(|_| invalid())?.trim();
    let (method, rest) = line.split_once(' ').ok_or_else(invalid)?;
    // A URL may have blanks in it that the client did not encode.
    let (url, version) = rest.rsplit_once(' ').ok_or_else(invalid)?;
    if !version.starts_with("HTTP/1.") {
        return Err(invalid().into());
    }
    let method = Method::from_bytes(method.as_bytes()).map_err(|_| invalid())?;
    let mut all = HeaderMap::with_capacity(12);
    let body = headers(&content[end..], |name, value| {
        let value = HeaderValue::from_bytes(value).map_err(|_| invalid())?;
        all.try_append(name, value).map(drop).map_err(|_| invalid().into())
    })?;
    Ok(Inner { method, url: url.trim(), headers: all, body: body.trim_ascii() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_of_a_type_that_headers_can_say() {
        let of =
            |kind: &str| format!("--b\r\nContent-Type: {kind}\r\n\r\nGET http://a/t() HTTP/1.1\r\n\r\n\r\n--b--\r\n");
        for (kind, is_read, is_request) in [
            ("application/http", true, true),
            ("Application/HTTP; x=y", true, true),
            ("text/plain", true, false),
            ("application/http; x=\u{e9}", true, false),
            ("application/http; x=\u{1}", false, false),
        ] {
            let body = of(kind);
            let parts = parts(body.as_bytes(), "b");
            assert_eq!(parts.is_ok(), is_read, "{kind:?}");
            assert_eq!(parts.is_ok_and(|parts| request(&parts[0]).is_ok()), is_request, "{kind:?}");
        }
    }
}
