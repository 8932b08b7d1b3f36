//! Undelete Blob.

use http::StatusCode;
use lazuli_store::PathAt;

use crate::answer::{Answer, name};
use crate::head::Head;
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::versions::Since;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "UndeleteBlob",
    methods: &["PUT"],
    on: On::Blob,
    comp: Some("undelete"),
    needs: "w",
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    headers::conditions(&ask.head, &SPEC)?;
    let at = ask.head.blob_at()?;
    let Some(deletion) = deletion(&ask.head)? else {
        ask.store.undelete_blob(&at).await?;
        return Ok(Answer::new(StatusCode::OK));
    };
    let back = ask.store.undelete_path(&PathAt::of_blob(&at)?, deletion).await?;
    let answer = Answer::new(StatusCode::OK);
    Ok(match ask.head.has(Since::ResourceType) {
        true => answer
            .constant(&name::RESOURCE_TYPE, if back.is_directory { "directory" } else { "file" })
            .date(&name::CREATION_TIME, back.blob.created),
        false => answer,
    })
}

/// `x-ms-undelete-source: ?deletionid=…`: which of several deletions, of a file system.
fn deletion(head: &Head) -> Result<Option<u64>, Refusal> {
    head.opt("x-ms-undelete-source", |text| {
        let (_, query) = text.rsplit_once('?').unwrap_or(("", text));
        query.split('&').find_map(|pair| pair.strip_prefix("deletionid="))?.parse().ok()
    })
}
