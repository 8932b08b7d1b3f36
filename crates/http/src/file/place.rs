//! Where a request, or the source that it names, points to.

use lazuli_model::Timestamp;
use lazuli_model::file::{FilePath, ShareName};
use lazuli_store::{FileAt, ShareAt};

use crate::head::{Head, Target};
use crate::refusal::{Denied, Refusal};

pub fn share(head: &Head) -> Result<ShareAt, Refusal> {
    match &head.target {
        Target::Share(share) | Target::Path { share, .. } => {
            Ok(ShareAt { account: head.account()?, share: ShareName::parse(share)? })
        }
        Target::Service
        | Target::Container(_)
        | Target::Blob { .. }
        | Target::Queue(_)
        | Target::Messages(_)
        | Target::Message { .. }
        | Target::Table(_) => Err(Refusal::InvalidUri),
    }
}

/// A file or directory to be read, perhaps in a snapshot; the root too.
pub fn any(head: &Head) -> Result<FileAt, Refusal> {
    let ShareAt { account, share } = share(head)?;
    let path = match &head.target {
        Target::Path { path, .. } => FilePath::parse(path, head.flag("x-ms-allow-trailing-dot")?)?,
        Target::Share(_)
        | Target::Service
        | Target::Container(_)
        | Target::Blob { .. }
        | Target::Queue(_)
        | Target::Messages(_)
        | Target::Message { .. }
        | Target::Table(_) => return Err(Refusal::InvalidUri),
    };
    Ok(FileAt { account, share, path })
}

/// A file, hence not the root.
pub fn file(head: &Head) -> Result<FileAt, Refusal> {
    let at = any(head)?;
    if at.path.is_root() { Err(Refusal::InvalidUri) } else { Ok(at) }
}

/// As [`any`], to be written: snapshots are read-only.
pub fn writable(head: &Head) -> Result<FileAt, Refusal> {
    only_now(head)?;
    any(head)
}

/// As [`file`], to be written.
pub fn writable_file(head: &Head) -> Result<FileAt, Refusal> {
    only_now(head)?;
    file(head)
}

/// A share to be written.
pub fn writable_share(head: &Head) -> Result<ShareAt, Refusal> {
    only_now(head)?;
    share(head)
}

fn only_now(head: &Head) -> Result<(), Refusal> {
    match head.query.get("sharesnapshot") {
        None => Ok(()),
        Some(_) => Err(Denied::ShareSnapshotOperationNotSupported.into()),
    }
}

pub fn snapshot(head: &Head) -> Result<Option<Timestamp>, Refusal> {
    head.query_opt("sharesnapshot", Timestamp::parse_iso)
}

/// The path and the query of a rename's source, which is a whole URL (Python and JavaScript) or begins with a slash and the share. It must
/// be in the share of the destination.
pub fn rename_source<'a>(text: &'a str, to: &FileAt) -> Option<(String, &'a str)> {
    let text = text.split('#').next().unwrap_or_default();
    let (url, query) = text.split_once('?').unwrap_or((text, ""));
    let path = match url.split_once("://") {
        Some((_, rest)) => rest.split_once('/').map_or("", |(_, path)| path),
        None => url.trim_start_matches('/'),
    };
    let path = percent_encoding::percent_decode_str(path).decode_utf8().ok()?;
    let share = format!("{}/", to.share);
    // In path style the account stands before the share.
    let path = path
        .strip_prefix(share.as_str())
        .or_else(|| path.strip_prefix(to.account.as_str())?.strip_prefix('/')?.strip_prefix(share.as_str()))?;
    Some((path.trim_end_matches('/').to_owned(), query))
}
