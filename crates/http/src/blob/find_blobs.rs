//! Find Blobs by Tags, in an account or in a container.

use http::StatusCode;
use lazuli_model::tags::TagSearch;
use lazuli_store::{FindBlobs, FindInclude};

use crate::answer::Answer;
use crate::head::{Head, Target};
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::xml;
use crate::wire::{headers, page};

pub const IN_ACCOUNT: Spec = Spec {
    name: "FindBlobsByTags",
    methods: &["GET"],
    on: On::Service,
    comp: Some("blobs"),
    account_sas: Some(AccountNeeds { resource: 's', any: "f" }),
    ..Spec::PLAIN
};

pub const IN_CONTAINER: Spec = Spec {
    name: "FindBlobsByTagsInContainer",
    on: On::Container,
    restype: Some("container"),
    needs: "f",
    account_sas: Some(AccountNeeds { resource: 'c', any: "f" }),
    ..IN_ACCOUNT
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let head = &ask.head;
    let find = parse(head)?;
    let search = find.search.clone();
    let page = ask.store.find_blobs(&head.account()?, find).await?;
    let listing = xml::FoundListing {
        endpoint: &page::endpoint(head),
        expression: head.query.get("where").unwrap_or_default(),
        marker: head.query.get("marker"),
        max_results: page::repeated(head),
        version: head.version,
        search: &search,
    };
    Ok(Answer::new(StatusCode::OK).xml(xml::found_blobs(&listing, &page)))
}

fn parse(head: &Head) -> Result<FindBlobs, Refusal> {
    headers::conditions(head, &IN_CONTAINER)?;
    let expression = head.query.get("where");
    let expression = expression.ok_or(Refusal::MissingRequiredQueryParameter { name: "where".into() })?;
    let search = TagSearch::parse(expression)?;
    if let Target::Container(_) = head.target {
        search.permit_container(expression)?;
    }
    let include = page::words(head, "include", &["none", "deleted", "versions"])?;
    Ok(FindBlobs {
        search,
        container: if let Target::Container(_) = head.target { Some(head.container_at()?.container) } else { None },
        marker: head.query.get("marker").map(str::to_owned),
        most: page::most(head)?,
        include: FindInclude { versions: page::has(&include, "versions"), deleted: page::has(&include, "deleted") },
    })
}
