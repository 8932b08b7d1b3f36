//! AES-256-GCM in segments. A body is cut into segments of 65,520 bytes, the last of which may be shorter; each is stored with its tag of
//! 16 bytes behind it, so that a full one takes 64 KiB and pieces, which are cut at multiples of that, hold whole segments.
//!
//! Held true:
//! * Each body has a key of its own, derived (HKDF-SHA256) from the customer's by the body's nonce. So a segment opens in no other body.
//! * A segment's nonce is its number, and whether it is the last: it opens at no other place of its body, and a body that was
//!   cut short does not open at its new end. No number is used twice under one derived key, since a body is encrypted once.
//! * Nothing of a segment is given out before its tag was verified.

use std::ops;

use bytes::{Bytes, BytesMut};
use crc_fast::CrcAlgorithm;
use lazuli_engine::content::Chunks;
use lazuli_engine::{BoxFuture, Fault};
use ring::{aead, hkdf};

use super::{Cipher, CustomerKey, Lock, Nonce};

/// What a full segment takes where it is stored.
pub(crate) const SEGMENT: u64 = 64 << 10;
const TAG: u64 = 16;
/// What it holds.
pub(super) const SENT: u64 = SEGMENT - TAG;
const PURPOSE: &[&[u8]] = &[b"lazuli content in segments"];

/// How many bytes a body of `length` takes.
pub(super) const fn stored_length(length: u64) -> u64 {
    length + TAG * length.div_ceil(SENT)
}

/// How many bytes `stored` ones, from the beginning of a segment on, were.
pub(super) const fn sent_length(stored: u64) -> u64 {
    stored.saturating_sub(TAG * stored.div_ceil(SEGMENT))
}

fn derived(key: &CustomerKey, nonce: Nonce) -> aead::LessSafeKey {
    let secret = hkdf::Salt::new(hkdf::HKDF_SHA256, &nonce.0).extract(&key.key);
    let body = secret.expand(PURPOSE, &aead::AES_256_GCM).expect("HKDF gives more than a key's bytes");
    aead::LessSafeKey::new(body.into())
}

/// `zeros (3) | last (1) | number (8)`
fn number(number: u64, last: bool) -> aead::Nonce {
    let mut bytes = [0; aead::NONCE_LEN];
    bytes[3] = u8::from(last);
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    aead::Nonce::assume_unique_for_key(bytes)
}

/// A body on its way in.
pub(crate) struct Sealing {
    nonce: Nonce,
    key: aead::LessSafeKey,
    /// The next segment's number.
    next: u64,
    /// Bytes that may be the last of the body: at most one segment's.
    held_back: BytesMut,
    crc64: crc_fast::Digest,
}

impl Sealing {
    pub fn new(lock: Lock) -> Self {
        let key = derived(&lock.key, lock.nonce);
        let crc64 = crc_fast::Digest::new(CrcAlgorithm::Crc64Nvme);
        Self { nonce: lock.nonce, key, next: 0, held_back: BytesMut::new(), crc64 }
    }

    pub fn cipher(&self) -> Cipher {
        Cipher::Segments(self.nonce)
    }

    /// Takes in the next bytes of the body, and gives those segments that are certainly not its last.
    pub fn seal(&mut self, mut bytes: Bytes) -> Bytes {
        self.crc64.update(&bytes);
        let whole = (self.held_back.len() + bytes.len()).saturating_sub(1) / SENT as usize;
        let mut sealed = BytesMut::with_capacity(whole * SEGMENT as usize);
        for _ in 0..whole {
            let start = sealed.len();
            sealed.extend_from_slice(&self.held_back);
            self.held_back.clear();
            let rest = SENT as usize - (sealed.len() - start);
            sealed.extend_from_slice(&bytes.split_to(rest));
            self.close(&mut sealed, start, false);
        }
        self.held_back.extend_from_slice(&bytes);
        sealed.freeze()
    }

    /// The last segment, and the CRC64 of what the client sent. A body without bytes has no segment.
    pub fn finish(mut self) -> (Bytes, u64) {
        let mut last = std::mem::take(&mut self.held_back);
        if !last.is_empty() {
            self.close(&mut last, 0, true);
        }
        (last.freeze(), self.crc64.finalize())
    }

    /// Encrypts what is in `bytes` from `start` on, and puts the tag behind it.
    fn close(&mut self, bytes: &mut BytesMut, start: usize, last: bool) {
        let nonce = number(self.next, last);
        let tag = self.key.seal_in_place_separate_tag(nonce, aead::Aad::empty(), &mut bytes[start..]);
        bytes.extend_from_slice(tag.expect("a segment is shorter than GCM's limit").as_ref());
        self.next += 1;
    }
}

/// A range of a body within one place, in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    /// The first segment to open, in the body and in the place.
    first: u64,
    within: u64,
    /// Of the whole body.
    segments: u64,
    length: u64,
    /// What of the opened bytes is not wanted, and how many are.
    skip: u64,
    left: u64,
}

impl Range {
    /// `from..to` of a place that holds its body, of `length` bytes, from `at` on.
    pub fn of(at: u64, length: u64, from: u64, to: u64) -> Result<Self, Fault> {
        if !at.is_multiple_of(SENT) || from > to || at.checked_add(to).is_none_or(|end| end > length) {
            return Err(Fault::Corrupt("a record names bytes that its body does not have".into()));
        }
        let (within, skip) = (from / SENT, from % SENT);
        Ok(Self { first: at / SENT + within, within, segments: length.div_ceil(SENT), length, skip, left: to - from })
    }

    /// What has to be read for it, of a place that takes `stored` bytes.
    pub fn stored(&self, stored: u64) -> ops::Range<u64> {
        let start = self.within * SEGMENT;
        let end = start + (self.skip + self.left).div_ceil(SENT) * SEGMENT;
        let end = if self.left == 0 { start } else { end.min(stored).max(start) };
        start..end
    }

    /// How many bytes segment `number` takes.
    fn stored_segment(&self, number: u64) -> usize {
        let before = number * SENT;
        (self.length.saturating_sub(before).min(SENT) + TAG) as usize
    }

    /// Out of bytes that are all here.
    pub fn open(self, key: &CustomerKey, nonce: Nonce, stored: Bytes) -> Result<Bytes, Fault> {
        let mut opening = Opener { key: derived(key, nonce), range: self, next: self.first };
        let mut bytes = BytesMut::from(&stored[..]);
        let opened = opening.open(&mut bytes)?;
        if opening.range.left > 0 {
            return Err(ends_early());
        }
        Ok(opened)
    }
}

fn ends_early() -> Fault {
    Fault::Corrupt("encrypted content ends before its record says".into())
}

struct Opener {
    key: aead::LessSafeKey,
    range: Range,
    /// The number of the next segment.
    next: u64,
}

impl Opener {
    /// Takes whole segments off `bytes`, and gives what is wanted of them; nothing if there is no whole one.
    fn open(&mut self, bytes: &mut BytesMut) -> Result<Bytes, Fault> {
        let (mut ends, mut end) = (Vec::new(), 0);
        let mut number = self.next;
        while number < self.range.segments && end + self.range.stored_segment(number) <= bytes.len() {
            end += self.range.stored_segment(number);
            ends.push(end);
            number += 1;
        }
        let mut segments = bytes.split_to(end);
        let (mut from, mut opened) = (0, 0);
        for end in ends {
            // Moved over the tags of those before, so that what was opened is in one piece.
            opened += self.open_one(&mut segments[opened..end], from - opened)?;
            from = end;
        }
        segments.truncate(opened);
        Ok(self.wanted(segments.freeze()))
    }

    fn open_one(&mut self, bytes: &mut [u8], from: usize) -> Result<usize, Fault> {
        let nonce = number(self.next, self.next + 1 == self.range.segments);
        let opened = self.key.open_within(nonce, aead::Aad::empty(), bytes, from..);
        let opened = opened.map_err(|_| {
            Fault::Corrupt(format!("segment {} of an encrypted body is not what was written there", self.next))
        })?;
        self.next += 1;
        Ok(opened.len())
    }

    fn wanted(&mut self, opened: Bytes) -> Bytes {
        let from = self.range.skip.min(opened.len() as u64);
        let to = (from + self.range.left).min(opened.len() as u64);
        self.range.skip -= from;
        self.range.left -= to - from;
        opened.slice(from as usize..to as usize)
    }
}

/// A piece on its way out. Holds less than a segment besides the chunk that it opens.
pub(super) struct Opening {
    opener: Opener,
    stored: Box<dyn Chunks>,
    /// The beginning of a segment.
    begun: BytesMut,
}

impl Opening {
    pub fn new(key: &CustomerKey, nonce: Nonce, range: Range, stored: Box<dyn Chunks>) -> Self {
        let opener = Opener { key: derived(key, nonce), range, next: range.first };
        Self { opener, stored, begun: BytesMut::new() }
    }

    async fn step(&mut self) -> Result<Option<Bytes>, Fault> {
        while self.opener.range.left > 0 {
            let bytes = self.stored.next().await?.ok_or_else(ends_early)?;
            match bytes.try_into_mut() {
                Ok(own) if self.begun.is_empty() => self.begun = own,
                Ok(own) => self.begun.extend_from_slice(&own),
                Err(shared) => self.begun.extend_from_slice(&shared),
            }
            let opened = self.opener.open(&mut self.begun)?;
            if !opened.is_empty() {
                return Ok(Some(opened));
            }
        }
        Ok(None)
    }
}

impl Chunks for Opening {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Fault>> {
        Box::pin(self.step())
    }
}
