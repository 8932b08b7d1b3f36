//! List Queues.

use http::StatusCode;
use lazuli_store::ListQueues;

use crate::answer::Answer;
use crate::head::Head;
use crate::operation::{AccountNeeds, On, Spec};
use crate::queue::fresh;
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::page;
use crate::wire::xml;

pub const SPEC: Spec = Spec {
    name: "ListQueues",
    methods: &["GET"],
    on: On::Service,
    comp: Some("list"),
    account_sas: Some(AccountNeeds { resource: 's', any: "l" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let (list, metadata) = parse(&ask.head)?;
    let page = ask.store.list_queues(&ask.head.account()?, list).await?;
    let listing = xml::QueueListing {
        endpoint: &page::endpoint(&ask.head),
        prefix: ask.head.query.get("prefix"),
        marker: ask.head.query.get("marker"),
        max_results: page::repeated(&ask.head),
        version: ask.head.version,
        metadata,
    };
    Ok(fresh(Answer::new(StatusCode::OK)).xml(xml::queues(&listing, &page)))
}

fn parse(head: &Head) -> Result<(ListQueues, bool), Refusal> {
    let include = page::words(head, "include", &["metadata"])?;
    let list = ListQueues {
        prefix: head.query.get("prefix").unwrap_or_default().to_owned(),
        marker: head.query.get("marker").map(str::to_owned),
        most: page::most(head)?,
    };
    Ok((list, page::has(&include, "metadata")))
}
