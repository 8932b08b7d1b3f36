//! A stream that fails when its peer takes nothing of what it sends for a time. Each byte that is taken starts the time again.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

pub struct WriteTimeout<I> {
    inner: I,
    patience: Duration,
    /// When it is over, if something waits to be taken. Made when that is first so.
    over: Option<Pin<Box<Sleep>>>,
    waits: bool,
}

impl<I> WriteTimeout<I> {
    pub fn new(inner: I, patience: Duration) -> Self {
        Self { inner, patience, over: None, waits: false }
    }

    /// `sent` is what came of an attempt to send.
    fn judge<T>(&mut self, cx: &mut Context<'_>, sent: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if sent.is_ready() {
            self.waits = false;
            return sent;
        }
        let at = (!self.waits).then(|| Instant::now() + self.patience);
        self.waits = true;
        let over = self.over.get_or_insert_with(|| Box::pin(sleep_until(Instant::now())));
        if let Some(at) = at {
            over.as_mut().reset(at);
        }
        ready!(over.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "nobody took the answer")))
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for WriteTimeout<I> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_read(cx, buf)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<I> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let sent = Pin::new(&mut this.inner).poll_write(cx, buf);
        this.judge(cx, sent)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let sent = Pin::new(&mut this.inner).poll_write_vectored(cx, bufs);
        this.judge(cx, sent)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let sent = Pin::new(&mut this.inner).poll_flush(cx);
        this.judge(cx, sent)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let sent = Pin::new(&mut this.inner).poll_shutdown(cx);
        this.judge(cx, sent)
    }
}
