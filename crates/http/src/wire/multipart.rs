//! `multipart/mixed` bodies whose parts are HTTP requests (Blob Batch). Clients differ in blank lines, in the headers of their
//! parts and in the end of the last line; what is read here is what all of them have in common.

use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};

/// A batch with more has too many anyway, and is read no further.
const PARTS_MAX: usize = 1024;

/// A request inside a batch.
#[derive(Clone, Debug)]
pub struct Part {
    /// `Content-ID`, repeated in the answer.
    pub id: Option<String>,
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
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

/// The parts, in order; `None` when the body is not what the boundary says.
pub fn parts(body: &[u8], boundary: &str) -> Option<Vec<Part>> {
    let text = std::str::from_utf8(body).ok()?;
    let mut parts = Vec::new();
    let mut open: Option<Vec<&str>> = None;
    for line in text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)) {
        let delimiter = line.strip_prefix("--").and_then(|rest| rest.strip_prefix(boundary)).map(str::trim_end);
        match delimiter {
            Some("") => {
                if let Some(lines) = open.replace(Vec::new()) {
                    parts.push(part(&lines)?);
                }
                if parts.len() > PARTS_MAX {
                    return Some(parts);
                }
            }
            Some("--") => {
                parts.push(part(&open?)?);
                return Some(parts);
            }
            Some(_) | None => {
                if let Some(lines) = &mut open {
                    lines.push(line);
                }
            }
        }
    }
    None
}

fn part(lines: &[&str]) -> Option<Part> {
    let mut lines = lines.iter().copied().skip_while(|line| line.trim().is_empty());
    let about = headers(&mut lines)?;
    let id = about.get("content-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let mut lines = lines.skip_while(|line| line.trim().is_empty());
    let mut request = lines.next()?.split(' ').filter(|word| !word.is_empty());
    let (method, uri, protocol) = (request.next()?, request.next()?, request.next()?);
    if !protocol.starts_with("HTTP/1.") || request.next().is_some() {
        return None;
    }
    let headers = headers(&mut lines)?;
    Some(Part { id, method: method.parse().ok()?, uri: uri.parse().ok()?, headers })
}

/// Lines of headers, up to an empty one.
fn headers<'a>(lines: &mut impl Iterator<Item = &'a str>) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for line in lines.take_while(|line| !line.trim().is_empty()) {
        let (name, value) = line.split_once(':')?;
        let value = HeaderValue::from_bytes(value.trim().as_bytes()).ok()?;
        headers.try_append(HeaderName::from_bytes(name.trim().as_bytes()).ok()?, value).ok()?;
    }
    Some(headers)
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

    #[test]
    fn parts_are_found() {
        // The same with bare line feeds, with a preamble, and without an end of the last line.
        let plain = PYTHON.replace('\r', "");
        let preamble = format!("ignored\r\n\r\n{PYTHON}");
        for body in [PYTHON, &plain, &preamble, PYTHON.trim_end()] {
            let parts = parts(body.as_bytes(), "batch_c2").expect("parts");
            let seen: Vec<_> =
                parts.iter().map(|part| (part.id.as_deref(), part.method.as_str(), part.uri.to_string())).collect();
            assert_eq!(seen, [(Some("0"), "DELETE", "/c/b%20x?".into()), (Some("1"), "PUT", "/c/b?comp=tier".into())]);
            assert_eq!(parts[0].headers["x-ms-if-tags"], "\"tag1\"='a: b'");
            assert_eq!(parts[1].headers["x-ms-access-tier"], "Cool");
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
        ] {
            assert!(parts(body.as_bytes(), "x").is_none(), "{body:?}");
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
        survive(&[PYTHON.as_bytes()], |bytes| drop(parts(bytes, "batch_c2")));
    }
}
