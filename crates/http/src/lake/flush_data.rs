//! Flush: what was appended, up to a position, becomes the file's.

use http::StatusCode;
use lazuli_model::blob::Encryption;
use lazuli_model::lake::FlushData;

use super::headers as own;
use crate::answer::{Answer, name};
use crate::blob::encryption;
use crate::operation::{AccountNeeds, DATES, ETAGS, LEASE, On, Spec, When};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "FlushData",
    methods: &["PATCH"],
    on: On::Blob,
    when: &[When::QueryIs("action", "flush")],
    needs: "w",
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    takes: ETAGS | DATES | LEASE,
    lake: true,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = own::path_at(&ask.head)?;
    let encryption = encryption::settle_existing(ask).await?;
    let head = &ask.head;
    let position = head.query_opt("position", |text| text.parse::<u64>().ok())?;
    own::flag(head, "close")?;
    let flush = FlushData {
        position: position.ok_or(Refusal::MissingRequiredQueryParameter { name: "position".into() })?,
        retain: own::flag(head, "retainUncommittedData")?,
        headers: own::content_headers(head)?,
        encryption: encryption.clone(),
        conditions: headers::conditions(head, &SPEC)?,
        lease: headers::lease_id(head)?,
        step: own::lease_step(head)?,
    };
    let (blob, renewed) = ask.store.flush_data(&at, flush).await?;
    let by_key = matches!(encryption, Encryption::Customer(_));
    let answer = Answer::new(StatusCode::OK)
        .etag(blob.etag, blob.modified)
        .constant(&name::REQUEST_SERVER_ENCRYPTED, if by_key { "true" } else { "false" });
    Ok(own::renewed(encryption::describe_key(answer, &encryption), renewed))
}
