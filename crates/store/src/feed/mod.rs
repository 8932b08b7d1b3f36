//! The change feed of an account: changes are noted where they happen, and published in `$blobchangefeed`.
//!
//! Held true:
//! * a change and its note (`f` in the container's space) are one transaction, so none is lost and none invented;
//! * a note is published once: what is to be appended, and where, is written down before it is done (`publish`);
//! * where the feed is off, no row is read or written for it.

mod files;
mod publish;

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use lazuli_engine::{Key, Space, Txn};
use lazuli_model::blob::{Blob, Which};
use lazuli_model::feed::{CONTAINER, Cause, Event, EventType};
use lazuli_model::{AccountName, ContainerName, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::keys::{self, BlobKeys};
use crate::records::encode;
use crate::replication::note_source;
use crate::transact::now;
use crate::{ContainerAt, Failure, Store};

pub(crate) use publish::Feed;

/// A note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Noted {
    pub account: AccountName,
    pub container: ContainerName,
    pub event: Event,
}

/// What a note is of. One transaction makes at most one of each for each of a blob's records, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Noting {
    Deleted = b'1',
    Written = b'2',
    Changed = b'3',
    Snapshot = b'4',
    /// A blob will be back from the archive, if nothing comes in between.
    Rehydrated = b'5',
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Telling {
    account: AccountName,
    container: ContainerName,
    cause: Cause,
    /// Changes have to be made at copies, too. What goes on later is of snapshots, which have none.
    #[serde(skip)]
    is_source: bool,
}

/// The keys of a blob that is to be changed, and the change feed that records it, if its account has one. A read needs the keys only.
#[derive(Clone, Debug)]
pub(crate) struct TrackedKeys {
    keys: BlobKeys,
    feed: Option<Arc<Telling>>,
}

impl TrackedKeys {
    /// A change that goes on later is recorded as the one that it is part of.
    pub fn resumed(keys: BlobKeys, telling: Option<Telling>) -> Self {
        Self { keys, feed: telling.map(Arc::new) }
    }

    /// As it is written down for a change that goes on later.
    pub fn telling(&self) -> Option<Telling> {
        self.feed.as_deref().cloned()
    }
}

impl Deref for TrackedKeys {
    type Target = BlobKeys;

    fn deref(&self) -> &BlobKeys {
        &self.keys
    }
}

/// Without a feed: a file system has none, and neither has the feed itself.
impl From<BlobKeys> for TrackedKeys {
    fn from(keys: BlobKeys) -> Self {
        Self { keys, feed: None }
    }
}

impl From<TrackedKeys> for BlobKeys {
    fn from(tracked: TrackedKeys) -> Self {
        tracked.keys
    }
}

/// Notes what `event` says, where somebody is told.
pub(crate) fn note(txn: &mut Txn<'_>, keys: &TrackedKeys, which: Which, event: impl FnOnce() -> Option<Event>) {
    if keys.feed.is_some()
        && let Some(event) = event()
    {
        let what = match event.kind {
            EventType::BlobDeleted => Noting::Deleted,
            EventType::BlobCreated => Noting::Written,
            EventType::BlobSnapshotCreated => Noting::Snapshot,
            EventType::BlobPropertiesUpdated | EventType::BlobTierChanged | EventType::BlobAsyncOperationInitiated => {
                Noting::Changed
            }
        };
        put(txn, keys, what, which, event);
    }
}

/// No transaction runs when a rehydration ends. So the event of its end is recorded when it begins, with the later time, and is removed
/// if another change comes before that.
pub(crate) fn foresee(txn: &mut Txn<'_>, keys: &TrackedKeys, which: Which, old: Option<&Blob>, new: Option<&Blob>) {
    let until = |blob: Option<&Blob>| blob.and_then(|blob| blob.rehydrating).map(|back| back.until);
    if until(old) == until(new) {
        return;
    }
    if let Some(until) = until(old).filter(|until| *until > now(txn)) {
        txn.delete(keys.noted(until, Noting::Rehydrated, which));
    }
    if keys.feed.is_some()
        && let Some(event) = new.and_then(|blob| Event::rehydrated(which, blob))
    {
        put(txn, keys, Noting::Rehydrated, which, event);
    }
}

fn put(txn: &mut Txn<'_>, keys: &TrackedKeys, what: Noting, which: Which, event: Event) {
    if let Some(telling) = &keys.feed {
        let row = keys.noted(event.time, what, which);
        let (account, container) = (telling.account.clone(), telling.container.clone());
        if telling.is_source && which == Which::Current {
            note_source(txn, keys, &event);
        }
        txn.put(row, encode(&Noted { account, container, event: event.because(&telling.cause) }));
    }
}

/// In memory: where to look for notes first. A look at everything finds the rest.
#[derive(Default)]
pub(crate) struct Feeds {
    wanted: Notify,
    /// A source may have changed.
    replicate: Notify,
    known: Mutex<BTreeMap<AccountName, Known>>,
    /// One step at a time.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Known {
    /// Spaces with notes, and when a write there was last begun.
    spaces: BTreeMap<Space, Timestamp>,
    /// Whether all spaces have been looked at since this process began.
    whole: bool,
}

impl Feeds {
    fn with<T>(&self, account: &AccountName, act: impl FnOnce(&mut Known) -> T) -> T {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get_mut(account) {
            Some(known) => act(known),
            None => act(known.entry(account.clone()).or_default()),
        }
    }

    pub fn hint(&self, account: &AccountName, space: Space, now: Timestamp) {
        self.with(account, |known| known.spaces.insert(space, now));
        self.wanted.notify_one();
    }

    pub fn wake(&self) {
        self.wanted.notify_one();
        self.replicate.notify_one();
    }

    pub async fn replication_wanted(&self) {
        self.replicate.notified().await;
    }
}

impl Store {
    /// The keys of a blob in the space of a container, with the feed that records its changes.
    pub(crate) async fn tracked(&self, at: &ContainerAt, keys: BlobKeys) -> Result<TrackedKeys, Failure> {
        if at.container.as_str() == CONTAINER {
            return Ok(keys.into());
        }
        let settings = self.account_settings(&at.account).await?;
        if !settings.change_feed {
            return Ok(keys.into());
        }
        let policies = settings.replication.as_ref();
        let is_source = policies.is_some_and(|own| own.of_source(&at.account, &at.container).next().is_some());
        if is_source {
            self.feeds.replicate.notify_one();
        }
        self.feeds.hint(&at.account, keys.space, self.now());
        let cause = self.request.cause.as_deref().cloned().unwrap_or_default();
        let telling = Telling { account: at.account.clone(), container: at.container.clone(), cause, is_source };
        Ok(TrackedKeys { keys, feed: Some(Arc::new(telling)) })
    }

    /// Notes were made by a change that goes on later.
    pub(crate) fn hint_feed(&self, keys: &TrackedKeys) {
        if let Some(telling) = &keys.feed {
            self.feeds.hint(&telling.account, keys.space, self.now());
        }
    }

    /// As [`Store::tracked`], for a round, which knows the container by the place it goes on from.
    pub(crate) async fn tracked_in_round(&self, next: &Key, keys: BlobKeys) -> Result<TrackedKeys, Failure> {
        match container_before(next) {
            Some(at) => self.tracked(&at, keys).await,
            None => Ok(keys.into()),
        }
    }
}

/// The container whose row `next` is the successor of.
fn container_before(next: &Key) -> Option<ContainerAt> {
    let row = next.row();
    let row = match next.column() {
        keys::DELETED_CONTAINERS => row.get(..row.len().checked_sub(10)?)?,
        _ => row.get(..row.len().checked_sub(1)?)?,
    };
    let (account, container) = std::str::from_utf8(row).ok()?.split_once('\0')?;
    Some(ContainerAt { account: AccountName::parse(account).ok()?, container: ContainerName::parse(container).ok()? })
}
