//! What is said back: a status, headers and a body. Header names are parsed at compile time, constant values once, and
//! bodies of blobs stream from the store without being held.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http::header::HeaderName;
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body::{Body, Frame, SizeHint};
use hyper::ext::ReasonPhrase;
use lazuli_model::{ETag, Timestamp};
use lazuli_store::{Failure, FileReader, Reader};
use tokio::sync::mpsc;

use crate::wire::digest::{crc64_text, md5_text};
use crate::wire::range::RangeDigest;
use crate::wire::structured::{self, Encoder};

macro_rules! names {
    ($($name:ident = $text:literal;)*) => { $(pub static $name: HeaderName = HeaderName::from_static($text);)* };
}

/// The headers that answers carry.
#[rustfmt::skip]
pub mod name {
    use http::header::HeaderName;
    names! {
        ACCEPT_RANGES = "accept-ranges";
        ACL = "x-ms-acl";
        CONTINUATION = "x-ms-continuation";
        DELETION_ID = "x-ms-deletion-id";
        ENCRYPTION_CONTEXT = "x-ms-encryption-context";
        EXISTING_RESOURCE_TYPE = "x-ms-existing-resource-type";
        LEASE_RENEWED = "x-ms-lease-renewed";
        META_IS_FOLDER = "x-ms-meta-hdi_isfolder";
        NAMESPACE_ENABLED = "x-ms-namespace-enabled";
        PERMISSIONS = "x-ms-permissions";
        PROPERTIES = "x-ms-properties";
        RESOURCE_TYPE = "x-ms-resource-type";
        ACCESS_TIER = "x-ms-access-tier";
        ACCESS_TIER_CHANGE_TIME = "x-ms-access-tier-change-time";
        ACCESS_TIER_INFERRED = "x-ms-access-tier-inferred";
        ACCESS_TIER_TRANSITION_STATE = "x-ms-access-tier-transition-state";
        ARCHIVE_STATUS = "x-ms-archive-status";
        ACCOUNT_KIND = "x-ms-account-kind";
        APPROXIMATE_MESSAGES_COUNT = "x-ms-approximate-messages-count";
        BLOB_APPEND_OFFSET = "x-ms-blob-append-offset";
        BLOB_COMMITTED_BLOCK_COUNT = "x-ms-blob-committed-block-count";
        BLOB_CONTENT_LENGTH = "x-ms-blob-content-length";
        BLOB_CONTENT_MD5 = "x-ms-blob-content-md5";
        BLOB_PUBLIC_ACCESS = "x-ms-blob-public-access";
        BLOB_SEALED = "x-ms-blob-sealed";
        BLOB_SEQUENCE_NUMBER = "x-ms-blob-sequence-number";
        BLOB_TYPE = "x-ms-blob-type";
        CACHE_CONTROL = "cache-control";
        CLIENT_REQUEST_ID = "x-ms-client-request-id";
        CLIENT_TRANSACTION_ID = "x-ms-client-transaction-id";
        CONTENT_CRC64 = "x-ms-content-crc64";
        CONTENT_DISPOSITION = "content-disposition";
        CONTENT_ENCODING = "content-encoding";
        CONTENT_LANGUAGE = "content-language";
        CONTENT_LENGTH = "content-length";
        CONTENT_MD5 = "content-md5";
        CONTENT_RANGE = "content-range";
        CONTENT_TYPE = "content-type";
        COPY_COMPLETION_TIME = "x-ms-copy-completion-time";
        COPY_DESTINATION_SNAPSHOT = "x-ms-copy-destination-snapshot";
        COPY_ID = "x-ms-copy-id";
        COPY_PROGRESS = "x-ms-copy-progress";
        COPY_SOURCE = "x-ms-copy-source";
        COPY_SOURCE_ERROR_CODE = "x-ms-copy-source-error-code";
        COPY_SOURCE_STATUS_CODE = "x-ms-copy-source-status-code";
        COPY_STATUS = "x-ms-copy-status";
        COPY_STATUS_DESCRIPTION = "x-ms-copy-status-description";
        CONTENT_TYPE_OPTIONS = "x-content-type-options";
        CREATION_TIME = "x-ms-creation-time";
        DATA_SERVICE_ID = "dataserviceid";
        DATA_SERVICE_VERSION = "dataserviceversion";
        DEFAULT_ENCRYPTION_SCOPE = "x-ms-default-encryption-scope";
        DELETE_TYPE_PERMANENT = "x-ms-delete-type-permanent";
        DENY_ENCRYPTION_SCOPE_OVERRIDE = "x-ms-deny-encryption-scope-override";
        ENABLED_PROTOCOLS = "x-ms-enabled-protocols";
        ENCRYPTION_KEY_SHA256 = "x-ms-encryption-key-sha256";
        ENCRYPTION_SCOPE = "x-ms-encryption-scope";
        EXPIRY_TIME = "x-ms-expiry-time";
        OR_POLICY_ID = "x-ms-or-policy-id";
        ERROR_CODE = "x-ms-error-code";
        ETAG = "etag";
        FILE_ATTRIBUTES = "x-ms-file-attributes";
        FILE_CHANGE_TIME = "x-ms-file-change-time";
        FILE_CONTENT_LENGTH = "x-ms-content-length";
        FILE_CONTENT_MD5 = "x-ms-content-md5";
        FILE_CREATION_TIME = "x-ms-file-creation-time";
        FILE_FILE_TYPE = "x-ms-file-file-type";
        FILE_ID = "x-ms-file-id";
        FILE_LAST_WRITE_TIME = "x-ms-file-last-write-time";
        FILE_PARENT_ID = "x-ms-file-parent-id";
        FILE_PERMISSION_KEY = "x-ms-file-permission-key";
        GROUP = "x-ms-group";
        HANDLES_CLOSED = "x-ms-number-of-handles-closed";
        HANDLES_FAILED = "x-ms-number-of-handles-failed";
        HAS_IMMUTABILITY_POLICY = "x-ms-has-immutability-policy";
        HAS_LEGAL_HOLD = "x-ms-has-legal-hold";
        INCREMENTAL_COPY = "x-ms-incremental-copy";
        IMMUTABILITY_POLICY_MODE = "x-ms-immutability-policy-mode";
        IMMUTABILITY_POLICY_UNTIL = "x-ms-immutability-policy-until-date";
        IMMUTABLE_STORAGE_WITH_VERSIONING = "x-ms-immutable-storage-with-versioning-enabled";
        IS_CURRENT_VERSION = "x-ms-is-current-version";
        IS_HNS_ENABLED = "x-ms-is-hns-enabled";
        IS_SOFT_DELETED = "x-ms-is-soft-deleted";
        LAST_ACCESS_TIME = "x-ms-last-access-time";
        LAST_MODIFIED = "last-modified";
        LEASE_DURATION = "x-ms-lease-duration";
        LEASE_ID = "x-ms-lease-id";
        LEASE_STATE = "x-ms-lease-state";
        LEASE_STATUS = "x-ms-lease-status";
        LEGAL_HOLD = "x-ms-legal-hold";
        LEASE_TIME = "x-ms-lease-time";
        LINK_COUNT = "x-ms-link-count";
        LINK_TEXT = "x-ms-link-text";
        MARKER = "x-ms-marker";
        MODE = "x-ms-mode";
        OWNER = "x-ms-owner";
        PAID_BURSTING_ENABLED = "x-ms-share-paid-bursting-enabled";
        PAID_BURSTING_MAX_BANDWIDTH = "x-ms-share-paid-bursting-max-bandwidth-mibps";
        PAID_BURSTING_MAX_IOPS = "x-ms-share-paid-bursting-max-iops";
        LOCATION = "location";
        POP_RECEIPT = "x-ms-popreceipt";
        PREFERENCE_APPLIED = "preference-applied";
        REHYDRATE_PRIORITY = "x-ms-rehydrate-priority";
        REQUEST_ID = "x-ms-request-id";
        REQUEST_SERVER_ENCRYPTED = "x-ms-request-server-encrypted";
        ROOT_SQUASH = "x-ms-root-squash";
        SERVER = "server";
        SERVER_ENCRYPTED = "x-ms-server-encrypted";
        SHARE_PROVISIONED_BANDWIDTH = "x-ms-share-provisioned-bandwidth-mibps";
        SHARE_PROVISIONED_EGRESS = "x-ms-share-provisioned-egress-mbps";
        SHARE_PROVISIONED_INGRESS = "x-ms-share-provisioned-ingress-mbps";
        SHARE_PROVISIONED_IOPS = "x-ms-share-provisioned-iops";
        SHARE_QUOTA = "x-ms-share-quota";
        SHARE_QUOTA_DOWNGRADE_TIME = "x-ms-share-next-allowed-quota-downgrade-time";
        SKU_NAME = "x-ms-sku-name";
        SNAPSHOT = "x-ms-snapshot";
        SMB_DIRECTORY_LEASE = "x-ms-enable-smb-directory-lease";
        SNAPSHOT_DIRECTORY = "x-ms-enable-snapshot-virtual-directory-access";
        SHARE_BANDWIDTH_DOWNGRADE_TIME = "x-ms-share-next-allowed-provisioned-bandwidth-downgrade-time";
        SHARE_INCLUDED_BURST_IOPS = "x-ms-share-included-burst-iops";
        SHARE_IOPS_DOWNGRADE_TIME = "x-ms-share-next-allowed-provisioned-iops-downgrade-time";
        SHARE_MAX_BURST_CREDITS = "x-ms-share-max-burst-credits-for-iops";
        SMART_ACCESS_TIER = "x-ms-smart-access-tier";
        STRUCTURED_BODY = "x-ms-structured-body";
        STRUCTURED_CONTENT_LENGTH = "x-ms-structured-content-length";
        TAG_COUNT = "x-ms-tag-count";
        TIME_NEXT_VISIBLE = "x-ms-time-next-visible";
        TYPE = "x-ms-type";
        VARY = "vary";
        VERSION = "x-ms-version";
        VERSION_ID = "x-ms-version-id";
        WWW_AUTHENTICATE = "www-authenticate";
    }
}

/// What an operation answers.
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub payload: Payload,
    /// Azure's reason phrases are the first lines of its messages.
    pub reason: Option<ReasonPhrase>,
    /// Metadata headers that have capitals.
    pub spelt: Vec<String>,
}

impl Answer {
    pub fn new(status: StatusCode) -> Self {
        Self { status, headers: HeaderMap::with_capacity(32), payload: Payload::Empty, reason: None, spelt: Vec::new() }
    }

    pub fn constant(mut self, name: &HeaderName, value: &'static str) -> Self {
        self.headers.insert(name.clone(), HeaderValue::from_static(value));
        self
    }

    /// A value that came from a client long ago is known to be a header's; what is not is left out rather than a panic.
    pub fn text(mut self, name: &HeaderName, value: impl Into<String>) -> Self {
        if let Ok(value) = HeaderValue::try_from(value.into()) {
            self.headers.insert(name.clone(), value);
        }
        self
    }

    pub fn optional(self, name: &HeaderName, value: Option<impl Into<String>>) -> Self {
        match value {
            Some(value) => self.text(name, value),
            None => self,
        }
    }

    pub fn number(mut self, name: &HeaderName, value: u64) -> Self {
        self.headers.insert(name.clone(), HeaderValue::from(value));
        self
    }

    pub fn date(self, name: &HeaderName, at: Timestamp) -> Self {
        self.text(name, at.to_http())
    }

    pub fn etag(self, etag: ETag, modified: Timestamp) -> Self {
        self.text(&name::ETAG, etag.to_string()).date(&name::LAST_MODIFIED, modified)
    }

    /// A text of a type that the caller knows.
    pub fn json(mut self, kind: &'static str, text: String) -> Self {
        self.payload = Payload::Whole(text.into());
        self.constant(&name::CONTENT_TYPE, kind)
    }

    pub fn xml(mut self, document: impl Into<Bytes>) -> Self {
        self.payload = Payload::Whole(document.into());
        self.constant(&name::CONTENT_TYPE, "application/xml")
    }
}

/// The body of an answer.
pub enum Payload {
    Empty,
    Whole(Bytes),
    Stream(Flow),
    /// Made as it is sent; nobody knows how long it will be.
    Produced(mpsc::Receiver<Result<Bytes, BrokenOff>>),
    /// It breaks off after so many bytes, on purpose.
    Cut(Box<Payload>, u64),
}

pub type Piece<'a> = Pin<Box<dyn Future<Output = Result<Option<Bytes>, Failure>> + Send + 'a>>;

/// What an answer's bytes come from: a blob or a file, opened and sought.
pub trait Pieces: Send {
    /// The next bytes, or `None` at the end.
    fn piece(&mut self) -> Piece<'_>;
}

impl Pieces for Reader {
    fn piece(&mut self) -> Piece<'_> {
        Box::pin(self.next())
    }
}

impl Pieces for FileReader {
    fn piece(&mut self) -> Piece<'_> {
        Box::pin(self.next())
    }
}

/// Up to here an answer is read before it is begun: one write, and a fault is still an honest 500.
const WHOLE_MAX: u64 = 256 << 10;

/// All of a small answer. Most come in one piece, which is not copied.
async fn whole(reader: &mut impl Pieces, length: u64) -> Result<Bytes, Failure> {
    let Some(first) = reader.piece().await? else { return Ok(Bytes::new()) };
    if first.len() as u64 >= length {
        return Ok(first);
    }
    let mut bytes = BytesMut::with_capacity(length as usize);
    bytes.extend_from_slice(&first);
    while let Some(piece) = reader.piece().await? {
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes.freeze())
}

impl Answer {
    /// With the bytes of `reader`, which was sought to the span that is asked for: as a structured message, digested, or streamed.
    pub async fn content(
        self,
        mut reader: impl Pieces + 'static,
        length: u64,
        digest: RangeDigest,
        structured: bool,
    ) -> Result<Self, Failure> {
        use md5::Digest as _;
        if structured {
            let payload = Payload::framed(reader, length);
            let answer = self
                .number(&name::CONTENT_LENGTH, payload.length())
                .constant(&name::STRUCTURED_BODY, structured::FORM)
                .number(&name::STRUCTURED_CONTENT_LENGTH, length);
            return Ok(Answer { payload, ..answer });
        }
        if !digest.any() && length > WHOLE_MAX {
            return Ok(Answer { payload: Payload::stream(reader, length), ..self });
        }
        let bytes = whole(&mut reader, length).await?;
        let md5 = digest.md5.then(|| md5_text(md5::Md5::digest(&bytes)));
        let crc64 = digest.crc64.then(|| crc64_text(crc_fast::checksum(crc_fast::CrcAlgorithm::Crc64Nvme, &bytes)));
        let answer = self.optional(&name::CONTENT_MD5, md5).optional(&name::CONTENT_CRC64, crc64);
        Ok(Answer { payload: Payload::Whole(bytes), ..answer })
    }
}

impl Payload {
    pub fn stream(reader: impl Pieces + 'static, length: u64) -> Self {
        Payload::Stream(Flow { state: State::Ready(Box::new(reader)), left: length, framing: None })
    }

    /// As a structured message.
    pub fn framed(reader: impl Pieces + 'static, length: u64) -> Self {
        let mut encoder = Encoder::new(length);
        let left = encoder.message_length();
        let mut pieces = Vec::new();
        if length == 0 {
            encoder.empty(&mut pieces);
        }
        let framing = Framing { encoder, ready: pieces.into(), pieces: Vec::new() };
        Payload::Stream(Flow { state: State::Ready(Box::new(reader)), left, framing: Some(Box::new(framing)) })
    }

    pub fn produced(frames: mpsc::Receiver<Result<Bytes, BrokenOff>>) -> Self {
        Payload::Produced(frames)
    }

    /// As it is said to be, but without what follows after `bytes`.
    pub fn cut(self, bytes: u64) -> Self {
        match self.length() > bytes || matches!(self, Payload::Produced(_)) {
            true => Payload::Cut(Box::new(self), bytes),
            false => self,
        }
    }

    /// Zero where nobody knows.
    pub fn length(&self) -> u64 {
        match self {
            Payload::Cut(whole, _) => whole.length(),
            Payload::Empty | Payload::Produced(_) => 0,
            Payload::Whole(bytes) => bytes.len() as u64,
            Payload::Stream(flow) => flow.left,
        }
    }
}

type Step = (Box<dyn Pieces>, Result<Option<Bytes>, Failure>);

/// A blob's bytes on their way out. One piece is in memory at a time, besides what the connection buffers.
pub struct Flow {
    state: State,
    /// Bytes still to be sent.
    left: u64,
    framing: Option<Box<Framing>>,
}

struct Framing {
    encoder: Encoder,
    ready: VecDeque<Bytes>,
    pieces: Vec<Bytes>,
}

enum State {
    Ready(Box<dyn Pieces>),
    Reading(Pin<Box<dyn Future<Output = Step> + Send>>),
    Done,
}

/// The answer broke off: the connection is closed, so that the client cannot take a part for the whole.
#[derive(Debug)]
pub struct BrokenOff;

impl std::fmt::Display for BrokenOff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the blob could not be read to its end")
    }
}

impl std::error::Error for BrokenOff {}

impl Flow {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BrokenOff>>> {
        loop {
            let framed = self.framing.as_mut().and_then(|framing| framing.ready.pop_front());
            let piece = match framed {
                Some(piece) => piece,
                None => match ready!(self.poll_content(cx)) {
                    None if self.left == 0 => return Poll::Ready(None),
                    None => return Poll::Ready(Some(Err(BrokenOff))),
                    Some(Err(broken)) => return Poll::Ready(Some(Err(broken))),
                    Some(Ok(content)) => match self.framing.as_mut() {
                        None => content,
                        Some(framing) => {
                            framing.encoder.push(content, &mut framing.pieces);
                            framing.ready.extend(framing.pieces.drain(..));
                            continue;
                        }
                    },
                },
            };
            self.left = self.left.saturating_sub(piece.len() as u64);
            return Poll::Ready(Some(Ok(piece)));
        }
    }

    fn poll_content(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BrokenOff>>> {
        loop {
            match std::mem::replace(&mut self.state, State::Done) {
                State::Done => return Poll::Ready(None),
                State::Ready(mut reader) => {
                    self.state = State::Reading(Box::pin(async move {
                        let piece = reader.piece().await;
                        (reader, piece)
                    }));
                }
                State::Reading(mut reading) => match reading.as_mut().poll(cx) {
                    Poll::Pending => {
                        self.state = State::Reading(reading);
                        return Poll::Pending;
                    }
                    Poll::Ready((reader, Ok(Some(piece)))) => {
                        self.state = State::Ready(reader);
                        return Poll::Ready(Some(Ok(piece)));
                    }
                    Poll::Ready((_, Ok(None))) => return Poll::Ready(None),
                    Poll::Ready((_, Err(failure))) => {
                        tracing::error!(?failure, "a blob could not be read to its end");
                        return Poll::Ready(Some(Err(BrokenOff)));
                    }
                },
            }
        }
    }
}

impl Body for Payload {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        let payload = self.get_mut();
        match payload {
            Payload::Empty => Poll::Ready(None),
            Payload::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                *payload = Payload::Empty;
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Payload::Stream(flow) => flow.poll_next(cx).map(|next| next.map(|piece| piece.map(Frame::data))),
            Payload::Produced(frames) => frames.poll_recv(cx).map(|next| next.map(|piece| piece.map(Frame::data))),
            Payload::Cut(_, 0) => Poll::Ready(Some(Err(BrokenOff))),
            Payload::Cut(whole, left) => Pin::new(&mut **whole).poll_frame(cx).map(|next| {
                next.map(|frame| {
                    frame.map(|frame| {
                        frame.map_data(|mut data| {
                            data.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
                            *left -= data.len() as u64;
                            data
                        })
                    })
                })
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.length() == 0 && !matches!(self, Payload::Produced(_) | Payload::Cut(..))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Payload::Produced(_) => SizeHint::default(),
            Payload::Cut(whole, _) => whole.size_hint(),
            Payload::Empty | Payload::Whole(_) | Payload::Stream(_) => SizeHint::with_exact(self.length()),
        }
    }
}
