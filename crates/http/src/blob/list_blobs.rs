//! List Blobs, flat and by delimiter; in XML, or in Arrow for a client that asks for it.

use http::StatusCode;
use lazuli_store::{BlobPage, Include, ListBlobs};

use crate::answer::{Answer, Payload, name};
use crate::blob::arrow_listing;
use crate::head::Head;
use crate::operation::{AccountNeeds, Anonymous, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::versions::Since;
use crate::wire::xml;
use crate::wire::{headers, page};

pub const SPEC: Spec = Spec {
    name: "ListBlobs",
    methods: &["GET"],
    on: On::Container,
    restype: Some("container"),
    comp: Some("list"),
    needs: "l",
    account_sas: Some(AccountNeeds { resource: 'c', any: "l" }),
    anonymous: Anonymous::Container,
    ..Spec::PLAIN
};

const INCLUDE: &[&str] = &[
    "snapshots",
    "metadata",
    "uncommittedblobs",
    "copy",
    "deleted",
    "tags",
    "versions",
    "deletedwithversions",
    "immutabilitypolicy",
    "legalhold",
    "permissions",
];

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let head = &ask.head;
    headers::conditions(head, &SPEC)?;
    let list = parse(head)?;
    let at = head.container_at()?;
    let page = ask.store.list_blobs(&at, list).await?;
    let document = document(ask, at.container.as_str(), &page)?;
    if wants_arrow(&ask.head)
        && let Some(columns) = arrow_listing::of_xml(&document)
    {
        let answer = Answer::new(StatusCode::OK).constant(&name::CONTENT_TYPE, arrow_listing::CONTENT_TYPE);
        return Ok(Answer { payload: Payload::Whole(columns.into()), ..answer });
    }
    Ok(Answer::new(StatusCode::OK).xml(document))
}

fn wants_arrow(head: &Head) -> bool {
    let accepted = head.text("accept").unwrap_or_default();
    head.has(Since::Arrow) && accepted.split(',').any(|kind| kind.trim().starts_with(arrow_listing::CONTENT_TYPE))
}

fn parse(head: &Head) -> Result<ListBlobs, Refusal> {
    let text = |name: &str| head.query.get(name).map(str::to_owned);
    let include = page::words(head, "include", INCLUDE)?;
    let only = page::words(head, "showonly", &["deleted", "files", "directories"])?;
    let list = ListBlobs {
        prefix: text("prefix").unwrap_or_default(),
        delimiter: text("delimiter"),
        marker: text("marker"),
        // At every version: `object_store` sends it with 2023-11-03, and relies on it.
        start_from: text("startFrom"),
        end_before: text("endBefore").filter(|_| head.has(Since::EndBefore)),
        most: page::most(head)?,
        include: Include {
            snapshots: page::has(&include, "snapshots"),
            uncommitted: page::has(&include, "uncommittedblobs"),
            versions: page::has(&include, "versions"),
            deleted: page::has(&include, "deleted"),
            deleted_only: page::has(&only, "deleted"),
            versions_only: page::has(&include, "deletedwithversions"),
        },
    };
    // List Blobs reference: snapshots and a delimiter do not go together.
    if list.include.snapshots && list.delimiter.is_some() {
        let value = head.query.get("include").unwrap_or_default().to_owned();
        return Err(Refusal::InvalidQueryParameterValue { name: "include".into(), value, reason: "".into() });
    }
    Ok(list)
}

fn document(ask: &Ask, container: &str, page: &BlobPage) -> Result<Vec<u8>, Refusal> {
    let head = &ask.head;
    let include = page::words(head, "include", INCLUDE)?;
    let listing = xml::BlobListing {
        endpoint: &page::endpoint(head),
        container,
        prefix: head.query.get("prefix"),
        marker: head.query.get("marker"),
        max_results: page::repeated(head),
        delimiter: head.query.get("delimiter"),
        version: head.version,
        now: head.now,
        metadata: page::has(&include, "metadata"),
        tags: page::has(&include, "tags"),
        copy: page::has(&include, "copy"),
        versions: page::has(&include, "versions") || page::has(&include, "deletedwithversions"),
        immutability_policy: page::has(&include, "immutabilitypolicy"),
        legal_hold: page::has(&include, "legalhold"),
        settings: &ask.settings,
    };
    Ok(xml::blobs(&listing, page))
}
