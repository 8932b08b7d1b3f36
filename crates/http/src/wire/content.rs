//! Content on its way in: the body, taken out of its structured framing if it has one, held to its limit, and compared
//! with the digests that the client sent along.

use std::collections::VecDeque;

use bytes::Bytes;
use lazuli_store::{Broken, Reader, Received, Source};

use crate::answer::{Answer, name};
use crate::blob::encryption;
use crate::body::Upload;
use crate::head::Head;
use crate::refusal::{Denied, Failure, Refusal};
use crate::serve::Ask;
use crate::sources::Fetched;
use crate::versions::Since;
use crate::wire::digest::{Claimed, crc64_text, md5_text};
use crate::wire::range::Span;
use crate::wire::structured::{self, Decoder};

/// What an answer says about the bytes that arrived.
pub struct Digests {
    pub md5: Option<[u8; 16]>,
    pub crc64: u64,
    claimed: Claimed,
    pub structured: bool,
    /// Answered with the MD5 as if one had been sent.
    by_md5: bool,
}

/// Receives the body. `whole` is whether it is a whole blob: then its MD5 is kept, so it is always computed.
pub async fn take(ask: &mut Ask, limit: u64, whole: bool) -> Result<(Received, Digests), Failure> {
    let claimed = Claimed::read(&ask.head, whole)?;
    let structured = structured_length(&ask.head)?;
    let expected = structured.or(ask.body.expected());
    if expected.is_some_and(|length| length > limit) {
        return Err(Denied::RequestBodyTooLarge { limit }.into());
    }
    let told = ask.head.lacks(Since::Crc64) || !ask.settings.kind.tells_crc64_of_pages();
    let md5 = whole || claimed.transfer_md5.is_some() || told;
    let lock = encryption::lock(ask);
    let received = match structured {
        None => ask.store.receive_encrypted(&mut ask.body, expected, limit, md5, lock).await?,
        Some(length) => {
            let decoder = Some(Decoder::new(length));
            let mut source = Framed { body: &mut ask.body, decoder, pieces: Vec::new(), ready: VecDeque::new() };
            ask.store.receive_encrypted(&mut source, expected, limit, md5, lock).await?
        }
    };
    claimed.check(received.md5, received.crc64)?;
    let digests =
        Digests { md5: received.md5, crc64: received.crc64, claimed, structured: structured.is_some(), by_md5: false };
    Ok((received, digests))
}

/// Takes in a part of a source of a copy, checked as a body is.
pub async fn from_source(
    ask: &Ask,
    source: &mut Reader,
    span: Span,
    claimed: Claimed,
    md5: bool,
) -> Result<(Received, Digests), Failure> {
    let md5 = md5 || claimed.transfer_md5.is_some() || ask.head.lacks(Since::Crc64);
    let received = ask.store.receive_from(source, span.from, span.to, md5, encryption::lock(ask)).await?;
    claimed.check(received.md5, received.crc64)?;
    let digests = Digests { md5: received.md5, crc64: received.crc64, claimed, structured: false, by_md5: false };
    Ok((received, digests))
}

/// The same of a source whose bytes have to come in.
pub async fn streamed(
    ask: &Ask,
    source: &mut Fetched,
    most: u64,
    claimed: Claimed,
    md5: bool,
) -> Result<(Received, Digests), Failure> {
    let md5 = md5 || claimed.transfer_md5.is_some() || ask.head.lacks(Since::Crc64);
    let expected = source.length;
    let received = ask.store.receive_encrypted(source, expected, most, md5, encryption::lock(ask)).await?;
    claimed.check(received.md5, received.crc64)?;
    let digests = Digests { md5: received.md5, crc64: received.crc64, claimed, structured: false, by_md5: false };
    Ok((received, digests))
}

/// The same for a source whose bytes stay where they are. `md5` is whether the MD5 is wanted in any case.
pub async fn of_source(
    ask: &Ask,
    source: &mut Reader,
    span: Span,
    claimed: Claimed,
    md5: bool,
) -> Result<Digests, Failure> {
    let md5 = md5 || claimed.transfer_md5.is_some() || ask.head.lacks(Since::Crc64);
    let digested = ask.store.digest(source, span.from, span.to, md5).await?;
    claimed.check(digested.md5, digested.crc64)?;
    Ok(Digests { md5: digested.md5, crc64: digested.crc64, claimed, structured: false, by_md5: false })
}

/// The length of the content inside a structured message, if the body is one.
fn structured_length(head: &Head) -> Result<Option<u64>, Refusal> {
    if head.opt("x-ms-structured-body", |text| structured::is_known_form(text).then_some(()))?.is_none() {
        return Ok(None);
    }
    head.required("x-ms-structured-content-length", |text| text.parse().ok()).map(Some)
}

impl Digests {
    pub fn sent_md5(&self) -> Option<[u8; 16]> {
        self.claimed.transfer_md5
    }

    pub fn sent_crc64(&self) -> Option<u64> {
        self.claimed.crc64
    }

    /// Rule B4: appends and pages from a URL are answered with the MD5 if they are under a key or in a scope, or if their source was read by
    /// nobody in particular. Blocks are not, nor is what came in a body.
    pub fn by_md5(self, by_md5: bool) -> Self {
        Digests { by_md5, ..self }
    }

    /// Put Blob always returns both; other writes return the one that was asked for, or the CRC64. Rule B27: before there were CRC64s, all
    /// return the MD5.
    pub fn answer(&self, answer: Answer, head: &Head, whole: bool) -> Answer {
        let by_md5 = self.by_md5 || self.claimed.transfer_md5.is_some() || head.lacks(Since::Crc64);
        let md5 = self.md5.filter(|_| whole || by_md5);
        let crc64 = head.has(Since::Crc64) && (whole || md5.is_none() || head.has(Since::BothDigests));
        let answer = answer
            .optional(&name::CONTENT_MD5, md5.map(md5_text))
            .optional(&name::CONTENT_CRC64, crc64.then(|| crc64_text(self.crc64)));
        if self.structured { answer.constant(&name::STRUCTURED_BODY, structured::FORM) } else { answer }
    }
}

/// A structured body, read as the content inside it.
struct Framed<'a> {
    body: &'a mut Upload,
    /// Gone when the message has ended.
    decoder: Option<Decoder>,
    pieces: Vec<Bytes>,
    ready: VecDeque<Bytes>,
}

impl Framed<'_> {
    async fn piece(&mut self) -> Result<Option<Bytes>, Broken> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Ok(Some(piece));
            }
            let Some(decoder) = self.decoder.as_mut() else { return Ok(None) };
            match self.body.piece().await? {
                Some(nothing) if nothing.is_empty() => return Ok(Some(nothing)),
                Some(chunk) => {
                    decoder.push(chunk, &mut self.pieces).map_err(Broken::Refused)?;
                    self.ready.extend(self.pieces.drain(..));
                }
                None => {
                    if let Some(decoder) = self.decoder.take() {
                        decoder.finish().map_err(Broken::Refused)?;
                    }
                }
            }
        }
    }
}

impl Source for Framed<'_> {
    fn next(&mut self) -> std::pin::Pin<Box<dyn Future<Output = Result<Option<Bytes>, Broken>> + Send + '_>> {
        Box::pin(self.piece())
    }
}

/// The digests of a document: checked against what the client sent, and returned as for content.
pub fn document_digests(head: &Head, document: &[u8]) -> Result<Digests, Refusal> {
    use md5::Digest as _;
    let claimed = Claimed::read(head, false)?;
    let wanted = claimed.transfer_md5.is_some() || head.lacks(Since::Crc64);
    let md5 = wanted.then(|| md5::Md5::digest(document).into());
    let crc64 = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc64Nvme, document);
    claimed.check(md5, crc64)?;
    Ok(Digests { md5, crc64, claimed, structured: false, by_md5: false })
}
