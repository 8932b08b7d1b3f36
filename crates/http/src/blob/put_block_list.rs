//! Put Block List: the blocks named become the blob.

use http::StatusCode;
use lazuli_model::BlockId;
use lazuli_model::account::BlobType;
use lazuli_model::blob::{Encryption, PutBlockList, Search};

use crate::answer::{Answer, name};
use crate::blob::{encryption, headers, protection};
use crate::operation::{AccountNeeds, Body, DATES, ETAGS, IF_TAGS, LEASE, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::versions::Since;
use crate::wire::xml;
use crate::wire::{self, content};

/// 50,000 ids of 88 characters, each in its element, with room to spare.
const DOCUMENT_MAX: u64 = 8 << 20;
/// One that takes a while to read: some eight thousand blocks.
const LONG_DOCUMENT: usize = 256 << 10;

pub const SPEC: Spec = Spec {
    name: "PutBlockList",
    methods: &["PUT"],
    on: On::Blob,
    comp: Some("blocklist"),
    needs: "cw",
    create_since: Some(Since::CreateByBlocks),
    also: &[("x-ms-tags", 't'), ("x-ms-if-tags", 't')],
    account_sas: Some(AccountNeeds { resource: 'o', any: "cw" }),
    body: Body::Document { most: DOCUMENT_MAX },
    takes: ETAGS | DATES | IF_TAGS | LEASE,
    makes: Some(BlobType::Block),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = ask.head.blob_at()?;
    let document = ask.body.document(DOCUMENT_MAX).await?;
    let digests = content::document_digests(&ask.head, &document)?;
    let length = document.len();
    let encryption = encryption::settle(ask).await?;
    let read = move || xml::read_block_list(&document);
    let blocks = ask.edge.workers().run_if(length > LONG_DOCUMENT, read).await?;
    let put = parse(ask, encryption, blocks)?;
    let blob = ask.store.put_block_list(&at, put).await?;
    let answer =
        headers::written(Answer::new(StatusCode::CREATED), &blob).constant(&name::REQUEST_SERVER_ENCRYPTED, "true");
    let answer = encryption::describe(answer, &blob.encryption);
    Ok(digests.answer(answer, &ask.head, false))
}

fn parse(
    ask: &Ask,
    encryption: Encryption,
    blocks: Result<Vec<(Search, BlockId)>, Refusal>,
) -> Result<PutBlockList, Refusal> {
    let head = &ask.head;
    let mut content_headers = headers::content_headers(head)?;
    content_headers.content_type.get_or_insert_with(|| wire::headers::DEFAULT_TYPE.to_owned());
    Ok(PutBlockList {
        blocks: blocks?,
        headers: content_headers,
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
