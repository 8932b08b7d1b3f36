//! What operations make of a file's or a directory's record.
//!
//! Observed: what is created with a change time of its own has its ETag and date from that; whatever changes it later has them
//! from the change. A file that is created over another keeps the other's id and lease.

use crate::blob::ContentHeaders;
use crate::file::{
    Attributes, ClearRange, CopiedFile, CopyFile, CreateDirectory, CreateFile, CreateSymbolicLink, FileId, Kind, Node,
    PermissionKey, PutRange, Rename, SetAttributes, SetDirectoryProperties, SetFileProperties, SetSmb, SetTime, Smb,
};
use crate::{ETag, Metadata, Refusal, Timestamp};

/// 4 TiB.
pub const FILE_MAX: u64 = 4 << 40;
/// What one Put Range may write.
pub const RANGE_MAX: u64 = 4 << 20;

const DIRECTORY_MODE: u16 = 0o755;
const FILE_MODE: u16 = 0o644;
const LINK_MODE: u16 = 0o777;

/// Where something new is put.
#[derive(Clone, Debug)]
pub struct Spot {
    pub id: FileId,
    pub parent: FileId,
    pub name: String,
    pub permission: PermissionKey,
}

fn time(set: Option<SetTime>, otherwise: Timestamp, now: Timestamp) -> Timestamp {
    match set {
        Some(SetTime::Now) => now,
        Some(SetTime::At(time)) => time,
        Some(SetTime::Preserve) | None => otherwise,
    }
}

impl SetSmb {
    /// Of something new, which always has the attribute `own`.
    fn create(&self, permission: PermissionKey, own: Attributes, now: Timestamp) -> Smb {
        let sent = match self.attributes {
            Some(SetAttributes::To(attributes)) => attributes,
            Some(SetAttributes::Preserve) | None => Attributes::NONE,
        };
        Smb {
            attributes: if self.restore { sent } else { sent.with(own) },
            created: time(self.created, now, now),
            written: time(self.written, now, now),
            changed: time(self.changed, now, now),
            permission,
        }
    }

    /// Of something that is there. A change time that is not said is now.
    fn change(&self, current: &Smb, kind: Kind, permission: Option<PermissionKey>, now: Timestamp) -> Smb {
        let attributes = match (self.attributes, kind) {
            (Some(SetAttributes::To(attributes)), Kind::Directory) => attributes.with(Attributes::DIRECTORY),
            (Some(SetAttributes::To(attributes)), Kind::File | Kind::Symlink) => {
                attributes.without(Attributes::DIRECTORY)
            }
            (Some(SetAttributes::Preserve) | None, _) => current.attributes,
        };
        Smb {
            attributes,
            created: time(self.created, current.created, now),
            written: time(self.written, current.written, now),
            changed: time(self.changed, now, now),
            permission: permission.unwrap_or(current.permission),
        }
    }
}

impl Node {
    fn new(spot: &Spot, kind: Kind, smb: Smb) -> Node {
        Node {
            id: spot.id,
            parent: spot.parent,
            name: spot.name.clone(),
            kind,
            etag: ETag::of(smb.changed),
            modified: smb.changed,
            smb,
            posix: None,
            metadata: Metadata::default(),
            headers: ContentHeaders::default(),
            length: 0,
            content: 0,
            content_since: 0,
            content_epoch: 0,
            links: 1,
            target: None,
            copied: None,
        }
    }

    /// The root of a share that nobody has changed. Rule F8: it is a little younger than the share.
    pub fn root(made: Timestamp, permission: PermissionKey) -> Node {
        let made = Timestamp::from_ticks(made.ticks() + 1);
        let spot = Spot { id: FileId::ROOT, parent: FileId::ROOT, name: String::new(), permission };
        Node::new(&spot, Kind::Directory, SetSmb::default().create(permission, Attributes::DIRECTORY, made))
    }

    /// The root of a share, as it was made.
    pub fn is_fresh_root(&self) -> bool {
        self.id == FileId::ROOT && self.etag == ETag::of(self.smb.created)
    }

    fn touched(&self, now: Timestamp) -> Node {
        Node { etag: ETag::of(now), modified: now, ..self.clone() }
    }

    pub fn is_read_only(&self) -> bool {
        self.smb.attributes.has(Attributes::READ_ONLY)
    }

    fn permit_write(&self) -> Result<(), Refusal> {
        if self.is_read_only() { Err(Refusal::ReadOnlyAttribute) } else { Ok(()) }
    }

    pub fn with_metadata(&self, metadata: Metadata, now: Timestamp) -> Result<Node, Refusal> {
        if self.kind != Kind::Directory {
            self.permit_write()?;
        }
        let smb = Smb { changed: now, ..self.smb.clone() };
        Ok(Node { metadata, smb, ..self.touched(now) })
    }

    /// After bytes were written or cleared.
    fn written(&self, written: SetTime, now: Timestamp) -> Node {
        let smb = Smb {
            attributes: self.smb.attributes.with(Attributes::ARCHIVE),
            written: time(Some(written), self.smb.written, now),
            changed: now,
            ..self.smb.clone()
        };
        Node { smb, ..self.touched(now) }
    }

    /// With one name more, or one less.
    pub fn linked(&self, links: u32, now: Timestamp) -> Node {
        let smb = Smb { changed: now, ..self.smb.clone() };
        Node { links, smb, ..self.touched(now) }
    }
}

impl CreateDirectory {
    pub fn decide(&self, spot: &Spot, now: Timestamp) -> Node {
        let smb = self.smb.create(spot.permission, Attributes::DIRECTORY, now);
        let posix = self.posix.apply(None, DIRECTORY_MODE);
        Node { metadata: self.metadata.clone(), posix, ..Node::new(spot, Kind::Directory, smb) }
    }
}

impl SetDirectoryProperties {
    pub fn decide(&self, node: &Node, permission: Option<PermissionKey>, now: Timestamp) -> Node {
        let smb = self.smb.change(&node.smb, node.kind, permission, now);
        Node { smb, posix: self.posix.apply(node.posix.as_ref(), DIRECTORY_MODE), ..node.touched(now) }
    }
}

impl CreateFile {
    /// Over `current`, if there is one.
    pub fn decide(&self, spot: &Spot, current: Option<&Node>, now: Timestamp) -> Result<Node, Refusal> {
        permit_replacement(current, self.may_overwrite, false)?;
        if self.length > FILE_MAX {
            return Err(too_long());
        }
        let smb = self.smb.create(spot.permission, Attributes::ARCHIVE, now);
        Ok(Node {
            posix: self.posix.apply(None, FILE_MODE),
            metadata: self.metadata.clone(),
            headers: self.headers.clone(),
            length: self.length,
            links: current.map_or(1, |current| current.links),
            ..Node::new(spot, Kind::File, smb)
        })
    }
}

fn permit_replacement(current: Option<&Node>, may_overwrite: bool, ignore_read_only: bool) -> Result<(), Refusal> {
    match current {
        None => Ok(()),
        Some(node) if node.kind == Kind::Directory => Err(Refusal::ResourceTypeMismatch),
        Some(_) if !may_overwrite => Err(Refusal::AuthorizationPermissionMismatch),
        Some(node) if ignore_read_only || !node.is_read_only() => Ok(()),
        Some(_) => Err(Refusal::ReadOnlyAttribute),
    }
}

fn too_long() -> Refusal {
    Refusal::OutOfRangeInput
}

impl SetFileProperties {
    /// A read-only file lets itself be changed by what says what its attributes shall be.
    pub fn decide(&self, node: &Node, permission: Option<PermissionKey>, now: Timestamp) -> Result<Node, Refusal> {
        if !matches!(self.smb.attributes, Some(SetAttributes::To(_))) {
            node.permit_write()?;
        }
        let length = self.length.unwrap_or(node.length);
        if length > FILE_MAX {
            return Err(too_long());
        }
        let mut smb = self.smb.change(&node.smb, node.kind, permission, now);
        // Observed: a new length is a write, though the write time was to be preserved.
        if length != node.length && !matches!(self.smb.written, Some(SetTime::At(_))) {
            smb.written = now;
        }
        let headers = self.headers.clone().unwrap_or_else(|| node.headers.clone());
        let posix = self.posix.apply(node.posix.as_ref(), FILE_MODE);
        Ok(Node { smb, length, headers, posix, ..node.touched(now) })
    }
}

impl PutRange {
    pub fn decide(&self, node: &Node, length: u64, now: Timestamp) -> Result<Node, Refusal> {
        permit_range(node, self.from, self.from.saturating_add(length))?;
        Ok(node.written(self.written, now))
    }
}

impl ClearRange {
    pub fn decide(&self, node: &Node, now: Timestamp) -> Result<Node, Refusal> {
        permit_range(node, self.from, self.to)?;
        Ok(node.written(self.written, now))
    }
}

fn permit_range(node: &Node, from: u64, to: u64) -> Result<(), Refusal> {
    node.permit_write()?;
    if from >= to || to > node.length { Err(Refusal::InvalidRange) } else { Ok(()) }
}

impl CopyFile {
    pub fn decide(&self, spot: &Spot, current: Option<&Node>, length: u64, now: Timestamp) -> Result<Node, Refusal> {
        permit_replacement(current, self.may_overwrite, self.ignore_read_only)?;
        let own = if self.set_archive { Attributes::ARCHIVE } else { Attributes::NONE };
        let smb = self.smb.create(spot.permission, own, now);
        let copied = CopiedFile { id: self.id, source: self.source.clone(), length, completed: now };
        let node = Node {
            posix: self.posix.apply(None, FILE_MODE),
            metadata: self.metadata.clone(),
            headers: self.headers.clone(),
            length,
            links: current.map_or(1, |current| current.links),
            copied: Some(copied),
            ..Node::new(spot, Kind::File, smb)
        };
        Ok(node.touched(now))
    }
}

impl CreateSymbolicLink {
    pub fn decide(&self, spot: &Spot, now: Timestamp) -> Node {
        let smb = self.smb.create(spot.permission, Attributes::NONE, now);
        Node {
            posix: self.posix.apply(None, LINK_MODE),
            metadata: self.metadata.clone(),
            length: self.target.len() as u64,
            target: Some(self.target.clone()),
            ..Node::new(spot, Kind::Symlink, smb)
        }
    }
}

impl Rename {
    /// `node` at its new place, and whether what stands there may go.
    pub fn decide(
        &self,
        node: &Node,
        spot: &Spot,
        permission: Option<PermissionKey>,
        replaced: Option<&Node>,
        now: Timestamp,
    ) -> Result<Node, Refusal> {
        match (node.kind, self.directory) {
            (Kind::Directory, true) | (Kind::File | Kind::Symlink, false) => {}
            (Kind::Directory, false) | (Kind::File | Kind::Symlink, true) => return Err(Refusal::ResourceTypeMismatch),
        }
        match replaced {
            None => {}
            Some(_) if !self.replace => return Err(Refusal::ResourceAlreadyExists),
            Some(other) if other.kind == Kind::Directory => return Err(Refusal::ResourceTypeMismatch),
            Some(other) if other.is_read_only() && !self.ignore_read_only => return Err(Refusal::ReadOnlyAttribute),
            Some(_) => {}
        }
        let mut headers = node.headers.clone();
        if let Some(content_type) = &self.content_type {
            headers.content_type = Some(content_type.clone());
        }
        let smb = self.smb.change(&node.smb, node.kind, permission, now);
        let metadata = self.metadata.clone().unwrap_or_else(|| node.metadata.clone());
        Ok(Node { parent: spot.parent, name: spot.name.clone(), smb, headers, metadata, ..node.touched(now) })
    }
}

#[cfg(test)]
mod tests;
