//! A request's body on its way in. Nothing is read, and no `100 Continue` is sent, until an operation asks for bytes. A client that
//! stops sending is disconnected. A slow client is reported to the operation, which then holds little memory for it. What an operation
//! leaves unread is read and dropped, up to a limit, so that the client sees the answer instead of a reset connection.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use lazuli_store::{Broken, Source};
use tokio::time::{Instant, timeout_at};

use crate::header_case::{HeaderCase, Pause};
use crate::refusal::{Denied, Failure};

/// Beyond this an unread body costs more than a new connection.
const DRAIN_MAX: u64 = 64 << 20;

/// A client that sends less than this in a twelfth of the time that it may pause (five seconds) is slow.
const SLOW_BYTES: u64 = 64 << 10;
const SLOW_PART: u32 = 12;

pub struct Upload {
    incoming: Option<Incoming>,
    idle: Duration,
    /// The client waits for `100 Continue` before it sends: an unread body is then a body never sent.
    waits: bool,
    read: u64,
    pace: Pace,
    /// How long nothing has come, while something was waited for.
    silent: Duration,
    /// Nobody looks for names of headers in a body.
    pause: Option<Pause>,
}

/// What has come since it was last judged whether the client is slow, and how long it was waited for.
#[derive(Default)]
struct Pace {
    read: u64,
    waited: Duration,
}

impl Upload {
    pub(crate) fn new(incoming: Incoming, idle: Duration, waits: bool, header_case: &Arc<HeaderCase>) -> Self {
        let pause = (!incoming.is_end_stream()).then(|| header_case.pause());
        Self { incoming: Some(incoming), idle, waits, read: 0, pace: Pace::default(), silent: Duration::ZERO, pause }
    }

    /// Of a request that has none.
    pub(crate) fn empty() -> Self {
        Self {
            incoming: None,
            idle: Duration::ZERO,
            waits: false,
            read: 0,
            pace: Pace::default(),
            silent: Duration::ZERO,
            pause: None,
        }
    }

    /// Bytes taken so far.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// The length, if the client said.
    pub fn expected(&self) -> Option<u64> {
        self.incoming.as_ref().map_or(Some(0), |incoming| incoming.size_hint().exact())
    }

    /// The next bytes; none if the client is slow.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, Broken> {
        let begun = Instant::now();
        let given_up = begun + self.idle.saturating_sub(self.silent);
        let slow_after = self.idle / SLOW_PART;
        let mut judged = begun + slow_after.saturating_sub(self.pace.waited);
        loop {
            let Some(incoming) = self.incoming.as_mut() else { return Ok(None) };
            let frame = match timeout_at(judged.min(given_up), incoming.frame()).await {
                Ok(frame) => frame,
                Err(_) if given_up <= judged => return Err(Broken::HungUp),
                Err(_) => {
                    let pace = std::mem::take(&mut self.pace);
                    if pace.read < SLOW_BYTES {
                        self.silent += begun.elapsed();
                        return Ok(Some(Bytes::new()));
                    }
                    judged += slow_after;
                    continue;
                }
            };
            match frame {
                None => {
                    self.incoming = None;
                    self.pause = None;
                    return Ok(None);
                }
                Some(Err(error)) => {
                    tracing::debug!(%error, "a client broke off its body");
                    self.incoming = None;
                    return Err(Broken::HungUp);
                }
                // Trailers say nothing that we use.
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) if bytes.is_empty() => {}
                    Ok(bytes) => {
                        self.read += bytes.len() as u64;
                        self.pace.read += bytes.len() as u64;
                        self.pace.waited += begun.elapsed();
                        self.silent = Duration::ZERO;
                        return Ok(Some(bytes));
                    }
                    Err(_) => {}
                },
            }
        }
    }

    /// The whole of a small document.
    pub async fn document(&mut self, most: u64) -> Result<Bytes, Failure> {
        let mut whole = BytesMut::new();
        while let Some(piece) = self.piece().await.map_err(failure)? {
            if (whole.len() + piece.len()) as u64 > most {
                return Err(Denied::RequestBodyTooLarge { limit: most }.into());
            }
            whole.extend_from_slice(&piece);
        }
        Ok(whole.freeze())
    }

    /// Reads away what nobody wanted, behind the answer's back.
    pub fn drain(mut self) {
        let unread = self.incoming.as_ref().is_some_and(|incoming| !incoming.is_end_stream());
        if !unread || (self.waits && self.read == 0) {
            return;
        }
        tokio::spawn(async move {
            let start = self.read;
            while let Ok(Some(_)) = self.piece().await {
                if self.read - start > DRAIN_MAX {
                    return;
                }
            }
        });
    }
}

impl Source for Upload {
    fn next(&mut self) -> std::pin::Pin<Box<dyn Future<Output = Result<Option<Bytes>, Broken>> + Send + '_>> {
        Box::pin(self.piece())
    }
}

/// How a broken body is answered, if anyone is still there to hear it.
pub fn failure(broken: Broken) -> Failure {
    match broken {
        Broken::HungUp => Denied::InvalidInput { reason: "The request body was not received in full.".into() }.into(),
        Broken::Refused(refusal) => refusal.into(),
    }
}
