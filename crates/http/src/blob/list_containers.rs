//! List Containers.

use http::StatusCode;
use lazuli_store::{ContainerPage, ListContainers};

use crate::answer::Answer;
use crate::head::Head;
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::page;
use crate::wire::xml;

pub const SPEC: Spec = Spec {
    name: "ListContainers",
    methods: &["GET"],
    on: On::Service,
    comp: Some("list"),
    account_sas: Some(AccountNeeds { resource: 's', any: "l" }),
    ..Spec::PLAIN
};

const INCLUDE: &[&str] = &["metadata", "deleted", "system"];

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let (list, metadata) = parse(&ask.head)?;
    let page = ask.store.list_containers(&ask.head.account()?, list).await?;
    Ok(Answer::new(StatusCode::OK).xml(document(ask, &page, metadata)))
}

fn parse(head: &Head) -> Result<(ListContainers, bool), Refusal> {
    let include = page::words(head, "include", INCLUDE)?;
    let list = ListContainers {
        prefix: head.query.get("prefix").unwrap_or_default().to_owned(),
        marker: head.query.get("marker").map(str::to_owned),
        most: page::most(head)?,
        system: page::has(&include, "system"),
        deleted: page::has(&include, "deleted"),
    };
    Ok((list, page::has(&include, "metadata")))
}

fn document(ask: &Ask, page: &ContainerPage, metadata: bool) -> Vec<u8> {
    let head = &ask.head;
    let listing = xml::ContainerListing {
        endpoint: &page::endpoint(head),
        prefix: head.query.get("prefix"),
        marker: head.query.get("marker"),
        max_results: page::repeated(head),
        version: head.version,
        now: head.now,
        metadata,
        immutability: ask.settings.immutability,
    };
    xml::containers(&listing, page)
}
