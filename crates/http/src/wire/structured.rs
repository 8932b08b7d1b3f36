//! Structured messages, `XSM/1.0; properties=crc64`: content cut into segments, each with its CRC64, and one CRC64 over
//! all of it at the end. Both ways stream; what is held between chunks is at most one header.
//!
//! ```text
//! message   01 | u64 length of the message | u16 flags (1: CRC64) | u16 number of segments
//! segment   u16 number, from 1 | u64 length | content | CRC64 of the content
//! trailer   CRC64 of all content
//! ```
//! Integers are little-endian.

use bytes::{Buf, Bytes, BytesMut};
use crc_fast::{CrcAlgorithm, Digest};
use lazuli_model::Refusal;

use super::digest::crc64_text;

/// What `x-ms-structured-body` must say.
pub const FORM: &str = "XSM/1.0; properties=crc64";

const HEADER: usize = 13;
const SEGMENT_HEADER: usize = 10;
const CRC: usize = 8;
const VERSION: u8 = 1;
const FLAG_CRC64: u16 = 1;
/// Smallest segment of an answer, as the clients have it; larger when there would be more than a u16 can number.
const SEGMENT: u64 = 4 << 20;

/// Whether a header's value names the one form there is. Blanks around the parts do not matter.
pub fn is_known_form(text: &str) -> bool {
    text.split_once(';').is_some_and(|(name, properties)| {
        name.trim().eq_ignore_ascii_case("XSM/1.0") && properties.trim().eq_ignore_ascii_case("properties=crc64")
    })
}

fn broken(reason: &'static str) -> Refusal {
    Refusal::InvalidInput { reason: reason.into() }
}

fn crc64() -> Digest {
    Digest::new(CrcAlgorithm::Crc64Nvme)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Header,
    SegmentHeader,
    Content { left: u64 },
    SegmentCrc,
    Trailer,
    End,
}

impl Part {
    /// Inside a segment with `left` bytes to come, or behind it.
    fn within(left: u64) -> Self {
        if left == 0 { Part::SegmentCrc } else { Part::Content { left } }
    }

    /// How many bytes it has, if they must be together to be read.
    fn fixed(self) -> usize {
        match self {
            Part::Header => HEADER,
            Part::SegmentHeader => SEGMENT_HEADER,
            Part::SegmentCrc | Part::Trailer => CRC,
            Part::Content { .. } | Part::End => 0,
        }
    }
}

/// Takes a structured message apart while it arrives.
pub struct Decoder {
    part: Part,
    /// Bytes of a fixed part that has not arrived whole.
    held: BytesMut,
    segments: u16,
    segment: u16,
    /// Content that is still to come, by the client's own count.
    content_left: u64,
    message_left: u64,
    segment_crc: Digest,
    all_crc: Digest,
}

impl Decoder {
    /// `content_length` is `x-ms-structured-content-length`.
    pub fn new(content_length: u64) -> Self {
        Self {
            part: Part::Header,
            held: BytesMut::with_capacity(HEADER),
            segments: 0,
            segment: 0,
            content_left: content_length,
            message_left: u64::MAX,
            segment_crc: crc64(),
            all_crc: crc64(),
        }
    }

    /// Content found in `chunk` goes to `out`, without being copied.
    pub fn push(&mut self, mut chunk: Bytes, out: &mut Vec<Bytes>) -> Result<(), Refusal> {
        while !chunk.is_empty() {
            match self.part {
                Part::End => return Err(broken("The structured message goes on after its end.")),
                Part::Content { left } => {
                    let take = usize::try_from(left).unwrap_or(usize::MAX).min(chunk.len());
                    self.content(chunk.split_to(take), left, out)?;
                }
                Part::Header | Part::SegmentHeader | Part::SegmentCrc | Part::Trailer => self.hold(&mut chunk)?,
            }
        }
        Ok(())
    }

    /// After the last chunk: the message must be whole. Gives the CRC64 of the content.
    pub fn finish(self) -> Result<u64, Refusal> {
        match self.part {
            Part::End if self.message_left > 0 => Err(broken("The structured message is shorter than it says.")),
            Part::End if self.content_left == 0 => Ok(self.all_crc.finalize()),
            Part::End => {
                Err(broken("The structured message has less content than x-ms-structured-content-length says."))
            }
            Part::Header | Part::SegmentHeader | Part::Content { .. } | Part::SegmentCrc | Part::Trailer => {
                Err(broken("The structured message ends too early."))
            }
        }
    }

    fn content(&mut self, piece: Bytes, left: u64, out: &mut Vec<Bytes>) -> Result<(), Refusal> {
        let length = piece.len() as u64;
        self.content_left = self.content_left.checked_sub(length).ok_or_else(|| {
            broken("The structured message has more content than x-ms-structured-content-length says.")
        })?;
        self.spend(length)?;
        self.segment_crc.update(&piece);
        self.all_crc.update(&piece);
        self.part = Part::within(left - length);
        out.push(piece);
        Ok(())
    }

    fn hold(&mut self, chunk: &mut Bytes) -> Result<(), Refusal> {
        let missing = self.part.fixed() - self.held.len();
        let taken = chunk.split_to(missing.min(chunk.len()));
        self.held.extend_from_slice(&taken);
        if self.held.len() < self.part.fixed() {
            return Ok(());
        }
        let mut part = self.held.split();
        self.spend(part.len() as u64)?;
        match self.part {
            Part::Header => self.header(&mut part),
            Part::SegmentHeader => self.segment_header(&mut part),
            Part::SegmentCrc => {
                let server = self.segment_crc.finalize_reset();
                compare(part.get_u64_le(), server)?;
                self.part = self.after_segment();
                Ok(())
            }
            Part::Trailer => {
                compare(part.get_u64_le(), self.all_crc.finalize())?;
                self.part = Part::End;
                Ok(())
            }
            Part::Content { .. } | Part::End => Ok(()),
        }
    }

    fn header(&mut self, part: &mut BytesMut) -> Result<(), Refusal> {
        if part.get_u8() != VERSION {
            return Err(broken("The structured message is of an unknown version."));
        }
        let length = part.get_u64_le();
        let flags = part.get_u16_le();
        if flags != FLAG_CRC64 {
            return Err(broken("The structured message's flags must say that it has CRC64, and nothing else."));
        }
        self.message_left =
            length.checked_sub(HEADER as u64).ok_or_else(|| broken("The structured message's length is too small."))?;
        self.segments = part.get_u16_le();
        self.part = if self.segments == 0 { Part::Trailer } else { Part::SegmentHeader };
        Ok(())
    }

    fn segment_header(&mut self, part: &mut BytesMut) -> Result<(), Refusal> {
        self.segment = self.segment.saturating_add(1);
        if part.get_u16_le() != self.segment {
            return Err(broken("The segments of the structured message are not in order."));
        }
        let left = part.get_u64_le();
        if left > self.content_left {
            return Err(broken("The structured message has more content than x-ms-structured-content-length says."));
        }
        self.part = Part::within(left);
        Ok(())
    }

    fn after_segment(&self) -> Part {
        if self.segment == self.segments { Part::Trailer } else { Part::SegmentHeader }
    }

    fn spend(&mut self, bytes: u64) -> Result<(), Refusal> {
        self.message_left = self
            .message_left
            .checked_sub(bytes)
            .ok_or_else(|| broken("The structured message is longer than it says."))?;
        Ok(())
    }
}

fn compare(user: u64, server: u64) -> Result<(), Refusal> {
    if user == server {
        return Ok(());
    }
    Err(Refusal::Crc64Mismatch { user: crc64_text(user), server: crc64_text(server) })
}

/// Frames content as a structured message, for answers.
pub struct Encoder {
    segment_length: u64,
    segments: u16,
    segment: u16,
    left: u64,
    segment_left: u64,
    segment_crc: Digest,
    all_crc: Digest,
    message_length: u64,
    started: bool,
}

impl Encoder {
    pub fn new(content_length: u64) -> Self {
        Self::with_segments(content_length, SEGMENT.max(content_length.div_ceil(u64::from(u16::MAX))))
    }

    fn with_segments(content_length: u64, segment_length: u64) -> Self {
        // Content that is empty still has one, empty, segment: the Python client's own encoder says so.
        let segments = content_length.div_ceil(segment_length).max(1);
        let frames = HEADER as u64 + segments * (SEGMENT_HEADER + CRC) as u64 + CRC as u64;
        Self {
            segment_length,
            segments: u16::try_from(segments).unwrap_or(u16::MAX),
            segment: 0,
            left: content_length,
            segment_left: 0,
            segment_crc: crc64(),
            all_crc: crc64(),
            message_length: content_length.saturating_add(frames),
            started: false,
        }
    }

    /// `Content-Length` of the answer.
    pub fn message_length(&self) -> u64 {
        self.message_length
    }

    /// The message's bytes for the next piece of content. The pieces together must be as long as was said; what
    /// is more is dropped.
    pub fn push(&mut self, mut content: Bytes, out: &mut Vec<Bytes>) {
        self.begin(out);
        while !content.is_empty() && self.left > 0 {
            let room = usize::try_from(self.segment_left).unwrap_or(usize::MAX);
            let piece = content.split_to(room.min(content.len()));
            self.segment_crc.update(&piece);
            self.all_crc.update(&piece);
            self.left -= piece.len() as u64;
            self.segment_left -= piece.len() as u64;
            out.push(piece);
            if self.segment_left == 0 {
                self.close_segment(out);
            }
        }
    }

    /// Only for content that is empty, which no `push` announces.
    pub fn empty(&mut self, out: &mut Vec<Bytes>) {
        self.begin(out);
    }

    fn begin(&mut self, out: &mut Vec<Bytes>) {
        if self.started {
            return;
        }
        self.started = true;
        let mut header = Vec::with_capacity(HEADER + SEGMENT_HEADER);
        header.push(VERSION);
        header.extend_from_slice(&self.message_length.to_le_bytes());
        header.extend_from_slice(&FLAG_CRC64.to_le_bytes());
        header.extend_from_slice(&self.segments.to_le_bytes());
        self.open_segment(&mut header);
        out.push(Bytes::from(header));
        if self.left == 0 {
            self.close_segment(out);
        }
    }

    fn open_segment(&mut self, frame: &mut Vec<u8>) {
        self.segment += 1;
        self.segment_left = self.segment_length.min(self.left);
        frame.extend_from_slice(&self.segment.to_le_bytes());
        frame.extend_from_slice(&self.segment_left.to_le_bytes());
    }

    fn close_segment(&mut self, out: &mut Vec<Bytes>) {
        let mut frame = Vec::with_capacity(CRC + SEGMENT_HEADER);
        frame.extend_from_slice(&self.segment_crc.finalize_reset().to_le_bytes());
        if self.left > 0 {
            self.open_segment(&mut frame);
        } else {
            frame.extend_from_slice(&self.all_crc.finalize().to_le_bytes());
        }
        out.push(Bytes::from(frame));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::noise::{Noise, survive};

    fn encode(content: &[u8], segment: u64, step: usize) -> Vec<u8> {
        let mut encoder = Encoder::with_segments(content.len() as u64, segment);
        let mut out = Vec::new();
        for piece in content.chunks(step) {
            encoder.push(Bytes::copy_from_slice(piece), &mut out);
        }
        if content.is_empty() {
            encoder.empty(&mut out);
        }
        let message = out.concat();
        assert_eq!(message.len() as u64, encoder.message_length());
        message
    }

    fn decode(message: &[u8], content_length: u64, step: usize) -> Result<(Vec<u8>, u64), Refusal> {
        let mut decoder = Decoder::new(content_length);
        let mut out = Vec::new();
        for piece in message.chunks(step) {
            decoder.push(Bytes::copy_from_slice(piece), &mut out)?;
        }
        Ok((out.concat(), decoder.finish()?))
    }

    /// Made with `StructuredMessageEncodeStream` of azure-storage-blob 12.31.1: content, segment length, message.
    const MADE_BY_PYTHON: &[(&[u8], u64, &str)] = &[
        (b"hello", 4194304, "012c00000000000000010001000100050000000000000068656c6c6f57425206708577335742520670857733"),
        (b"", 4194304, "012700000000000000010001000100000000000000000000000000000000000000000000000000"),
        (
            b"0123456789abcdefghijklmno",
            10,
            "0164000000000000000100030001000a00000000000000303132333435363738391d9cfd4ceeb1f91502000a000000000000006162636465666768696aeaff10b5ea73f57b030005000000000000006b6c6d6e6fe88622750aaf97ee908880c4004328eb",
        ),
        (
            b"0123456789",
            5,
            "01430000000000000001000200010005000000000000003031323334e2b99221c66797da02000500000000000000353637383967e66c1787c87df81d9cfd4ceeb1f915",
        ),
    ];

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hex")).collect()
    }

    #[test]
    fn both_ways_agree_with_the_python_client() {
        for (content, segment, message) in MADE_BY_PYTHON {
            let message = hex(message);
            for step in [1, 3, 64] {
                assert_eq!(encode(content, *segment, step), message);
                let (decoded, crc) = decode(&message, content.len() as u64, step).expect("a good message");
                assert_eq!((decoded.as_slice(), crc), (*content, crc_fast::crc64_nvme(content)));
            }
        }
    }

    #[test]
    fn every_flipped_byte_is_noticed() {
        let message = encode(b"content of three segments", 10, 7);
        for at in 0..message.len() {
            let mut spoilt = message.clone();
            spoilt[at] ^= 0x40;
            assert!(decode(&spoilt, 25, 9).is_err(), "byte {at}");
        }
    }

    #[test]
    fn lengths_must_agree() {
        let message = encode(b"hello", 10, 5);
        assert!(decode(&message, 5, 5).is_ok());
        assert!(decode(&message, 4, 5).is_err());
        assert!(decode(&message, 6, 5).is_err());
        assert!(decode(&message[..message.len() - 1], 5, 5).is_err());
        assert!(decode(&[message.as_slice(), b"x"].concat(), 5, 5).is_err());
    }

    #[test]
    fn segments_stay_countable() {
        let encoder = Encoder::new(u64::from(u16::MAX) * SEGMENT + 1);
        assert!(encoder.segments > 60_000 && encoder.segment_length > SEGMENT);
    }

    #[test]
    fn the_form_is_recognized() {
        for (text, known) in [
            (FORM, true),
            ("xsm/1.0;properties=CRC64", true),
            ("XSM/1.0", false),
            ("XSM/2.0; properties=crc64", false),
            ("", false),
        ] {
            assert_eq!(is_known_form(text), known, "{text}");
        }
    }

    #[test]
    fn nonsense_does_not_panic() {
        let message = encode(b"content of three segments", 10, 7);
        survive(&[&message], |bytes| drop(decode(bytes, 25, 11)));
        let mut noise = Noise::new(3);
        for _ in 0..500 {
            let content: Vec<u8> = (0..noise.below(200)).map(|_| noise.below(256) as u8).collect();
            let (segment, step) = (1 + noise.below(50) as u64, 1 + noise.below(30));
            let message = encode(&content, segment, step);
            assert_eq!(decode(&message, content.len() as u64, 1 + noise.below(30)).map(|it| it.0), Ok(content));
        }
    }
}
