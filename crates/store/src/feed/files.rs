//! What is in `$blobchangefeed`, to the byte: the names of its blobs, its manifests in JSON and its logs in Avro. "Change feed
//! support in Azure Blob Storage" describes them.

use lazuli_model::avro::{self, bytes, long, map, optional};
use lazuli_model::blob::Kind;
use lazuli_model::feed::{CONTAINER, guid};
use lazuli_model::{ETag, Tags, Timestamp};
use md5::Digest;

use super::Noted;

/// Version 5 of the event, by the names of "Event record schemas".
const SCHEMA: &str = include_str!("schema.json");

pub const SEGMENTS: &str = "meta/segments.json";
/// There from the beginning, and always empty.
pub const FIRST_SEGMENT: &str = "idx/segments/1601/01/01/0000/meta.json";
/// 1601-01-01
pub const FIRST: Timestamp = Timestamp::from_ticks(504_911_232_000_000_000);

/// `2026/11/16/0200`
fn hour_path(hour: Timestamp) -> String {
    let text = hour.to_iso();
    format!("{}/{}/{}/{}00", &text[..4], &text[5..7], &text[8..10], &text[11..13])
}

pub fn segment(hour: Timestamp) -> String {
    format!("idx/segments/{}/meta.json", hour_path(hour))
}

/// A log's folder.
pub fn logs(hour: Timestamp) -> String {
    format!("log/00/{}/", hour_path(hour))
}

pub fn log(hour: Timestamp, chunk: u32) -> String {
    format!("{}{chunk:05}.avro", logs(hour))
}

/// Times in manifests have milliseconds.
fn millis(time: Timestamp) -> String {
    format!("{}Z", &time.to_iso()[..23])
}

pub fn segments_json(last: Timestamp, now: Timestamp) -> String {
    format!(
        r#"{{"version":0,"lastConsumable":"{}","storageDiagnostics":{{"version":0,"lastModifiedTime":"{}","data":{{"aid":"{}"}}}}}}"#,
        millis(last),
        millis(now),
        guid(now.ticks().into()),
    )
}

pub fn segment_json(hour: Timestamp, finalized: bool, now: Timestamp) -> String {
    let empty = hour == FIRST;
    let paths = if empty { String::new() } else { format!("\"{CONTAINER}/{}\"", logs(hour)) };
    format!(
        r#"{{"version":0,"begin":"{}","intervalSecs":{},"status":"{}","config":{{"version":0,"configVersionEtag":"0x8d698f0fba563db","numShards":1,"recordsFormat":"avro","formatSchemaVersion":5,"shardDistFnVersion":1}},"chunkFilePaths":[{paths}],"storageDiagnostics":{{"version":0,"lastModifiedTime":"{}","data":{{"aid":"{}"}}}}}}"#,
        millis(hour),
        if empty { 0 } else { 3600 },
        if finalized { "Finalized" } else { "Publishing" },
        millis(now),
        guid(now.ticks().into()),
    )
}

/// What is appended to the log of this name: notes with the name of their blob and their place in the order, as one block.
pub fn log_part(name: &str, begins: bool, notes: &[(NoteAt, Noted)]) -> Vec<u8> {
    let sync: avro::Sync = md5::Md5::digest(name).into();
    let mut records = Vec::new();
    notes.iter().for_each(|(place, noted)| event(&mut records, place, noted));
    let mut out = if begins { avro::header(SCHEMA, &sync) } else { Vec::new() };
    out.extend(avro::block(notes.len() as u64, &records, &sync));
    out
}

/// The key of a note, taken apart.
pub struct NoteAt {
    pub blob: String,
    /// The whole key: no other note has it.
    pub key: Vec<u8>,
}

impl NoteAt {
    fn id(&self) -> u128 {
        u128::from_be_bytes(md5::Md5::digest(&self.key).into())
    }
}

fn event(out: &mut Vec<u8>, place: &NoteAt, noted: &Noted) {
    let event = &noted.event;
    let text = |out: &mut Vec<u8>, text: &str| bytes(out, text.as_bytes());
    let (account, container) = (noted.account.as_str(), noted.container.as_str());
    long(out, 5);
    let nowhere = guid(0);
    let group = format!("/subscriptions/{nowhere}/resourceGroups/lazuli");
    text(out, &format!("{group}/providers/Microsoft.Storage/storageAccounts/{account}"));
    text(out, &format!("/blobServices/default/containers/{container}/blobs/{}", place.blob));
    text(out, event.kind.name());
    text(out, &event.time.to_iso());
    text(out, &guid(place.id()));
    text(out, &event.cause.api);
    text(out, &event.cause.client_request);
    text(out, &guid(event.cause.request));
    text(out, bare(event.etag).as_str());
    text(out, &event.content_type);
    long(out, event.length);
    text(out, kind(event.blob_type));
    optional(out, event.version, |out, version| text(out, &version.to_iso()));
    optional(out, Some("0000000000000001"), text);
    optional(out, event.tier, |out, tier| text(out, tier.name()));
    text(out, ""); // "The url property of the log file is currently always empty."
    text(out, &format!("{:032x}{:016x}", event.time.ticks(), order(place)));
    let pairs = |out: &mut Vec<u8>, pairs: &[(String, String)]| {
        map(out, pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())), text);
    };
    optional(out, filled(&event.previous), pairs);
    optional(out, event.snapshot, |out, time| text(out, &time.to_iso()));
    optional(out, filled(&event.properties), |out, changes| {
        let changes = changes.iter().map(|(name, current, previous)| (name.as_str(), (current, previous)));
        map(out, changes, |out, (current, previous)| {
            text(out, current);
            text(out, previous);
        });
    });
    optional(out, filled(&event.pending), pairs);
    let tags = |out: &mut Vec<u8>, tags: &Tags| map(out, tags.iter().collect::<Vec<_>>().into_iter(), text);
    optional(out, event.tags.as_ref(), |out, (previous, current)| {
        tags(out, previous);
        tags(out, current);
    });
}

/// Of several notes of one transaction, which comes first.
fn order(place: &NoteAt) -> u8 {
    place.key.len().checked_sub(9).map_or(0, |at| place.key[at])
}

fn filled<T>(items: &[T]) -> Option<&[T]> {
    (!items.is_empty()).then_some(items)
}

/// Without the quotes, as events have it.
fn bare(etag: ETag) -> String {
    etag.to_string().trim_matches('"').to_owned()
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Block => "BlockBlob",
        Kind::Page { .. } => "PageBlob",
        Kind::Append { .. } => "AppendBlob",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_hour() {
        let hour = Timestamp::parse_iso("2026-11-16T02:00:00Z").unwrap();
        assert_eq!(segment(hour), "idx/segments/2026/11/16/0200/meta.json");
        assert_eq!(log(hour, 3), "log/00/2026/11/16/0200/00003.avro");
        assert_eq!(segment(FIRST), FIRST_SEGMENT);
        let json = segments_json(hour, hour);
        assert!(json.starts_with(r#"{"version":0,"lastConsumable":"2026-11-16T02:00:00.000Z","#), "{json}");
        assert!(segment_json(FIRST, true, hour).contains(r#""chunkFilePaths":[]"#));
        let open = segment_json(hour, false, hour);
        assert!(
            open.contains(r#""status":"Publishing""#) && open.contains("$blobchangefeed/log/00/2026/11/16/0200/\"")
        );
    }
}
