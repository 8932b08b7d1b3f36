//! Get File, Get File Properties, Get File Metadata.

use bytes::Bytes;
use lazuli_engine::BoxFuture;
use lazuli_model::Lease;
use lazuli_model::file::arbiter::{Act, Verdict};
use lazuli_model::file::{Entry, ReadFile};
use lazuli_model::lease::{self, On};

use super::standing::{admitted, not_given_back};
use super::tree::Tree;
use super::{FileAt, entry};
use crate::keys::BlobKeys;
use crate::readers::{Hold, Opening};
use crate::sparse::{Batch, Seen, SparseReader};
use crate::transact::Decided;
use crate::upload::{Broken, Source};
use crate::{Failure, Store};

/// A file opened for reading; holding it keeps its bytes from being given back.
pub struct FileReader {
    pub entry: Entry,
    store: Store,
    bytes: SparseReader,
    _hold: Hold,
}

impl FileReader {
    pub(super) fn new(entry: Entry, store: Store, bytes: SparseReader, hold: Hold) -> Self {
        Self { entry, store, bytes, _hold: hold }
    }

    /// Prepares to stream `from..to`; then call `next` until it gives `None`.
    pub fn seek(&mut self, from: u64, to: u64) {
        let to = to.min(self.entry.node.length);
        self.bytes.seek(from.min(to), to);
    }

    pub async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        self.bytes.next(&self.store, None).await
    }
}

impl Source for FileReader {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Broken>> {
        Box::pin(async { Ok(FileReader::next(self).await?) })
    }
}

impl Store {
    /// For Get File Properties and Metadata.
    pub async fn file(&self, at: &FileAt, read: ReadFile) -> Result<Entry, Failure> {
        self.read_file(at, read, Act::Look).await.map(|(_, (entry, ..))| entry)
    }

    /// The whole of it.
    pub async fn open_file(&self, at: &FileAt, read: ReadFile) -> Result<FileReader, Failure> {
        self.open_file_range(at, read, 0, u64::MAX).await
    }

    /// Of which `from..to` is going to be read: locks are judged by that.
    pub async fn open_file_range(
        &self,
        at: &FileAt,
        read: ReadFile,
        from: u64,
        to: u64,
    ) -> Result<FileReader, Failure> {
        let (opening, (entry, keys, seen)) = self.read_file(at, read, Act::Read { from, to }).await?;
        let hold = opening.hold(&keys, seen.content);
        let mut bytes = SparseReader::new(keys, seen, Batch::default(), &opening);
        bytes.seek(0, entry.node.length);
        Ok(FileReader { entry, store: self.clone(), bytes, _hold: hold })
    }

    /// One look, and another when somebody had to be waited for.
    async fn read_file(&self, at: &FileAt, read: ReadFile, act: Act) -> Result<(Opening, Found), Failure> {
        let share = at.share_at();
        let mut waited = false;
        loop {
            let opening = self.readers.enter();
            let found = self.look_tree(&share, read.snapshot, |tree| look(tree, at, &read, act, waited)).await?;
            if let Some(found) = found {
                return Ok((opening, found));
            }
            drop(opening);
            self.approach(at, act).await?;
            waited = true;
        }
    }
}

/// The file, and where its bytes are.
type Found = (Entry, BlobKeys, Seen);

/// Nothing when somebody has to be waited for first.
fn look(tree: &mut Tree<'_, '_>, at: &FileAt, read: &ReadFile, act: Act, waited: bool) -> Decided<Option<Found>> {
    let (node, parent) = tree.find_file(&at.path)?;
    let mut shown = Lease::Available;
    if !tree.is_snapshot() {
        let standing = tree.standing(node.id)?;
        match admitted(act, &standing)? {
            Verdict::Go(_) => {}
            Verdict::Wait(_) if waited => return Err(not_given_back(act, &standing).into()),
            Verdict::Wait(_) => return Ok(None),
        }
        lease::permit_read(standing.lease, read.lease, tree.now(), On::File)?;
        shown = standing.lease;
    }
    let seen = tree.seen(&node);
    Ok(Some((entry(node, parent, shown), tree.keys.content.clone(), seen)))
}
