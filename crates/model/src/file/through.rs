//! What is done to a record through an open handle: SMB's dispositions, writes, lengths, times and attributes.
//!
//! A handle may freeze times: what is done through it leaves them as they are ([MS-FSCC] 2.4.7).

use super::{Attributes, Kind, Node, Smb};
use crate::{ETag, Refusal, Timestamp};

/// What an open does where something is, and where nothing is ([MS-SMB2] 2.2.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    Supersede,
    Open,
    Create,
    OpenIf,
    Overwrite,
    OverwriteIf,
}

/// What an open has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    Superseded,
    Opened,
    Created,
    Overwritten,
}

impl Disposition {
    pub fn decide(self, exists: bool) -> Result<Done, Refusal> {
        match (self, exists) {
            (Disposition::Open | Disposition::OpenIf, true) => Ok(Done::Opened),
            (Disposition::Supersede, true) => Ok(Done::Superseded),
            (Disposition::Overwrite | Disposition::OverwriteIf, true) => Ok(Done::Overwritten),
            (Disposition::Create, true) => Err(Refusal::ResourceAlreadyExists),
            (Disposition::Open | Disposition::Overwrite, false) => Err(Refusal::ResourceNotFound),
            (Disposition::Supersede | Disposition::Create | Disposition::OpenIf | Disposition::OverwriteIf, false) => {
                Ok(Done::Created)
            }
        }
    }

    /// Whether the bytes of what is there go.
    pub fn overwrites(self) -> bool {
        match self {
            Disposition::Supersede | Disposition::Overwrite | Disposition::OverwriteIf => true,
            Disposition::Open | Disposition::Create | Disposition::OpenIf => false,
        }
    }
}

/// Which times a handle keeps as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frozen {
    pub written: bool,
    pub changed: bool,
}

/// FileBasicInformation, as it is set: what is `None` stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetBasic {
    pub created: Option<Timestamp>,
    pub written: Option<Timestamp>,
    pub changed: Option<Timestamp>,
    pub attributes: Option<Attributes>,
}

/// Attributes that a client may set. Others say what a file is.
const SETTABLE: Attributes = Attributes::from_bits(0x1 | 0x2 | 0x4 | 0x20 | 0x100 | 0x1000 | 0x2000);
const SPARSE: Attributes = Attributes::from_bits(0x200);
const HIDDEN: Attributes = Attributes::from_bits(0x2);
const SYSTEM: Attributes = Attributes::from_bits(0x4);

impl Attributes {
    /// As a client may set them.
    pub fn settable(self) -> Attributes {
        Attributes::from_bits(self.bits() & SETTABLE.bits())
    }
}

impl Node {
    fn stamped(&self, smb: Smb, now: Timestamp) -> Node {
        Node { smb, etag: ETag::of(now), modified: now, ..self.clone() }
    }

    fn changed_at(&self, frozen: Frozen, now: Timestamp) -> Timestamp {
        if frozen.changed { self.smb.changed } else { now }
    }

    /// With no bytes, and the attributes of the open that did it. What is hidden, or the system's, is only overwritten by who says so.
    pub fn overwritten(&self, attributes: Attributes, now: Timestamp) -> Result<Node, Refusal> {
        let hides = |kind: Attributes| self.smb.attributes.has(kind) && !attributes.has(kind);
        if hides(HIDDEN) || hides(SYSTEM) {
            return Err(Refusal::AuthorizationPermissionMismatch);
        }
        let attributes = attributes.settable().with(Attributes::ARCHIVE);
        let smb = Smb { attributes, written: now, changed: now, ..self.smb.clone() };
        Ok(Node { length: 0, content: 0, content_since: 0, content_epoch: 0, ..self.stamped(smb, now) })
    }

    /// After bytes were written up to `end`.
    pub fn written_to(&self, end: u64, frozen: Frozen, now: Timestamp) -> Result<Node, Refusal> {
        self.permit_length(end)?;
        let smb = Smb {
            attributes: self.smb.attributes.with(Attributes::ARCHIVE),
            written: if frozen.written { self.smb.written } else { now },
            changed: self.changed_at(frozen, now),
            ..self.smb.clone()
        };
        Ok(Node { length: self.length.max(end), ..self.stamped(smb, now) })
    }

    /// With another length.
    pub fn resized(&self, length: u64, frozen: Frozen, now: Timestamp) -> Result<Node, Refusal> {
        let node = self.written_to(0, frozen, now)?;
        self.permit_length(length)?;
        Ok(Node { length, ..node })
    }

    fn permit_length(&self, length: u64) -> Result<(), Refusal> {
        if length > super::FILE_MAX { Err(Refusal::OutOfRangeInput) } else { Ok(()) }
    }

    pub fn with_basic(&self, set: &SetBasic, frozen: Frozen, now: Timestamp) -> Node {
        let attributes = match (set.attributes, self.kind) {
            (None, _) => self.smb.attributes,
            (Some(sent), Kind::Directory) => sent.settable().with(Attributes::DIRECTORY),
            (Some(sent), Kind::File | Kind::Symlink) => {
                let kept = Attributes::from_bits(self.smb.attributes.bits() & SPARSE.bits());
                sent.settable().with(kept)
            }
        };
        let smb = Smb {
            attributes,
            created: set.created.unwrap_or(self.smb.created),
            written: set.written.unwrap_or(self.smb.written),
            changed: set.changed.unwrap_or_else(|| self.changed_at(frozen, now)),
            ..self.smb.clone()
        };
        self.stamped(smb, now)
    }

    /// Said to be sparse, or not to be. What of it is written is told only if it is.
    pub fn sparse(&self, sparse: bool, frozen: Frozen, now: Timestamp) -> Node {
        let attributes = match sparse {
            true => self.smb.attributes.with(SPARSE),
            false => self.smb.attributes.without(SPARSE),
        };
        let changed = self.changed_at(frozen, now);
        self.stamped(Smb { attributes, changed, ..self.smb.clone() }, now)
    }

    /// With another security descriptor.
    pub fn with_permission(&self, permission: super::PermissionKey, frozen: Frozen, now: Timestamp) -> Node {
        let changed = self.changed_at(frozen, now);
        self.stamped(Smb { permission, changed, ..self.smb.clone() }, now)
    }

    /// Under another name.
    pub fn moved(&self, parent: super::FileId, name: String, frozen: Frozen, now: Timestamp) -> Node {
        let smb = Smb { changed: self.changed_at(frozen, now), ..self.smb.clone() };
        Node { parent, name, ..self.stamped(smb, now) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is done by disposition, where something is and where nothing is.
    #[test]
    fn dispositions() {
        let (exists, missing) = (Err(Refusal::ResourceAlreadyExists), Err(Refusal::ResourceNotFound));
        let table = [
            (Disposition::Supersede, Ok(Done::Superseded), Ok(Done::Created)),
            (Disposition::Open, Ok(Done::Opened), missing.clone()),
            (Disposition::Create, exists, Ok(Done::Created)),
            (Disposition::OpenIf, Ok(Done::Opened), Ok(Done::Created)),
            (Disposition::Overwrite, Ok(Done::Overwritten), missing),
            (Disposition::OverwriteIf, Ok(Done::Overwritten), Ok(Done::Created)),
        ];
        for (disposition, there, absent) in table {
            assert_eq!((disposition.decide(true), disposition.decide(false)), (there, absent), "{disposition:?}");
        }
    }

    fn node() -> Node {
        let made = Timestamp::from_ticks(1000);
        let mut node = Node::root(made, Default::default());
        node.kind = Kind::File;
        node.smb.attributes = Attributes::NONE;
        node
    }

    #[test]
    fn frozen_times_stay() {
        let now = Timestamp::from_ticks(9000);
        let frozen = Frozen { written: true, changed: false };
        let written = node().written_to(10, frozen, now).unwrap();
        assert_eq!((written.smb.written, written.smb.changed, written.length), (node().smb.written, now, 10));
        let frozen = Frozen { written: false, changed: true };
        let written = node().written_to(10, frozen, now).unwrap();
        assert_eq!((written.smb.written, written.smb.changed), (now, node().smb.changed));
    }

    #[test]
    fn what_is_hidden_is_overwritten_by_who_says_so() {
        let now = Timestamp::from_ticks(9000);
        let mut hidden = node();
        hidden.smb.attributes = HIDDEN;
        assert_eq!(hidden.overwritten(Attributes::NONE, now).err(), Some(Refusal::AuthorizationPermissionMismatch));
        let over = hidden.overwritten(HIDDEN, now).unwrap();
        assert_eq!(over.smb.attributes, HIDDEN.with(Attributes::ARCHIVE));
        assert_eq!(over.smb.created, hidden.smb.created);
    }
}
