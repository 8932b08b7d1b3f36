//! Append: bytes at a position, seen by nobody before a flush; or with one.

use http::StatusCode;
use lazuli_model::lake::{AppendData, FlushData, LeaseStep};

use super::headers as own;
use crate::answer::{Answer, name};
use crate::blob::encryption;
use crate::operation::{AccountNeeds, Body, LEASE, On, Spec, When};
use crate::refusal::{Denied, Failure, Refusal};
use crate::serve::Ask;
use crate::wire::digest::{crc64_text, md5_text};
use crate::wire::{content, headers, structured};

/// "Path - Update": what one append may carry.
const MOST: u64 = 4000 << 20;

pub const SPEC: Spec = Spec {
    name: "AppendData",
    methods: &["PATCH"],
    on: On::Blob,
    when: &[When::QueryIs("action", "append")],
    needs: "aw",
    account_sas: Some(AccountNeeds { resource: 'o', any: "aw" }),
    body: Body::Content { most: MOST },
    takes: LEASE,
    lake: true,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = own::path_at(&ask.head)?;
    let encryption = encryption::settle_existing(ask).await?;
    let head = &ask.head;
    let position = head.query_opt("position", |text| text.parse::<u64>().ok())?;
    let position = position.ok_or(Refusal::MissingRequiredQueryParameter { name: "position".into() })?;
    let (flush, step, lease) = (own::flag(head, "flush")?, own::lease_step(head)?, headers::lease_id(head)?);
    headers::conditions(head, &SPEC)?;
    if !flush && matches!(step, Some(LeaseStep::Release | LeaseStep::AcquireRelease { .. })) {
        let value = head.text("x-ms-lease-action").unwrap_or_default().to_owned();
        return Err(Refusal::InvalidHeaderValue { header: "x-ms-lease-action".into(), value }.into());
    }
    let content_type = head.text("content-type").map(str::to_owned);
    let (received, digests) = content::take(ask, MOST, false).await?;
    if received.length == 0 {
        return Err(Refusal::InvalidHeaderValue { header: "Content-Length".into(), value: "0".into() }.into());
    }
    let end = position.checked_add(received.length).ok_or(Denied::InvalidRange)?;
    let flush = flush.then(|| {
        // The file takes the type of this request (observed).
        let headers = lazuli_model::blob::ContentHeaders { content_type, ..Default::default() };
        let (encryption, conditions) = (encryption.clone(), Default::default());
        Box::new(FlushData { position: end, retain: false, headers, encryption, conditions, lease, step })
    });
    let is_flushed = flush.is_some();
    let append = AppendData { position, encryption: encryption.clone(), lease, step, flush };
    let (blob, renewed) = ask.store.append_data(&at, append, received).await?;
    let answer = Answer::new(StatusCode::ACCEPTED).constant(&name::REQUEST_SERVER_ENCRYPTED, "true");
    let answer = if is_flushed { answer.etag(blob.etag, blob.modified) } else { answer };
    let answer = encryption::describe_key(answer, &encryption);
    let answer = own::renewed(answer, renewed);
    let answer = match digests.structured {
        true => answer.constant(&name::STRUCTURED_BODY, structured::FORM),
        false => answer,
    };
    Ok(answer
        .optional(&name::CONTENT_MD5, digests.sent_md5().and(digests.md5).map(md5_text))
        .optional(&name::CONTENT_CRC64, digests.sent_crc64().map(|_| crc64_text(digests.crc64))))
}
