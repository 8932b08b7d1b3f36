//! `multipart/mixed` as entity group transactions have it: parts within parts, and requests with bodies. Lenient about line ends and
//! blank lines, because clients differ in them.

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use lazuli_model::Refusal;

use super::status::invalid;

/// A part: its headers and what it contains.
pub struct Part<'a> {
    pub headers: HeaderMap,
    pub content: &'a [u8],
}

/// A request within a part.
pub struct Inner<'a> {
    pub method: Method,
    pub url: String,
    pub headers: HeaderMap,
    pub body: &'a [u8],
}

pub fn parts<'a>(body: &'a [u8], boundary: &str) -> Result<Vec<Part<'a>>, Refusal> {
    let delimiter = format!("--{boundary}");
    let mut parts = Vec::new();
    let mut begun: Option<usize> = None;
    let mut at = 0;
    while at < body.len() {
        let end = line_end(body, at);
        let line = body[at..end].trim_ascii_end();
        let closing = line.strip_prefix(delimiter.as_bytes());
        if let Some(closing) = closing.filter(|rest| rest.is_empty() || *rest == b"--") {
            if let Some(start) = begun {
                parts.push(part(without_last_line_end(&body[start..at]))?);
            }
            if closing == b"--" {
                return Ok(parts);
            }
            begun = Some(end);
        }
        at = end;
    }
    Err(invalid().into())
}

/// Behind the line that begins at `at`.
fn line_end(text: &[u8], at: usize) -> usize {
    text[at..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |length| at + length + 1)
}

/// The line end before a boundary belongs to the boundary.
fn without_last_line_end(content: &[u8]) -> &[u8] {
    let content = content.strip_suffix(b"\n").unwrap_or(content);
    content.strip_suffix(b"\r").unwrap_or(content)
}

fn part(text: &[u8]) -> Result<Part<'_>, Refusal> {
    let (headers, content) = headers(text)?;
    Ok(Part { headers, content })
}

/// Header lines up to a blank one, and what follows.
fn headers(text: &[u8]) -> Result<(HeaderMap, &[u8]), Refusal> {
    let mut headers = HeaderMap::new();
    let mut at = 0;
    while at < text.len() {
        let end = line_end(text, at);
        let line = text[at..end].trim_ascii();
        at = end;
        if line.is_empty() {
            return Ok((headers, &text[at..]));
        }
        let colon = line.iter().position(|byte| *byte == b':').ok_or_else(invalid)?;
        let name = HeaderName::from_bytes(line[..colon].trim_ascii()).map_err(|_| invalid())?;
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).map_err(|_| invalid())?;
        headers.try_append(name, value).map_err(|_| invalid())?;
    }
    Ok((headers, &[]))
}

/// The request that a part of type `application/http` contains.
pub fn request<'a>(part: &Part<'a>) -> Result<Inner<'a>, Refusal> {
    let kind = part.headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.to_ascii_lowercase().starts_with("application/http") {
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
    let (headers, body) = headers(&content[end..])?;
    Ok(Inner { method, url: url.trim().to_owned(), headers, body: body.trim_ascii() })
}
