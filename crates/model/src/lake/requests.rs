//! What each operation on paths asks for, and its decision, as the service was observed to decide.

use super::acl::{AccessControl, Acl, Mode};
use super::{Caller, LakePath, Node};
use crate::blob::{Blob, ContentHeaders, ContentRef, Encryption, Expiry, Protection, PutBlob};
use crate::conditions::{Match, Seen};
use crate::lease::{self, Action, Length, On};
use crate::{Conditions, ETag, Lease, LeaseId, Metadata, Refusal, Tags, Timestamp};

/// Create: an empty file or a directory.
#[derive(Clone, Debug)]
pub struct CreatePath {
    pub is_directory: bool,
    pub headers: ContentHeaders,
    pub metadata: Metadata,
    pub permissions: Option<Mode>,
    pub umask: Option<Mode>,
    pub acl: Option<Acl>,
    pub owner: Option<String>,
    pub group: Option<String>,
    /// The lease that the new path begins with.
    pub acquire: Option<(LeaseId, Length)>,
    pub expiry: Option<Expiry>,
    pub context: Option<String>,
    pub transaction: Option<String>,
    pub encryption: Encryption,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
    pub may_overwrite: bool,
}

impl CreatePath {
    /// A file or directory that is made because something below it, or a blob, is.
    pub fn plain(is_directory: bool) -> Self {
        Self {
            is_directory,
            headers: ContentHeaders::default(),
            metadata: Metadata::default(),
            permissions: None,
            umask: None,
            acl: None,
            owner: None,
            group: None,
            acquire: None,
            expiry: None,
            context: None,
            transaction: None,
            encryption: Encryption::Service,
            conditions: Conditions::default(),
            lease: None,
            may_overwrite: true,
        }
    }

    /// The record that takes the place of `current`, or why none may. A path never becomes one of the other kind.
    pub fn decide(&self, current: Option<(&Blob, &Node)>, now: Timestamp) -> Result<Blob, Refusal> {
        if let Some((_, node)) = current.filter(|(_, node)| node.is_directory != self.is_directory) {
            return Err(Refusal::PathAlreadyExists { is_directory: node.is_directory });
        }
        if self.is_directory && self.expiry.is_some_and(|expiry| expiry != Expiry::Never) {
            return Err(Refusal::ExpiryNotSupportedForDirectory);
        }
        let put = PutBlob {
            headers: self.headers.clone(),
            metadata: self.metadata.clone(),
            tags: Tags::default(),
            tier: None,
            protection: Protection::default(),
            encryption: self.encryption.clone(),
            conditions: self.conditions.clone(),
            lease: self.lease,
            may_overwrite: self.may_overwrite,
        };
        let made = put.decide(current.map(|(blob, _)| blob), ContentRef::EMPTY, None, now);
        let made = made.map_err(|refusal| match (refusal, current) {
            (Refusal::BlobAlreadyExists, Some((_, node))) => {
                Refusal::PathAlreadyExists { is_directory: node.is_directory }
            }
            (refusal, _) => refusal,
        })?;
        let lease = match self.acquire {
            Some((proposed, length)) => lease::act(made.lease, Action::Acquire { proposed, length }, now)?.lease,
            None => made.lease,
        };
        let expires = self.expiry.and_then(|expiry| expiry.of(made.created, now));
        if let Some(time) = expires.filter(|time| *time <= now) {
            return Err(Refusal::ExpiryTimePassed { time });
        }
        Ok(Blob { lease, expires, ..made })
    }

    /// Whose it is, and who may. `before` is that of the directory that is made again: it stays as far as nothing is said, and what is said
    /// counts only for those who may change it. So nobody comes to own a directory by making it again.
    pub fn access(
        &self,
        parent: &AccessControl,
        before: Option<&AccessControl>,
        caller: &Caller,
    ) -> Result<AccessControl, Refusal> {
        let mode = self.permissions.unwrap_or(if self.is_directory { Mode::DIRECTORY } else { Mode::FILE });
        let umask = self.umask.unwrap_or(Mode::UMASK);
        let (owner, group) = (caller.owner(), caller.owner());
        let stays =
            |before: &AccessControl| self.permissions.is_none() || before.permit_change(caller, None, None).is_err();
        let mut access = match before.filter(|before| stays(before)) {
            Some(before) => before.clone(),
            None => parent.inherit(owner, group, mode, umask, self.is_directory),
        };
        if before.is_none() || self.acl.is_some() || self.owner.is_some() || self.group.is_some() {
            access.permit_change(caller, self.owner.as_deref(), self.group.as_deref())?;
        }
        if let Some(acl) = &self.acl {
            access.set_acl(acl, self.is_directory)?;
        }
        access.owner = self.owner.clone().unwrap_or(access.owner);
        access.group = self.group.clone().unwrap_or(access.group);
        Ok(access)
    }
}

/// Where a rename leads to when the new name is a directory's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RenameMode {
    /// That name, always: an empty directory is replaced (observed; SDKs ask for this).
    #[default]
    Legacy,
    /// Into the directory, as `mv` has it. The documented default, and what Hadoop's contract tests expect of a service that they tell
    /// nothing.
    Posix,
}

/// Rename: one name becomes another, whatever is below it.
#[derive(Clone, Debug, Default)]
pub struct RenamePath {
    pub mode: RenameMode,
    pub source_conditions: Conditions,
    pub source_lease: Option<LeaseId>,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
    /// The caller may create and not write: nothing that is there may lose its name to what is moved.
    pub create_only: bool,
    pub transaction: Option<String>,
}

impl RenamePath {
    /// The path that `from` gets, if `to` is what was asked for.
    pub fn destination(&self, from: &LakePath, to: &LakePath, to_is_directory: bool) -> Result<LakePath, Refusal> {
        match (self.mode, from.split()) {
            (RenameMode::Posix, Some((_, name))) if to_is_directory => to.child(name),
            (RenameMode::Posix | RenameMode::Legacy, _) => Ok(to.clone()),
        }
    }

    /// The record as it is under its new name: the same, but for the lease. `target` comes with whether nothing is in it.
    pub fn decide(
        &self,
        source: Option<(&Blob, &Node)>,
        target: Option<(&Blob, &Node, bool)>,
        now: Timestamp,
    ) -> Result<Blob, Refusal> {
        let of_source = |refusal| match refusal == Refusal::ConditionNotMet {
            true => Refusal::SourceConditionNotMet,
            false => refusal,
        };
        self.source_conditions.permit_source(source.map(|(blob, _)| seen(blob))).map_err(of_source)?;
        let (blob, node) = source.ok_or(Refusal::SourcePathNotFound)?;
        let lease = lease::permit_write(blob.lease, self.source_lease, now, On::Blob)?;
        blob.permit_mutable(now)?;
        let exists = |is_directory| Refusal::PathAlreadyExists { is_directory };
        self.conditions.permit_replace(target.map(|(blob, ..)| seen(blob))).map_err(|refusal| {
            match refusal == Refusal::BlobAlreadyExists {
                true => exists(target.is_some_and(|(_, node, _)| node.is_directory)),
                false => refusal,
            }
        })?;
        let Some((onto, there, is_empty)) = target else {
            return match self.lease {
                Some(_) => Err(Refusal::LeaseNotPresentWithBlobOperation),
                None => Ok(Blob { lease, ..blob.clone() }),
            };
        };
        let kept = lease::permit_write(onto.lease, self.lease, now, On::Blob)?;
        onto.permit_mutable(now)?;
        if node.is_directory != there.is_directory {
            return Err(Refusal::InvalidSourceOrDestinationResourceType);
        }
        if !is_empty {
            return Err(exists(there.is_directory));
        }
        if self.create_only {
            return Err(Refusal::UnauthorizedBlobOverwrite);
        }
        let lease = if lease == Lease::Available { kept } else { lease };
        Ok(Blob { lease, ..blob.clone() })
    }

    /// The node as it is under its new name.
    pub fn moved(&self, node: &Node, parent: u128, name: String) -> Node {
        let transaction = self.transaction.clone().or_else(|| node.transaction.clone());
        Node { parent, name, transaction, ..node.clone() }
    }
}

/// A directory cannot be moved into itself, and the root not at all.
pub fn permit_rename(from: &LakePath, to: &LakePath) -> Result<(), Refusal> {
    let stays = from.is_root() || to.is_root() || to.is_within(from) && to != from;
    if stays { Err(Refusal::InvalidRenameSourcePath) } else { Ok(()) }
}

/// What append and flush do to the lease besides writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseStep {
    Acquire { proposed: LeaseId, length: Length },
    AutoRenew,
    Release,
    AcquireRelease { proposed: LeaseId, length: Length },
}

/// A lease with no more than this left is renewed (observed).
const RENEWED_SECONDS: u64 = 15;

impl LeaseStep {
    /// The lease after a write, and whether it was renewed, if that was asked for.
    fn take(
        step: Option<LeaseStep>,
        held: Lease,
        id: Option<LeaseId>,
        now: Timestamp,
    ) -> Result<(Lease, Option<bool>), Refusal> {
        match step {
            None => Ok((lease::permit_write(held, id, now, On::Blob)?, None)),
            Some(LeaseStep::Acquire { proposed, length }) => {
                Ok((lease::act(held, Action::Acquire { proposed, length }, now)?.lease, None))
            }
            Some(LeaseStep::AcquireRelease { proposed, length }) => {
                lease::act(held, Action::Acquire { proposed, length }, now)?;
                Ok((Lease::Available, None))
            }
            Some(LeaseStep::Release) => {
                lease::permit_write(held, id, now, On::Blob)?;
                Ok((Lease::Available, None))
            }
            Some(LeaseStep::AutoRenew) => {
                let held = lease::permit_write(held, id, now, On::Blob)?;
                if let Lease::Leased { id, until: Some(until), .. } = held
                    && now.seconds_until(until) <= RENEWED_SECONDS
                {
                    return Ok((lease::act(held, Action::Renew { id }, now)?.lease, Some(true)));
                }
                Ok((held, Some(false)))
            }
        }
    }
}

/// Append: bytes that nobody sees before they are flushed. They may come in any order.
#[derive(Clone, Debug)]
pub struct AppendData {
    pub position: u64,
    pub encryption: Encryption,
    pub lease: Option<LeaseId>,
    pub step: Option<LeaseStep>,
    /// Commit up to the end of these bytes.
    pub flush: Option<Box<FlushData>>,
}

impl AppendData {
    /// The record, changed in its lease alone, and whether that was renewed.
    pub fn decide(&self, current: Option<(&Blob, bool)>, now: Timestamp) -> Result<(Blob, Option<bool>), Refusal> {
        let blob = writable(current, &self.encryption, now)?;
        // With a flush, the lease is the flush's business.
        let (lease, renewed) = match self.flush {
            Some(_) => (blob.lease, None),
            None => LeaseStep::take(self.step, blob.lease, self.lease, now)?,
        };
        Ok((Blob { lease, ..blob.clone() }, renewed))
    }
}

/// Flush: what was appended, up to a position, becomes the file's.
#[derive(Clone, Debug)]
pub struct FlushData {
    pub position: u64,
    /// Keep what was appended beyond the position.
    pub retain: bool,
    /// What is not said stays.
    pub headers: ContentHeaders,
    pub encryption: Encryption,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
    pub step: Option<LeaseStep>,
}

/// What a flush comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flushed {
    pub blob: Blob,
    pub renewed: Option<bool>,
}

impl FlushData {
    /// `appended` are the position and length of what was appended. It has to join the file without a hole as far as the position.
    /// The content of the record is yet to be set, but for its length.
    pub fn decide(
        &self,
        current: Option<(&Blob, bool)>,
        appended: &[(u64, u64)],
        now: Timestamp,
    ) -> Result<Flushed, Refusal> {
        self.permit_conditions(current.map(|(blob, _)| blob))?;
        let blob = writable(current, &self.encryption, now)?;
        let (lease, renewed) = LeaseStep::take(self.step, blob.lease, self.lease, now)?;
        if reach(blob.content.length, appended) < self.position {
            return Err(Refusal::InvalidFlushPosition);
        }
        let old = &blob.headers;
        let said = |new: &Option<String>, old: &Option<String>| new.clone().or_else(|| old.clone());
        let headers = ContentHeaders {
            content_type: said(&self.headers.content_type, &old.content_type),
            encoding: said(&self.headers.encoding, &old.encoding),
            language: said(&self.headers.language, &old.language),
            cache_control: said(&self.headers.cache_control, &old.cache_control),
            disposition: said(&self.headers.disposition, &old.disposition),
            // Of other bytes there is none, unless the client says one.
            md5: self.headers.md5.clone(),
        };
        let content = ContentRef { length: self.position, ..blob.content.clone() };
        let blob = Blob { etag: ETag::of(now), modified: now, content, headers, lease, ..blob.clone() };
        Ok(Flushed { blob, renewed })
    }

    /// Unlike other writes, a flush answers If-None-Match and If-Modified-Since as a read does (observed).
    fn permit_conditions(&self, current: Option<&Blob>) -> Result<(), Refusal> {
        let Conditions { if_match, if_none_match, if_modified_since, if_unmodified_since, if_tags } =
            self.conditions.clone();
        let known = Conditions { if_match, if_unmodified_since, if_tags, ..Conditions::default() };
        known.permit_write(current.map(seen))?;
        if current.is_some() && if_none_match == Some(Match::Any) {
            return Err(Refusal::ConditionNotMet);
        }
        let new = Conditions { if_none_match, if_modified_since, ..Conditions::default() };
        new.permit_write(current.map(seen)).map_err(|_| Refusal::NotModified)
    }
}

/// How far a file of `length` goes on with what was appended.
fn reach(length: u64, appended: &[(u64, u64)]) -> u64 {
    let mut appended = appended.to_vec();
    appended.sort_unstable();
    appended.iter().fold(length, |reach, (at, length)| match *at <= reach {
        true => reach.max(at.saturating_add(*length)),
        false => reach,
    })
}

fn writable<'a>(
    current: Option<(&'a Blob, bool)>,
    encryption: &Encryption,
    now: Timestamp,
) -> Result<&'a Blob, Refusal> {
    let (blob, is_directory) = current.ok_or(Refusal::BlobNotFound)?;
    if is_directory || blob.kind != crate::blob::Kind::Block {
        return Err(Refusal::ResourceTypeMismatch);
    }
    blob.encryption.permit_write(encryption)?;
    blob.permit_mutable(now)?;
    Ok(blob)
}

fn seen(blob: &Blob) -> Seen<'_> {
    Seen { etag: blob.etag, modified: blob.modified, tags: &blob.tags }
}

/// Set Access Control: owner, group, and permissions or a list.
#[derive(Clone, Debug, Default)]
pub struct SetAccessControl {
    pub owner: Option<String>,
    pub group: Option<String>,
    pub permissions: Option<Mode>,
    pub acl: Option<Acl>,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
}

impl SetAccessControl {
    pub fn decide(
        &self,
        current: Option<(&Blob, &Node)>,
        caller: &Caller,
        now: Timestamp,
    ) -> Result<AccessControl, Refusal> {
        self.conditions.permit_source(current.map(|(blob, _)| seen(blob)))?;
        let (blob, node) = current.ok_or(Refusal::BlobNotFound)?;
        lease::permit_read(blob.lease, self.lease, now, On::Blob)?;
        node.access.permit_change(caller, self.owner.as_deref(), self.group.as_deref())?;
        let mut access = node.access.clone();
        if let Some(mode) = self.permissions {
            access.set_mode(mode);
        }
        if let Some(acl) = &self.acl {
            access.set_acl(acl, node.is_directory)?;
        }
        access.owner = self.owner.clone().unwrap_or(access.owner);
        access.group = self.group.clone().unwrap_or(access.group);
        Ok(access)
    }
}

/// Set Properties: what is not said stays.
#[derive(Clone, Debug, Default)]
pub struct SetPathProperties {
    pub headers: ContentHeaders,
    pub metadata: Option<Metadata>,
    pub conditions: Conditions,
    pub lease: Option<LeaseId>,
}

impl SetPathProperties {
    pub fn decide(&self, current: Option<&Blob>, now: Timestamp) -> Result<Blob, Refusal> {
        self.conditions.permit_write(current.map(seen))?;
        let blob = current.ok_or(Refusal::BlobNotFound)?;
        let lease = lease::permit_write(blob.lease, self.lease, now, On::Blob)?;
        blob.permit_mutable(now)?;
        let (new, old) = (&self.headers, &blob.headers);
        let headers = ContentHeaders {
            content_type: new.content_type.clone().or_else(|| old.content_type.clone()),
            encoding: new.encoding.clone().or_else(|| old.encoding.clone()),
            language: new.language.clone().or_else(|| old.language.clone()),
            cache_control: new.cache_control.clone().or_else(|| old.cache_control.clone()),
            disposition: new.disposition.clone().or_else(|| old.disposition.clone()),
            md5: new.md5.clone().or_else(|| old.md5.clone()),
        };
        let metadata = self.metadata.clone().unwrap_or_else(|| blob.metadata.clone());
        Ok(Blob { etag: ETag::of(now), modified: now, headers, metadata, lease, ..blob.clone() })
    }
}

#[cfg(test)]
mod tests;
