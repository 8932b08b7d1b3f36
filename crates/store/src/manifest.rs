//! A content's manifest: what its bytes are made of, cut into chunks that a range can find without a scan.

use bytes::Bytes;
use lazuli_engine::{Fault, Txn};
use lazuli_model::blob::ContentRef;

use crate::crypt::Cipher;
use crate::keys::BlobKeys;
use crate::records::{Chunk, Entry, Place, decode_with_tail, encode_with_tail};
use crate::upload::Body;

/// Bounds of a chunk, so that reading one costs little whatever the blob.
const ENTRIES_MAX: usize = 1000;
const BYTES_MAX: usize = 64 << 10;

/// Chunks, encoded, by the offset at which each begins.
#[derive(Debug, Default)]
pub(crate) struct Manifest {
    pub chunks: Vec<(u64, Bytes)>,
    pub length: u64,
    pub blocks: u32,
}

impl Manifest {
    /// Of a body put in one piece.
    pub fn of_body(body: &Body, length: u64, cipher: Cipher) -> Self {
        if length == 0 {
            return Self::default();
        }
        let (place, tail) = body.place();
        let chunk = Chunk { entries: vec![Entry { id: None, length, holds: true, place, cipher }] };
        Self { chunks: vec![(0, encode_with_tail(&chunk, &[tail]))], length, blocks: 0 }
    }

    pub fn of_blocks(blocks: impl IntoIterator<Item = (Entry, Bytes)>) -> Self {
        let mut manifest = Self::default();
        let (mut chunk, mut tail, mut start, mut size) = (Chunk::default(), Vec::new(), 0, 0);
        for (entry, inline) in blocks {
            if chunk.entries.len() == ENTRIES_MAX || size >= BYTES_MAX {
                manifest.chunks.push((start, encode_with_tail(&chunk, &tail)));
                chunk.entries.clear();
                tail.clear();
                (start, size) = (manifest.length, 0);
            }
            manifest.length += entry.length;
            manifest.blocks += 1;
            size += encoded_size(&entry) + inline.len();
            chunk.entries.push(entry);
            tail.push(inline);
        }
        if !chunk.entries.is_empty() {
            manifest.chunks.push((start, encode_with_tail(&chunk, &tail)));
        }
        manifest
    }

    /// The content that this manifest is of, once a transaction at `stamp` has written it.
    pub fn content(&self, stamp: u64) -> ContentRef {
        assert!(
            self.chunks.first().is_none_or(|(start, _)| *start == 0),
            "the first chunk begins where the content does"
        );
        debug_assert!(self.chunks.is_sorted_by(|one, next| one.0 < next.0), "chunks are in order, and none is empty");
        ContentRef {
            id: if self.chunks.is_empty() { 0 } else { stamp },
            length: self.length,
            starts: self.chunks.iter().map(|(start, _)| *start).collect(),
            blocks: self.blocks,
            epoch: 0,
        }
    }

    pub fn write(&self, txn: &mut Txn<'_>, keys: &BlobKeys, content: &ContentRef) {
        assert_eq!(content.length, self.length, "a record says how long its manifest is");
        assert_eq!(content.starts.len(), self.chunks.len(), "a record names all chunks of its manifest");
        for (start, bytes) in &self.chunks {
            txn.put(keys.chunk(content.id, *start), bytes.clone());
        }
    }
}

/// An upper bound that is near enough: varints of at most ten bytes, ids of at most 64.
fn encoded_size(entry: &Entry) -> usize {
    33 + entry.id.as_ref().map_or(0, |id| id.as_bytes().len()) + entry.place.runs().len() * 32
}

/// A chunk as it was read.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub start: u64,
    pub parts: Vec<Part>,
}

#[derive(Debug)]
pub(crate) struct Part {
    /// Where in the content this entry begins.
    pub start: u64,
    pub entry: Entry,
    /// Empty unless the entry is inline.
    pub inline: Bytes,
}

impl Loaded {
    pub fn decode(start: u64, bytes: &Bytes) -> Result<Self, Fault> {
        let (chunk, mut tail) = decode_with_tail::<Chunk>(bytes)?;
        let mut next = start;
        let mut parts = Vec::with_capacity(chunk.entries.len());
        for entry in chunk.entries {
            let inline = match entry.place {
                Place::Inline => {
                    let stored = entry.cipher.stored_length(entry.length);
                    if stored > tail.len() as u64 {
                        return Err(Fault::Corrupt("a chunk has fewer inline bytes than it says".into()));
                    }
                    tail.split_to(stored as usize)
                }
                Place::Pieces(_) => Bytes::new(),
            };
            let begins = next;
            let end = next.checked_add(entry.length);
            next = end.ok_or_else(|| Fault::Corrupt("a chunk is longer than any content".into()))?;
            parts.push(Part { start: begins, entry, inline });
        }
        Ok(Self { start, parts })
    }

    /// Whether every byte is right here.
    pub fn is_inline(&self) -> bool {
        self.parts.iter().all(|part| part.entry.place == Place::Inline)
    }

    /// The entry that has the byte at `offset`.
    pub fn part_at(&self, offset: u64) -> Option<&Part> {
        let after = self.parts.partition_point(|part| part.start <= offset);
        let part = self.parts.get(after.checked_sub(1)?)?;
        (offset < part.start + part.entry.length).then_some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(length: u64) -> (Entry, Bytes) {
        (
            Entry { id: None, length, holds: true, place: Place::Inline, cipher: Cipher::None },
            Bytes::from(vec![7; length as usize]),
        )
    }

    #[test]
    fn chunks_are_bounded_and_every_byte_is_found() {
        for (count, length, chunks) in
            [(0, 1, 0), (1, 1, 1), (1000, 1, 1), (1001, 1, 2), (2000, 1, 2), (10, 16 << 10, 3)]
        {
            let manifest = Manifest::of_blocks((0..count).map(|_| entry(length)));
            let content = manifest.content(9);
            assert_eq!((content.starts.len(), content.length, content.blocks), (chunks, count * length, count as u32));
            let mut end = 0;
            for (start, bytes) in &manifest.chunks {
                let loaded = Loaded::decode(*start, bytes).unwrap();
                assert_eq!(loaded.start, end);
                for part in &loaded.parts {
                    assert_eq!((part.start, part.inline.len() as u64), (end, length));
                    assert_eq!(loaded.part_at(end).map(|part| part.start), Some(end));
                    end += length;
                }
                assert!(loaded.part_at(end).is_none());
            }
            assert_eq!(end, content.length);
        }
    }
}
