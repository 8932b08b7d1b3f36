//! Values as they are stored: a version byte, postcard, and for what carries inline bytes a tail of them.
//!
//! Held true:
//! * every encoding that was ever written can be read: old ones form a chain of types (`Record::Before`);
//! * what cannot be decoded is `Fault::Corrupt`, never a guess.

use bytes::Bytes;
use lazuli_engine::Fault;
use lazuli_engine::content::Piece;
use lazuli_model::blob::{Blob, ContainerScope, Deleted, Encryption};
use lazuli_model::container::Container;
use lazuli_model::file::arbiter::Open;
use lazuli_model::file::{Sddl, Share};
use lazuli_model::lake::Node;
use lazuli_model::queue::{Message, Place as QueuePlace, Queue};
use lazuli_model::service::ServiceProperties;
use lazuli_model::table::{Entity as TableEntity, Table};
use lazuli_model::{BlockId, Lease, Tags, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::account::{AccountRow, FirstAccount, SecondAccountRow};
use crate::blob::FirstBlob;
use crate::container::earlier::{DeletedFlatContainer, FlatContainer};
use crate::crypt::Cipher;
use crate::feed::Telling;
use crate::file::rows as file;
use crate::lake::rows::FirstNode;
pub use crate::lake::rows::{NodeId, RemovedPath};
use crate::secrets::SealedBox;
use crate::sparse::Forgetting;

/// A value with a version, and the encoding it had before.
pub trait Record: Sized {
    const NAME: &'static str;
    const VERSION: u8;
    /// [`Nothing`] for a first version.
    type Before: Record;

    fn from_before(before: Self::Before) -> Self;
    /// Reads the body of this very version; what is left over is the tail.
    fn read(body: &[u8]) -> Option<(Self, &[u8])>;
}

/// What was before the first version.
pub enum Nothing {}

impl Record for Nothing {
    const NAME: &'static str = "record";
    const VERSION: u8 = 0;
    type Before = Nothing;

    fn from_before(before: Nothing) -> Self {
        before
    }

    fn read(_body: &[u8]) -> Option<(Self, &[u8])> {
        None
    }
}

fn read_postcard<T: DeserializeOwned>(body: &[u8]) -> Option<(T, &[u8])> {
    postcard::take_from_bytes(body).ok()
}

/// Makes a record of a type: of its first version, or of a later one that can be made `from` the one before.
macro_rules! record {
    ($type:ty) => {
        impl Record for $type {
            const NAME: &'static str = stringify!($type);
            const VERSION: u8 = 1;
            type Before = Nothing;

            fn from_before(before: Nothing) -> Self {
                match before {}
            }

            fn read(body: &[u8]) -> Option<(Self, &[u8])> {
                read_postcard(body)
            }
        }
    };
    ($type:ty = $version:literal from $before:ty) => {
        impl Record for $type {
            const NAME: &'static str = stringify!($type);
            const VERSION: u8 = $version;
            type Before = $before;

            fn from_before(before: $before) -> Self {
                before.into()
            }

            fn read(body: &[u8]) -> Option<(Self, &[u8])> {
                read_postcard(body)
            }
        }
    };
}

/// Makes records of types, and [`KINDS`] of them. Called once, so that no kind is left out.
macro_rules! records {
    ($($type:ty $(= $version:literal from $before:ty)?),* $(,)?) => {
        $(record!($type $(= $version from $before)?);)*

        /// Every kind of record there is.
        pub const KINDS: &[Kind] = &[$(Kind { name: stringify!($type), reread: reread::<$type> }),*];
    };
}

/// A kind of record: stored values are checked by it without knowing what is in them.
pub struct Kind {
    pub name: &'static str,
    /// Decodes a value and encodes it again, with its tail.
    pub reread: fn(&Bytes) -> Result<Bytes, Fault>,
}

fn reread<T: Record + Serialize>(bytes: &Bytes) -> Result<Bytes, Fault> {
    let (record, tail) = decode_with_tail::<T>(bytes)?;
    Ok(encode_with_tail(&record, &[tail]))
}

records!(
    Blob = 2 from FirstBlob,
    Container = 2 from FlatContainer,
    ServiceProperties,
    DeadSpace,
    Pending = 2 from PendingUnleased,
    Block,
    Chunk,
    Count,
    Claim,
    Holding,
    LongCopy,
    Dead,
    Mark,
    Queue,
    Head,
    Stored,
    Tags,
    PastTags,
    Due,
    Cut = 2 from ToldCut,
    Guard = 2 from Mark,
    DeletedContainer = 2 from DeletedFlatContainer,
    Node = 2 from FirstNode,
    NodeId,
    RemovedPath,
    TagName,
    Table,
    TableEntity,
    crate::sparse::Window,
    Epochs,
    crate::feed::Feed,
    crate::feed::Noted,
    crate::replication::SourceNote,
    Share,
    Open,
    crate::file::Notice,
    crate::file::Watch,
    Permission,
    file::Born,
    file::Build,
    file::Gateway,
    file::Buried,
    file::Usage,
    file::Head,
    file::KeptRow,
    file::NameRow,
    file::NodeRow,
    file::Snapshot,
    file::Superseded,
    AccountRow = 3 from SecondAccountRow,
);

record!(FirstBlob);
record!(FirstNode);
record!(PendingUnleased);
record!(ToldCut);
record!(FlatContainer);
record!(DeletedFlatContainer);
record!(FirstAccount);
record!(SecondAccountRow = 2 from FirstAccount);

pub fn encode<T: Record + Serialize>(record: &T) -> Bytes {
    encode_with_tail(record, &[])
}

pub fn encode_with_tail<T: Record + Serialize>(record: &T, tail: &[Bytes]) -> Bytes {
    let room = tail.iter().map(Bytes::len).sum::<usize>() + 256;
    let mut bytes = Vec::with_capacity(room);
    bytes.push(T::VERSION);
    let mut bytes = postcard::to_extend(record, bytes).expect("our records serialize into memory");
    tail.iter().for_each(|part| bytes.extend_from_slice(part));
    bytes.into()
}

pub fn decode<T: Record>(bytes: &[u8]) -> Result<T, Fault> {
    match decode_versions::<T>(bytes) {
        Some((record, [])) => Ok(record),
        Some(_) | None => Err(corrupt::<T>(bytes)),
    }
}

/// For what has a tail of inline bytes: shared with `bytes`, not copied.
pub fn decode_with_tail<T: Record>(bytes: &Bytes) -> Result<(T, Bytes), Fault> {
    let (record, tail) = decode_versions::<T>(bytes).ok_or_else(|| corrupt::<T>(bytes))?;
    Ok((record, bytes.slice_ref(tail)))
}

fn decode_versions<T: Record>(bytes: &[u8]) -> Option<(T, &[u8])> {
    let (version, body) = bytes.split_first()?;
    if *version == T::VERSION {
        return T::read(body);
    }
    if T::VERSION == Nothing::VERSION {
        return None;
    }
    decode_versions::<T::Before>(bytes).map(|(before, tail)| (T::from_before(before), tail))
}

/// In what scope a container's blobs are encrypted, without the rest of its record.
pub fn decode_container_scope(bytes: &[u8]) -> Result<Option<ContainerScope>, Fault> {
    match bytes.split_first() {
        Some((2, body)) => postcard::take_from_bytes::<(u128, bool, Option<ContainerScope>)>(body)
            .map(|((_, _, scope), _)| scope)
            .map_err(|_| corrupt::<Container>(bytes)),
        Some(_) | None => decode::<Container>(bytes).map(|container| container.scope),
    }
}

/// What most operations on blobs want to know of a container: where its blobs are, and how they are laid out there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home {
    pub id: u128,
    pub hierarchical: bool,
}

/// That much of a container's record, without the rest.
pub fn decode_container_home(bytes: &[u8]) -> Result<Home, Fault> {
    let home = match bytes.split_first() {
        // The first fields.
        Some((1, body)) => postcard::take_from_bytes(body).map(|(id, _)| Home { id, hierarchical: false }),
        Some((2, body)) => postcard::take_from_bytes(body).map(|((id, hierarchical), _)| Home { id, hierarchical }),
        Some(_) | None => return Err(corrupt::<Container>(bytes)),
    };
    home.map_err(|_| corrupt::<Container>(bytes))
}

pub fn decode_container_id(bytes: &[u8]) -> Result<u128, Fault> {
    decode_container_home(bytes).map(|home| home.id)
}

pub fn corrupt<T: Record>(bytes: &[u8]) -> Fault {
    let version = bytes.first().map_or("none".to_owned(), u8::to_string);
    Fault::Corrupt(format!("a {} of {} bytes with version {version} cannot be decoded", T::NAME, bytes.len()))
}

/// What a queue knows of its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// No message stands before this place.
    pub first: QueuePlace,
    pub count: u64,
}

impl Default for Head {
    fn default() -> Self {
        let start = Timestamp::from_ticks(0);
        Self { first: QueuePlace { visible: start, inserted: start }, count: 0 }
    }
}

/// A message in its place. A short text is in the tail of this value, a long one in a row of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    pub message: Message,
    pub inline: bool,
}

/// [`Piece`] with an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub extent: u64,
    pub offset: u64,
    pub length: u64,
    pub seal: u64,
}

impl From<&Piece> for Run {
    fn from(piece: &Piece) -> Self {
        Self { extent: piece.extent, offset: piece.offset, length: piece.length, seal: piece.seal }
    }
}

impl Run {
    pub fn piece(&self) -> Piece {
        Piece { extent: self.extent, offset: self.offset, length: self.length, seal: self.seal }
    }

    pub fn start(&self) -> Start {
        (self.extent, self.offset)
    }
}

/// Where a piece begins, which is enough to tell it from any other.
pub type Start = (u64, u64);

/// Where the bytes of an entry or a block are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Place {
    /// In the tail of this value, after those of the entries before.
    Inline,
    Pieces(Vec<Run>),
}

impl Place {
    pub fn runs(&self) -> &[Run] {
        match self {
            Place::Inline => &[],
            Place::Pieces(runs) => runs,
        }
    }
}

/// A part of a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    pub entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// `None` for what Put Blob wrote in one piece.
    pub id: Option<BlockId>,
    pub length: u64,
    /// Whether this entry is the one by which the content holds the pieces; a repetition is not.
    pub holds: bool,
    pub place: Place,
    pub cipher: Cipher,
}

/// An uncommitted block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    pub id: BlockId,
    pub length: u64,
    pub place: Place,
    pub cipher: Cipher,
}

/// There are uncommitted blocks under this name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    pub epoch: u64,
    pub count: u32,
    /// Bytes that are inline: they all go through one transaction when they are committed, so there is a limit to them.
    pub inline: u64,
    pub id_length: u32,
    /// Changed by every Put Block, so that equal means unchanged.
    pub touched: Timestamp,
    /// Of all of them.
    pub encryption: Encryption,
    /// A name without a blob can be leased.
    pub lease: Lease,
}

/// [`Pending`] in its first version.
#[derive(Serialize, Deserialize)]
pub struct PendingUnleased {
    epoch: u64,
    count: u32,
    inline: u64,
    id_length: u32,
    touched: Timestamp,
    encryption: Encryption,
}

impl From<PendingUnleased> for Pending {
    fn from(before: PendingUnleased) -> Self {
        let PendingUnleased { epoch, count, inline, id_length, touched, encryption } = before;
        Self { epoch, count, inline, id_length, touched, encryption, lease: Lease::Available }
    }
}

/// How many records share a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count(pub u32);

/// The epochs at which records share a sparse content, ascending. The last is the one that is written to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epochs(pub Vec<u64>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub length: u64,
    pub seal: u64,
    pub holders: u32,
}

/// A partition that a piece was lent to, or that lends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holding {
    /// When a copy to there began, which may not have claimed the piece yet.
    pub since: Option<Timestamp>,
}

/// A copy is under way, and somebody is at it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongCopy {
    pub copy: u128,
    /// When that was last said.
    pub alive: Timestamp,
    pub task: Task,
}

/// What a copy does that takes more than one transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Task {
    /// It fetches its source from another host, and the blob says that it is pending. Written by a store without a key.
    Fetch(Fetch),
    /// It gathers a content that no record has yet.
    Build { content: u64 },
    /// It changes an incremental copy, which nobody reads meanwhile.
    Follow,
    /// As `Fetch`, with what it takes to fetch sealed: signatures and tokens are in it.
    SealedFetch(SealedBox),
}

/// What it takes to fetch a source anew.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fetch {
    /// With its signature.
    pub url: String,
    /// `x-ms-copy-source-authorization`
    pub authorization: Option<String>,
    /// Of the request.
    pub version: Option<String>,
    /// The source must still have this ETag.
    pub etag: Option<String>,
    /// Where the copy goes.
    pub account: String,
    pub container: String,
}

impl std::fmt::Debug for Fetch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fetch(…)")
    }
}

/// A row that says all by being there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark;

/// What one transaction left to collect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dead(pub Vec<Garbage>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Garbage {
    Content {
        id: u64,
        kept: Kept,
    },
    Epoch {
        epoch: u64,
        kept: Kept,
    },
    /// Rows of a sparse content that nobody sees any more.
    Sparse(Forgetting),
    /// What only a deleted snapshot of a share saw.
    Superseded {
        snapshot: u64,
    },
    /// No claim is left on these.
    Pieces(Vec<Run>),
    /// Snapshots that the row of the cut hides.
    Cut,
    /// Snapshots that were deleted softly, up to that time.
    Purged {
        until: Timestamp,
    },
    /// A file or directory that has no name any more, with all that is below it.
    Subtree,
}

/// Snapshots that were deleted together and were too many for one transaction. They are gone for everybody, but for the sweeper, which
/// deletes their rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// The latest of them.
    pub until: Timestamp,
    /// How long they are kept, if they are.
    pub kept: Option<Deleted>,
    /// Whose feed is told of each of them when its row is deleted.
    pub told: Option<Telling>,
}

/// The same, where feeds were told at once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ToldCut {
    until: Timestamp,
    kept: Option<Deleted>,
}

impl From<ToldCut> for Cut {
    fn from(before: ToldCut) -> Self {
        Self { until: before.until, kept: before.kept, told: None }
    }
}

/// Something under a name may be protected. Each operation that protects writes it anew, so one that is the same means that nothing was protected since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    pub stamp: u64,
}

impl From<Mark> for Guard {
    fn from(_: Mark) -> Self {
        Self { stamp: 0 }
    }
}

/// Which pieces of a dead list went over to another holder, with their claims. Whichever way is shorter to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kept {
    Nothing,
    Everything,
    Only(Vec<Start>),
    AllBut(Vec<Start>),
}

impl Kept {
    /// From what was kept and what was not. Sorted, so that `holds` can search.
    pub fn of(mut kept: Vec<Start>, mut dropped: Vec<Start>) -> Self {
        match (kept.is_empty(), dropped.is_empty()) {
            (true, _) => Kept::Nothing,
            (false, true) => Kept::Everything,
            (false, false) if kept.len() <= dropped.len() => {
                kept.sort_unstable();
                Kept::Only(kept)
            }
            (false, false) => {
                dropped.sort_unstable();
                Kept::AllBut(dropped)
            }
        }
    }

    pub fn holds(&self, start: Start) -> bool {
        match self {
            Kept::Nothing => false,
            Kept::Everything => true,
            Kept::Only(kept) => kept.binary_search(&start).is_ok(),
            Kept::AllBut(dropped) => dropped.binary_search(&start).is_err(),
        }
    }
}

/// A security descriptor that a share knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permission(pub Sddl);

/// Something that was deleted softly goes at a time, which is in the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Due;

/// A container that was deleted softly, with its space as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletedContainer {
    pub container: Container,
    pub deleted: Deleted,
    /// It has come back. The row stays a while, so that a scan of all spaces meets this one somewhere.
    pub restored: Option<Timestamp>,
}

impl DeletedContainer {
    /// Whether it can still be brought back.
    pub fn is_there(&self, now: Timestamp) -> bool {
        self.restored.is_none() && !self.deleted.is_over(now)
    }
}

/// Some blob of a container has, or had, a tag of the name in the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagName {
    /// The container's id.
    pub space: u128,
    /// Since when the sweeper believes that none has it any more.
    pub fading: Option<Timestamp>,
}

/// The tags of a version, or of what was deleted softly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastTags {
    pub tags: Tags,
    /// When what was deleted goes.
    pub until: Option<Timestamp>,
}

/// A deleted container's space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadSpace {
    /// `account 00 container`: the partition that owns this record.
    pub partition: Vec<u8>,
    /// When the sweeper first found it empty.
    pub emptied: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_decoded_is_corrupt() {
        let good = encode(&Count(3));
        assert_eq!(decode::<Count>(&good), Ok(Count(3)));
        let long = [&good[..], &[0]].concat();
        for bad in [&[][..], &[1], &[0, 3], &[2, 3], &[255, 255], &long] {
            assert!(matches!(decode::<Count>(bad), Err(Fault::Corrupt(_))), "{bad:?}");
        }
    }

    #[test]
    fn a_tail_is_shared_with_the_value() {
        let chunk = Chunk {
            entries: vec![Entry { id: None, length: 5, holds: true, place: Place::Inline, cipher: Cipher::None }],
        };
        let bytes = encode_with_tail(&chunk, &[Bytes::from_static(b"hel"), Bytes::from_static(b"lo")]);
        let (read, tail) = decode_with_tail::<Chunk>(&bytes).unwrap();
        assert_eq!((read, &tail[..]), (chunk, &b"hello"[..]));
        assert_eq!(tail.as_ptr(), bytes[bytes.len() - 5..].as_ptr());
    }

    #[test]
    fn an_older_version_goes_through_the_chain() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Wide(u64);
        impl Record for Wide {
            const NAME: &'static str = "Wide";
            const VERSION: u8 = 2;
            type Before = Count;
            fn from_before(before: Count) -> Self {
                Self(before.0.into())
            }
            fn read(body: &[u8]) -> Option<(Self, &[u8])> {
                read_postcard(body)
            }
        }
        assert_eq!(decode::<Wide>(&encode(&Count(3))), Ok(Wide(3)));
        assert_eq!(decode::<Wide>(&encode(&Wide(4))), Ok(Wide(4)));
        assert!(decode::<Count>(&encode(&Wide(4))).is_err(), "nobody reads the future");
    }

    #[test]
    fn uncommitted_blocks_of_the_first_version_have_no_lease() {
        let before = PendingUnleased {
            epoch: 7,
            count: 2,
            inline: 10,
            id_length: 4,
            touched: Timestamp::from_ticks(9),
            encryption: Encryption::Service,
        };
        let read: Pending = decode(&encode(&before)).unwrap();
        assert_eq!((read.epoch, read.count, read.inline, read.lease), (7, 2, 10, Lease::Available));
        assert_eq!(decode::<Pending>(&encode(&read)), Ok(read));
    }

    #[test]
    fn kept_says_the_shorter_of_the_two() {
        let cases = [
            (vec![], vec![(1, 1)], Kept::Nothing),
            (vec![(1, 1)], vec![], Kept::Everything),
            (vec![(1, 1)], vec![(2, 2), (1, 5)], Kept::Only(vec![(1, 1)])),
            (vec![(3, 3), (2, 2)], vec![(1, 5)], Kept::AllBut(vec![(1, 5)])),
        ];
        for (kept, dropped, want) in cases {
            let got = Kept::of(kept.clone(), dropped.clone());
            assert_eq!(got, want);
            assert!(kept.iter().all(|start| got.holds(*start)) && !dropped.iter().any(|start| got.holds(*start)));
        }
    }
}
