//! List Directories and Files: a page of what is in a directory, in the order of names.

use http::StatusCode;
use lazuli_store::ListEntries;

use crate::answer::Answer;
use crate::file::place;
use crate::head::Head;
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::page;
use crate::wire::xml;

pub const SPEC: Spec = Spec {
    name: "ListDirectoriesAndFiles",
    methods: &["GET"],
    on: On::Directory,
    restype: Some("directory"),
    comp: Some("list"),
    needs: "l",
    account_sas: Some(AccountNeeds { resource: 'c', any: "l" }),
    ..Spec::PLAIN
};

const INCLUDES: [&str; 4] = ["Timestamps", "Etag", "Attributes", "PermissionKey"];

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::any(&ask.head)?;
    let page = ask.store.list_entries(&at, parse(&ask.head)?).await?;
    let include = page::words(&ask.head, "include", &INCLUDES)?;
    let listing = xml::EntryListing {
        endpoint: &page::endpoint(&ask.head),
        share: at.share.as_str(),
        snapshot: ask.head.query.get("sharesnapshot"),
        directory: &at.path.to_string(),
        prefix: ask.head.query.get("prefix"),
        marker: ask.head.query.get("marker"),
        max_results: page::repeated(&ask.head),
        version: ask.head.version,
        timestamps: page::has(&include, "timestamps"),
        etag: page::has(&include, "etag"),
        attributes: page::has(&include, "attributes"),
        permission_key: page::has(&include, "permissionkey"),
    };
    Ok(Answer::new(StatusCode::OK).xml(xml::entries(&listing, &page)))
}

fn parse(head: &Head) -> Result<ListEntries, Refusal> {
    page::words(head, "include", &INCLUDES)?;
    Ok(ListEntries {
        snapshot: place::snapshot(head)?,
        prefix: head.query.get("prefix").unwrap_or_default().to_owned(),
        marker: head.query.get("marker").map(str::to_owned),
        most: page::most(head)?,
    })
}
