//! The change feed: which changes of a blob are told, and as what. "Change feed support in Azure Blob Storage" and "Azure
//! Blob Storage as an Event Grid source" are the source.
//!
//! * An event is about what is stored: a write, also of a snapshot or a version, not a request. A lease is no change, nor is a
//!   read; pages and appended blocks that are written in place are not told, as Azure does not tell them.
//! * An operation that takes its time is told twice: that it began, and what came of it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::blob::{Blob, ContentHeaders, CopyStatus, Fate, Kind, Tier, Which};
use crate::{ETag, Refusal, Tags, Timestamp};

/// The container that events are published in.
pub const CONTAINER: &str = "$blobchangefeed";

/// Of one segment.
pub const HOUR_TICKS: u64 = 60 * 60 * 10_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum EventType {
    BlobCreated,
    BlobDeleted,
    BlobPropertiesUpdated,
    BlobSnapshotCreated,
    BlobTierChanged,
    BlobAsyncOperationInitiated,
}

impl EventType {
    pub fn name(self) -> &'static str {
        match self {
            EventType::BlobCreated => "BlobCreated",
            EventType::BlobDeleted => "BlobDeleted",
            EventType::BlobPropertiesUpdated => "BlobPropertiesUpdated",
            EventType::BlobSnapshotCreated => "BlobSnapshotCreated",
            EventType::BlobTierChanged => "BlobTierChanged",
            EventType::BlobAsyncOperationInitiated => "BlobAsyncOperationInitiated",
        }
    }

    /// The operation that is named where nobody asked for one.
    fn usual_api(self) -> &'static str {
        match self {
            EventType::BlobCreated => "PutBlob",
            EventType::BlobDeleted => "DeleteBlob",
            EventType::BlobPropertiesUpdated => "SetBlobProperties",
            EventType::BlobSnapshotCreated => "SnapshotBlob",
            EventType::BlobTierChanged => "SetBlobTier",
            EventType::BlobAsyncOperationInitiated => "CopyBlob",
        }
    }
}

/// The request that made a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// The operation's name; empty when nobody asked.
    pub api: String,
    pub request: u128,
    pub client_request: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    pub kind: EventType,
    pub time: Timestamp,
    pub cause: Cause,
    pub etag: ETag,
    pub content_type: String,
    pub length: u64,
    pub blob_type: Kind,
    pub tier: Option<Tier>,
    pub version: Option<Timestamp>,
    pub snapshot: Option<Timestamp>,
    /// `previousInfo`
    pub previous: Vec<(String, String)>,
    /// What was changed: name, new value, old value.
    pub properties: Vec<(String, String, String)>,
    /// `asyncOperationInfo`
    pub pending: Vec<(String, String)>,
    /// As they were, and as they are.
    pub tags: Option<(Tags, Tags)>,
}

impl Event {
    fn of(kind: EventType, which: Which, blob: &Blob, time: Timestamp) -> Self {
        let content_type = blob.headers.content_type.clone().unwrap_or_else(|| "application/octet-stream".into());
        let (version, snapshot) = match which {
            Which::Current => (blob.version, None),
            Which::Snapshot(time) => (None, Some(time)),
            Which::Version(id) => (Some(id), None),
        };
        Self {
            kind,
            time,
            cause: Cause::default(),
            etag: blob.etag,
            content_type,
            length: blob.content.length,
            blob_type: blob.kind,
            tier: blob.tier,
            version,
            snapshot,
            previous: Vec::new(),
            properties: Vec::new(),
            pending: Vec::new(),
            tags: None,
        }
    }

    /// `new` has taken the place of `old`, whose fate is told. Of a copy that has only begun, that it has begun.
    pub fn created(old: Option<(&Blob, Fate)>, new: &Blob, now: Timestamp) -> Self {
        let pending = new.copy.as_ref().filter(|copy| copy.status == CopyStatus::Pending);
        let kind = if pending.is_some() { EventType::BlobAsyncOperationInitiated } else { EventType::BlobCreated };
        let mut event =
            Self { pending: copy_info(old.map(|(old, _)| old), new), ..Self::of(kind, Which::Current, new, now) };
        if let Some((old, fate)) = old {
            event.previous = previous(old, fate, now);
        }
        event
    }

    /// A blob that was deleted softly has come back.
    pub fn undeleted(new: &Blob, now: Timestamp) -> Self {
        let previous = vec![("WasBlobSoftDeleted".into(), "true".into())];
        Self { previous, ..Self::of(EventType::BlobCreated, Which::Current, new, now) }
    }

    pub fn deleted(which: Which, old: &Blob, fate: Fate, now: Timestamp) -> Self {
        let mut event = Self::of(EventType::BlobDeleted, which, old, now);
        event.previous = previous(old, fate, now);
        event.cause.api = EventType::BlobDeleted.usual_api().into();
        event
    }

    pub fn snapshot(base: &Blob, now: Timestamp) -> Self {
        let event = Self::of(EventType::BlobSnapshotCreated, Which::Current, base, now);
        Self { snapshot: Some(now), ..event }
    }

    /// The same blob with another record. `None` when nothing changed that is told.
    pub fn changed(which: Which, old: &Blob, new: &Blob, now: Timestamp) -> Option<Self> {
        let is_pending = |blob: &Blob| blob.copy.as_ref().is_some_and(|copy| copy.status == CopyStatus::Pending);
        if is_pending(old) && !is_pending(new) {
            return Some(Self {
                pending: copy_info(Some(old), new),
                ..Self::of(EventType::BlobCreated, which, new, now)
            });
        }
        if let (None, Some(back)) = (old.rehydrating, new.rehydrating) {
            let pending = vec![("DestinationTier".into(), back.to.name().into())];
            let event = Self::of(EventType::BlobAsyncOperationInitiated, which, new, now);
            return Some(Self { pending, ..event });
        }
        if old.tier != new.tier {
            let event = Self::of(EventType::BlobTierChanged, which, new, now);
            return Some(Self { previous: tier_before(old), ..event });
        }
        let tags = (old.tags != new.tags).then(|| (old.tags.clone(), new.tags.clone()));
        if tags.is_none() && old.etag == new.etag {
            return None;
        }
        let properties = properties(&old.headers, &new.headers);
        Some(Self { properties, tags, ..Self::of(EventType::BlobPropertiesUpdated, which, new, now) })
    }

    /// What will have happened when a blob is back from the archive.
    pub fn rehydrated(which: Which, blob: &Blob) -> Option<Self> {
        let back = blob.rehydrating?;
        let event = Self::of(EventType::BlobTierChanged, which, blob, back.until);
        let pending =
            vec![("DestinationTier".into(), back.to.name().into()), ("WasAsyncOperation".into(), "true".into())];
        Some(Self { tier: Some(back.to), previous: tier_before(blob), pending, ..event })
    }

    /// With the request that made it, as far as the change does not name its operation itself.
    pub fn because(mut self, cause: &Cause) -> Self {
        let api = match (self.cause.api.is_empty(), cause.api.is_empty()) {
            (false, _) => std::mem::take(&mut self.cause.api),
            (true, false) => cause.api.clone(),
            (true, true) => self.kind.usual_api().into(),
        };
        Self { cause: Cause { api, ..cause.clone() }, ..self }
    }
}

fn previous(old: &Blob, fate: Fate, now: Timestamp) -> Vec<(String, String)> {
    let mut told = match fate {
        Fate::Gone => Vec::new(),
        Fate::Version(id) => vec![("BlobVersion".into(), id.to_iso()), ("LastVersion".into(), id.to_iso())],
        Fate::Deleted(_) => {
            vec![("SoftDeleteSnapshot".into(), now.to_iso()), ("WasBlobSoftDeleted".into(), "true".into())]
        }
    };
    told.extend(tier_before(old));
    told
}

fn tier_before(old: &Blob) -> Vec<(String, String)> {
    vec![("PreviousTier".into(), old.tier.unwrap_or(Tier::Hot).name().into())]
}

fn copy_info(old: Option<&Blob>, new: &Blob) -> Vec<(String, String)> {
    let Some(copy) = &new.copy else { return Vec::new() };
    let began = old.and_then(|old| old.copy.as_ref());
    let took_time = began.is_some_and(|began| began.id == copy.id && began.status == CopyStatus::Pending);
    if copy.status == CopyStatus::Pending || took_time {
        vec![("WasAsyncOperation".into(), "true".into()), ("CopyId".into(), guid(copy.id))]
    } else {
        Vec::new()
    }
}

fn properties(old: &ContentHeaders, new: &ContentHeaders) -> Vec<(String, String, String)> {
    let md5 = |headers: &ContentHeaders| headers.md5.as_ref().map(|md5| STANDARD.encode(md5));
    let all = [
        ("ContentType", new.content_type.clone(), old.content_type.clone()),
        ("ContentEncoding", new.encoding.clone(), old.encoding.clone()),
        ("ContentLanguage", new.language.clone(), old.language.clone()),
        ("ContentMD5", md5(new), md5(old)),
        ("CacheControl", new.cache_control.clone(), old.cache_control.clone()),
        ("ContentDisposition", new.disposition.clone(), old.disposition.clone()),
    ];
    let changed = all.into_iter().filter(|(_, new, old)| new != old);
    changed.map(|(name, new, old)| (name.to_owned(), new.unwrap_or_default(), old.unwrap_or_default())).collect()
}

/// Five groups of hexadecimal digits.
pub fn guid(id: u128) -> String {
    let text = format!("{id:032x}");
    [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]].join("-")
}

/// Whether clients may change what is in `container`: only the service itself writes the change feed. `creates`: the container itself.
pub fn permit_change(container: &str, creates: bool) -> Result<(), Refusal> {
    match (container == CONTAINER, creates) {
        (false, _) => Ok(()),
        (true, true) => Err(Refusal::ContainerAlreadyExists),
        (true, false) => Err(Refusal::InsufficientAccountPermissions),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blob::{ContentRef, Deleted, Priority, Rehydrating};

    const NOW: Timestamp = Timestamp::from_ticks(638_000_000_000_000_000);
    const LATER: Timestamp = Timestamp::from_ticks(638_000_000_010_000_000);

    fn blob() -> Blob {
        Blob::new(Kind::Block, ContentRef::EMPTY, NOW)
    }

    #[test]
    fn the_feed_is_written_by_the_service_alone() {
        for (container, creates, expected) in [
            ("pictures", false, Ok(())),
            ("pictures", true, Ok(())),
            (CONTAINER, false, Err(Refusal::InsufficientAccountPermissions)),
            (CONTAINER, true, Err(Refusal::ContainerAlreadyExists)),
        ] {
            assert_eq!(permit_change(container, creates), expected, "{container} {creates}");
        }
    }

    #[test]
    fn what_is_told_of_a_change() {
        let back = Rehydrating { to: Tier::Hot, priority: Priority::Standard, since: NOW, until: LATER };
        let typed = ContentHeaders { content_type: Some("text/plain".into()), ..ContentHeaders::default() };
        let tags = Tags::new(vec![("a".into(), "1".into())]).unwrap();
        let table = [
            (blob(), None),
            (Blob { lease: crate::Lease::Available, accessed: Some(NOW), ..blob() }, None),
            (Blob { etag: ETag::of(LATER), ..blob() }, Some(EventType::BlobPropertiesUpdated)),
            (Blob { tags: tags.clone(), ..blob() }, Some(EventType::BlobPropertiesUpdated)),
            (Blob { tier: Some(Tier::Cool), ..blob() }, Some(EventType::BlobTierChanged)),
            (Blob { rehydrating: Some(back), ..blob() }, Some(EventType::BlobAsyncOperationInitiated)),
        ];
        for (new, kind) in table {
            let event = Event::changed(Which::Current, &blob(), &new, LATER);
            assert_eq!(event.map(|event| event.kind), kind, "{new:?}");
        }
        let new = Blob { etag: ETag::of(LATER), headers: typed, tags: tags.clone(), ..blob() };
        let event = Event::changed(Which::Current, &blob(), &new, LATER).unwrap();
        assert_eq!(event.properties, [("ContentType".to_owned(), "text/plain".to_owned(), String::new())]);
        assert_eq!(event.tags, Some((Tags::NONE, tags)));
    }

    #[test]
    fn what_became_of_the_old_one_is_told() {
        let soft = Fate::Deleted(Deleted { at: NOW, until: LATER });
        let names = |fate| {
            let event = Event::created(Some((&blob(), fate)), &blob(), NOW);
            event.previous.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(Fate::Gone), "PreviousTier");
        assert_eq!(names(Fate::Version(NOW)), "BlobVersion LastVersion PreviousTier");
        assert_eq!(names(soft), "SoftDeleteSnapshot WasBlobSoftDeleted PreviousTier");
    }

    #[test]
    fn the_cause_is_the_request_unless_the_change_has_its_own() {
        let cause = Cause { api: "PutBlockList".into(), request: 7, client_request: "me".into() };
        assert_eq!(Event::created(None, &blob(), NOW).because(&cause).cause, cause);
        let expired = Event::deleted(Which::Current, &blob(), Fate::Gone, NOW).because(&cause);
        assert_eq!((expired.cause.api.as_str(), expired.cause.request), ("DeleteBlob", 7));
        assert_eq!(Event::snapshot(&blob(), NOW).because(&Cause::default()).cause.api, "SnapshotBlob");
        assert_eq!(guid(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef), "01234567-89ab-cdef-0123-456789abcdef");
    }
}
