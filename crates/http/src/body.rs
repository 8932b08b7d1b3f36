//! A request's body on its way in. Nothing is read, and no `100 Continue` sent, until an operation asks for bytes; a
//! client that stops sending is given up; what an operation left unread is read away within reason, so that the client
//! gets to see the answer instead of a reset connection.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use lazuli_model::Refusal;
use lazuli_store::{Broken, Failure, Source};

use crate::spelling::{Pause, Spelling};

/// Beyond this an unread body costs more than a new connection.
const DRAIN_MAX: u64 = 64 << 20;

pub struct Upload {
    incoming: Option<Incoming>,
    idle: Duration,
    /// The client waits for `100 Continue` before it sends: an unread body is then a body never sent.
    waits: bool,
    read: u64,
    /// Nobody looks for names of headers in a body.
    pause: Option<Pause>,
}

impl Upload {
    pub(crate) fn new(incoming: Incoming, idle: Duration, waits: bool, spelling: &Arc<Spelling>) -> Self {
        let pause = (!incoming.is_end_stream()).then(|| spelling.pause());
        Self { incoming: Some(incoming), idle, waits, read: 0, pause }
    }

    /// Of a request that has none.
    pub(crate) fn empty() -> Self {
        Self { incoming: None, idle: Duration::ZERO, waits: false, read: 0, pause: None }
    }

    /// Bytes taken so far.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// The length, if the client said.
    pub fn expected(&self) -> Option<u64> {
        self.incoming.as_ref().map_or(Some(0), |incoming| incoming.size_hint().exact())
    }

    pub async fn piece(&mut self) -> Result<Option<Bytes>, Broken> {
        loop {
            let Some(incoming) = self.incoming.as_mut() else { return Ok(None) };
            let frame = tokio::time::timeout(self.idle, incoming.frame()).await.map_err(|_| Broken::HungUp)?;
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
                return Err(Refusal::RequestBodyTooLarge { limit: most }.into());
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
        Broken::HungUp => Refusal::InvalidInput { reason: "The request body was not received in full.".into() }.into(),
        Broken::Refused(refusal) => refusal.into(),
    }
}
