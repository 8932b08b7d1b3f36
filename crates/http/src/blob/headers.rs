//! The headers of blobs, beside those that all services share.

use lazuli_model::account::DefaultTier;
use lazuli_model::blob::{Blob, ContentHeaders, Kind, Premium, Priority, Rehydrating, Tier, Which};
use lazuli_model::replication::RuleOutcome;
use lazuli_model::{AccountSettings, Tags, Timestamp};

use lazuli_store::{BlobAt, PathAt};

use crate::answer::{Answer, name};
use crate::blob::{copied, encryption, protection};
use crate::head::{Head, Query};
use crate::refusal::{Denied, Failure, Refusal};
use crate::serve::Ask;
use crate::versions::Since;
use crate::wire::digest::parse_kept_md5;
use crate::wire::headers::{lease, metadata_of};

/// `x-ms-tags: name=value&name=value`, percent-encoded.
pub fn tags(head: &Head) -> Result<Tags, Refusal> {
    match head.text("x-ms-tags") {
        None => Ok(Tags::default()),
        Some(text) => {
            let pairs = Query::parse(text).map_err(|_| Denied::InvalidTag)?;
            Ok(Tags::new(pairs.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())?)
        }
    }
}

pub fn tier(head: &Head) -> Result<Option<Tier>, Refusal> {
    head.opt("x-ms-access-tier", |text| {
        let named = Tier::NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, tier)| *tier);
        named.filter(|tier| match tier {
            Tier::Cold => head.has(Since::ColdTier),
            Tier::Smart => head.has(Since::SmartTier),
            Tier::Hot | Tier::Cool | Tier::Archive | Tier::Premium(_) => true,
        })
    })
}

pub fn tier_text(tier: Tier) -> &'static str {
    tier.name()
}

/// `x-ms-archive-status`: where a blob on its way out of the archive is going.
pub fn archive_status(back: Rehydrating) -> String {
    format!("rehydrate-pending-to-{}", tier_text(back.to).to_ascii_lowercase())
}

pub fn priority_text(priority: Priority) -> &'static str {
    match priority {
        Priority::Standard => "Standard",
        Priority::High => "High",
    }
}

/// `x-ms-rehydrate-priority`
pub fn priority(head: &Head) -> Result<Option<Priority>, Refusal> {
    head.opt("x-ms-rehydrate-priority", |text| match text.to_ascii_lowercase().as_str() {
        "standard" => Some(Priority::Standard),
        "high" => Some(Priority::High),
        _ => None,
    })
}

pub fn kind_text(kind: Kind) -> &'static str {
    match kind {
        Kind::Block => "BlockBlob",
        Kind::Page { .. } => "PageBlob",
        Kind::Append { .. } => "AppendBlob",
    }
}

/// The `x-ms-blob-*` headers. What is not sent is not kept.
pub fn content_headers(head: &Head) -> Result<ContentHeaders, Refusal> {
    let text = |name: &str| head.text(name).map(str::to_owned);
    Ok(ContentHeaders {
        content_type: text("x-ms-blob-content-type"),
        encoding: text("x-ms-blob-content-encoding"),
        language: text("x-ms-blob-content-language"),
        md5: head.text("x-ms-blob-content-md5").map(parse_kept_md5).transpose()?,
        cache_control: text("x-ms-blob-cache-control"),
        disposition: text("x-ms-blob-content-disposition"),
    })
}

/// What Get Blob and Get Blob Properties say alike. Of what was `named` as a snapshot or a version, even the current one, no lease
/// is shown (observed).
pub fn describe(answer: Answer, blob: &Blob, named: bool, now: Timestamp) -> Answer {
    let headers = &blob.headers;
    let answer = answer
        .etag(blob.etag, blob.modified)
        .optional(&name::CONTENT_TYPE, headers.content_type.as_deref())
        .optional(&name::CONTENT_ENCODING, headers.encoding.as_deref())
        .optional(&name::CONTENT_LANGUAGE, headers.language.as_deref())
        .optional(&name::CACHE_CONTROL, headers.cache_control.as_deref())
        .optional(&name::CONTENT_DISPOSITION, headers.disposition.as_deref())
        .constant(&name::ACCEPT_RANGES, "bytes")
        .constant(&name::BLOB_TYPE, kind_text(blob.kind))
        .constant(&name::SERVER_ENCRYPTED, "true")
        .date(&name::CREATION_TIME, blob.created);
    let answer = kind_of(answer, blob);
    let answer = if named { answer } else { lease(answer, blob.lease, now) };
    let answer = version_of(answer, blob, !blob.previous);
    let answer = protection::describe(answer, blob);
    let answer = encryption::describe(answer, &blob.encryption);
    let answer = replication(answer, blob);
    let answer = answer.optional(&name::EXPIRY_TIME, blob.expires.map(Timestamp::to_http));
    let answer = if blob.tags.is_empty() { answer } else { answer.number(&name::TAG_COUNT, blob.tags.len() as u64) };
    metadata_of(copied::describe(answer, blob), &blob.metadata)
}

/// What came of each rule that the blob is replicated by, and by which policy it was made.
fn replication(mut answer: Answer, blob: &Blob) -> Answer {
    let Some(replication) = blob.replication.as_deref() else { return answer };
    for outcome in &replication.outcomes {
        let header = http::HeaderName::try_from(format!("x-ms-{}", outcome_name(outcome)));
        if let Ok(header) = header {
            answer.headers.insert(header, http::HeaderValue::from_static(outcome_text(outcome)));
        }
    }
    answer.optional(&name::OR_POLICY_ID, replication.origin.as_ref().map(|origin| origin.policy.as_str()))
}

/// `or-policy_rule`, as listings have it too.
pub fn outcome_name(outcome: &RuleOutcome) -> String {
    format!("or-{}_{}", outcome.policy, outcome.rule)
}

pub fn outcome_text(outcome: &RuleOutcome) -> &'static str {
    if outcome.complete { "complete" } else { "failed" }
}

/// Rule B28: reads of a snapshot once repeated its time.
pub fn old_snapshot(answer: Answer, head: &Head, which: Which) -> Answer {
    match which {
        Which::Snapshot(time) if head.lacks(Since::SnapshotTiers) => answer.text(&name::SNAPSHOT, time.to_iso()),
        Which::Snapshot(_) | Which::Version(_) | Which::Current => answer,
    }
}

/// The id of the version that a write made, or a read met, where versions are kept.
pub fn version_of(answer: Answer, blob: &Blob, current: bool) -> Answer {
    let answer = answer.optional(&name::VERSION_ID, blob.version.map(Timestamp::to_iso));
    if current && blob.version.is_some() { answer.constant(&name::IS_CURRENT_VERSION, "true") } else { answer }
}

/// What a write answers of the blob that it made.
pub fn written(answer: Answer, blob: &Blob) -> Answer {
    version_of(answer.etag(blob.etag, blob.modified), blob, false)
}

/// What only one kind of blob says.
fn kind_of(answer: Answer, blob: &Blob) -> Answer {
    match blob.kind {
        Kind::Block => answer,
        Kind::Page { .. } => sequence_of(answer, blob),
        Kind::Append { sealed } => {
            let answer = answer.number(&name::BLOB_COMMITTED_BLOCK_COUNT, blob.content.blocks.into());
            if sealed { answer.constant(&name::BLOB_SEALED, "true") } else { answer }
        }
    }
}

/// A page blob's number, which every answer about one says.
pub fn sequence_of(answer: Answer, blob: &Blob) -> Answer {
    match blob.kind {
        Kind::Page { sequence } => answer.number(&name::BLOB_SEQUENCE_NUMBER, sequence),
        Kind::Block | Kind::Append { .. } => answer,
    }
}

/// The tier, which Get Blob shows only since 2026-10-06.
pub fn tier_of(answer: Answer, head: &Head, blob: &Blob, settings: &AccountSettings) -> Answer {
    let answer = match shown_tier(blob, settings) {
        ShownTier::Set(tier) => answer.constant(&name::ACCESS_TIER, tier_text(tier)),
        ShownTier::Inferred(tier) => {
            answer.constant(&name::ACCESS_TIER, tier_text(tier)).constant(&name::ACCESS_TIER_INFERRED, "true")
        }
        ShownTier::None => answer,
    };
    let smart = blob.smart_tier(head.now).filter(|_| head.has(Since::SmartTier));
    let answer = answer.optional(&name::SMART_ACCESS_TIER, smart.map(tier_text));
    let answer = match blob.rehydrating {
        None => answer,
        Some(back) => answer
            .text(&name::ARCHIVE_STATUS, archive_status(back))
            .constant(&name::REHYDRATE_PRIORITY, priority_text(back.priority)),
    };
    // Premium tiers come without the time (observed).
    match (blob.tier, blob.tier_changed) {
        (Some(Tier::Premium(_)), _) | (_, None) => answer,
        (_, Some(changed)) => answer.date(&name::ACCESS_TIER_CHANGE_TIME, changed),
    }
}

/// What is said of a blob's tier.
pub enum ShownTier {
    Set(Tier),
    /// The account's, or that of the blob's length.
    Inferred(Tier),
    None,
}

pub fn shown_tier(blob: &Blob, settings: &AccountSettings) -> ShownTier {
    let kind = settings.kind;
    match (blob.tier, blob.kind) {
        (Some(tier), _) => ShownTier::Set(tier),
        (None, Kind::Block) if kind.infers_block_tier() => ShownTier::Inferred(default_tier(settings.default_tier)),
        // Rule L18: with a hierarchical namespace, other kinds are told the account's, too.
        (None, Kind::Page { .. } | Kind::Append { .. })
            if kind.infers_block_tier() && settings.hierarchical_namespace =>
        {
            ShownTier::Inferred(default_tier(settings.default_tier))
        }
        (None, Kind::Page { .. }) if kind.infers_page_tier() => {
            ShownTier::Inferred(Tier::Premium(Premium::of_length(blob.content.length)))
        }
        (None, Kind::Block | Kind::Page { .. } | Kind::Append { .. }) => ShownTier::None,
    }
}

/// The tier that a request asks for, if the account has such tiers.
pub fn permitted_tier(ask: &Ask) -> Result<Option<Tier>, Refusal> {
    let asked = tier(&ask.head)?;
    Ok(asked.map(|tier| ask.settings.kind.permit_tier(tier).map(|()| tier)).transpose()?)
}

fn default_tier(default: DefaultTier) -> Tier {
    match default {
        DefaultTier::Hot => Tier::Hot,
        DefaultTier::Cool => Tier::Cool,
        DefaultTier::Cold => Tier::Cold,
    }
}

/// When it was last read, where the account keeps track.
pub fn last_access(answer: Answer, blob: &Blob, settings: &AccountSettings) -> Answer {
    if settings.last_access_tracking { answer.date(&name::LAST_ACCESS_TIME, blob.last_access()) } else { answer }
}

/// What a blob of a file system says besides: whose it is, and whether it is a directory.
pub async fn in_file_system(ask: &Ask, answer: Answer, at: &BlobAt) -> Result<Answer, Failure> {
    if !ask.settings.hierarchical_namespace {
        return Ok(answer);
    }
    Ok(match ask.store.path_node(&PathAt::of_blob(at)?).await? {
        Some(node) => crate::lake::describe_node(answer, &ask.head, &node),
        None => answer,
    })
}
