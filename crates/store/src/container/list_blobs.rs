//! List Blobs, flat and hierarchical, with snapshots, versions, uncommitted and deleted blobs merged in, in the order of
//! names. Each kind has a column of its own, so that what is not asked for is not met.
//!
//! A *position* is bytes in the order of the listing: `name 00 ticks rank` for a snapshot or a version, `name 00 ff…ff` for
//! a base blob or what stands for one, so that snapshots and versions come oldest first and before their base (as Azure
//! lists them). Any bytes will do as a lower bound. Each batch is one scan over all columns concerned: what it shows of one
//! blob is of one moment, so that a blob that is committed meanwhile is not missed between the columns.

use bytes::Bytes;
use lazuli_engine::{Column, Fault, Key, Space, Txn};
use lazuli_model::blob::{Blob, ContentRef, Kind};
use lazuli_model::{BlobName, Refusal, Timestamp};

use crate::blob::cut_of;
use crate::keys::{BlobKeys, TreeKeys};
use crate::lake::list_tree;
use crate::listing::{decode_marker, encode_marker};
use crate::records::{Pending, decode, encode};
use crate::transact::{Decided, now};
use crate::{BlobItem, BlobPage, ContainerAt, Entry, Failure, Include, ListBlobs, Store, keys};

/// Rows per column and look. A flat page asks for what it lacks; where prefixes may be skipped, the rows are doubled while
/// they are used up, and few again after each skip. The most is more than a thousand: a page of a thousand needs one row
/// more, to know whether it is the last.
const BATCH_LEAST: usize = 16;
const BATCH_MOST: usize = 1024;

/// After so many bytes of records and names a page ends. Metadata may be 8 KiB of each of five thousand blobs, and more when it is written.
const PAGE_BYTES_MAX: usize = 8 << 20;

/// The last position of a name.
const BASE: [u8; 10] = [0, 255, 255, 255, 255, 255, 255, 255, 255, 255];

/// What tells a snapshot from a version of the same time.
const SNAPSHOT: u8 = 0;
const VERSION: u8 = 1;

impl Store {
    pub async fn list_blobs(&self, at: &ContainerAt, list: ListBlobs) -> Result<BlobPage, Failure> {
        loop {
            let home = self.home(at).await?;
            let space = Space(home.id);
            let page = match home.hierarchical {
                true => {
                    let keys = TreeKeys { space };
                    self.look(&keys.partition(), |txn| list_tree(txn, &keys, &self.request.caller, &list)).await?
                }
                false => self.page(space, &list).await?,
            };
            // The rows of a container that has gone meanwhile go one by one: then it is looked at afresh.
            if self.container_id(at).await? == space.0 {
                return Ok(page);
            }
        }
    }

    async fn page(&self, space: Space, list: &ListBlobs) -> Result<BlobPage, Failure> {
        let mut page = Page::new(list)?;
        let mut batch = if list.delimiter.is_some() { BATCH_LEAST } else { BATCH_MOST };
        loop {
            let wanted = page.lacks().clamp(BATCH_LEAST, batch);
            let rows = self.scan(space, |txn| rows(txn, space, &page, list.include, wanted)).await?;
            let ended = rows.ended;
            let before = page.from.clone();
            if page.take(rows)? {
                return Ok(BlobPage { next: Some(encode_marker(&page.from)), entries: page.entries });
            }
            if ended {
                return Ok(BlobPage { next: None, entries: page.entries });
            }
            debug_assert!(page.from > before, "a listing goes forward");
            batch = if page.skipped { BATCH_LEAST } else { (batch * 2).min(BATCH_MOST) };
        }
    }
}

/// A page that is being filled.
struct Page<'a> {
    list: &'a ListBlobs,
    entries: Vec<Entry>,
    /// What they take, as they are stored.
    bytes: usize,
    /// Where to go on.
    from: Vec<u8>,
    /// Names are before this.
    end: Option<Vec<u8>>,
    /// Going on means skipping the rest of a prefix.
    skipped: bool,
}

impl<'a> Page<'a> {
    fn new(list: &'a ListBlobs) -> Result<Self, Refusal> {
        let marker = list.marker.as_deref().map(decode_marker).transpose()?.unwrap_or_default();
        let start = list.start_from.as_deref().unwrap_or_default().as_bytes();
        let from = marker.as_slice().max(start).max(list.prefix.as_bytes()).to_vec();
        let beyond = after_prefix(list.prefix.as_bytes());
        let before = list.end_before.as_ref().filter(|end| !end.is_empty()).map(|end| end.as_bytes().to_vec());
        let end = match (beyond, before) {
            (Some(beyond), Some(before)) => Some(beyond.min(before)),
            (beyond, before) => beyond.or(before),
        };
        Ok(Self { list, entries: Vec::new(), bytes: 0, from, end, skipped: false })
    }

    /// Rows that would fill it, and one beyond.
    fn lacks(&self) -> usize {
        (self.list.most as usize).saturating_sub(self.entries.len()).saturating_add(1)
    }

    /// Takes the rows in. True when the page is full and there is more, which begins at `from`.
    fn take(&mut self, rows: Rows) -> Result<bool, Fault> {
        self.skipped = false;
        for row in rows.rows {
            if row.position.as_slice() < self.from.as_slice() {
                continue; // within a prefix that has been skipped
            }
            if self.entries.len() >= self.list.most as usize || self.bytes >= PAGE_BYTES_MAX {
                self.from = row.position;
                return Ok(true);
            }
            let Some(item) = row.item(rows.now)? else {
                self.from = successor(&row.position);
                continue; // expired, and not swept yet
            };
            self.bytes += row.size();
            let prefix = self.common_prefix(row.name());
            self.skipped = prefix.is_some();
            match prefix {
                Some(prefix) => {
                    // Nothing is after a prefix of the greatest bytes only, which no name in UTF-8 has.
                    self.from = after_prefix(prefix.as_bytes()).unwrap_or_else(|| successor(&row.position));
                    self.entries.push(Entry::Prefix(prefix));
                }
                None => {
                    self.from = successor(&row.position);
                    self.entries.push(Entry::Blob(Box::new(item)));
                }
            }
        }
        if let (Some(horizon), false) = (rows.horizon, self.skipped) {
            self.from = std::mem::take(&mut self.from).max(successor(&horizon));
        }
        Ok(false)
    }

    /// The name up to the first delimiter after the prefix.
    fn common_prefix(&self, name: &[u8]) -> Option<String> {
        let delimiter = self.list.delimiter.as_deref().filter(|delimiter| !delimiter.is_empty())?;
        let name = std::str::from_utf8(name).ok()?;
        let rest = name.strip_prefix(&self.list.prefix)?;
        let end = rest.find(delimiter)? + delimiter.len();
        Some(name[..self.list.prefix.len() + end].to_owned())
    }
}

/// One batch, merged.
struct Rows {
    rows: Vec<Row>,
    /// How far the batch is complete, if not to the end.
    horizon: Option<Vec<u8>>,
    ended: bool,
    now: Timestamp,
}

struct Row {
    position: Vec<u8>,
    value: Value,
}

enum Value {
    Snapshot(Timestamp, Bytes),
    Version(Bytes),
    Base(Bytes),
    VersionsOnly(Bytes),
    Pending(Bytes),
}

impl Row {
    fn name(&self) -> &[u8] {
        &self.position[..self.position.len() - BASE.len()]
    }

    fn size(&self) -> usize {
        let record = match &self.value {
            Value::Snapshot(_, bytes) | Value::Version(bytes) | Value::Base(bytes) => bytes,
            Value::VersionsOnly(bytes) | Value::Pending(bytes) => bytes,
        };
        self.position.len() + record.len()
    }

    /// `None` for what has expired.
    fn item(&self, now: Timestamp) -> Result<Option<BlobItem>, Fault> {
        let name = std::str::from_utf8(self.name()).ok().and_then(|name| BlobName::parse(name).ok());
        let name = name.ok_or_else(|| Fault::Corrupt(format!("a key has no blob name: {:?}", self.position)))?;
        let (snapshot, uncommitted, versions_only, blob) = match &self.value {
            Value::Snapshot(time, bytes) => (Some(*time), false, false, decode::<Blob>(bytes)?),
            Value::Version(bytes) | Value::Base(bytes) => (None, false, false, decode(bytes)?),
            Value::VersionsOnly(bytes) => (None, false, true, decode(bytes)?),
            Value::Pending(bytes) => (None, true, false, shell(decode::<Pending>(bytes)?.touched)),
        };
        let blob = blob.at(now).filter(|blob| blob.deleted.is_none_or(|deleted| !deleted.is_over(now)));
        Ok(blob.map(|blob| BlobItem { name, snapshot, uncommitted, versions_only, blob, node: None, deletion: None }))
    }
}

fn rows(txn: &mut Txn<'_>, space: Space, page: &Page<'_>, include: Include, limit: usize) -> Decided<Rows> {
    let mut batch = Rows { rows: Vec::new(), horizon: None, ended: true, now: now(txn) };
    let names = name_bound(&page.from);
    let mut scan = |column: Column, from: &[u8], read: fn(&Key, Bytes) -> Result<Row, Fault>| -> Decided<()> {
        let end = match &page.end {
            Some(end) => Key::new(space, column, &[end]),
            None => keys::column(space, column).after_prefix(),
        };
        let found = txn.scan(&Key::new(space, column, &[from]), &end, limit)?;
        let full = found.len() == limit;
        let found: Vec<Row> = found.into_iter().map(|(key, bytes)| read(&key, bytes)).collect::<Result<_, _>>()?;
        if let (true, Some(last)) = (full, found.last()) {
            batch.ended = false;
            let last = last.position.clone();
            batch.horizon = Some(batch.horizon.take().map_or(last.clone(), |horizon| horizon.min(last)));
        }
        batch.rows.extend(found);
        Ok(())
    };
    let base = |key: &Key, bytes| Ok(Row { position: base_position(key), value: Value::Base(bytes) });
    let (snapshots, versions) = (row_bound(&page.from, SNAPSHOT), row_bound(&page.from, VERSION));
    let (live, deleted) = (!include.deleted_only, include.deleted || include.deleted_only);
    if live {
        scan(keys::BASES, &names, base)?;
    }
    if include.uncommitted && live {
        scan(keys::PENDING, &names, |key, bytes| {
            Ok(Row { position: base_position(key), value: Value::Pending(bytes) })
        })?;
    }
    if include.versions_only && live {
        scan(keys::VERSIONS_ONLY, &names, |key, bytes| {
            Ok(Row { position: base_position(key), value: Value::VersionsOnly(bytes) })
        })?;
    }
    if include.snapshots && live {
        scan(keys::SNAPSHOTS, &snapshots, snapshot_row)?;
    }
    if include.versions && live {
        scan(keys::VERSIONS, &versions, version_row)?;
    }
    if deleted {
        scan(keys::DELETED_BASES, &names, base)?;
    }
    if deleted && include.snapshots {
        scan(keys::DELETED_SNAPSHOTS, &snapshots, snapshot_row)?;
    }
    if deleted && include.versions {
        scan(keys::DELETED_VERSIONS, &versions, version_row)?;
    }
    if include.snapshots && live {
        batch.cut(txn, space, &names, deleted)?;
    }
    batch.merge();
    Ok(batch)
}

impl Rows {
    /// Takes away snapshots that are behind a cut, or shows them as deleted if that is asked for. There are cuts only for as long as the
    /// sweeper needs.
    fn cut(&mut self, txn: &mut Txn<'_>, space: Space, from: &[u8], deleted: bool) -> Decided<()> {
        let cuts = keys::column(space, keys::CUTS);
        if txn.scan(&Key::new(space, keys::CUTS, &[from]), &cuts.after_prefix(), 1)?.is_empty() {
            return Ok(());
        }
        let mut kept = Vec::with_capacity(self.rows.len());
        for mut row in std::mem::take(&mut self.rows) {
            let keys = BlobKeys::of(space, Bytes::copy_from_slice(row.name()));
            if let Value::Snapshot(time, bytes) = &mut row.value
                && let Some(cut) = cut_of(txn, &keys, *time)?
            {
                let blob: Blob = decode(bytes)?;
                match (blob.deleted, cut.kept.filter(|_| deleted)) {
                    (Some(_), _) => {}
                    (None, Some(kept)) => *bytes = encode(&blob.as_deleted(kept)),
                    (None, None) => continue,
                }
            }
            kept.push(row);
        }
        self.rows = kept;
        Ok(())
    }

    /// In order, as far as it is complete; a blob that has both a base and pending blocks is its base.
    fn merge(&mut self) {
        self.rows.sort_by(|a, b| a.position.cmp(&b.position)); // stable: the base was scanned first
        self.rows.dedup_by(|later, earlier| later.position == earlier.position);
        if let Some(horizon) = &self.horizon {
            self.rows.retain(|row| row.position <= *horizon);
        }
    }
}

fn base_position(key: &Key) -> Vec<u8> {
    [&key.row()[..], &BASE].concat()
}

fn snapshot_row(key: &Key, bytes: Bytes) -> Result<Row, Fault> {
    let ticks = key.row().last_chunk().map(|ticks| u64::from_be_bytes(*ticks));
    let ticks = ticks.ok_or_else(|| Fault::Corrupt("the key of a snapshot is too short".into()))?;
    let position = [&key.row()[..], &[SNAPSHOT]].concat();
    Ok(Row { position, value: Value::Snapshot(Timestamp::from_ticks(ticks), bytes) })
}

fn version_row(key: &Key, bytes: Bytes) -> Result<Row, Fault> {
    if key.row().len() < BASE.len() - 1 {
        return Err(Fault::Corrupt("the key of a version is too short".into()));
    }
    Ok(Row { position: [&key.row()[..], &[VERSION]].concat(), value: Value::Version(bytes) })
}

/// The least row `name 00 ticks` whose position, with `rank` behind it, is not before `from`.
fn row_bound(from: &[u8], rank: u8) -> Vec<u8> {
    let end = from.iter().position(|byte| *byte == 0).map(|nul| nul + BASE.len() - 1).filter(|end| *end < from.len());
    match end {
        Some(end) if from[end..] > [rank][..] => successor(&from[..end]),
        Some(end) => from[..end].to_vec(),
        None => from.to_vec(),
    }
}

/// The least name whose base position is not before `from`.
fn name_bound(from: &[u8]) -> Vec<u8> {
    match from.iter().position(|byte| *byte == 0) {
        Some(end) if from[end..] > BASE[..] => successor(&from[..end]),
        Some(end) => from[..end].to_vec(),
        None => from.to_vec(),
    }
}

fn successor(position: &[u8]) -> Vec<u8> {
    [position, &[0]].concat()
}

/// The least bytes beyond everything that begins with `prefix`; none when nothing is.
fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut beyond = prefix[..=last].to_vec();
    beyond[last] += 1;
    Some(beyond)
}

/// What stands for a blob of which nothing is committed yet.
fn shell(touched: Timestamp) -> Blob {
    Blob::new(Kind::Block, ContentRef::EMPTY, touched)
}
