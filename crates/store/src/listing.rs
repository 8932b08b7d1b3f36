//! Pages of containers and of blobs. The cost of a page follows what is on it, not what is stored.
//!
//! A marker is the position of the first entry that is not on the page. It is opaque to the client, and any text that comes back as a
//! marker is safe.

use lazuli_model::blob::{Blob, Deleted};
use lazuli_model::container::Container;
use lazuli_model::lake::Node;
use lazuli_model::{BlobName, ContainerName, Refusal, Timestamp};

#[derive(Clone, Debug, Default)]
pub struct ListContainers {
    pub prefix: String,
    /// What `ContainerPage::next` said.
    pub marker: Option<String>,
    /// 1..=5000.
    pub most: u32,
    /// System containers (`$logs`, `$web`…) too.
    pub system: bool,
    /// Those that were deleted softly too.
    pub deleted: bool,
}

#[derive(Clone, Debug)]
pub struct ContainerItem {
    pub name: ContainerName,
    pub container: Container,
    /// It was deleted softly, and can be restored.
    pub deleted: Option<Deleted>,
}

#[derive(Clone, Debug)]
pub struct ContainerPage {
    pub items: Vec<ContainerItem>,
    pub next: Option<String>,
}

/// What else a blob listing shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Include {
    pub snapshots: bool,
    pub uncommitted: bool,
    pub versions: bool,
    /// What was deleted softly: blobs and, if they are included, snapshots and versions.
    pub deleted: bool,
    /// Nothing that was not deleted softly.
    pub deleted_only: bool,
    /// Blobs of which only versions are left.
    pub versions_only: bool,
}

#[derive(Clone, Debug, Default)]
pub struct ListBlobs {
    pub prefix: String,
    /// Any non-empty string.
    pub delimiter: Option<String>,
    pub marker: Option<String>,
    /// Begin at this name (API 2026-02-06).
    pub start_from: Option<String>,
    /// End before this name (API 2026-10-06).
    pub end_before: Option<String>,
    /// 1..=5000.
    pub most: u32,
    pub include: Include,
}

#[derive(Clone, Debug)]
pub struct BlobItem {
    pub name: BlobName,
    pub snapshot: Option<Timestamp>,
    /// Nothing is committed under this name yet: only blocks. The blob then is an empty shell.
    pub uncommitted: bool,
    /// No blob is there any more, only versions; this is the newest.
    pub versions_only: bool,
    pub blob: Blob,
    /// Of a file system, what it is beside its record.
    pub node: Option<Box<Node>>,
    /// By what it can be brought back, if it was deleted from a file system.
    pub deletion: Option<u64>,
}

#[derive(Clone, Debug)]
pub enum Entry {
    Blob(Box<BlobItem>),
    Prefix(String),
    /// The same of a file system, where it is a directory.
    Directory(Box<BlobItem>),
}

#[derive(Clone, Debug)]
pub struct BlobPage {
    pub entries: Vec<Entry>,
    pub next: Option<String>,
}

/// Markers begin with this, so that a later form can be told from it.
const MARKER_VERSION: &str = "1!";

/// Longer than any position that we could have given out.
const MARKER_MAX: usize = 16 << 10;

pub(crate) fn encode_marker(position: &[u8]) -> String {
    let mut marker = String::with_capacity(MARKER_VERSION.len() + position.len() * 2);
    marker.push_str(MARKER_VERSION);
    for byte in position {
        marker.push(char::from(HEX[usize::from(byte >> 4)]));
        marker.push(char::from(HEX[usize::from(byte & 15)]));
    }
    marker
}

/// Any bytes are a position: the worst that a made-up marker can do is to begin somewhere else.
pub(crate) fn decode_marker(marker: &str) -> Result<Vec<u8>, Refusal> {
    let hex = marker.strip_prefix(MARKER_VERSION).filter(|hex| hex.len() <= MARKER_MAX && hex.len().is_multiple_of(2));
    let bytes =
        hex.and_then(|hex| hex.as_bytes().chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect());
    bytes.ok_or_else(|| Refusal::InvalidMarker { marker: marker.chars().take(256).collect() })
}

const HEX: &[u8; 16] = b"0123456789abcdef";

fn digit(character: u8) -> Option<u8> {
    HEX.iter().position(|digit| *digit == character).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_come_back_and_garbage_is_refused() {
        for position in [&b""[..], b"a", b"a\0\xff", "ü/\u{10ffff}".as_bytes()] {
            assert_eq!(decode_marker(&encode_marker(position)).unwrap(), position);
        }
        let long = format!("1!{}", "00".repeat(MARKER_MAX));
        for garbage in ["", "1", "1!0", "1!zz", "1!0G", "2!00", "blob.txt", "1!\u{fffd}", "ü", "1!üü", &long] {
            let refused = decode_marker(garbage);
            assert!(matches!(refused, Err(Refusal::InvalidMarker { .. })), "{garbage}: {refused:?}");
        }
    }
}
