//! The change feed of an account: changes are noted where they happen, and published in `$blobchangefeed`.
//!
//! Held true:
//! * a change and its note (`f` in the container's space) are one transaction, so none is lost and none invented;
//! * a note is published once: what is to be appended, and where, is written down before it is done (`publish`);
//! * where the feed is off, no row is read or written for it.

mod files;
mod publish;

use std::cmp::Ordering;
use std::collections::BTreeMap;
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

/// Who is told of the changes in a partition: nobody, or a feed. Makes no difference to what a key is.
#[derive(Clone, Debug)]
pub(crate) struct Told(Option<Arc<Telling>>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Telling {
    account: AccountName,
    container: ContainerName,
    cause: Cause,
    /// Changes have to be made at copies, too. What goes on later is of snapshots, which have none.
    #[serde(skip)]
    is_source: bool,
}

impl Told {
    pub const NOBODY: Self = Self(None);

    /// As it is written down for a change that goes on later.
    pub fn telling(&self) -> Option<Telling> {
        self.0.as_deref().cloned()
    }

    pub fn of(telling: Option<Telling>) -> Self {
        Self(telling.map(Arc::new))
    }
}

impl PartialEq for Told {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Told {}

impl PartialOrd for Told {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Told {
    fn cmp(&self, _other: &Self) -> Ordering {
        Ordering::Equal
    }
}

/// Notes what `event` says, where somebody is told.
pub(crate) fn note(txn: &mut Txn<'_>, keys: &BlobKeys, which: Which, event: impl FnOnce() -> Option<Event>) {
    if keys.told.0.is_some()
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
pub(crate) fn foresee(txn: &mut Txn<'_>, keys: &BlobKeys, which: Which, old: Option<&Blob>, new: Option<&Blob>) {
    let until = |blob: Option<&Blob>| blob.and_then(|blob| blob.rehydrating).map(|back| back.until);
    if until(old) == until(new) {
        return;
    }
    if let Some(until) = until(old).filter(|until| *until > now(txn)) {
        txn.delete(keys.noted(until, Noting::Rehydrated, which));
    }
    if keys.told.0.is_some()
        && let Some(event) = new.and_then(|blob| Event::rehydrated(which, blob))
    {
        put(txn, keys, Noting::Rehydrated, which, event);
    }
}

fn put(txn: &mut Txn<'_>, keys: &BlobKeys, what: Noting, which: Which, event: Event) {
    if let Some(telling) = &keys.told.0 {
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
    /// The same store, for a request: what it changes is told as caused by it.
    pub fn because(&self, cause: Cause) -> Self {
        Self { cause: Some(Arc::new(cause)), ..self.clone() }
    }

    /// The keys of a blob in the space of a container, with who is told of its changes.
    pub(crate) async fn told(&self, at: &ContainerAt, keys: BlobKeys) -> Result<BlobKeys, Failure> {
        if at.container.as_str() == CONTAINER {
            return Ok(keys);
        }
        let settings = self.account_settings(&at.account).await?;
        if !settings.change_feed {
            return Ok(keys);
        }
        let policies = settings.replication.as_ref();
        let is_source = policies.is_some_and(|own| own.of_source(&at.account, &at.container).next().is_some());
        if is_source {
            self.feeds.replicate.notify_one();
        }
        self.feeds.hint(&at.account, keys.space, self.now());
        let cause = self.cause.as_deref().cloned().unwrap_or_default();
        let telling = Telling { account: at.account.clone(), container: at.container.clone(), cause, is_source };
        Ok(BlobKeys { told: Told(Some(Arc::new(telling))), ..keys })
    }

    /// Notes were made by a change that goes on later.
    pub(crate) fn hint_told(&self, keys: &BlobKeys) {
        if let Some(telling) = &keys.told.0 {
            self.feeds.hint(&telling.account, keys.space, self.now());
        }
    }

    /// As [`Store::told`], for a round, which knows the container by the place it goes on from.
    pub(crate) async fn told_in_round(&self, next: &Key, keys: BlobKeys) -> Result<BlobKeys, Failure> {
        match container_before(next) {
            Some(at) => self.told(&at, keys).await,
            None => Ok(keys),
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
