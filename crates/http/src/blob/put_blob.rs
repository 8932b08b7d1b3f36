//! Put Blob, for block blobs.

use http::StatusCode;
use lazuli_model::account::BlobType;
use lazuli_model::blob::{Blob, ContentHeaders, Encryption, PutBlob};
use lazuli_store::PathAt;

use crate::answer::{Answer, name};
use crate::blob::{encryption, headers, protection};
use crate::head::Head;
use crate::lake;
use crate::operation::{AccountNeeds, Body, DATES, ETAGS, IF_TAGS, LEASE, On, Spec, When};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::versions;
use crate::wire;
use crate::wire::content::{self, Digests};

pub const CONTENT_MAX: u64 = versions::PUT_BLOB_MAX;

pub const SPEC: Spec = Spec {
    name: "PutBlob",
    methods: &["PUT"],
    on: On::Blob,
    when: &[When::HeaderIs("x-ms-blob-type", "BlockBlob"), When::NoHeader("x-ms-copy-source")],
    needs: "cw",
    also: &[("x-ms-tags", 't'), ("x-ms-if-tags", 't')],
    account_sas: Some(AccountNeeds { resource: 'o', any: "cw" }),
    body: Body::Content { most: CONTENT_MAX },
    takes: ETAGS | DATES | IF_TAGS | LEASE,
    makes: Some(BlobType::Block),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = ask.head.blob_at()?;
    let put = parse(ask, encryption::settle(ask).await?)?;
    let (received, digests) = content::take(ask, versions::put_blob_max(ask.head.version), true).await?;
    let is_folder = || lake::says_folder(&put.metadata) || at.blob.as_str().ends_with('/');
    if ask.settings.hierarchical_namespace && received.length == 0 && is_folder() {
        // Clients that do not know of the hierarchy make directories so: by metadata, or by a slash at the end.
        let made = ask.store.create_path(&PathAt::of_blob(&at)?, lake::directory_of(put)).await?;
        return Ok(answer(&ask.head, &made, &digests));
    }
    let blob = ask.store.put_blob(&at, put, received).await?;
    Ok(answer(&ask.head, &blob, &digests))
}

/// Also for page and append blobs.
pub(super) fn parse(ask: &Ask, encryption: Encryption) -> Result<PutBlob, Refusal> {
    let head = &ask.head;
    Ok(PutBlob {
        headers: content_headers(head)?,
        metadata: wire::headers::metadata(head)?,
        tags: headers::tags(head)?,
        tier: headers::permitted_tier(ask)?,
        protection: protection::of_new(ask)?,
        encryption,
        conditions: wire::headers::conditions(head, &SPEC)?,
        lease: wire::headers::lease_id(head)?,
        may_overwrite: ask.grant.may_overwrite,
    })
}

/// The plain headers describe the blob too, because the body is the blob; `x-ms-blob-*` goes before them.
fn content_headers(head: &Head) -> Result<ContentHeaders, Refusal> {
    let plain = |name: &str| head.text(name).map(str::to_owned);
    let sent = headers::content_headers(head)?;
    Ok(ContentHeaders {
        content_type: sent.content_type.or(plain("content-type")).or(Some(wire::headers::DEFAULT_TYPE.to_owned())),
        encoding: sent.encoding.or(plain("content-encoding")),
        language: sent.language.or(plain("content-language")),
        cache_control: sent.cache_control.or(plain("cache-control")),
        md5: sent.md5,
        disposition: sent.disposition,
    })
}

fn answer(head: &Head, blob: &Blob, digests: &Digests) -> Answer {
    let answer = headers::written(Answer::new(StatusCode::CREATED), blob);
    let answer = encryption::describe(answer, &blob.encryption);
    digests.answer(answer, head, true).constant(&name::REQUEST_SERVER_ENCRYPTED, "true")
}
