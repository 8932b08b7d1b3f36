//! What is done through an open handle: the arbiter's verdict and the change in one transaction. No path is looked up again, since an
//! entry's id is for life.

use bytes::Bytes;
use lazuli_engine::BoxFuture;
use lazuli_model::file::arbiter::{self, Break, Standing, Verdict};
use lazuli_model::file::{
    Done, Entry, FileId, FilePath, Format, Frozen, Kind, Node, Principal, Sddl, SetBasic, SetPermission,
};
use lazuli_model::{Refusal, Timestamp};

use super::get_file::FileReader;
use super::list_entries::{EntryItem, children};
use super::rename::{Mover, move_entry};
use super::rows::{Held, Name};
use super::standing::judged;
use super::tree::{Reached, Tree};
use super::waits::{Attempt, Wait};
use super::watches::{Filter, Happened};
use super::{FileAt, Granted, HandleAt, RightsClaim, ShareAt, Waiting, entry};
use crate::sparse::{Batch, Fill, SparseReader, Stretch, ranges};
use crate::transact::Decided;
use crate::upload::{Broken, Source};
use crate::{Failure, Store};

/// Windows that one look at what is written goes over.
const WINDOWS: usize = 1024;

/// What is known of an open file or directory.
#[derive(Clone, Debug)]
pub struct Through {
    pub entry: Entry,
    pub delete_pending: bool,
    /// Its client was asked to give up what it caches, and has not answered.
    pub breaking: bool,
}

/// Names in a directory, in order.
#[derive(Clone, Debug)]
pub struct Children {
    pub items: Vec<EntryItem>,
    /// Where to go on.
    pub next: Option<Vec<u8>>,
}

/// Bytes that are here already.
struct Whole(Option<Bytes>);

impl Source for Whole {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Broken>> {
        Box::pin(async { Ok(self.0.take()) })
    }
}

impl Tree<'_, '_> {
    /// The node of an open handle, with all that is open on it.
    pub(super) fn through(&mut self, file: FileId, handle: u64) -> Decided<(Node, Standing)> {
        let standing = if self.is_snapshot() { Standing::default() } else { self.standing(file)? };
        if !self.is_snapshot() {
            standing.find(handle)?;
        }
        let node = self.node(file)?.ok_or(Refusal::ResourceNotFound)?;
        Ok((node, standing))
    }

    /// A change to an entry's record, told to those who watch.
    pub(super) fn changed(&mut self, node: &Node, filter: Filter) -> Decided<()> {
        self.put_node(node)?;
        self.happened(node.parent, &[(Happened::Modified, &node.name)], filter)
    }
}

impl Store {
    pub async fn query_handle(&self, at: &HandleAt) -> Result<Through, Failure> {
        self.look_tree(&at.share, at.snapshot, |tree| {
            let (node, standing) = tree.through(at.file, at.handle)?;
            let parent = node.parent;
            let breaking = standing.opens.iter().any(|open| open.handle == at.handle && open.breaking.is_some());
            let (entry, delete_pending) = (entry(node, parent, standing.lease), standing.delete_pending);
            Ok(Through { entry, delete_pending, breaking })
        })
        .await
    }

    /// A file or a directory as a snapshot saw it.
    pub async fn snapshot_entry(
        &self,
        at: &FileAt,
        snapshot: Timestamp,
        claim: Option<&RightsClaim>,
    ) -> Result<(Entry, Option<Granted>), Failure> {
        self.look_tree(&at.share_at(), Some(snapshot), |tree| {
            let (node, parent) = tree.find(&at.path)?;
            let granted = match claim {
                None => None,
                Some(RightsClaim { who, asked }) => {
                    let (own, above) = (tree.permission_of(node.id)?, tree.permission_of(parent)?);
                    let above = Some(&above).filter(|_| node.id != FileId::ROOT);
                    let rights = own.permit_open(above, who, *asked, Done::Opened)?;
                    Some(Granted { rights, maximal: own.maximal(above, who) })
                }
            };
            Ok((entry(node, parent, lazuli_model::Lease::Available), granted))
        })
        .await
    }

    /// The times of a share's snapshots, in order.
    pub async fn snapshots(&self, at: &ShareAt) -> Result<Vec<Timestamp>, Failure> {
        self.look_tree(at, None, |tree| {
            let all = tree.keys.snapshots();
            let rows = tree.txn.scan(&all, &all.after_prefix(), lazuli_model::file::share::SNAPSHOTS_MAX)?;
            Ok(rows.iter().filter_map(|(key, _)| super::keys::read_version(key)).map(Timestamp::from_ticks).collect())
        })
        .await
    }

    /// From the share's root, with backslashes.
    pub async fn path_of_handle(&self, at: &HandleAt) -> Result<String, Failure> {
        self.look_tree(&at.share, at.snapshot, |tree| {
            let (mut node, _) = tree.through(at.file, at.handle)?;
            let mut steps = Vec::new();
            while node.id != FileId::ROOT {
                steps.push(node.name.clone());
                node = tree.node(node.parent)?.ok_or(Refusal::ResourceNotFound)?;
            }
            steps.reverse();
            Ok(steps.join("\\"))
        })
        .await
    }

    /// The bytes `from..from+length`, as far as there are any.
    pub async fn read_handle(&self, at: &HandleAt, from: u64, length: u64) -> Result<FileReader, Failure> {
        let opening = self.readers.enter();
        let to = from.saturating_add(length);
        let (entry, keys, seen, batch) = self
            .look_tree(&at.share, at.snapshot, |tree| {
                let (node, standing) = tree.through(at.file, at.handle)?;
                if node.kind == Kind::Directory {
                    return Err(Refusal::ResourceTypeMismatch.into());
                }
                if !tree.is_snapshot() {
                    let obstacle = || arbiter::read_obstacle(&standing, at.handle, from, to);
                    judged(arbiter::read(&standing, at.handle, from, to), obstacle)?;
                }
                let seen = tree.seen(&node);
                let (from, to) = (from.min(node.length), to.min(node.length));
                let batch = Batch::load(tree.txn, &tree.keys.content, seen, from, to)?;
                let parent = node.parent;
                Ok((entry(node, parent, standing.lease), tree.keys.content.clone(), seen, batch))
            })
            .await?;
        let hold = opening.hold(&keys, seen.content);
        let bytes = SparseReader::new(keys, seen, batch, &opening);
        let mut reader = FileReader::new(entry, self.clone(), bytes, hold);
        reader.seek(from, to);
        Ok(reader)
    }

    pub async fn write_handle(&self, at: &HandleAt, from: u64, data: Bytes, frozen: Frozen) -> Result<(), Failure> {
        self.write_through(at, Some(from), data, frozen).await.map(|_| ())
    }

    /// Writes behind the last byte, wherever that is, and says where it was.
    pub async fn append_handle(&self, at: &HandleAt, data: Bytes, frozen: Frozen) -> Result<u64, Failure> {
        self.write_through(at, None, data, frozen).await
    }

    /// From the end on, if nothing else is said.
    async fn write_through(
        &self,
        at: &HandleAt,
        from: Option<u64>,
        data: Bytes,
        frozen: Frozen,
    ) -> Result<u64, Failure> {
        let length = data.len() as u64;
        let received = self.receive(&mut Whole(Some(data)), Some(length), length, false).await?;
        let fill = Fill::of(&received);
        let (file, handle) = (at.file, at.handle);
        let found = self.found_share(&at.share).await?;
        self.change_staged(found, received.body.into_staged(), move |tree| {
            let (node, mut standing) = tree.through(file, handle)?;
            let from = from.unwrap_or(node.length);
            let end = from.checked_add(length).ok_or(Refusal::OutOfRangeInput)?;
            let told = writes(&standing, handle, from, end)?;
            let mut changed = node.written_to(end, frozen, tree.now())?;
            tree.resize(node.length, changed.length)?;
            tree.write_content(&mut changed, from, &fill)?;
            tree.break_caches(file, &mut standing, &told);
            let grows = if changed.length == node.length { Filter::default() } else { Filter::SIZE };
            tree.changed(&changed, Filter::WRITTEN.with(grows))?;
            Ok(from)
        })
        .await
    }

    /// Another length. To shorten a very long file takes several transactions; the length changes with the last.
    pub async fn set_end(&self, at: &HandleAt, length: u64, frozen: Frozen) -> Result<(), Failure> {
        let (file, handle) = (at.file, at.handle);
        loop {
            let done = self
                .change_tree(&at.share, move |tree| {
                    let (node, mut standing) = tree.through(file, handle)?;
                    let (from, to) = (node.length.min(length), node.length.max(length));
                    let told = if from == to { Vec::new() } else { writes(&standing, handle, from, to)? };
                    let mut changed = node.resized(length, frozen, tree.now())?;
                    if length < node.length && !tree.clear_content(&mut changed, length, node.length, &[])? {
                        let partly = Node { content_epoch: changed.content_epoch, ..node };
                        tree.put_node(&partly)?;
                        return Ok(false);
                    }
                    tree.resize(node.length, length)?;
                    tree.break_caches(file, &mut standing, &told);
                    tree.changed(&changed, Filter::SIZE.with(Filter::WRITTEN))?;
                    Ok(true)
                })
                .await?;
            if done {
                return Ok(());
            }
        }
    }

    /// Makes `from..to` a hole, as far as the file goes.
    pub async fn zero_handle(&self, at: &HandleAt, from: u64, to: u64, frozen: Frozen) -> Result<(), Failure> {
        let (file, handle) = (at.file, at.handle);
        loop {
            let done = self
                .change_tree(&at.share, move |tree| {
                    let (node, mut standing) = tree.through(file, handle)?;
                    let to = to.min(node.length);
                    if from >= to {
                        return Ok(true);
                    }
                    let told = writes(&standing, handle, from, to)?;
                    let mut changed = node.written_to(0, frozen, tree.now())?;
                    let done = tree.clear_content(&mut changed, from, to, &[])?;
                    tree.break_caches(file, &mut standing, &told);
                    tree.changed(&changed, Filter::WRITTEN)?;
                    Ok(done)
                })
                .await?;
            if done {
                return Ok(());
            }
        }
    }

    /// What is written within `from..to`, in order; at most so many ranges.
    pub async fn written_ranges(
        &self,
        at: &HandleAt,
        from: u64,
        to: u64,
        most: usize,
    ) -> Result<Vec<std::ops::Range<u64>>, Failure> {
        let mut all: Vec<std::ops::Range<u64>> = Vec::new();
        let mut position = from;
        loop {
            let (found, next) = self
                .look_tree(&at.share, at.snapshot, |tree| {
                    let (node, _) = tree.through(at.file, at.handle)?;
                    let stretch = Stretch { from: position, to: to.min(node.length), most: WINDOWS };
                    if stretch.from >= stretch.to {
                        return Ok((Vec::new(), None));
                    }
                    let seen = tree.seen(&node);
                    ranges(tree.txn, &tree.keys.content, seen, stretch)
                })
                .await?;
            for range in found {
                match all.last_mut() {
                    Some(last) if last.end == range.start => last.end = range.end,
                    Some(_) | None => all.push(range),
                }
            }
            match next {
                Some(next) if all.len() <= most => position = next,
                Some(_) | None => return Ok(all),
            }
        }
    }

    pub async fn set_basic(&self, at: &HandleAt, set: SetBasic, frozen: Frozen) -> Result<(), Failure> {
        let (file, handle) = (at.file, at.handle);
        self.change_tree(&at.share, move |tree| {
            let (node, _) = tree.through(file, handle)?;
            let changed = node.with_basic(&set, frozen, tree.now());
            let mut filter = Filter::default();
            if changed.smb.attributes != node.smb.attributes {
                filter = filter.with(Filter::ATTRIBUTES);
            }
            if changed.smb.written != node.smb.written {
                filter = filter.with(Filter::WRITTEN);
            }
            if changed.smb.created != node.smb.created {
                filter = filter.with(Filter::CREATED);
            }
            tree.changed(&changed, filter)
        })
        .await
    }

    /// Says whether the file is sparse.
    pub async fn set_sparse(&self, at: &HandleAt, sparse: bool, frozen: Frozen) -> Result<(), Failure> {
        let (file, handle) = (at.file, at.handle);
        self.change_tree(&at.share, move |tree| {
            let (node, _) = tree.through(file, handle)?;
            let changed = node.sparse(sparse, frozen, tree.now());
            tree.changed(&changed, Filter::ATTRIBUTES)
        })
        .await
    }

    /// The security descriptor, self-relative.
    pub async fn descriptor(&self, at: &HandleAt) -> Result<Vec<u8>, Failure> {
        self.look_tree(&at.share, at.snapshot, |tree| {
            let (node, _) = tree.through(at.file, at.handle)?;
            Ok(tree.permission_of(node.id)?.to_bytes()?)
        })
        .await
    }

    /// Another one, made of the one that is there.
    pub async fn change_descriptor(
        &self,
        at: &HandleAt,
        frozen: Frozen,
        merge: impl Fn(&[u8]) -> Option<Vec<u8>> + Send + 'static,
    ) -> Result<(), Failure> {
        let (file, handle) = (at.file, at.handle);
        self.change_tree(&at.share, move |tree| {
            let (node, _) = tree.through(file, handle)?;
            let current = tree.permission_of(file)?.to_bytes()?;
            let merged = merge(&current).ok_or(Refusal::FileInvalidPermission)?;
            let permission = tree.keep_permission(&Sddl::from_bytes(&merged)?)?;
            let changed = node.with_permission(permission, frozen, tree.now());
            tree.changed(&changed, Filter::SECURITY)
        })
        .await
    }

    /// Marks a file to go with its last handle, or changes that back. Nothing, when the caller did not want to wait.
    pub async fn mark_deletion(
        &self,
        at: &HandleAt,
        pending: bool,
        waiting: &dyn Waiting,
    ) -> Result<Option<()>, Failure> {
        let (file, handle) = (at.file, at.handle);
        let mut wait = Wait::new(self, waiting);
        loop {
            let settled = wait.listen();
            match self.change_tree(&at.share, move |tree| dispose(tree, file, handle, pending)).await? {
                Attempt::Done(()) => return Ok(Some(())),
                Attempt::Wait(until) if !wait.pass(settled, until).await => return Ok(None),
                Attempt::Wait(_) => {}
            }
        }
    }

    /// To another place in the share. Nothing, when the caller did not want to wait.
    pub async fn rename_handle(
        &self,
        at: &HandleAt,
        to: FilePath,
        replace: bool,
        frozen: Frozen,
        who: Option<&Principal>,
        waiting: &dyn Waiting,
    ) -> Result<Option<()>, Failure> {
        let (file, handle) = (at.file, at.handle);
        let mut wait = Wait::new(self, waiting);
        loop {
            let settled = wait.listen();
            let (to, who) = (to.clone(), who.cloned());
            let attempt = self.change_tree(&at.share, move |tree| {
                let (node, mut standing) = tree.through(file, handle)?;
                if let Verdict::Wait(breaks) = arbiter::rename(&standing, handle, tree.now())? {
                    tree.break_caches(file, &mut standing, &breaks);
                    return Ok(Attempt::Wait(standing.next_end()));
                }
                move_through(tree, &node, &to, Mover::Handle { replace, frozen, who: who.clone() })?;
                Ok(Attempt::Done(()))
            });
            match attempt.await? {
                Attempt::Done(()) => return Ok(Some(())),
                Attempt::Wait(until) if !wait.pass(settled, until).await => return Ok(None),
                Attempt::Wait(_) => {}
            }
        }
    }

    /// Names in an open directory, from a position on.
    pub async fn list_handle(&self, at: &HandleAt, from: &[u8], most: usize) -> Result<Children, Failure> {
        self.look_tree(&at.share, at.snapshot, |tree| {
            let (node, _) = tree.through(at.file, at.handle)?;
            if node.kind != Kind::Directory {
                return Err(Refusal::ResourceTypeMismatch.into());
            }
            let (items, next) = children(tree, node.id, "", from, most)?;
            Ok(Children { items, next })
        })
        .await
    }
}

/// What something new gets: a descriptor in its self-relative form.
pub fn permission_of(descriptor: &[u8]) -> Result<SetPermission, Refusal> {
    Ok(SetPermission::Text { text: Sddl::from_bytes(descriptor)?.as_str().to_owned(), format: Format::Sddl })
}

/// What a write through a handle breaks, if no lock is in its way.
fn writes(standing: &Standing, handle: u64, from: u64, to: u64) -> Result<Vec<Break>, Refusal> {
    judged(arbiter::write(standing, handle, from, to), || arbiter::write_obstacle(standing, handle, from, to))
}

fn dispose(tree: &mut Tree<'_, '_>, file: FileId, handle: u64, pending: bool) -> Decided<Attempt<()>> {
    let (node, mut standing) = tree.through(file, handle)?;
    if file == FileId::ROOT {
        return Err(Refusal::CannotDeleteFileOrDirectory.into());
    }
    let read_only = node.kind != Kind::Directory && node.is_read_only();
    let verdict = arbiter::set_delete_pending(&standing, handle, read_only, pending, tree.now())?;
    if pending && node.kind == Kind::Directory && tree.count_children(file)? > 0 {
        return Err(Refusal::DirectoryNotEmpty.into());
    }
    if let Verdict::Wait(breaks) = verdict {
        tree.break_caches(file, &mut standing, &breaks);
        return Ok(Attempt::Wait(standing.next_end()));
    }
    let held = tree.held(file)?;
    tree.put_held(file, Held { delete_pending: pending, ..held });
    if pending && node.kind == Kind::Directory {
        tree.doomed(file)?;
    }
    Ok(Attempt::Done(()))
}

fn move_through(tree: &mut Tree<'_, '_>, node: &Node, to: &FilePath, mover: Mover<'_>) -> Decided<()> {
    if node.id == FileId::ROOT {
        return Err(Refusal::CannotDeleteFileOrDirectory.into());
    }
    let named = Name { id: node.id, kind: node.kind, name: node.name.clone() };
    let name = lazuli_model::file::EntryName::parse(&node.name, true)?;
    let source = Reached { parent: node.parent, above: Vec::new(), name, found: Some(named) };
    let destination = tree.reach(to)?;
    let (from, old) = (node.parent, node.name.clone());
    let moved = move_entry(tree, &source, &destination, mover)?;
    let (parent, new, filter) = (moved.node.parent, moved.node.name.as_str(), Filter::name(node.kind));
    if parent == from {
        return tree.happened(parent, &[(Happened::RenamedFrom, &old), (Happened::RenamedTo, new)], filter);
    }
    tree.happened(from, &[(Happened::Removed, &old)], filter)?;
    tree.happened(parent, &[(Happened::Added, new)], filter)
}
