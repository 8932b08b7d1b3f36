//! Get Block List.

use http::StatusCode;
use lazuli_model::blob::GetBlockList;
use lazuli_store::BlockLists;

use crate::answer::{Answer, name};
use crate::head::Head;
use crate::operation::{AccountNeeds, Anonymous, IF_TAGS, LEASE, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::headers;
use crate::wire::xml;

pub const SPEC: Spec = Spec {
    name: "GetBlockList",
    methods: &["GET"],
    on: On::Blob,
    comp: Some("blocklist"),
    needs: "r",
    also: &[("x-ms-if-tags", 't')],
    account_sas: Some(AccountNeeds { resource: 'o', any: "r" }),
    anonymous: Anonymous::Blob,
    takes: IF_TAGS | LEASE,
    moments: true,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let get = parse(&ask.head)?;
    let (committed, uncommitted) = (get.committed, get.uncommitted);
    let lists = ask.store.block_list(&ask.head.blob_at()?, get).await?;
    Ok(answer(&lists, committed, uncommitted))
}

fn parse(head: &Head) -> Result<GetBlockList, Refusal> {
    let lists = head.query_opt("blocklisttype", |text| match text.to_ascii_lowercase().as_str() {
        "committed" => Some((true, false)),
        "uncommitted" => Some((false, true)),
        "all" => Some((true, true)),
        _ => None,
    })?;
    let (committed, uncommitted) = lists.unwrap_or((true, false));
    Ok(GetBlockList {
        which: headers::which(head)?,
        committed,
        uncommitted,
        conditions: headers::conditions(head, &SPEC)?,
        lease: headers::lease_id(head)?,
    })
}

fn answer(lists: &BlockLists, committed: bool, uncommitted: bool) -> Answer {
    let shown =
        xml::block_list(committed.then_some(&lists.committed[..]), uncommitted.then_some(&lists.uncommitted[..]));
    let answer = Answer::new(StatusCode::OK).xml(shown);
    match &lists.blob {
        None => answer,
        Some(blob) => answer.etag(blob.etag, blob.modified).number(&name::BLOB_CONTENT_LENGTH, blob.content.length),
    }
}
