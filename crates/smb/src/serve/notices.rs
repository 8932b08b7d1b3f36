//! What the store has to tell clients: they may cache less, a handle was closed by force, a directory that they watch has changed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use lazuli_model::file::arbiter::{Cache, Notice as Broken};
use lazuli_store::{Notice, ShareAt};

use super::Gateway;
use super::connection::Outgoing;
use super::opens::Open;
use crate::command::caching::{lease_state, oplock_level};
use crate::packet::header::Flags;
use crate::packet::oplock::{Break, LeaseBreak, LeaseBreakFlags, OplockBreak};
use crate::packet::{Command, Header, Response};
use crate::session::Reply;
use crate::session::protection::Answer;
use crate::status::Status;

/// How often a gateway looks, where there are others.
const LOOK: std::time::Duration = std::time::Duration::from_secs(lazuli_store::LOOK_SECONDS);

impl Gateway {
    /// Takes notices as they come, for as long as the process lives.
    pub async fn attend(self: Arc<Self>) {
        loop {
            // Nothing tells of the notices that another gateway has left: they are looked for.
            let shares = tokio::select! {
                shares = self.store.noticed() => shares,
                () = (self.alarm)(LOOK), if self.store.is_shared() => self.opens().shares(),
            };
            for share in shares {
                self.take_notices(&share).await;
            }
        }
    }

    /// One at a time, so that notices are told in the order in which they were left.
    pub(super) async fn take_notices(&self, share: &ShareAt) {
        let _turn = self.telling.lock().await;
        match self.store.take_notices(share, self.id).await {
            Ok(notices) => notices.into_iter().for_each(|notice| self.tell(share, notice)),
            Err(failure) => tracing::debug!(?failure, "a share's notices could not be taken"),
        }
    }

    fn tell(&self, share: &ShareAt, notice: Notice) {
        match notice {
            Notice::Broken { notice, .. } => self.tell_break(share, &notice),
            Notice::Closed { handle, .. } => {
                let mut opens = self.opens();
                if let Some(open) = opens.by_handle(share, handle) {
                    opens.remove(open.id);
                    end_watch(&open, Status::NotifyCleanup);
                }
            }
            Notice::Doomed { handle } => {
                let open = self.opens().by_handle(share, handle);
                open.into_iter().for_each(|open| end_watch(&open, Status::DeletePending));
            }
            Notice::Changed { handle, changes } => {
                let open = self.opens().by_handle(share, handle);
                if let Some(open) = open {
                    open.state().watch.push(changes);
                    open.changed.notify_waiters();
                }
            }
        }
    }

    fn tell_break(&self, share: &ShareAt, notice: &Broken) {
        let Some(open) = self.any_sharing(share, notice) else { return };
        let session = open.state().session;
        self.counts.breaks.fetch_add(1, Ordering::Relaxed);
        let Some(client) = self.client_of(session) else {
            return self.let_go(open, notice);
        };
        let sealed = self.sessions().get(session).is_some_and(|session| session.encrypted);
        // A lease is the client's and not a connection's: it hears of it where it connected first.
        let client = match notice.cache {
            Cache::Lease { client: guid, .. } if !sealed => self.first_client(guid, &open.account).unwrap_or(client),
            Cache::Lease { .. } | Cache::Oplock => client,
        };
        let body = match (notice.cache, open.file()) {
            (Cache::Lease { key, .. }, file) => Break::Lease(LeaseBreak {
                epoch: if file.is_ok_and(|file| file.second) { notice.epoch } else { 0 },
                flags: if notice.acknowledged { LeaseBreakFlags::ACK_REQUIRED } else { LeaseBreakFlags::default() },
                key: key.to_le_bytes(),
                current: lease_state(notice.from),
                new: lease_state(notice.to),
            }),
            (Cache::Oplock, _) => Break::Oplock(OplockBreak { level: oplock_level(notice.to).code(), file: open.id }),
        };
        // Nobody asked: the last id, and no session unless it has to be sealed for one.
        let header = Header {
            flags: Flags::RESPONSE,
            session: if sealed { session } else { 0 },
            ..Header::request(Command::OplockBreak, u64::MAX)
        };
        let header = Header { target: crate::packet::header::Target::Sync { process: 0, tree: 0 }, ..header };
        let answer = if sealed { Answer::Sealed } else { Answer::Plain };
        client.send(Outgoing::replies(vec![Reply { header, response: Response::OplockBreak(body), answer }]));
    }

    /// An open that shares the cache, with a client if there is one.
    fn any_sharing(&self, share: &ShareAt, notice: &Broken) -> Option<Arc<Open>> {
        let opens = self.opens();
        let own = opens.by_handle(share, notice.handle);
        if own.as_ref().is_some_and(|open| open.state().session != 0) || notice.cache == Cache::Oplock {
            return own;
        }
        let shares =
            |open: &&Arc<Open>| open.file().is_ok_and(|file| file.cache == notice.cache) && open.state().session != 0;
        opens.all().find(shares).cloned().or(own)
    }

    /// Nobody is there to be asked. A handle that outlives its connection does so by its cache, so it goes; unless only reads were cached.
    fn let_go(&self, open: Arc<Open>, notice: &Broken) {
        if !notice.acknowledged {
            return;
        }
        let Ok(file) = open.file() else { return };
        let (store, at) = (self.store.clone(), file.at.clone());
        self.opens().remove(open.id);
        tokio::spawn(async move {
            if let Err(failure) = store.close_handle(&at.share, at.file, at.handle).await {
                tracing::debug!(?failure, "a handle without a client could not be let go");
            }
        });
    }
}

pub(crate) fn end_watch(open: &Open, status: Status) {
    open.state().watch.over.get_or_insert(status);
    open.changed.notify_waiters();
}
