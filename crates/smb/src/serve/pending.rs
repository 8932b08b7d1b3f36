//! Answers that come later ([MS-SMB2] 3.3.4.2): announced with STATUS_PENDING and an id, and given when there is one.
//!
//! Held true: a request is announced at most once and answered once. CANCEL only says that it is not waited for any more; the answer is
//! still the request's own.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lazuli_store::{ShareAt, Waiting};
use tokio::sync::Notify;

use super::connection::{Client, Outgoing};
use crate::packet::error::ErrorData;
use crate::packet::header::Target;
use crate::packet::{Header, Response};
use crate::session::protection::Answer;
use crate::session::{Received, Reply};
use crate::status::Status;

/// A request that may take long.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// Which session's and tree's it is; 0 until that is known.
    pub session: u64,
    pub tree: AtomicU32,
    /// 0 until it is announced.
    pub id: AtomicU64,
    cancelled: AtomicBool,
    ended: Mutex<Option<Status>>,
    woken: Notify,
}

impl Pending {
    pub fn new(session: u64) -> Self {
        Self { session, ..Self::default() }
    }

    /// It is not waited for any more, for this reason.
    pub fn end(&self, status: Status) {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(status);
        self.cancelled.store(true, Ordering::SeqCst);
        self.woken.notify_waiters();
    }

    /// Why it was ended.
    pub fn reason(&self) -> Status {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or(Status::Cancelled)
    }

    pub async fn ended(&self) {
        loop {
            let mut woken = std::pin::pin!(self.woken.notified());
            woken.as_mut().enable();
            if self.cancelled.load(Ordering::SeqCst) {
                return;
            }
            woken.await;
        }
    }
}

/// How one request waits.
pub(crate) struct Later<'a> {
    pub client: &'a Client,
    pub received: &'a Received,
    pub answer: Answer,
    pub pending: Arc<Pending>,
    /// What it is about, unless it is a pipe.
    pub share: Option<ShareAt>,
    /// Answers of the same compound that are ready: they go out before.
    pub before: &'a Mutex<Vec<Reply>>,
}

impl Later<'_> {
    pub fn announce(&self) {
        if self.pending.id.load(Ordering::SeqCst) != 0 {
            return;
        }
        let id = self.client.gateway.number();
        self.pending.id.store(id, Ordering::SeqCst);
        self.client.leave(self.received);
        let before = std::mem::take(&mut *self.before.lock().unwrap_or_else(PoisonError::into_inner));
        if !before.is_empty() {
            self.client.send(Outgoing::replies(before));
        }
        let header = self.client.header(&self.received.header, self.received.session, Status::Pending);
        let header = Header { target: Target::Async { id }, ..header };
        let reply = Reply { header, response: Response::Error(ErrorData::None), answer: self.answer };
        self.client.send(Outgoing::replies(vec![reply]));
    }
}

impl Waiting for Later<'_> {
    fn begins(&self) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            // A client that has to give something up hears of it before this one hears that it waits (smb2.lease.rename_wait).
            if let Some(share) = &self.share {
                self.client.gateway.take_notices(share).await;
            }
            self.announce();
        })
    }

    fn cancelled(&self) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.pending.ended())
    }
}
