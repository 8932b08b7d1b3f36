//! Containers that were deleted softly, and how they come back ("Soft delete for containers").

use crate::blob::{Deleted, Fate, Keeping};
use crate::container::Container;
use crate::{ETag, Lease, Refusal, Timestamp};

/// What Restore Container names besides the container: one of its lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeletionVersion(pub Timestamp);

/// Ticks from year 1 to 1601, where the service's numbers begin.
const SINCE_1601: u64 = 504_911_232_000_000_000;

impl DeletionVersion {
    /// As listings show it: sixteen hexadecimal digits.
    pub fn to_text(self) -> String {
        format!("{:016X}", self.0.ticks().saturating_sub(SINCE_1601))
    }

    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let ticks = digits.then(|| u64::from_str_radix(text, 16).ok()).flatten()?;
        ticks.checked_add(SINCE_1601).map(|ticks| Self(Timestamp::from_ticks(ticks)))
    }
}

/// How long a container that is deleted now can come back; `None` when it cannot.
pub fn soft_deletion(days: Option<u32>, now: Timestamp) -> Option<Deleted> {
    match (Keeping { deleted_days: days, ..Keeping::NOTHING }).deleted_copy(now) {
        Fate::Deleted(deleted) => Some(deleted),
        Fate::Gone | Fate::Version(_) => None,
    }
}

/// The container that comes back, as if it had just been made of what it was (observed: with another ETag).
pub fn restore(current: Option<&Container>, deleted: &Container, now: Timestamp) -> Result<Container, Refusal> {
    match current {
        Some(_) => Err(Refusal::ContainerAlreadyExists),
        None => Ok(Container { etag: ETag::of(now), modified: now, lease: Lease::Available, ..deleted.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_recorded() {
        let at = Timestamp::parse_iso("2022-08-05T00:27:55.0461232Z").unwrap();
        let version = DeletionVersion(at);
        assert_eq!(version.to_text(), "01D8A862349E0130");
        assert_eq!(DeletionVersion::parse(&version.to_text()), Some(version));
        for bad in ["", "01D8A862349E013", "01D8A862349E01300", "g1D8A862349E0130", "+1D8A862349E0130"] {
            assert_eq!(DeletionVersion::parse(bad), None, "{bad}");
        }
    }
}
