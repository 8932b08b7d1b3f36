//! Lists of paths: of the Data Lake API, and of the Blob API over the same files. A page is one look, and costs what is on it.

use std::cmp::Ordering;

use lazuli_engine::Txn;
use lazuli_model::blob::{Blob, Which};
use lazuli_model::lake::{Caller, LakePath, Node, Right, permit};
use lazuli_model::{BlobName, Refusal, Timestamp};

use super::address::PathAddress;
use super::tree::{self, Found, Spot, Standing, locate, standing};
use super::undelete_path::read;
use super::walk::{Begin, Visit, Walk, segments};
use super::{Address, PathAt};
use crate::keys::{ROOT_NODE, TreeKeys};
use crate::listing::{decode_marker, encode_marker};
use crate::records::{NodeId, Pending, decode};
use crate::transact::{Decided, Trouble, get, now};
use crate::{BlobItem, BlobPage, Entry, Failure, Include, ListBlobs, Store};

#[derive(Clone, Debug, Default)]
pub struct ListPaths {
    pub recursive: bool,
    /// What the page before said.
    pub continuation: Option<String>,
    /// Begin at this path, which is relative to the directory.
    pub begin_from: Option<String>,
    pub most: usize,
}

#[derive(Clone, Debug)]
pub struct PathItem {
    /// From the root of the file system.
    pub path: String,
    pub blob: Blob,
    /// None in a flat container.
    pub node: Option<Node>,
    pub is_directory: bool,
}

#[derive(Clone, Debug, Default)]
pub struct PathPage {
    pub items: Vec<PathItem>,
    pub next: Option<String>,
}

/// Bytes of records on a page.
const PAGE_BYTES_MAX: usize = 8 << 20;
/// What an entry takes besides its name and its records: 256 bytes of the store's, and what is written of it.
const ENTRY_BYTES: usize = 512;
/// Entries that a page passes by because there is nothing to show of them: names of which only blocks are there.
const PASSED_MAX: usize = 5000;

impl Store {
    /// What is in the directory `at`.
    pub async fn list_paths(&self, at: &PathAt, list: ListPaths) -> Result<PathPage, Failure> {
        match self.path_address(at).await? {
            Address::Path(path) => self.look(&path.keys.partition(), |txn| page(txn, &path, &list)).await,
            Address::Flat(_) => self.list_flat(at, &list).await,
        }
    }

    /// In a flat container, what is between two slashes.
    async fn list_flat(&self, at: &PathAt, list: &ListPaths) -> Result<PathPage, Failure> {
        let prefix = if at.path.is_root() { String::new() } else { format!("{}/", at.path) };
        let start_from = list.begin_from.as_ref().map(|begin| format!("{prefix}{begin}"));
        let listed = ListBlobs {
            prefix,
            delimiter: (!list.recursive).then(|| "/".to_owned()),
            marker: list.continuation.clone(),
            start_from,
            most: u32::try_from(list.most).unwrap_or(5000).clamp(1, 5000),
            ..ListBlobs::default()
        };
        let found = self.list_blobs(&at.container_at(), listed).await?;
        let mut items: Vec<PathItem> = Vec::new();
        for entry in found.entries {
            let item = match entry {
                Entry::Blob(item) => {
                    let is_directory = super::create_path::is_folder(&item.blob);
                    PathItem { path: item.name.as_str().to_owned(), blob: item.blob, node: None, is_directory }
                }
                Entry::Directory(_) => continue,
                Entry::Prefix(prefix) => {
                    let path = prefix.trim_end_matches('/').to_owned();
                    // A directory that was made is there twice: as itself, and by what is in it.
                    if items.last().is_some_and(|item| item.path == path) {
                        continue;
                    }
                    let blob =
                        Blob::new(lazuli_model::blob::Kind::Block, lazuli_model::blob::ContentRef::EMPTY, self.now());
                    PathItem { path, blob, node: None, is_directory: true }
                }
            };
            items.push(item);
        }
        Ok(PathPage { items, next: found.next })
    }
}

/// The directory to be listed.
fn directory(txn: &mut Txn<'_>, keys: &TreeKeys, caller: &Caller, path: &LakePath) -> Decided<Option<NodeId>> {
    Ok(match locate(txn, keys, caller, path)? {
        Found::Root => Some(NodeId { id: ROOT_NODE, is_directory: true }),
        Found::Spot(Spot { entry, .. }) => entry,
        Found::Missing { .. } | Found::NotDirectory => None,
    })
}

fn page(txn: &mut Txn<'_>, address: &PathAddress, list: &ListPaths) -> Decided<PathPage> {
    let PathAddress { keys, path, caller } = address;
    let at = directory(txn, keys, caller, path)?.ok_or(Refusal::BlobNotFound)?;
    if !at.is_directory {
        return page_of_file(txn, address, at);
    }
    let after = list.continuation.as_deref().map(|token| token_path(token).map(|path| segments(&path))).transpose()?;
    let depth = path.segments().len();
    let after = after.map(|after| after.get(depth..).unwrap_or_default().to_vec());
    let at_path = list.begin_from.as_deref().map(segments);
    let begin = match (&after, &at_path) {
        (Some(after), _) => Begin::Behind(after),
        (None, Some(path)) => Begin::At(path),
        (None, None) => Begin::First,
    };
    let mut found = PathPage::default();
    let (mut bytes, mut passed, mut last) = (0, 0, None);
    let walk = Walk { keys: *keys, caller, recursive: list.recursive, prefix: "" };
    let full = walk.go(txn, at.id, &path.to_string(), begin, &mut |txn, own, entry| {
        let Some(standing) = standing(txn, keys, entry.id)? else {
            (passed, last) = (passed + 1, Some(own.to_owned()));
            return Ok(if passed < PASSED_MAX { Visit::Taken } else { Visit::Full });
        };
        if found.items.len() >= list.most || bytes >= PAGE_BYTES_MAX {
            return Ok(Visit::Full);
        }
        last = Some(own.to_owned());
        bytes += own.len() + ENTRY_BYTES + standing.bytes;
        let (blob, node) = (standing.blob, standing.node);
        let is_directory = node.is_directory;
        found.items.push(PathItem { path: own.to_owned(), blob, node: Some(node), is_directory });
        Ok(Visit::Taken)
    })?;
    found.next = last.filter(|_| full).map(|last| encode_marker(last.as_bytes()));
    Ok(found)
}

/// A file is listed as itself: Hadoop asks for the status of a file so. By the directory's right, because that is what is shown.
fn page_of_file(txn: &mut Txn<'_>, address: &PathAddress, at: NodeId) -> Decided<PathPage> {
    let PathAddress { keys, path, caller } = address;
    let Standing { blob, node, .. } = standing(txn, keys, at.id)?.ok_or(Refusal::BlobNotFound)?;
    permit(caller, &tree::node(txn, keys, node.parent)?.access, Right::List)?;
    let item = PathItem { path: path.to_string(), blob, node: Some(node), is_directory: false };
    Ok(PathPage { items: vec![item], next: None })
}

fn token_path(token: &str) -> Result<String, Refusal> {
    String::from_utf8(decode_marker(token)?).map_err(|_| Refusal::InvalidContinuation)
}

/// What a list of blobs looks for: a directory, and what names in it begin with.
struct Within {
    directory: LakePath,
    prefix: String,
}

impl Within {
    fn of(prefix: &str) -> Result<Self, Refusal> {
        let (directory, prefix) = prefix.rsplit_once('/').unwrap_or(("", prefix));
        Ok(Self { directory: LakePath::parse(directory)?, prefix: prefix.to_owned() })
    }

    /// Where the directory is entered by a list that begins at the path `start`, from the root. Nothing if all of it comes before.
    fn begin<'a>(&self, start: &'a [String]) -> Option<Begin<'a>> {
        let directory = self.directory.segments();
        match start.iter().take(directory.len()).cmp(directory) {
            Ordering::Less => Some(Begin::First),
            Ordering::Equal => Some(Begin::At(&start[directory.len()..])),
            Ordering::Greater => None,
        }
    }
}

/// List Blobs of a file system. Flat, directories are entries like files; by delimiter, they are prefixes with properties.
pub(crate) fn list_tree(txn: &mut Txn<'_>, keys: &TreeKeys, caller: &Caller, list: &ListBlobs) -> Decided<BlobPage> {
    if list.include.deleted_only {
        return list_removed(txn, keys, caller, list);
    }
    let mut page = BlobPage { entries: Vec::new(), next: None };
    let within = Within::of(&list.prefix)?;
    let Some(at) = directory(txn, keys, caller, &within.directory)?.filter(|at| at.is_directory) else {
        return Ok(page);
    };
    let by_prefix = match list.delimiter.as_deref() {
        None | Some("") => false,
        Some("/") => true,
        Some(other) => return Err(Refusal::DelimiterNotSupported { delimiter: other.to_owned() }.into()),
    };
    let after = list.marker.as_deref().map(|marker| token_path(marker).map(|path| segments(&path))).transpose()?;
    let after = after.map(|after| after.get(within.directory.segments().len()..).unwrap_or_default().to_vec());
    let at_path = list.start_from.as_deref().map(segments);
    let begin = match (&after, &at_path) {
        (Some(after), _) => Begin::Behind(after),
        (None, Some(path)) => match within.begin(path) {
            Some(begin) => begin,
            None => return Ok(page),
        },
        (None, None) => Begin::First,
    };
    let end = list.end_before.as_deref().filter(|end| !end.is_empty());
    let walk = Walk { keys: *keys, caller, recursive: !by_prefix, prefix: &within.prefix };
    let (mut bytes, mut passed, mut last) = (0, 0, None);
    let most = list.most as usize;
    let full = walk.go(txn, at.id, &within.directory.to_string(), begin, &mut |txn, own, entry| {
        if end.is_some_and(|end| own.split('/').ge(end.split('/'))) {
            return Ok(Visit::Over);
        }
        let (items, stored) = items(txn, keys, own, entry, list.include)?;
        if items.is_empty() {
            (passed, last) = (passed + 1, Some(own.to_owned()));
            return Ok(if passed < PASSED_MAX { Visit::Taken } else { Visit::Full });
        }
        if page.entries.len() >= most || bytes >= PAGE_BYTES_MAX {
            return Ok(Visit::Full);
        }
        bytes += own.len() + ENTRY_BYTES * items.len() + stored;
        last = Some(own.to_owned());
        for item in items {
            page.entries.push(match by_prefix && entry.is_directory {
                true => Entry::Directory(Box::new(item)),
                false => Entry::Blob(Box::new(item)),
            });
        }
        Ok(Visit::Taken)
    })?;
    page.next = last.filter(|_| full).map(|path| encode_marker(path.as_bytes()));
    Ok(page)
}

/// What is listed of one entry, and the bytes of its records: its snapshots, if they are wanted, and itself.
fn items(
    txn: &mut Txn<'_>,
    keys: &TreeKeys,
    path: &str,
    entry: NodeId,
    include: Include,
) -> Decided<(Vec<BlobItem>, usize)> {
    let name = BlobName::parse(path)?;
    let own = keys.blob(entry.id);
    let item = |blob: Blob, node: Option<Node>, snapshot, uncommitted| BlobItem {
        name: name.clone(),
        snapshot,
        uncommitted,
        versions_only: false,
        blob,
        node: node.map(Box::new),
        deletion: None,
    };
    let mut found = Vec::new();
    let standing = standing(txn, keys, entry.id)?;
    let own_bytes = standing.as_ref().map_or(0, |standing| standing.bytes);
    let mut stored = own_bytes;
    if include.snapshots && !entry.is_directory {
        for (key, bytes) in txn.scan(&own.snapshots(), &own.snapshots().after_prefix(), 5000)? {
            let time = key.row().last_chunk().map(|ticks| Timestamp::from_ticks(u64::from_be_bytes(*ticks)));
            let node = standing.as_ref().map(|standing| standing.node.clone());
            let time = Which::snapshot(time);
            if let Which::Snapshot(time) = time {
                stored += bytes.len() + own_bytes;
                found.push(item(decode(&bytes)?, node, Some(time), false));
            }
        }
    }
    match standing {
        Some(standing) => found.push(item(standing.blob, Some(standing.node), None, false)),
        None if include.uncommitted => {
            if let Some(pending) = get::<Pending>(txn, &own.pending())? {
                let kind = lazuli_model::blob::Kind::Block;
                let shell = Blob::new(kind, lazuli_model::blob::ContentRef::EMPTY, pending.touched);
                found.push(item(shell, None, None, true));
            }
        }
        None => {}
    }
    Ok((found, stored))
}

/// Paths that were deleted and can be brought back, by path and time.
fn list_removed(txn: &mut Txn<'_>, keys: &TreeKeys, caller: &Caller, list: &ListBlobs) -> Decided<BlobPage> {
    let mut page = BlobPage { entries: Vec::new(), next: None };
    let all = keys.removed_under(&list.prefix);
    let from = match &list.marker {
        Some(marker) => {
            let position = decode_marker(marker)?;
            lazuli_engine::Key::new(keys.space, crate::keys::REMOVED, &[&position]).max(all.clone())
        }
        None => all.clone(),
    };
    let (most, mut stored) = (list.most as usize, 0);
    for (key, bytes) in txn.scan(&from, &all.after_prefix(), most.saturating_add(1))? {
        if page.entries.len() >= most || stored >= PAGE_BYTES_MAX {
            page.next = Some(encode_marker(&key.row()));
            break;
        }
        let Some((path, deletion, removed)) = read(&key, &bytes)? else { continue };
        if removed.deleted.is_over(now(txn)) || !may_list(txn, keys, caller, &path)? {
            continue;
        }
        let Some(standing) = tree::standing(txn, keys, removed.node.id)? else { continue };
        stored += path.len() + ENTRY_BYTES + standing.bytes;
        page.entries.push(Entry::Blob(Box::new(BlobItem {
            name: BlobName::parse(&path)?,
            snapshot: None,
            uncommitted: false,
            versions_only: false,
            blob: Blob { deleted: Some(removed.deleted), ..standing.blob },
            node: Some(Box::new(standing.node)),
            deletion: Some(deletion),
        })));
    }
    Ok(page)
}

/// Whether a caller that is bound by lists may know of a name: by the right to list the lowest directory above it that is there.
fn may_list(txn: &mut Txn<'_>, keys: &TreeKeys, caller: &Caller, path: &str) -> Decided<bool> {
    if !caller.is_bound {
        return Ok(true);
    }
    let above = match locate(txn, keys, caller, &LakePath::parse(path)?) {
        Ok(Found::Spot(Spot { parent, .. }) | Found::Missing { parent, .. }) => parent,
        Ok(Found::Root | Found::NotDirectory) | Err(Trouble::Refused(_)) => return Ok(false),
        Err(trouble) => return Err(trouble),
    };
    Ok(permit(caller, &tree::node(txn, keys, above)?.access, Right::List).is_ok())
}
