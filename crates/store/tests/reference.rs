//! Random programs, run on the store and on a plain reference: the model's rules over a `BTreeMap`, with content in vectors.
//! Every answer and every refusal must be the same, on the plain engine and on one with the manners of a cluster; and when
//! all is deleted and swept, nothing may be left.

mod protection_steps;
mod sparse_steps;
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use lazuli_model::blob::*;
use lazuli_model::conditions::Match;
use lazuli_model::lease::{Action, Length};
use lazuli_model::{BlockId, Conditions, Lease, LeaseId, Metadata, Refusal, Tags, Timestamp};
use lazuli_store::{Entry, Failure, Include, ListBlobs, Store};
use world::*;

#[derive(Clone)]
struct Kept {
    blob: Blob,
    /// Blocks with their bytes; one without an id is what Put Blob wrote.
    blocks: Vec<(Option<BlockId>, Vec<u8>)>,
}

impl Kept {
    fn bytes(&self) -> Vec<u8> {
        self.blocks.iter().flat_map(|(_, bytes)| bytes.clone()).collect()
    }
}

#[derive(Default)]
struct Reference {
    bases: BTreeMap<String, Kept>,
    snapshots: BTreeMap<(String, Timestamp), Kept>,
    versions: BTreeMap<(String, Timestamp), Kept>,
    /// What was deleted softly: the blob, snapshots, versions.
    gone_bases: BTreeMap<String, Kept>,
    gone_snapshots: BTreeMap<(String, Timestamp), Kept>,
    gone_versions: BTreeMap<(String, Timestamp), Kept>,
    pending: BTreeMap<String, BTreeMap<BlockId, Vec<u8>>>,
    /// Of names that have only uncommitted blocks.
    pending_leases: BTreeMap<String, Lease>,
}

impl Reference {
    fn pending_lease(&self, name: &str) -> Lease {
        self.pending_leases.get(name).copied().unwrap_or_default()
    }

    fn drop_pending(&mut self, name: &str) {
        self.pending.remove(name);
        self.pending_leases.remove(name);
    }
}

const NAMES: [&str; 3] = ["a", "a/b", "ü"];
const IDS: [&str; 4] = ["QUFB", "QkJC", "Q0ND", "QUFBQQ=="];
const LENGTHS: [usize; 6] = [0, 1, 16 << 10, (16 << 10) + 1, 40_000, 90_000];
const LEASES: [LeaseId; 2] = [LeaseId(1), LeaseId(2)];

/// A program and its two machines.
struct Run {
    world: World,
    keeping: Keeping,
    reference: Reference,
    random: Random,
}

/// Without its lease, which nobody has on a snapshot.
fn restored((at, kept): ((String, Timestamp), Kept)) -> ((String, Timestamp), Kept) {
    let blob = Blob { lease: Lease::Available, ..kept.blob };
    (at, Kept { blob, ..kept })
}

/// What both should say.
fn same<T: std::fmt::Debug>(what: &str, got: Result<T, Failure>, want: Result<(), Refusal>) -> Option<T> {
    match (got, want) {
        (Ok(got), Ok(())) => Some(got),
        // The reference does not tell what is not there from what was deleted softly.
        (Err(Failure::Refused(Refusal::BlobSoftDeleted)), Err(Refusal::BlobNotFound)) => None,
        (Err(Failure::Refused(got)), Err(want)) => {
            assert_eq!(got, want, "{what}");
            None
        }
        (got, want) => panic!("{what}: the store says {got:?}, the reference {want:?}"),
    }
}

/// The content of the reference's records is beside them.
fn no_content() -> ContentRef {
    ContentRef { id: 0, length: 0, starts: Vec::new(), blocks: 0, epoch: 0 }
}

impl Run {
    fn new(world: World, keeping: Keeping, seed: u64) -> Self {
        Self { world, keeping, reference: Reference::default(), random: Random(seed) }
    }

    fn name(&mut self) -> String {
        self.random.pick(&NAMES).to_string()
    }

    fn base(&self, name: &str) -> Option<&Blob> {
        self.reference.bases.get(name).map(|kept| &kept.blob)
    }

    fn conditions(&mut self, name: &str) -> Conditions {
        let etag = self.base(name).map(|blob| blob.etag);
        match self.random.below(10) {
            0 => Conditions { if_none_match: Some(Match::Any), ..Conditions::default() },
            1 => Conditions { if_match: Some(Match::OneOf(vec![etag])), ..Conditions::default() },
            2 => Conditions { if_none_match: Some(Match::OneOf(vec![etag])), ..Conditions::default() },
            _ => Conditions::default(),
        }
    }

    fn lease(&mut self) -> Option<LeaseId> {
        self.random.chance(10).then(|| *self.random.pick(&LEASES))
    }

    fn snapshot_of(&mut self, name: &str) -> Option<Timestamp> {
        let times: Vec<Timestamp> =
            self.reference.snapshots.keys().filter(|(of, _)| of == name).map(|(_, time)| *time).collect();
        match (times.is_empty(), self.random.chance(5)) {
            (_, true) => Some(Timestamp::from_ticks(7)),
            (true, false) => None,
            (false, false) => Some(*self.random.pick(&times)),
        }
    }

    fn find(&self, name: &str, snapshot: Option<Timestamp>) -> Option<&Kept> {
        match snapshot {
            None => self.reference.bases.get(name),
            Some(time) => self.reference.snapshots.get(&(name.to_owned(), time)),
        }
    }

    async fn step(&mut self) {
        if self.random.chance(10) {
            // Even, while leases last an odd time: so no lease ends between the reference's decision and the store's.
            self.world.advance_seconds(self.random.next() % 10 * 2);
        }
        // Also when what protected it was lifted in the step before.
        self.let_expire().await;
        let name = self.name();
        match self.random.below(30) {
            0 | 1 => self.put_blob(&name).await,
            2..=4 => self.put_block(&name).await,
            5 | 6 => self.put_block_list(&name).await,
            7 | 8 => self.snapshot(&name).await,
            9 | 10 => self.delete(&name).await,
            11 => self.lease_blob(&name).await,
            12 => self.set(&name).await,
            13 => self.block_list(&name).await,
            14 | 15 => while self.world.store.sweep_step().await.unwrap() {},
            16..=18 => self.read(&name).await,
            // What is protected would have to be waited for in each of its versions.
            19..=21 if self.keeping == Keeping::NOTHING => self.protection_step(&name).await,
            19 | 20 => self.delete_version(&name).await,
            21 => self.undelete(&name).await,
            22..=24 => self.copy(&name).await,
            _ => self.sparse_step(&name).await,
        }
    }

    async fn put_blob(&mut self, name: &str) {
        let bytes = pattern(self.random.next() % 251, *self.random.pick(&LENGTHS));
        let put = PutBlob { conditions: self.conditions(name), lease: self.lease(), ..put_blob() };
        let want = put.decide(self.base(name), no_content(), None, self.world.store.now());
        let want = want.and_then(|_| self.permit_overwrite(name));
        let content = self.world.receive(&bytes).await;
        let got = self.world.store.put_blob(&blob(name), put, content).await;
        if let Some(blob) = same("put blob", got, want) {
            assert_eq!(blob.content.length, bytes.len() as u64);
            self.replace(name, Kept { blob: *blob, blocks: vec![(None, bytes)] });
            self.reference.drop_pending(name);
        }
    }

    /// A write took the place of what was there, at the time of the write.
    fn replace(&mut self, name: &str, new: Kept) {
        let time = new.blob.modified;
        assert_eq!(new.blob.version, self.keeping.new_version(time));
        match self.reference.bases.insert(name.to_owned(), new) {
            None => {
                let like = self.reference.bases[name].blob.kind;
                match self.reference.gone_bases.remove(name) {
                    Some(gone) if gone.blob.kind.is_like(like) => {
                        self.reference.gone_snapshots.insert((name.to_owned(), time), gone);
                    }
                    Some(_) => self.reference.gone_snapshots.retain(|(of, _), _| of != name),
                    None => {}
                }
            }
            Some(old) => match self.keeping.overwritten(&old.blob, time) {
                Fate::Gone => {}
                Fate::Version(id) => self.keep_version(name, id, old),
                Fate::Deleted(_) => drop(self.reference.gone_snapshots.insert((name.to_owned(), time), old)),
            },
        }
    }

    fn keep_version(&mut self, name: &str, id: Timestamp, old: Kept) {
        let kept = Kept { blob: old.blob.as_version(id), ..old };
        self.reference.versions.insert((name.to_owned(), id), kept);
    }

    /// What was there, when its metadata have changed or a snapshot was taken of it.
    fn revise(&mut self, name: &str, new: Blob) {
        let old = self.reference.bases.get(name).unwrap().clone();
        if let Some(id) = self.keeping.changed(&old.blob) {
            self.keep_version(name, id, old);
        }
        self.reference.bases.get_mut(name).unwrap().blob = new;
    }

    fn delete_snapshot(&mut self, at: (String, Timestamp)) {
        let old = self.reference.snapshots.remove(&at).unwrap();
        if self.keeping.deleted_days.is_some() {
            self.reference.gone_snapshots.insert(at, old);
        }
    }

    fn delete_base(&mut self, name: &str) {
        let old = self.reference.bases.remove(name).unwrap();
        self.reference.drop_pending(name);
        match self.keeping.deleted(&old.blob, old.blob.modified) {
            Fate::Gone => {}
            Fate::Version(id) => self.keep_version(name, id, old),
            Fate::Deleted(_) => drop(self.reference.gone_bases.insert(name.to_owned(), old)),
        }
    }

    async fn delete_version(&mut self, name: &str) {
        let ids: Vec<Timestamp> =
            self.reference.versions.keys().filter(|(of, _)| of == name).map(|(_, id)| *id).collect();
        let current = self.base(name).and_then(|blob| blob.version);
        let id = match (ids.is_empty(), current) {
            (false, _) if self.random.chance(80) => *self.random.pick(&ids),
            (_, Some(current)) => current,
            (_, None) => Timestamp::from_ticks(7),
        };
        let found = self.reference.versions.get(&(name.to_owned(), id)).map(|kept| &kept.blob);
        let found = found.or(self.base(name).filter(|blob| blob.version == Some(id)));
        let delete = DeleteBlob {
            permanent: false,
            which: Which::Version(id),
            snapshots: None,
            tier: Default::default(),
            conditions: Conditions::default(),
            lease: None,
        };
        let want = delete.decide(found, false, self.world.store.now());
        let got = self.world.store.delete_blob(&blob(name), delete).await;
        if same("delete version", got, want.map(drop)).is_some() {
            let at = (name.to_owned(), id);
            let old = self.reference.versions.remove(&at).unwrap();
            if self.keeping.deleted_days.is_some() {
                self.reference.gone_versions.insert(at, old);
            }
        }
    }

    async fn undelete(&mut self, name: &str) {
        let of = |map: &BTreeMap<(String, Timestamp), Kept>| map.keys().any(|(of, _)| of == name);
        let reference = &self.reference;
        let any = reference.bases.contains_key(name)
            || reference.gone_bases.contains_key(name)
            || of(&reference.versions)
            || of(&reference.gone_snapshots)
            || of(&reference.gone_versions);
        let got = self.world.store.undelete_blob(&blob(name)).await;
        if same("undelete", got, if any { Ok(()) } else { Err(Refusal::BlobNotFound) }).is_none() {
            return;
        }
        let reference = &mut self.reference;
        if let Some(base) = reference.gone_bases.remove(name) {
            let blob = Blob { lease: Lease::Available, ..base.blob };
            reference.bases.insert(name.to_owned(), Kept { blob, ..base });
        }
        reference.snapshots.extend(reference.gone_snapshots.extract_if(.., |(of, _), _| of == name).map(restored));
        reference.versions.extend(reference.gone_versions.extract_if(.., |(of, _), _| of == name));
    }

    /// Of another blob or of a snapshot, perhaps its own.
    async fn copy(&mut self, name: &str) {
        let from = self.name();
        let snapshot = if self.random.chance(40) { self.snapshot_of(&from) } else { None };
        let family = *self.random.pick(&[Family::Copy, Family::FromUrl]);
        let which = Which::snapshot(snapshot);
        let conditions = self.conditions(&from);
        let source = CopySource { which, conditions, family, rehydrates: false, key: None };
        let copy = CopyBlob {
            id: 1,
            source: "http://here/".into(),
            family,
            metadata: None,
            tags: CopyTags::OfSource,
            tier: None,
            seal: None,
            protection: Protection::default(),
            encryption: Default::default(),
            conditions: self.conditions(name),
            lease: self.lease(),
            may_overwrite: true,
        };
        let (kept, now) = (self.find(&from, snapshot).cloned(), self.world.store.now());
        let found = source.decide(kept.as_ref().map(|kept| &kept.blob), now);
        let want = found.and_then(|found| copy.decide(self.base(name), found, no_content(), now));
        let want = want.and_then(|_| self.permit_overwrite(name));
        let got = match self.world.store.open_source(&blob(&from), &source).await {
            Ok(reader) => self.world.store.copy_blob(&blob(name), copy, reader, which, None).await,
            Err(failure) => Err(failure),
        };
        if let Some(blob) = same("copy", got, want) {
            let blocks = kept.map(|kept| kept.blocks).unwrap_or_default();
            self.replace(name, Kept { blob, blocks });
            self.reference.drop_pending(name);
        }
    }

    async fn put_block(&mut self, name: &str) {
        let ids = if self.random.chance(5) { &IDS[..] } else { &IDS[..3] };
        let id = block_id(self.random.one_of(ids));
        let bytes = pattern(self.random.next() % 251, *self.random.pick(&LENGTHS[1..]));
        let put = PutBlock { id: id.clone(), encryption: Default::default(), lease: self.lease() };
        let pending = self.reference.pending.get(name);
        let seen = Pending {
            count: pending.map_or(0, |blocks| blocks.len() as u64),
            id_length: pending.and_then(|blocks| blocks.keys().next()).map(|id| id.as_bytes().len()),
            replaces: pending.is_some_and(|blocks| blocks.contains_key(&id)),
            lease: self.reference.pending_lease(name),
        };
        let want = put.decide(self.base(name), seen, self.world.store.now()).map(drop);
        let content = self.world.receive(&bytes).await;
        let got = self.world.store.put_block(&blob(name), put, content).await;
        if same("put block", got, want).is_some() {
            self.reference.pending.entry(name.to_owned()).or_default().insert(id, bytes);
        }
    }

    async fn put_block_list(&mut self, name: &str) {
        let count = self.random.below(5);
        let blocks: Vec<(Search, BlockId)> = (0..count)
            .map(|_| {
                let search =
                    *self.random.pick(&[Search::Latest, Search::Latest, Search::Committed, Search::Uncommitted]);
                (search, block_id(self.random.one_of(&IDS[..3])))
            })
            .collect();
        let put = PutBlockList {
            blocks,
            metadata: Metadata::new(vec![("n".into(), count.to_string())]).unwrap(),
            conditions: self.conditions(name),
            lease: self.lease(),
            ..block_list(&[])
        };
        let resolve = || {
            let committed = self.reference.bases.get(name).map(|kept| kept.blocks.as_slice()).unwrap_or_default();
            let block = |id: &BlockId, bytes: &Vec<u8>| (Some(id.clone()), bytes.clone());
            put.permit(self.base(name), self.reference.pending_lease(name), self.world.store.now())?;
            put.resolve(
                |id| committed.iter().find(|(of, _)| of.as_ref() == Some(id)).map(|(_, bytes)| block(id, bytes)),
                |id| self.reference.pending.get(name)?.get(id).map(|bytes| block(id, bytes)),
            )
        };
        let (want, blocks) = match resolve().and_then(|blocks| self.permit_overwrite(name).map(|()| blocks)) {
            Ok(blocks) => (Ok(()), blocks),
            Err(refusal) => (Err(refusal), Vec::new()),
        };
        let got = self.world.store.put_block_list(&blob(name), put).await;
        if let Some(blob) = same("put block list", got, want) {
            assert_eq!(blob.content.blocks as usize, blocks.len());
            self.replace(name, Kept { blob, blocks });
            self.reference.drop_pending(name);
        }
    }

    async fn snapshot(&mut self, name: &str) {
        let snapshot = SnapshotBlob {
            metadata: None,
            encryption: Default::default(),
            conditions: self.conditions(name),
            lease: self.lease(),
        };
        let want = snapshot.decide(self.base(name), self.world.store.now());
        let got = self.world.store.snapshot_blob(&blob(name), snapshot).await;
        if let Some((time, base)) = same("snapshot", got, want.clone().map(drop)) {
            // What can change in place goes on at another epoch; nothing else differs.
            let epoch = base.content.epoch;
            let before = self.base(name).cloned().unwrap();
            let version = self.keeping.new_version(time);
            assert_eq!(base, Blob { content: ContentRef { epoch, ..before.content.clone() }, version, ..before });
            let kept = Kept { blob: want.unwrap(), ..self.reference.bases[name].clone() };
            self.reference.snapshots.insert((name.to_owned(), time), kept);
            self.revise(name, base);
        }
    }

    async fn delete(&mut self, name: &str) {
        let snapshot = if self.random.chance(80) { self.snapshot_of(name) } else { None };
        let snapshots = match (snapshot, self.random.below(3)) {
            (None, 0) => Some(DeleteSnapshots::Include),
            (None, 1) => Some(DeleteSnapshots::Only),
            (_, _) => None,
        };
        let delete = DeleteBlob {
            permanent: false,
            which: Which::snapshot(snapshot),
            snapshots,
            tier: Default::default(),
            conditions: self.conditions(name),
            lease: self.lease(),
        };
        if self.base(name).is_none() && snapshot.is_none() && self.reference.pending.contains_key(name) {
            let want = delete.permit_uncommitted(self.reference.pending_lease(name), self.world.store.now());
            if same("delete uncommitted", self.world.store.delete_blob(&blob(name), delete).await, want).is_some() {
                self.reference.drop_pending(name);
            }
            return;
        }
        let has_snapshots = self.reference.snapshots.keys().any(|(of, _)| of == name);
        let found = self.find(name, snapshot).map(|kept| &kept.blob);
        let want = delete.decide(found, has_snapshots, self.world.store.now());
        let got = self.world.store.delete_blob(&blob(name), delete).await;
        same("delete", got, want.clone().map(drop));
        let Ok(deletion) = want else { return };
        match deletion {
            Deletion::Version => unreachable!("no versions are named here"),
            Deletion::Snapshot => self.delete_snapshot((name.to_owned(), snapshot.unwrap())),
            Deletion::Base | Deletion::BaseAndSnapshots | Deletion::SnapshotsOnly => {
                let all: Vec<_> = self.reference.snapshots.keys().filter(|(of, _)| of == name).cloned().collect();
                all.into_iter().for_each(|at| self.delete_snapshot(at));
                if deletion != Deletion::SnapshotsOnly {
                    self.delete_base(name);
                }
            }
        }
    }

    async fn lease_blob(&mut self, name: &str) {
        let (id, to) = (*self.random.pick(&LEASES), *self.random.pick(&LEASES));
        let action = match self.random.below(5) {
            0 | 1 => Action::Acquire { proposed: id, length: Length::Seconds(15) },
            2 => Action::Renew { id },
            3 => Action::Change { id, to },
            _ => Action::Release { id },
        };
        let lease = LeaseBlob { action, conditions: self.conditions(name) };
        if self.base(name).is_none() && self.reference.pending.contains_key(name) {
            let want = lease.decide_uncommitted(self.reference.pending_lease(name), self.world.store.now());
            let got = self.world.store.lease_blob(&blob(name), lease).await;
            if let Some((_, outcome)) = same("lease uncommitted", got, want.map(drop)) {
                self.reference.pending_leases.insert(name.to_owned(), outcome.lease);
            }
            return;
        }
        let want = lease.decide(self.base(name), self.world.store.now());
        let got = self.world.store.lease_blob(&blob(name), lease).await;
        if let Some((blob, _)) = same("lease", got, want.map(drop)) {
            self.reference.bases.get_mut(name).unwrap().blob = blob;
        }
    }

    async fn set(&mut self, name: &str) {
        let (conditions, lease) = (self.conditions(name), self.lease());
        let (now, at) = (self.world.store.now(), blob(name));
        let blob = match self.random.below(3) {
            0 => {
                let metadata = Metadata::new(vec![("k".into(), self.random.below(9).to_string())]).unwrap();
                let set = SetBlobMetadata { metadata, encryption: Default::default(), conditions, lease };
                let want = set.decide(self.base(name), now);
                let done = same("set metadata", self.world.store.set_blob_metadata(&at, set).await, want.map(drop));
                if let Some(blob) = done {
                    self.revise(name, blob);
                }
                None
            }
            1 => {
                let headers = ContentHeaders { content_type: Some("a/b".into()), ..ContentHeaders::default() };
                let set = SetBlobProperties { headers, conditions, lease };
                let want = set.decide(self.base(name), now);
                same("set properties", self.world.store.set_blob_properties(&at, set).await, want.map(drop))
            }
            _ => {
                let tags = Tags::new(vec![("t".into(), "v".into())]).unwrap();
                let set =
                    SetBlobTags { which: Which::Current, tags: tags.clone(), conditions: Conditions::default(), lease };
                let want = set.decide(self.base(name), now);
                let done = same("set tags", self.world.store.set_blob_tags(&at, set).await, want.map(drop));
                done.map(|()| Blob { tags, ..self.base(name).unwrap().clone() })
            }
        };
        if let Some(blob) = blob {
            self.reference.bases.get_mut(name).unwrap().blob = blob;
        }
    }

    async fn block_list(&mut self, name: &str) {
        let pending = self.reference.pending.get(name);
        let want = get_block_list().decide(self.base(name), pending.is_some(), self.world.store.now()).map(drop);
        let Some(lists) = same("block list", self.world.store.block_list(&blob(name), get_block_list()).await, want)
        else {
            return;
        };
        let kept = self.reference.bases.get(name);
        let committed = kept.into_iter().flat_map(|kept| &kept.blocks);
        let committed: Vec<_> = committed.filter_map(|(id, bytes)| Some((id.clone()?, bytes.len() as u64))).collect();
        let uncommitted = pending.into_iter().flatten().map(|(id, bytes)| (id.clone(), bytes.len() as u64));
        let mut uncommitted: Vec<_> = uncommitted.collect();
        uncommitted.sort_by_key(|(id, _)| id.to_base64());
        assert_eq!((lists.committed, lists.uncommitted), (committed, uncommitted));
    }

    async fn read(&mut self, name: &str) {
        let snapshot = if self.random.chance(50) { self.snapshot_of(name) } else { None };
        let read = ReadBlob { which: Which::snapshot(snapshot), lease: self.lease(), ..ReadBlob::default() };
        let found = self.find(name, snapshot).cloned();
        let want = read.decide_content(found.as_ref().map(|kept| &kept.blob), self.world.store.now()).map(drop);
        let got = self.world.store.open_blob(&blob(name), read.clone()).await.map(|reader| reader.blob);
        if let (Some(got), Some(found)) = (same("read", got, want), found) {
            assert_eq!(*got, found.blob);
            assert_eq!(self.world.store.blob(&blob(name), read).await.unwrap(), found.blob);
            let bytes = found.bytes();
            let from = self.random.below(bytes.len() + 1);
            let to = from + self.random.below(bytes.len() + 1 - from);
            let part = self.world.get_range(name, snapshot, from as u64, to as u64).await.unwrap();
            assert!(part == bytes[from..to], "bytes {from}..{to} of {name}");
        }
    }

    async fn compare_all(&mut self) {
        for ((name, time), kept) in &self.reference.snapshots {
            assert!(self.world.get(name, Some(*time)).await.unwrap() == kept.bytes(), "a snapshot of {name}");
        }
        for (name, kept) in &self.reference.bases {
            assert!(self.world.get(name, None).await.unwrap() == kept.bytes(), "{name}");
        }
        for ((name, id), kept) in &self.reference.versions {
            assert!(
                self.world.bytes_of(name, Which::Version(*id)).await.unwrap() == kept.bytes(),
                "a version of {name}"
            );
        }
        self.compare_deleted().await;
        let include = Include { snapshots: true, uncommitted: true, ..Include::default() };
        let list = ListBlobs { most: 5000, include, ..ListBlobs::default() };
        let page = self.world.store.list_blobs(&container("box"), list).await.unwrap();
        let listed: Vec<_> = page
            .entries
            .iter()
            .map(|entry| match entry {
                Entry::Blob(item) => (item.name.to_string(), item.snapshot.unwrap_or(Timestamp::from_ticks(u64::MAX))),
                Entry::Prefix(prefix) => panic!("a flat listing has no {prefix}"),
                Entry::Directory(item) => panic!("a flat container has no {:?}", item.name),
            })
            .collect();
        let last = |name: &String| (name.clone(), Timestamp::from_ticks(u64::MAX));
        let mut want: Vec<_> = self.reference.snapshots.keys().cloned().collect();
        want.extend(self.reference.bases.keys().map(last));
        want.extend(self.reference.pending.keys().filter(|name| !self.reference.bases.contains_key(*name)).map(last));
        want.sort();
        assert_eq!(listed, want);
    }

    /// All versions, and all that was deleted softly, by what a listing says of them.
    async fn compare_deleted(&mut self) {
        let include = Include { snapshots: true, versions: true, deleted: true, ..Include::default() };
        let list = ListBlobs { most: 5000, include, ..ListBlobs::default() };
        let page = self.world.store.list_blobs(&container("box"), list).await.unwrap();
        let mut counts = [0; 4];
        for entry in page.entries {
            let Entry::Blob(item) = entry else { panic!("a flat listing has no prefixes") };
            let is_deleted = item.blob.deleted.is_some();
            match (item.snapshot.is_some(), item.blob.previous, is_deleted) {
                (false, true, false) => counts[0] += 1,
                (false, false, true) => counts[1] += 1,
                (true, _, true) => counts[2] += 1,
                (false, true, true) => counts[3] += 1,
                (_, _, false) => {}
            }
        }
        let reference = &self.reference;
        let want = [&reference.versions, &reference.gone_snapshots, &reference.gone_versions].map(BTreeMap::len);
        assert_eq!(counts, [want[0], reference.gone_bases.len(), want[1], want[2]]);
    }

    /// Deletes everything that can be deleted, and sees that nothing is left.
    async fn end(mut self, before: &str) {
        self.let_expire().await;
        self.compare_all().await;
        self.world.sweep().await;
        self.compare_all().await;
        self.world.advance_seconds(120); // leases and policies end
        self.lift().await;
        for name in NAMES {
            let _ = self.world.put(name, b"").await.unwrap(); // and uncommitted blocks with it
            self.world.delete(name, Some(DeleteSnapshots::Include)).await.unwrap();
        }
        self.world.delete_versions().await;
        // What was deleted softly goes, and so do the names of tags.
        for _ in 0..4 {
            self.world.sweep().await;
            self.world.advance_seconds(24 * 60 * 60 + 1);
        }
        assert_eq!((self.world.rows().as_str(), self.world.content.size()), (before, 0));
    }
}

async fn program(world: World, seed: u64, steps: usize) {
    world.create("box", 1).await;
    // Each account keeps something else.
    let keeping =
        Keeping { versions: seed % 2 == 1, deleted_days: (seed % 4 > 1).then_some(1), permanent_delete: false };
    world.keep(keeping).await;
    world.sweep().await;
    let before = world.rows();
    let mut run = Run::new(world, keeping, seed);
    for _ in 0..steps {
        run.world.next_gateway();
        run.step().await;
    }
    run.end(&before).await;
}

#[tokio::test]
async fn random_programs_agree_with_the_reference() {
    for seed in 0..150 {
        println!("seed {seed}");
        program(World::plain(), seed, 200).await;
    }
}

#[tokio::test]
async fn random_programs_agree_on_a_cluster_too() {
    for seed in 1000..1150 {
        println!("seed {seed}");
        program(World::distributed(seed), seed, 80).await;
    }
}

/// On a world of several gateways, each step by the next one.
pub async fn program_in_turns(gateways: Vec<Store>, ticks: Arc<AtomicU64>, seed: u64, steps: usize) {
    program(World::shared(gateways, ticks), seed, steps).await;
}

#[tokio::test]
async fn random_programs_agree_when_gateways_take_turns() {
    for seed in 2000..2020 {
        println!("seed {seed}");
        let (gateways, ticks) = World::gateways(seed);
        program_in_turns(gateways, ticks, seed, 80).await;
    }
}
