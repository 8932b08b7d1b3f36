//! List Shares.

use http::StatusCode;
use lazuli_store::ListShares;

use crate::answer::Answer;
use crate::head::Head;
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::page;
use crate::wire::xml;

pub const SPEC: Spec = Spec {
    name: "ListShares",
    methods: &["GET"],
    on: On::Service,
    comp: Some("list"),
    account_sas: Some(AccountNeeds { resource: 's', any: "l" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let (list, metadata) = parse(&ask.head)?;
    let page = ask.store.list_shares(&ask.head.account()?, list).await?;
    let listing = xml::ShareListing {
        endpoint: &page::endpoint(&ask.head),
        prefix: ask.head.query.get("prefix"),
        marker: ask.head.query.get("marker"),
        max_results: page::repeated(&ask.head),
        version: ask.head.version,
        now: ask.head.now,
        metadata,
    };
    Ok(Answer::new(StatusCode::OK).xml(xml::shares(&listing, &page)))
}

fn parse(head: &Head) -> Result<(ListShares, bool), Refusal> {
    let include = page::words(head, "include", &["metadata", "snapshots", "deleted"])?;
    let list = ListShares {
        prefix: head.query.get("prefix").unwrap_or_default().to_owned(),
        marker: head.query.get("marker").map(str::to_owned),
        most: page::most(head)?,
        snapshots: page::has(&include, "snapshots"),
        deleted: page::has(&include, "deleted"),
    };
    Ok((list, page::has(&include, "metadata")))
}
