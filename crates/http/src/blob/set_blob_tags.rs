//! Set Blob Tags: all of them are replaced. Neither ETag nor date changes.

use http::StatusCode;
use lazuli_model::blob::SetBlobTags;

use crate::answer::Answer;
use crate::head::Head;
use crate::operation::{AccountNeeds, Body, DATES, ETAGS, IF_TAGS, LEASE, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::xml;
use crate::wire::{content, headers};

/// Ten tags of 128 and 256 characters, escaped.
const DOCUMENT_MAX: u64 = 64 << 10;

pub const SPEC: Spec = Spec {
    name: "SetBlobTags",
    methods: &["PUT"],
    on: On::Blob,
    comp: Some("tags"),
    needs: "t",
    account_sas: Some(AccountNeeds { resource: 'o', any: "t" }),
    body: Body::Document { most: DOCUMENT_MAX },
    takes: ETAGS | DATES | IF_TAGS | LEASE,
    moments: true,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = ask.head.blob_at()?;
    let document = ask.body.document(DOCUMENT_MAX).await?;
    content::document_digests(&ask.head, &document)?;
    let set = parse(&ask.head, &document)?;
    ask.store.set_blob_tags(&at, set).await?;
    Ok(Answer::new(StatusCode::NO_CONTENT))
}

fn parse(head: &Head, document: &[u8]) -> Result<SetBlobTags, Refusal> {
    Ok(SetBlobTags {
        // Rule A5: of a snapshot, too.
        which: headers::which(head)?,
        tags: xml::read_tags(document)?,
        conditions: headers::conditions_of_tags(head, &SPEC)?,
        lease: headers::lease_id(head)?,
    })
}
