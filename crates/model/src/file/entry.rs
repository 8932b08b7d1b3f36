//! The refusals of operations on a name: deleting an entry, linking to one, moving one, and growing within the quota. What others
//! have open is the arbiter's to judge, and a lease's id is `lease`'s.

use crate::file::{CreateHardLink, CreateSymbolicLink, FileId, Kind, Node};
use crate::lease::{self, On};
use crate::{Lease, LeaseId, Refusal, Timestamp};

/// Delete File. A symbolic link is deleted as a file is.
pub fn permit_delete_file(found: Option<Kind>) -> Result<(), Refusal> {
    match found {
        None => Err(Refusal::ResourceNotFound),
        Some(Kind::Directory) => Err(Refusal::ResourceTypeMismatch),
        Some(Kind::File | Kind::Symlink) => Ok(()),
    }
}

/// What there is where a directory is to be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryAt {
    pub id: FileId,
    pub kind: Kind,
    pub children: u32,
    /// Handles on the directory itself.
    pub opens: usize,
}

impl DirectoryAt {
    pub const ROOT: Self = Self { id: FileId::ROOT, kind: Kind::Directory, children: 0, opens: 0 };
}

/// Delete Directory.
pub fn permit_delete_directory(found: Option<DirectoryAt>) -> Result<(), Refusal> {
    let Some(DirectoryAt { id, kind, children, opens }) = found else { return Err(Refusal::ResourceNotFound) };
    if id == FileId::ROOT {
        return Err(Refusal::CannotDeleteFileOrDirectory);
    }
    match kind {
        Kind::File | Kind::Symlink => Err(Refusal::ResourceTypeMismatch),
        Kind::Directory if children > 0 => Err(Refusal::DirectoryNotEmpty),
        Kind::Directory if opens > 0 => Err(Refusal::CannotDeleteFileOrDirectory),
        Kind::Directory => Ok(()),
    }
}

/// What is to get a new name must not be there yet.
fn permit_new_name(is_taken: bool) -> Result<(), Refusal> {
    if is_taken { Err(Refusal::ResourceAlreadyExists) } else { Ok(()) }
}

/// Where there is nothing, there is no lease that a request could name.
pub fn permit_new(id: Option<LeaseId>, now: Timestamp) -> Result<(), Refusal> {
    lease::permit_write(Lease::Available, id, now, On::File).map(|_| ())
}

impl CreateHardLink {
    /// Whether the target may get another name.
    pub fn permit_target(
        &self,
        target: &Node,
        lease: Lease,
        delete_pending: bool,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        if target.kind == Kind::Directory {
            return Err(Refusal::ResourceTypeMismatch);
        }
        if delete_pending {
            return Err(Refusal::DeletePending);
        }
        lease::permit_read(lease, self.lease, now, On::File)
    }

    /// The target with one name more.
    pub fn decide(&self, target: &Node, is_taken: bool, now: Timestamp) -> Result<Node, Refusal> {
        permit_new_name(is_taken)?;
        Ok(target.linked(target.links + 1, now))
    }
}

impl CreateSymbolicLink {
    /// Whether a link may come to a name.
    pub fn permit(&self, is_taken: bool, now: Timestamp) -> Result<(), Refusal> {
        permit_new_name(is_taken)?;
        permit_new(self.lease, now)
    }
}

/// Whether `moved` may go where `above` are the directories on the way.
pub fn permit_move(moved: FileId, above: &[FileId]) -> Result<(), Refusal> {
    if above.contains(&moved) {
        return Err(Refusal::InvalidInput { reason: "A directory cannot be moved into itself.".into() });
    }
    Ok(())
}

/// The bytes of a share after a file changed its length. Only growing is refused: a share whose quota was lowered can shrink.
pub fn resized(used: u64, before: u64, after: u64, quota_gib: u32) -> Result<u64, Refusal> {
    let usage = used.saturating_sub(before).saturating_add(after);
    if after > before && usage > u64::from(quota_gib) << 30 {
        return Err(Refusal::ShareSizeLimitReached);
    }
    Ok(usage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metadata;
    use crate::file::{FilePath, PermissionKey, SetPosix, SetSmb};
    use crate::lease::Length;

    fn at(ticks: u64) -> Timestamp {
        Timestamp::from_ticks(ticks)
    }

    fn id(n: u128) -> LeaseId {
        LeaseId(n)
    }

    #[test]
    fn files_and_directories_are_deleted_by_their_own_operation() {
        let at = |kind, children, opens| Some(DirectoryAt { id: FileId(7), kind, children, opens });
        for (found, answer) in [
            (None, Err(Refusal::ResourceNotFound)),
            (Some(DirectoryAt::ROOT), Err(Refusal::CannotDeleteFileOrDirectory)),
            (at(Kind::File, 0, 0), Err(Refusal::ResourceTypeMismatch)),
            (at(Kind::Symlink, 0, 0), Err(Refusal::ResourceTypeMismatch)),
            (at(Kind::Directory, 1, 0), Err(Refusal::DirectoryNotEmpty)),
            (at(Kind::Directory, 1, 1), Err(Refusal::DirectoryNotEmpty)),
            (at(Kind::Directory, 0, 1), Err(Refusal::CannotDeleteFileOrDirectory)),
            (at(Kind::Directory, 0, 0), Ok(())),
        ] {
            assert_eq!(permit_delete_directory(found), answer, "{found:?}");
        }
        for (found, answer) in [
            (None, Err(Refusal::ResourceNotFound)),
            (Some(Kind::Directory), Err(Refusal::ResourceTypeMismatch)),
            (Some(Kind::File), Ok(())),
            (Some(Kind::Symlink), Ok(())),
        ] {
            assert_eq!(permit_delete_file(found), answer, "{found:?}");
        }
    }

    #[test]
    fn hard_links_go_to_files_that_stay() {
        let root = Node::root(at(1), PermissionKey(1));
        let file = Node { kind: Kind::File, id: FileId(7), ..root.clone() };
        let held = Lease::Leased { id: id(1), length: Length::Infinite, until: None };
        for (target, lease, pending, sent, answer) in [
            (&root, Lease::Available, false, None, Err(Refusal::ResourceTypeMismatch)),
            (&file, Lease::Available, true, None, Err(Refusal::DeletePending)),
            (&file, Lease::Available, false, None, Ok(())),
            (&file, held, false, None, Ok(())),
            (&file, held, false, Some(id(1)), Ok(())),
            (&file, held, false, Some(id(2)), Err(Refusal::LeaseIdMismatchWithFileOperation)),
            (&file, Lease::Available, false, Some(id(1)), Err(Refusal::LeaseNotPresentWithFileOperation)),
        ] {
            let create = CreateHardLink { target: FilePath::parse("a", false).unwrap(), lease: sent };
            assert_eq!(create.permit_target(target, lease, pending, at(2)), answer, "{lease:?} {pending} {sent:?}");
        }
        let create = CreateHardLink { target: FilePath::parse("a", false).unwrap(), lease: None };
        assert_eq!(create.decide(&file, true, at(2)), Err(Refusal::ResourceAlreadyExists));
        assert_eq!(create.decide(&file, false, at(2)).map(|node| node.links), Ok(file.links + 1));
    }

    #[test]
    fn symbolic_links_come_to_new_names_without_a_lease() {
        for (is_taken, lease, answer) in [
            (false, None, Ok(())),
            (true, None, Err(Refusal::ResourceAlreadyExists)),
            (true, Some(id(1)), Err(Refusal::ResourceAlreadyExists)),
            (false, Some(id(1)), Err(Refusal::LeaseNotPresentWithFileOperation)),
        ] {
            let (smb, posix, metadata) = (SetSmb::default(), SetPosix::default(), Metadata::default());
            let create = CreateSymbolicLink { target: "x".into(), smb, posix, metadata, lease };
            assert_eq!(create.permit(is_taken, at(1)), answer, "{is_taken} {lease:?}");
        }
    }

    #[test]
    fn a_directory_is_not_moved_into_itself() {
        let above = [FileId(1), FileId(2)];
        assert!(permit_move(FileId(3), &above).is_ok());
        assert!(matches!(permit_move(FileId(2), &above), Err(Refusal::InvalidInput { .. })));
    }

    #[test]
    fn only_growing_is_held_to_the_quota() {
        const GIB: u64 = 1 << 30;
        for (used, before, after, usage) in [
            (0, 0, GIB, Ok(GIB)),
            (0, 0, GIB + 1, Err(Refusal::ShareSizeLimitReached)),
            (GIB, 10, 11, Err(Refusal::ShareSizeLimitReached)),
            (GIB, 10, 10, Ok(GIB)),
            // The quota was lowered.
            (3 * GIB, 2 * GIB, GIB, Ok(2 * GIB)),
            (3 * GIB, 0, u64::MAX, Err(Refusal::ShareSizeLimitReached)),
        ] {
            assert_eq!(resized(used, before, after, 1), usage, "{used} {before} {after}");
        }
    }
}
