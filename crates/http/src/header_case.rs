//! The case of metadata names. HTTP header names have no case, and hyper hands them over in lower case; but Azure keeps the case of
//! `x-ms-meta-` names, and clients that read them back compare it. So the bytes of a connection are scanned: on the way in for names
//! with capitals in a head, on the way out to write names as they were stored.
//!
//! Held true: a name is replaced by one that differs in case only, so no length changes. A name that is missed loses its capitals
//! and nothing else.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::heads::{Entering, Heads, Room};

const PREFIX: &[u8] = b"x-ms-meta-";
/// Metadata is at most 8 KiB; what is longer is refused anyway.
const HELD_MAX: usize = 16 << 10;

/// The metadata names of one connection: those read from the last request's head, and those to write into the next answer's.
#[derive(Debug, Default)]
pub struct HeaderCase {
    /// While a body comes in, nothing is scanned.
    paused: AtomicBool,
    /// Whether the next answer's head has names with capitals.
    saying: AtomicBool,
    names: Mutex<Names>,
}

#[derive(Debug, Default)]
struct Names {
    seen: Vec<String>,
    seen_bytes: usize,
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    head: Head,
    /// Bytes of the head so far, and its place among the long ones.
    head_bytes: usize,
    room: Option<Room>,
    say: Vec<String>,
}

/// How much of a head has come. What comes with its last line may be much, and is a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Head {
    #[default]
    Before,
    Within,
    Ended,
}

impl HeaderCase {
    fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The names with capitals of the head that has just been read, as written, prefix and all.
    pub fn take(&self) -> Vec<String> {
        let mut names = self.names();
        names.seen_bytes = 0;
        names.line.clear();
        names.head = Head::Before;
        names.head_bytes = 0;
        names.room = None;
        std::mem::take(&mut names.seen)
    }

    /// Spells the next head's metadata like this.
    pub fn say(&self, spelt: Vec<String>) {
        if !spelt.is_empty() {
            self.names().say = spelt;
            self.saying.store(true, Relaxed);
        }
    }

    /// Looks away until the guard is dropped.
    pub fn pause(self: &Arc<Self>) -> Pause {
        self.paused.store(true, Relaxed);
        Pause(self.clone())
    }

    fn look(&self, bytes: &[u8]) {
        if self.paused.load(Relaxed) {
            return;
        }
        let mut names = self.names();
        names.head_bytes += bytes.len();
        let mut rest = bytes;
        while names.head != Head::Ended {
            let Some(at) = memchr::memchr(b'\n', rest) else { break };
            let (line, behind) = rest.split_at(at + 1);
            rest = behind;
            if names.line.is_empty() {
                names.line_seen(line);
            } else {
                let mut whole = std::mem::take(&mut names.line);
                whole.extend_from_slice(line);
                names.line_seen(&whole);
            }
        }
        if names.head != Head::Ended && names.line.len() + rest.len() <= HELD_MAX {
            names.line.extend_from_slice(rest);
        }
    }

    /// Whether more of a head may come: it is short, it has its place in the pool, or it gets one.
    fn poll_room(&self, heads: &Heads, entering: &mut Option<Entering>, cx: &mut Context<'_>) -> Poll<()> {
        if self.paused.load(Relaxed) {
            return Poll::Ready(());
        }
        let mut names = self.names();
        let is_open = names.head != Head::Ended && Heads::is_long(names.head_bytes);
        if is_open && names.room.is_none() {
            names.room = ready!(heads.poll_enter(entering, cx));
        }
        Poll::Ready(())
    }

    /// `head` with its metadata spelt, if this is the head that waits for it.
    fn spell(&self, buffer: &[u8]) -> Option<Vec<u8>> {
        let end = buffer.windows(4).position(|window| window == b"\r\n\r\n")?;
        self.saying.store(false, Relaxed);
        let names = std::mem::take(&mut self.names().say);
        let mut spelt = buffer.to_vec();
        for name in names {
            let plain = name.to_ascii_lowercase();
            let mut at = 0;
            while let Some(line) = spelt[at..end].iter().position(|byte| *byte == b'\n').map(|line| at + line + 1) {
                if spelt[line..].starts_with(plain.as_bytes()) && spelt.get(line + plain.len()) == Some(&b':') {
                    spelt[line..line + plain.len()].copy_from_slice(name.as_bytes());
                }
                at = line;
            }
        }
        Some(spelt)
    }
}

impl Names {
    fn line_seen(&mut self, line: &[u8]) {
        self.head = match (self.head, line) {
            (Head::Before, b"\r\n" | b"\n") => Head::Before,
            (Head::Within, b"\r\n" | b"\n") => Head::Ended,
            (Head::Before | Head::Within, _) => Head::Within,
            (Head::Ended, _) => Head::Ended,
        };
        if line.len() <= PREFIX.len() || !line[..PREFIX.len()].eq_ignore_ascii_case(PREFIX) {
            return;
        }
        let Some(colon) = memchr::memchr(b':', line) else { return };
        let name = &line[PREFIX.len()..colon];
        self.seen_bytes += name.len();
        if self.seen_bytes <= HELD_MAX && name.iter().any(u8::is_ascii_uppercase) && name.is_ascii() {
            self.seen.push(String::from_utf8_lossy(name).into_owned());
        }
    }
}

pub struct Pause(Arc<HeaderCase>);

impl Drop for Pause {
    fn drop(&mut self) {
        self.0.paused.store(false, Relaxed);
    }
}

/// A connection with someone watching.
pub struct CasedStream<I> {
    inner: I,
    header_case: Arc<HeaderCase>,
    heads: Heads,
    entering: Option<Entering>,
    /// A head that was spelt anew and is not yet written.
    head: Vec<u8>,
}

impl<I> CasedStream<I> {
    pub fn new(inner: I, header_case: Arc<HeaderCase>, heads: Heads) -> Self {
        Self { inner, header_case, heads, entering: None, head: Vec::new() }
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for CasedStream<I> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.header_case.poll_room(&this.heads, &mut this.entering, cx));
        let before = buf.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(cx, buf))?;
        this.header_case.look(&buf.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl<I: AsyncWrite + Unpin> CasedStream<I> {
    fn write_head(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.head.is_empty() {
            let count = ready!(Pin::new(&mut self.inner).poll_write(cx, &self.head))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.head.drain(..count);
        }
        Poll::Ready(Ok(()))
    }

    /// Takes over a buffer that begins with a head to be spelt.
    fn takes(&mut self, buffer: &[u8]) -> bool {
        if !self.header_case.saying.load(Relaxed) {
            return false;
        }
        match self.header_case.spell(buffer) {
            None => false,
            Some(spelt) => {
                self.head = spelt;
                true
            }
        }
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for CasedStream<I> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.write_head(cx))?;
        if this.takes(buf) {
            return Poll::Ready(Ok(buf.len()));
        }
        Pin::new(&mut this.inner).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.write_head(cx))?;
        match bufs.iter().find(|buf| !buf.is_empty()) {
            Some(first) if this.takes(first) => Poll::Ready(Ok(first.len())),
            Some(_) | None => Pin::new(&mut this.inner).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.write_head(cx))?;
        Pin::new(&mut this.inner).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.write_head(cx))?;
        Pin::new(&mut this.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_seen_wherever_a_read_ends() {
        let head = b"PUT / HTTP/1.1\r\nX-Ms-Meta-Some-Name: X\r\nx-ms-meta-plain: Y\r\nx-ms-meta-UP:z\r\nHost: x-ms-meta-No: n\r\n\r\n";
        for cut in 0..head.len() {
            let header_case = HeaderCase::default();
            header_case.look(&head[..cut]);
            header_case.look(&head[cut..]);
            // Until they are taken, what follows is a body.
            header_case.look(b"x-ms-meta-Body: b\r\n\r\n");
            assert_eq!(header_case.take(), ["Some-Name", "UP"], "{cut}");
            header_case.look(b"\r\nPUT / HTTP/1.1\nx-ms-meta-Next: n\n\nx-ms-meta-Body: b\n");
            assert_eq!(header_case.take(), ["Next"]);
        }
    }

    #[test]
    fn bodies_are_not_looked_at() {
        let header_case = Arc::new(HeaderCase::default());
        let pause = header_case.pause();
        header_case.look(b"\nx-ms-meta-A: b\n");
        drop(pause);
        header_case.look(b"\nx-ms-meta-C: d\n");
        assert_eq!(header_case.take(), ["C"]);
    }

    #[test]
    fn only_the_head_is_spelt() {
        let header_case = HeaderCase::default();
        header_case.say(vec!["x-ms-meta-UpDown".into()]);
        let head =
            b"HTTP/1.1 200 OK\r\nx-ms-meta-updown: updown\r\nx-ms-meta-updownx: 1\r\n\r\nx\nx-ms-meta-updown: body";
        let spelt = header_case.spell(head).unwrap();
        let expected =
            b"HTTP/1.1 200 OK\r\nx-ms-meta-UpDown: updown\r\nx-ms-meta-updownx: 1\r\n\r\nx\nx-ms-meta-updown: body";
        assert_eq!(spelt, expected);
        assert!(!header_case.saying.load(Relaxed));
    }
}
