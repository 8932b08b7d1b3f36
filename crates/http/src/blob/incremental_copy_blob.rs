//! Incremental Copy Blob. It is done when it is answered, and yet the answer says `pending`, as it always does ("Incremental Copy Blob"):
//! clients ask for the blob's properties next.

use http::StatusCode;
use lazuli_model::account::BlobType;
use lazuli_model::blob::{CopyStatus, Family, IncrementalCopy};

use crate::answer::{Answer, name};
use crate::blob::copied::status_text;
use crate::blob::copy_source::{self, From};
use crate::blob::{encryption, headers};
use crate::head::guid;
use crate::operation::{AccountNeeds, DATES, ETAGS, IF_TAGS, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::sources;
use crate::wire;

pub const SPEC: Spec = Spec {
    name: "IncrementalCopyBlob",
    methods: &["PUT"],
    on: On::Blob,
    comp: Some("incrementalcopy"),
    needs: "cw",
    also: &[("x-ms-if-tags", 't')],
    account_sas: Some(AccountNeeds { resource: 'o', any: "cw" }),
    takes: ETAGS | DATES | IF_TAGS,
    makes: Some(BlobType::Page),
    seconds: &[sources::COPY_SOURCE],
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = ask.head.blob_at()?;
    let encryption = encryption::settle(ask).await?;
    let metadata = wire::headers::metadata(&ask.head)?;
    let conditions = wire::headers::conditions(&ask.head, &SPEC)?;
    let opened = copy_source::open(ask, Family::Incremental, false, false).await?;
    let copy = IncrementalCopy {
        id: (ask.ids)(),
        source: opened.url,
        metadata: (!metadata.is_empty()).then_some(metadata),
        encryption,
        conditions,
        may_overwrite: ask.grant.may_overwrite,
    };
    let id = copy.id;
    let blob = match opened.from {
        From::Here { reader, which } => {
            ask.store.incremental_copy(&at, copy, *reader, which, encryption::lock(ask)).await?
        }
        // What another host's snapshots have in common is not to be had with one request.
        From::Streamed(_) => {
            return Err(Refusal::CannotVerifyCopySource {
                status: 400,
                code: "InvalidHeaderValue".into(),
                message: "The source of an incremental copy must be in this server.".into(),
            }
            .into());
        }
    };
    let answer = headers::written(Answer::new(StatusCode::ACCEPTED), &blob);
    Ok(answer.text(&name::COPY_ID, guid(id)).constant(&name::COPY_STATUS, status_text(CopyStatus::Pending)))
}
