//! Reading replies with as little work as possible: the status, how long the body is, and where it ends.
//! Bodies are received, as a client must, and not looked at.

use std::io;

const HEAD_MAX: usize = 64 << 10;

pub enum Reply {
    /// The head so far, kept only when it did not come in one piece.
    Head(Vec<u8>),
    Body {
        remaining: u64,
    },
    /// The last five bytes so far. The generator asks for nothing that could hold the end mark by accident.
    Chunked([u8; 5]),
}

impl Reply {
    pub fn new() -> Reply {
        Reply::Head(Vec::new())
    }

    /// Takes received bytes; true when the reply is complete. There is never a second reply behind the first,
    /// because a client sends its next request after the reply to the last.
    pub fn take(&mut self, bytes: &[u8], status: u16, headless: bool) -> io::Result<bool> {
        match self {
            Reply::Head(kept) if kept.is_empty() => match head_end(bytes) {
                Some(end) => self.enter_body(parse(&bytes[..end], status, headless)?, &bytes[end..]),
                None => {
                    kept.extend_from_slice(bytes);
                    Ok(false)
                }
            },
            Reply::Head(kept) => {
                kept.extend_from_slice(bytes);
                let head = std::mem::take(kept);
                match head_end(&head) {
                    Some(end) => self.enter_body(parse(&head[..end], status, headless)?, &head[end..]),
                    None if head.len() > HEAD_MAX => Err(io::Error::other("the reply's head has no end")),
                    None => {
                        *self = Reply::Head(head);
                        Ok(false)
                    }
                }
            }
            Reply::Body { remaining } => {
                *remaining = remaining
                    .checked_sub(bytes.len() as u64)
                    .ok_or_else(|| io::Error::other("the reply is longer than its Content-Length"))?;
                Ok(*remaining == 0)
            }
            Reply::Chunked(last) => {
                let kept = last.len().saturating_sub(bytes.len());
                last.copy_within(5 - kept.., 0);
                last[kept..].copy_from_slice(&bytes[bytes.len() - (5 - kept)..]);
                Ok(last == b"0\r\n\r\n")
            }
        }
    }

    fn enter_body(&mut self, body: Reply, rest: &[u8]) -> io::Result<bool> {
        *self = body;
        if rest.is_empty() { Ok(matches!(self, Reply::Body { remaining: 0 })) } else { self.take(rest, 0, false) }
    }
}

/// Where the empty line behind a head ends, if it is there.
pub fn head_end(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|&byte| byte == b'\n') {
        from += at + 1;
        if bytes[..from].ends_with(b"\r\n\r\n") {
            return Some(from);
        }
    }
    None
}

/// What follows the head, after checking that the status is the one expected.
fn parse(head: &[u8], status: u16, headless: bool) -> io::Result<Reply> {
    let refused = || io::Error::other(format!("expected {status}, got:\n{}", String::from_utf8_lossy(head)));
    let got = head.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<u16>().ok());
    if got != Some(status) {
        return Err(refused());
    }
    if headless || status == 204 {
        return Ok(Reply::Body { remaining: 0 });
    }
    for line in head.split(|&byte| byte == b'\n') {
        // Only two headers matter, and their lengths tell them from most others.
        if let Some(value) = value_of(line, b"content-length:") {
            let remaining = value.trim().parse().map_err(|_| refused())?;
            return Ok(Reply::Body { remaining });
        }
        if value_of(line, b"transfer-encoding:").is_some_and(|value| value.trim() == "chunked") {
            return Ok(Reply::Chunked([0; 5]));
        }
    }
    Err(refused())
}

fn value_of<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a str> {
    let (start, value) = line.split_at_checked(name.len())?;
    start.eq_ignore_ascii_case(name).then(|| std::str::from_utf8(value).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reply is complete at its last byte, however it was cut.
    #[test]
    fn replies_end_where_they_end() {
        let table: [(&[u8], bool); 4] = [
            (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", false),
            (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", false),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", false),
        ];
        for (bytes, headless) in table {
            for step in 1..=bytes.len() {
                let mut reply = Reply::new();
                let pieces: Vec<_> = bytes.chunks(step).collect();
                for (index, piece) in pieces.iter().enumerate() {
                    let done = reply.take(piece, 200, headless).unwrap();
                    assert_eq!(done, index + 1 == pieces.len(), "{:?} in steps of {step}", bytes.escape_ascii());
                }
            }
        }
    }

    #[test]
    fn another_status_is_an_error() {
        let error = Reply::new().take(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", 200, false);
        assert!(error.is_err());
    }
}
