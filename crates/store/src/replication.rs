//! Object replication carried out: what changed in a source is copied to its destinations, in the order of the changes.
//!
//! Held true:
//! * a change and the note of it (`c` in the source's space) are one transaction, so none is lost;
//! * a note goes in the transaction that writes down what came of it, after the copy was made; a step that a crash interrupts is done again, and a
//!   copy knows the version that it was made of, so it is not made twice;
//! * the bytes of a copy are not moved: its pieces are shared with the source (`shared_pieces`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lazuli_engine::{Key, Space, Txn};
use lazuli_model::blob::{Blob, ContentRef, DeleteBlob, ReadBlob, TierConditions, Which};
use lazuli_model::conditions::Match;
use lazuli_model::feed::{Event, EventType};
use lazuli_model::lifecycle::passes_over;
use lazuli_model::replication::{
    Follow, ReplicationPolicies, ReplicationPolicy, ReplicationRule, SourceChange, concluded, copied, follow, is_left,
    moment, updated,
};
use lazuli_model::{AccountName, BlobName, Conditions, ContainerName, Refusal, Timestamp};
use serde::{Deserialize, Serialize};

use crate::blob::base;
use crate::keys::{self, BlobKeys};
use crate::records::{decode, encode};
use crate::transact::{Decided, get};
use crate::{BlobAt, ContainerAt, Entry, Failure, Fault, Include, ListBlobs, Store};

/// Notes that one step works off.
const NOTES: usize = 64;
/// Blobs that one step looks at, of those that were there before a rule.
const PAGE: u32 = 500;

/// A change of a source that has still to be made at its copies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SourceNote {
    change: SourceChange,
    version: Timestamp,
}

/// How far a look at what was there before a rule has come. To be kept between steps; who loses it begins again.
#[derive(Debug, Default)]
pub struct ReplicationRounds {
    walks: BTreeMap<WalkOf, Option<String>>,
    walked: BTreeSet<WalkOf>,
    /// Copies made, and what could not be copied.
    pub copied: u64,
    pub failed: u64,
}

/// A rule of an account, by the ids of its policy and its own, and since when it asks for blobs.
type WalkOf = (AccountName, String, String, Timestamp);

/// Notes what `event` says of a source, in its transaction.
pub(crate) fn note_source(txn: &mut Txn<'_>, keys: &BlobKeys, event: &Event) {
    let change = match event.kind {
        EventType::BlobCreated => SourceChange::Written,
        // New metadata make a new version.
        EventType::BlobPropertiesUpdated if event.version == Some(event.time) => SourceChange::Written,
        EventType::BlobPropertiesUpdated => SourceChange::Changed,
        EventType::BlobDeleted => SourceChange::Deleted,
        EventType::BlobSnapshotCreated | EventType::BlobTierChanged | EventType::BlobAsyncOperationInitiated => return,
    };
    let version = event.version.unwrap_or_else(|| event.etag.made());
    txn.put(keys.source_note(event.time, change), encode(&SourceNote { change, version }));
}

/// A note, and where it stands.
struct Noted {
    key: Key,
    note: SourceNote,
    name: BlobName,
    keys: BlobKeys,
}

impl Store {
    /// Waits until there may be something to copy.
    pub async fn replication_wanted(&self) {
        self.feeds.replication_wanted().await;
    }

    /// A bounded piece of work for every source. True when there is more to do right now.
    pub async fn replication_step(&self, rounds: &mut ReplicationRounds) -> Result<bool, Failure> {
        let mut more = false;
        for (account, settings) in self.all_settings().await? {
            let Some(policies) = &settings.replication else { continue };
            let sources: BTreeSet<_> = policies.from_account(&account).map(|(_, rule)| rule.source.clone()).collect();
            for container in sources {
                let at = ContainerAt { account: account.clone(), container };
                more |= self.replicate_container(&at, policies, rounds).await?;
            }
        }
        Ok(more)
    }

    async fn replicate_container(
        &self,
        at: &ContainerAt,
        policies: &ReplicationPolicies,
        rounds: &mut ReplicationRounds,
    ) -> Result<bool, Failure> {
        let Some(home) = self.home_if_any(at).await? else { return Ok(false) };
        let mut more = false;
        for (policy, rule) in policies.of_source(&at.account, &at.container) {
            more |= self.enlist_earlier(at, policy, rule, rounds).await?;
        }
        let all = keys::column(Space(home.id), keys::SOURCE_NOTES);
        let rows = self.rows(&all, &all.after_prefix(), NOTES).await?;
        for (key, bytes) in &rows {
            let noted = read_note(key, bytes)?;
            self.replicate(at, policies, noted, rounds).await?;
        }
        Ok(more || !rows.is_empty())
    }

    /// Notes a page of what was there before the rule. True while there is more of it.
    async fn enlist_earlier(
        &self,
        at: &ContainerAt,
        policy: &ReplicationPolicy,
        rule: &ReplicationRule,
        rounds: &mut ReplicationRounds,
    ) -> Result<bool, Failure> {
        let Some(since) = rule.since else { return Ok(false) };
        let walk = (at.account.clone(), policy.id.clone(), rule.id.clone(), since);
        if rounds.walked.contains(&walk) {
            return Ok(false);
        }
        let marker = rounds.walks.get(&walk).cloned().flatten();
        let include = Include { versions: true, ..Include::default() };
        let list = ListBlobs { marker, most: PAGE, include, ..ListBlobs::default() };
        let page = match self.list_blobs(at, list).await {
            Err(Failure::Refused(Refusal::ContainerNotFound)) => return Ok(false),
            page => page?,
        };
        let home = self.home(at).await?;
        for entry in page.entries {
            let Entry::Blob(item) = entry else { continue };
            let is_there = item.snapshot.is_none() && !item.uncommitted && !item.versions_only;
            if is_there && is_left(policy, rule, item.name.as_str(), &item.blob) {
                let (keys, version) = (BlobKeys::new(home.id, item.name.as_str()), moment(&item.blob));
                let (policy, rule, name) = (policy.clone(), rule.clone(), item.name.clone());
                self.transact(keys.partition(), move |txn| {
                    let found = version_at(txn, &keys, version)?;
                    if found.is_some_and(|(_, blob)| is_left(&policy, &rule, name.as_str(), &blob)) {
                        let note = SourceNote { change: SourceChange::Written, version };
                        txn.put(keys.source_note(version, note.change), encode(&note));
                    }
                    Ok(())
                })
                .await?;
            }
        }
        match page.next {
            Some(next) => drop(rounds.walks.insert(walk, Some(next))),
            None => {
                rounds.walks.remove(&walk);
                rounds.walked.insert(walk);
            }
        }
        Ok(true)
    }

    /// Makes one change at every destination; then the source learns what came of it, and the note goes.
    async fn replicate(
        &self,
        at: &ContainerAt,
        policies: &ReplicationPolicies,
        noted: Noted,
        rounds: &mut ReplicationRounds,
    ) -> Result<(), Failure> {
        let Noted { key, note, name, keys } = noted;
        let version = note.version;
        let source = self.look(&keys.partition(), |txn| version_at(txn, &keys, version)).await?;
        let source = source.map(|(_, blob)| blob);
        let at = BlobAt { account: at.account.clone(), container: at.container.clone(), blob: name };
        let mut outcomes = Vec::new();
        for (policy, rule) in policies.of_source(&at.account, &at.container) {
            if !rule.is_for(at.blob.as_str()) {
                continue;
            }
            let done = match self.follow_rule(&at, policy, rule, &note, source.as_ref()).await {
                Err(Failure::Refused(refusal)) if passes_over(&refusal) => match note.change {
                    SourceChange::Written | SourceChange::Changed => Some(false),
                    // Somebody protects the copy, or has deleted it.
                    SourceChange::Deleted => None,
                },
                done => done?,
            };
            match done {
                Some(true) => rounds.copied += 1,
                Some(false) => rounds.failed += 1,
                None => {}
            }
            outcomes.extend(done.map(|complete| (policy.clone(), rule.clone(), complete)));
        }
        self.transact(keys.partition(), move |txn| {
            if let Some((row, mut blob)) = version_at(txn, &keys, version)? {
                for (policy, rule, complete) in &outcomes {
                    blob = concluded(&blob, policy, rule, *complete);
                }
                if !outcomes.is_empty() {
                    txn.put(row, encode(&blob));
                }
            }
            txn.delete(key.clone());
            Ok(())
        })
        .await
    }

    /// What came of it: it was copied, or could not be, or there is nothing to say.
    async fn follow_rule(
        &self,
        at: &BlobAt,
        policy: &ReplicationPolicy,
        rule: &ReplicationRule,
        note: &SourceNote,
        source: Option<&Blob>,
    ) -> Result<Option<bool>, Failure> {
        let own = self.account_settings(&policy.destination).await?;
        let target = target(policy, &rule.destination, &at.blob);
        let home = match own.replication.as_ref().is_some_and(|own| own.agrees(policy, rule)) {
            true => self.home_if_any(&target.container_at()).await?,
            false => None,
        };
        let Some(home) = home else { return Ok(source.map(|_| false)) };
        let keys = BlobKeys::new(home.id, at.blob.as_str());
        let (copy, newest) = self
            .look(&keys.partition(), |txn| {
                let copy = base(txn, &keys)?;
                let newest = match &copy {
                    Some(copy) => Some(copy.clone()),
                    None => get::<Blob>(txn, &keys.versions_only())?,
                };
                Ok((copy, newest))
            })
            .await?;
        let wanted = follow(note.change, note.version, source, copy.as_ref(), newest.as_ref());
        match (wanted, source) {
            (Follow::Copy, Some(source)) => self.copy_version(at, &target, policy, source).await.map(|()| Some(true)),
            (Follow::Update, Some(source)) => {
                let source = source.clone();
                let change = self.change_blob(&target, move |copy, now| {
                    Ok((updated(&source, copy.ok_or(Refusal::BlobNotFound)?, now)?, ()))
                });
                change.await.map(|_| Some(true))
            }
            (Follow::Delete, _) => {
                let conditions = Conditions {
                    if_match: copy.map(|copy| Match::OneOf(vec![Some(copy.etag)])),
                    ..Conditions::default()
                };
                let tier = TierConditions::default();
                let which = Which::Current;
                let delete = DeleteBlob { which, permanent: false, snapshots: None, tier, conditions, lease: None };
                self.delete_blob(&target, delete).await.map(|_| None)
            }
            (Follow::Fail, _) => Ok(Some(false)),
            (Follow::Nothing, Some(_)) if note.change == SourceChange::Written => Ok(Some(true)),
            (Follow::Copy | Follow::Update, None) | (Follow::Nothing | Follow::Never, _) => Ok(None),
        }
    }

    async fn copy_version(
        &self,
        at: &BlobAt,
        target: &BlobAt,
        policy: &ReplicationPolicy,
        source: &Blob,
    ) -> Result<(), Failure> {
        let which = source.version.map_or(Which::Current, Which::Version);
        let reader = self.open_blob(at, ReadBlob { which, ..ReadBlob::default() }).await?;
        // Another has taken its place, if it has no version to be known by.
        if moment(&reader.blob) != moment(source) {
            return Ok(());
        }
        let (policy, source) = (policy.clone(), reader.blob.clone());
        let tags = if policy.tags { source.tags.clone() } else { Default::default() };
        let decide =
            move |old: Option<&Blob>, content: ContentRef, now: Timestamp| copied(&policy, &source, old, content, now);
        match self.copy_replica(target, reader, &tags, Arc::new(decide)).await {
            Ok(_) | Err(Failure::Refused(Refusal::BlobAlreadyExists)) => Ok(()),
            Err(failure) => Err(failure),
        }
    }
}

fn target(policy: &ReplicationPolicy, container: &ContainerName, blob: &BlobName) -> BlobAt {
    BlobAt { account: policy.destination.clone(), container: container.clone(), blob: blob.clone() }
}

/// The record of a version, current or not, and where it is.
fn version_at(txn: &mut Txn<'_>, keys: &BlobKeys, version: Timestamp) -> Decided<Option<(Key, Blob)>> {
    let current = get::<Blob>(txn, &keys.base())?.filter(|blob| moment(blob) == version);
    if let Some(blob) = current {
        return Ok(Some((keys.base(), blob)));
    }
    let row = keys.version(version);
    Ok(get::<Blob>(txn, &row)?.map(|blob| (row, blob)))
}

fn read_note(key: &Key, bytes: &[u8]) -> Result<Noted, Failure> {
    let name = keys::noted_source(key);
    let text = std::str::from_utf8(&name).ok().and_then(|name| BlobName::parse(name).ok());
    let blob = text.ok_or_else(|| Fault::Corrupt(format!("the key of a change to replicate: {key:?}")))?;
    let keys = BlobKeys::of(key.space(), name);
    Ok(Noted { key: key.clone(), note: decode(bytes)?, name: blob, keys })
}
