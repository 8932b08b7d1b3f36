//! What is kept of a blob that is overwritten, changed or deleted: previous versions, and what was deleted softly.
//! "Blob versioning" and "Soft delete for blobs" are the source.
//!
//! * A version goes by a delete that names it, and by nothing else. So the version that is current when versioning
//!   is switched off becomes a previous one at the next write.
//! * With versions, nothing that was overwritten or deleted is soft-deleted as well; a version that is deleted is.

use crate::blob::{Blob, Deleted, Kind, Tier};
use crate::{AccountSettings, Lease, Refusal, Timestamp};

const DAY_SECONDS: u64 = 24 * 60 * 60;

/// What an account keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keeping {
    pub versions: bool,
    /// How long what was deleted can be brought back.
    pub deleted_days: Option<u32>,
    /// Whether what was deleted softly may be deleted for good before its time.
    pub permanent_delete: bool,
}

/// What becomes of a record whose place is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Gone,
    /// A previous version. One that never had an id gets the time of the blob's creation for it.
    Version(Timestamp),
    Deleted(Deleted),
}

/// What becomes of a blob that was deleted softly when another is written under its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Superseded {
    /// It can be brought back as a snapshot.
    Snapshot(Deleted),
    /// It goes for good.
    Gone,
    /// So does everything under its name that could be brought back.
    AllGone,
}

impl From<&AccountSettings> for Keeping {
    fn from(settings: &AccountSettings) -> Self {
        Self {
            versions: settings.versioning,
            deleted_days: settings.blob_soft_delete.days,
            permanent_delete: settings.blob_soft_delete.allow_permanent_delete == Some(true),
        }
    }
}

impl Keeping {
    /// An account that keeps nothing.
    pub const NOTHING: Self = Self { versions: false, deleted_days: None, permanent_delete: false };

    /// The id of the version that a write makes.
    pub fn new_version(&self, now: Timestamp) -> Option<Timestamp> {
        self.versions.then_some(now)
    }

    /// Of a blob that another takes the place of. Soft delete does not protect what is in the archive.
    pub fn overwritten(&self, old: &Blob, now: Timestamp) -> Fate {
        match self.changed(old) {
            Some(id) => Fate::Version(id),
            None if old.tier == Some(Tier::Archive) => Fate::Gone,
            None => self.deleted_copy(now),
        }
    }

    /// Whether another may take the place of `old`: of one that is protected, only where it stays, as a version.
    pub fn permit_overwrite(&self, old: &Blob, now: Timestamp) -> Result<(), Refusal> {
        match self.overwritten(old, now) {
            Fate::Version(_) => Ok(()),
            Fate::Gone | Fate::Deleted(_) => old.permit_mutable(now),
        }
    }

    /// Of a blob that is deleted.
    pub fn deleted(&self, old: &Blob, now: Timestamp) -> Fate {
        self.changed(old).map_or_else(|| self.deleted_copy(now), Fate::Version)
    }

    /// Of a blob whose metadata change, or of which a snapshot is taken: the id of the version that stays of it.
    pub fn changed(&self, old: &Blob) -> Option<Timestamp> {
        old.version.or(self.versions.then_some(old.created))
    }

    /// Of a snapshot, or a previous version, that is deleted.
    pub fn deleted_copy(&self, now: Timestamp) -> Fate {
        match self.deleted_days {
            Some(days) => {
                let until = now.plus_seconds(u64::from(days) * DAY_SECONDS);
                Fate::Deleted(Deleted { at: now, until })
            }
            None => Fate::Gone,
        }
    }

    /// Of `before`, which was deleted softly, when a blob of `kind` is written under its name. One of another type makes an end of all
    /// that could be brought back ("Soft delete for blobs"), except of versions.
    pub fn superseded(&self, before: &Blob, kind: Kind, now: Timestamp) -> Superseded {
        match before.deleted.filter(|deleted| !deleted.is_over(now)) {
            Some(deleted) if before.kind.is_like(kind) => Superseded::Snapshot(deleted),
            Some(_) if !self.versions => Superseded::AllGone,
            Some(_) | None => Superseded::Gone,
        }
    }

    /// Whether something that was deleted softly, or was not, may be deleted for good ("Delete Blob").
    pub fn permit_purge(&self, is_deleted: bool) -> Result<(), Refusal> {
        match (self.permanent_delete, is_deleted) {
            (false, _) => Err(Refusal::PermanentDeleteNotEnabled),
            (true, false) => Err(Refusal::BlobSnapshotNotSoftDeleted),
            (true, true) => Ok(()),
        }
    }
}

impl Blob {
    /// The record as a previous version. Only the blob itself has a lease, and a time at which it expires.
    pub fn as_version(&self, id: Timestamp) -> Blob {
        Blob { version: Some(id), previous: true, lease: Lease::Available, expires: None, ..self.clone() }
    }

    /// The record as it is kept after its deletion: nobody has a lease on it any more.
    pub fn as_deleted(&self, deleted: Deleted) -> Blob {
        Blob { deleted: Some(deleted), lease: Lease::Available, ..self.clone() }
    }

    /// The record as it comes back.
    pub fn as_restored(&self) -> Blob {
        Blob { deleted: None, ..self.clone() }
    }
}

impl Deleted {
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.until <= now
    }

    /// As listings count them: whole days.
    pub fn days_left(&self, now: Timestamp) -> u64 {
        self.until.ticks().saturating_sub(now.ticks()) / (DAY_SECONDS * 10_000_000)
    }
}

impl Kind {
    /// Whether two blobs are of one type, whatever state each is in.
    pub fn is_like(self, other: Kind) -> bool {
        match (self, other) {
            (Kind::Block, Kind::Block) => true,
            (Kind::Page { .. }, Kind::Page { .. }) | (Kind::Append { .. }, Kind::Append { .. }) => true,
            (Kind::Block | Kind::Page { .. } | Kind::Append { .. }, _) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blob::ContentRef;

    const CREATED: Timestamp = Timestamp::from_ticks(100);
    const NOW: Timestamp = Timestamp::from_ticks(500);

    fn blob(version: Option<u64>, tier: Option<Tier>) -> Blob {
        let version = version.map(Timestamp::from_ticks);
        Blob { version, tier, ..Blob::new(Kind::Block, ContentRef::EMPTY, CREATED) }
    }

    /// "Blob soft delete protection by operation", the two columns and two more: neither, and versions alone.
    #[test]
    fn what_is_kept() {
        let day = Deleted { at: NOW, until: NOW.plus_seconds(DAY_SECONDS) };
        let (gone, soft) = (Fate::Gone, Fate::Deleted(day));
        let (id, first) = (Fate::Version(Timestamp::from_ticks(300)), Fate::Version(CREATED));
        let archived = Some(Tier::Archive);
        // versions, days, the blob; overwritten, deleted, its metadata changed
        let table = [
            (false, None, blob(None, None), gone, gone, None),
            (false, Some(1), blob(None, None), soft, soft, None),
            (false, Some(1), blob(None, archived), gone, soft, None),
            (true, None, blob(Some(300), None), id, id, Some(id)),
            (true, Some(1), blob(Some(300), None), id, id, Some(id)),
            (true, Some(1), blob(Some(300), archived), id, id, Some(id)),
            // From before versions were kept.
            (true, None, blob(None, None), first, first, Some(first)),
            // From before they no longer were.
            (false, None, blob(Some(300), None), id, id, Some(id)),
            (false, Some(1), blob(Some(300), None), id, id, Some(id)),
        ];
        for (versions, deleted_days, old, overwritten, deleted, changed) in table {
            let keeping = Keeping { versions, deleted_days, permanent_delete: false };
            assert_eq!(keeping.overwritten(&old, NOW), overwritten, "{keeping:?}");
            assert_eq!(keeping.deleted(&old, NOW), deleted, "{keeping:?}");
            assert_eq!(keeping.changed(&old).map(Fate::Version), changed, "{keeping:?}");
            assert_eq!(keeping.deleted_copy(NOW), if deleted_days.is_some() { soft } else { gone });
        }
    }

    #[test]
    fn what_a_new_blob_leaves_of_a_deleted_one() {
        let open = Deleted { at: CREATED, until: NOW.plus_seconds(1) };
        let over = Deleted { at: CREATED, until: NOW };
        let (block, append) = (Kind::Block, Kind::Append { sealed: false });
        // versions, when its retention ends, the type of the new blob
        for (versions, deleted, kind, left) in [
            (false, Some(open), block, Superseded::Snapshot(open)),
            (true, Some(open), block, Superseded::Snapshot(open)),
            (false, Some(open), append, Superseded::AllGone),
            (true, Some(open), append, Superseded::Gone),
            (false, Some(over), block, Superseded::Gone),
            (false, Some(over), append, Superseded::Gone),
            (false, None, block, Superseded::Gone),
        ] {
            let keeping = Keeping { versions, deleted_days: Some(1), permanent_delete: false };
            let before = Blob { deleted, ..blob(None, None) };
            assert_eq!(keeping.superseded(&before, kind, NOW), left, "{versions} {deleted:?} {kind:?}");
        }
    }

    #[test]
    fn days_left_are_whole() {
        let deleted = Deleted { at: NOW, until: NOW.plus_seconds(2 * DAY_SECONDS) };
        for (passed, left) in [(0, 2), (1, 1), (DAY_SECONDS, 1), (DAY_SECONDS + 1, 0), (3 * DAY_SECONDS, 0)] {
            assert_eq!(deleted.days_left(NOW.plus_seconds(passed)), left, "{passed}");
        }
        assert!(!deleted.is_over(NOW) && deleted.is_over(deleted.until));
    }

    #[test]
    fn deleting_for_good() {
        let keeping = |permanent_delete| Keeping { permanent_delete, deleted_days: Some(1), versions: true };
        assert_eq!(keeping(false).permit_purge(true), Err(Refusal::PermanentDeleteNotEnabled));
        assert_eq!(keeping(true).permit_purge(false), Err(Refusal::BlobSnapshotNotSoftDeleted));
        assert_eq!(keeping(true).permit_purge(true), Ok(()));
    }
}
