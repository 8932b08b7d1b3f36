//! Find Blobs by Tags, in a container or in all of an account's.
//!
//! Where a tag has to have one value, its blobs are in the order of their names, so that several such tags can be gone
//! through side by side: of each list some rows are read, and the list that gets furthest with them decides, because what
//! is not in it is no result. So a search costs what the rarest of its tags has, not what the others have.
//! Where no tag has to have one value, the first is gone through in the order of its values.
//!
//! What is of the past has an index of its own, which is read beside the other where a search asks for it.
//!
//! Containers come in the order of their names. A page that looked at many rows and found little ends early, with a marker.

use bytes::Bytes;
use lazuli_engine::{Key, Space, Txn};
use lazuli_model::blob::{Blob, Which};
use lazuli_model::tags::TagSearch;
use lazuli_model::{AccountName, BlobName, ContainerName, Refusal, Tags, Timestamp};

use crate::keys::{BlobKeys, Past};
use crate::listing::{decode_marker, encode_marker};
use crate::records::{PastTags, TagName, decode};
use crate::transact::{Trouble, get, now};
use crate::{ContainerAt, Failure, Fault, Store, keys};

/// Rows of one list and look.
const BATCH: usize = 256;
/// Rows that one page may look at; then it ends, whatever it has.
const EFFORT: usize = 50_000;

#[derive(Clone, Debug)]
pub struct FindBlobs {
    pub search: TagSearch,
    /// Only in this one.
    pub container: Option<ContainerName>,
    /// What `FoundPage::next` said.
    pub marker: Option<String>,
    /// 1..=5000.
    pub most: u32,
    pub include: FindInclude,
}

/// What is searched besides the blobs that are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FindInclude {
    pub versions: bool,
    pub deleted: bool,
}

impl FindInclude {
    fn past(self) -> bool {
        self.versions || self.deleted
    }

    /// A version that was deleted is both.
    fn has(self, past: Past) -> bool {
        let version = matches!(past.which, Which::Version(_));
        (!version || self.versions) && (!past.is_deleted || self.deleted)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundBlob {
    pub container: ContainerName,
    pub name: BlobName,
    /// All of its tags.
    pub tags: Tags,
    /// If versions were asked for, and it is one.
    pub version: Option<Timestamp>,
    /// Not a previous version, nor deleted.
    pub is_current: bool,
    pub is_deleted: bool,
}

#[derive(Clone, Debug)]
pub struct FoundPage {
    pub blobs: Vec<FoundBlob>,
    pub next: Option<String>,
}

impl Store {
    pub async fn find_blobs(&self, account: &AccountName, find: FindBlobs) -> Result<FoundPage, Failure> {
        let marker = find.marker.as_deref().map(decode_marker).transpose()?;
        let (mut container, mut from) = marker.as_deref().map_or((Vec::new(), Vec::new()), split_marker);
        let mut page = Finding { find: &find, blobs: Vec::new(), effort: 0 };
        let only = match (&find.container, &find.search.container) {
            (Some(only), Some(named)) if named != only.as_str() => None,
            (Some(only), _) => Some(Some(only.as_str().to_owned())),
            (None, named) => Some(named.clone()),
        };
        if let Some(only) = &find.container {
            self.space_of(account, only.as_str()).await?.ok_or(Refusal::ContainerNotFound)?;
        }
        let Some(only) = only.filter(|_| !find.search.is_impossible()) else {
            return Ok(FoundPage { blobs: Vec::new(), next: None });
        };
        loop {
            let next = match &only {
                Some(only) if container <= only.clone().into_bytes() => self.only_container(account, only).await?,
                Some(_) => None,
                None => self.next_container_with(account, &find.search, &container, &mut page.effort).await?,
            };
            let Some((name, space)) = next else {
                return Ok(FoundPage { blobs: page.blobs, next: None });
            };
            if name.as_str().as_bytes() != container {
                from.clear();
            }
            if let Some(at) = page.fill(self, &name, space, std::mem::take(&mut from)).await? {
                let marker = [name.as_str().as_bytes(), &[0], &at].concat();
                return Ok(FoundPage { blobs: page.blobs, next: Some(encode_marker(&marker)) });
            }
            container = [name.as_str().as_bytes(), &[0]].concat(); // after this one
        }
    }

    async fn space_of(&self, account: &AccountName, container: &str) -> Result<Option<u128>, Failure> {
        let Ok(container) = ContainerName::parse(container) else { return Ok(None) };
        self.container_id_if_any(&ContainerAt { account: account.clone(), container }).await
    }

    async fn only_container(
        &self,
        account: &AccountName,
        name: &str,
    ) -> Result<Option<(ContainerName, u128)>, Failure> {
        let Ok(parsed) = ContainerName::parse(name) else { return Ok(None) };
        Ok(self.space_of(account, name).await?.map(|space| (parsed, space)))
    }

    /// The first container from `from` on that has tags of the name that is gone through.
    async fn next_container_with(
        &self,
        account: &AccountName,
        search: &TagSearch,
        from: &[u8],
        effort: &mut usize,
    ) -> Result<Option<(ContainerName, u128)>, Failure> {
        let Some(tag) = lists(search).into_iter().next().map(|(tag, _)| tag) else { return Ok(None) };
        let all = keys::tag_name(account.as_str(), &tag, "");
        let start =
            Key::new(keys::ROOT, keys::TAG_NAMES, &[account.as_str().as_bytes(), &[0], tag.as_bytes(), &[0], from]);
        let mut start = start.max(all.clone());
        loop {
            let rows = self.rows(&start, &all.after_prefix(), 1).await?;
            let Some((key, bytes)) = rows.first() else { return Ok(None) };
            *effort += 1;
            let (_, _, container) = keys::read_tag_name(key).ok_or_else(|| corrupt(key))?;
            let space = decode::<TagName>(bytes)?.space;
            // One that was deleted may still have its row.
            if self.space_of(account, &container).await? == Some(space) {
                let name = ContainerName::parse(&container).map_err(|_| corrupt(key))?;
                return Ok(Some((name, space)));
            }
            start = key.successor();
        }
    }
}

/// A page that is being filled.
struct Finding<'a> {
    find: &'a FindBlobs,
    blobs: Vec<FoundBlob>,
    effort: usize,
}

impl Finding<'_> {
    /// From `from` on in one container. Where to go on, if the page is full.
    async fn fill(
        &mut self,
        store: &Store,
        container: &ContainerName,
        space: u128,
        mut from: Vec<u8>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let lists = lists(&self.find.search);
        loop {
            let read = store.scan(Space(space), |txn| {
                let mut furthest: Option<Read> = None;
                for (tag, value) in &lists {
                    let read = self.read(txn, Space(space), tag, value.as_deref(), &from)?;
                    furthest = Some(match furthest {
                        Some(other) if !read.is_beyond(&other) => other,
                        Some(_) | None => read,
                    });
                }
                let mut read = furthest.unwrap_or_default();
                let looked_at = read.rows.len();
                read.rows = self.matching(txn, Space(space), read.rows)?;
                Ok((looked_at, read))
            });
            let (looked_at, read) = read.await?;
            self.effort += looked_at.max(1) * lists.len();
            for (position, row) in read.rows {
                if self.blobs.len() >= self.find.most as usize {
                    return Ok(Some(position));
                }
                let name = String::from_utf8(row.name.to_vec()).ok().and_then(|name| BlobName::parse(&name).ok());
                self.blobs.push(FoundBlob {
                    container: container.clone(),
                    name: name.ok_or_else(|| Fault::Corrupt("a name in the tag index is none".into()))?,
                    tags: row.tags,
                    version: row.version,
                    is_current: row.past.is_none(),
                    is_deleted: row.past.is_some_and(|past| past.is_deleted),
                });
            }
            match read.until {
                None => return Ok(None),
                Some(until) => from = [&until[..], &[0]].concat(),
            }
            if self.effort >= EFFORT {
                return Ok(Some(from));
            }
        }
    }

    /// Rows of a list, and of that of the past if it is asked for, as far as both go.
    fn read(
        &self,
        txn: &mut Txn<'_>,
        space: Space,
        tag: &str,
        value: Option<&str>,
        from: &[u8],
    ) -> Result<Read, Trouble> {
        let prefix = keys::tagged(space, tag, value).as_bytes().len();
        let (start, end) = bounds(keys::tagged(space, tag, value), &self.find.search, tag, value, from);
        let present = Read::of(txn.scan(&start, &end, BATCH)?, prefix, present)?;
        if !self.find.include.past() {
            return Ok(present);
        }
        let (start, end) = bounds(keys::past_tagged(space, tag, value), &self.find.search, tag, value, from);
        Ok(present.beside(Read::of(txn.scan(&start, &end, BATCH)?, prefix, past)?))
    }

    /// Those that are results, with their versions if these are wanted.
    fn matching(
        &self,
        txn: &mut Txn<'_>,
        space: Space,
        rows: Vec<(Vec<u8>, Row)>,
    ) -> Result<Vec<(Vec<u8>, Row)>, Trouble> {
        let (include, time) = (self.find.include, now(txn));
        let mut found = Vec::new();
        for (position, mut row) in rows {
            let is_there = row.until.is_none_or(|until| until > time) && row.past.is_none_or(|past| include.has(past));
            if !is_there || !self.find.search.matches(&row.tags) {
                continue;
            }
            if include.versions && row.past.is_none() {
                // The index of what is there does not change with every version; this page alone looks.
                let base: Option<Blob> = get(txn, &BlobKeys::of(space, row.name.clone()).base())?;
                row.version = base.and_then(|blob| blob.version);
            }
            found.push((position, row));
        }
        Ok(found)
    }
}

/// The rows of one list, and how far they go if not to its end. A position is what stands in a key behind what all keys
/// of the list begin with.
#[derive(Default)]
struct Read {
    rows: Vec<(Vec<u8>, Row)>,
    until: Option<Vec<u8>>,
}

/// What a row of either index says.
struct Row {
    name: Bytes,
    tags: Tags,
    past: Option<Past>,
    version: Option<Timestamp>,
    until: Option<Timestamp>,
}

fn present(key: &Key, bytes: &Bytes) -> Result<Row, Fault> {
    let (_, _, name) = keys::read_tagged(key).ok_or_else(|| corrupt(key))?;
    Ok(Row { name, tags: decode(bytes)?, past: None, version: None, until: None })
}

fn past(key: &Key, bytes: &Bytes) -> Result<Row, Fault> {
    let (name, past) = keys::read_past_tagged(key).ok_or_else(|| corrupt(key))?;
    let PastTags { tags, until } = decode(bytes)?;
    let version = match past.which {
        Which::Version(id) => Some(id),
        Which::Current | Which::Snapshot(_) => None,
    };
    Ok(Row { name, tags, past: Some(past), version, until })
}

impl Read {
    fn of(rows: Vec<(Key, Bytes)>, prefix: usize, read: fn(&Key, &Bytes) -> Result<Row, Fault>) -> Result<Self, Fault> {
        let full = rows.len() == BATCH;
        let position = |key: &Key| key.as_bytes().get(prefix..).unwrap_or_default().to_vec();
        let rows = rows.iter().map(|(key, bytes)| Ok((position(key), read(key, bytes)?)));
        let rows = rows.collect::<Result<Vec<_>, Fault>>()?;
        let until = rows.last().filter(|_| full).map(|(position, _)| position.clone());
        Ok(Self { rows, until })
    }

    /// Both, in order, as far as the shorter one goes.
    fn beside(mut self, other: Read) -> Self {
        self.until = match (self.until, other.until) {
            (Some(own), Some(other)) => Some(own.min(other)),
            (own, other) => own.or(other),
        };
        self.rows.extend(other.rows);
        self.rows.sort_by(|(one, _), (other, _)| one.cmp(other));
        if let Some(until) = &self.until {
            self.rows.retain(|(position, _)| position <= until);
        }
        self
    }

    fn is_beyond(&self, other: &Read) -> bool {
        match (&self.until, &other.until) {
            (None, Some(_)) => true,
            (Some(own), Some(other)) => own > other,
            // Both to the end: the shorter one has less that is no result.
            (None, None) => self.rows.len() < other.rows.len(),
            (Some(_), None) => false,
        }
    }
}

/// The tags to go through, with their one value; or the first tag, which has several.
fn lists(search: &TagSearch) -> Vec<(String, Option<String>)> {
    let exact = search.tags().filter_map(|(tag, span)| Some((tag.to_owned(), Some(span.exactly()?.to_owned()))));
    let exact: Vec<_> = exact.collect();
    if !exact.is_empty() {
        return exact;
    }
    search.tags().take(1).map(|(tag, _)| (tag.to_owned(), None)).collect()
}

/// The keys of a list, which `all` is the prefix of, from a position on.
fn bounds(all: Key, search: &TagSearch, tag: &str, value: Option<&str>, from: &[u8]) -> (Key, Key) {
    let (row, at) = (all.row(), |parts: &[&[u8]]| Key::new(all.space(), all.column(), parts));
    let start = at(&[&row, from]);
    let span = search.tags().find(|(name, _)| *name == tag).map(|(_, span)| span);
    let (Some(span), None) = (span, value) else {
        return (start, all.after_prefix());
    };
    let least = at(&[&row, span.least().as_bytes()]);
    let most = span.most().map(|most| at(&[&row, most.as_bytes(), &[0]]).after_prefix());
    (start.max(least), most.unwrap_or_else(|| all.after_prefix()))
}

/// `container 00 position`.
fn split_marker(marker: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let end = marker.iter().position(|byte| *byte == 0);
    end.map_or_else(|| (marker.to_vec(), Vec::new()), |end| (marker[..end].to_vec(), marker[end + 1..].to_vec()))
}

fn corrupt(key: &Key) -> Fault {
    Fault::Corrupt(format!("a key of the tag index makes no sense: {key:?}"))
}
