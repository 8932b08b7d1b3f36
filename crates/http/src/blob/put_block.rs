//! Put Block.

use http::StatusCode;
use lazuli_model::BlockId;
use lazuli_model::account::BlobType;
use lazuli_model::blob::{Encryption, PutBlock};

use crate::answer::{Answer, name};
use crate::blob::encryption;
use crate::head::Head;
use crate::operation::{AccountNeeds, Body, LEASE, On, Spec, When};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::versions::{self, Since};
use crate::wire::{content, headers};

pub const BLOCK_MAX: u64 = versions::PUT_BLOCK_MAX;

pub const SPEC: Spec = Spec {
    name: "PutBlock",
    methods: &["PUT"],
    on: On::Blob,
    comp: Some("block"),
    when: &[When::NoHeader("x-ms-copy-source")],
    needs: "cw",
    create_since: Some(Since::CreateByBlocks),
    account_sas: Some(AccountNeeds { resource: 'o', any: "cw" }),
    body: Body::Content { most: BLOCK_MAX },
    takes: LEASE,
    makes: Some(BlobType::Block),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = ask.head.blob_at()?;
    let put = parse(&ask.head, encryption::settle(ask).await?)?;
    let encrypted = put.encryption.clone();
    let (received, digests) = content::take(ask, versions::put_block_max(ask.head.version), false).await?;
    if received.length == 0 {
        return Err(Refusal::InvalidHeaderValue { header: "Content-Length".into(), value: "0".into() }.into());
    }
    ask.store.put_block(&at, put, received).await?;
    let answer = Answer::new(StatusCode::CREATED).constant(&name::REQUEST_SERVER_ENCRYPTED, "true");
    let answer = encryption::describe(answer, &encrypted);
    Ok(digests.answer(answer, &ask.head, false))
}

pub fn parse(head: &Head, encryption: Encryption) -> Result<PutBlock, Refusal> {
    headers::conditions(head, &SPEC)?;
    let id = head.query.get("blockid").ok_or(Refusal::MissingRequiredQueryParameter { name: "blockid".into() })?;
    // A client that does not encode `+` means it: Base64 has no blanks.
    let id = BlockId::from_base64(&id.replace(' ', "+"))?;
    Ok(PutBlock { id, encryption, lease: headers::lease_id(head)? })
}
