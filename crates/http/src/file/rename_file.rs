//! Rename File: the destination is in the URL, the source in a header.

use http::StatusCode;
use lazuli_model::file::Rename;
use lazuli_model::{LeaseId, Refusal};
use lazuli_store::{Failure, FileAt};

use crate::answer::Answer;
use crate::blob::headers;
use crate::file::{describe, place, smb};
use crate::head::Head;
use crate::operation::{AccountNeeds, On, Spec};
use crate::serve::Ask;

pub const SPEC: Spec = Spec {
    name: "RenameFile",
    methods: &["PUT"],
    on: On::File,
    comp: Some("rename"),
    needs: "w",
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    rename(ask, false).await
}

/// Also of a directory.
pub async fn rename(ask: &mut Ask, directory: bool) -> Result<Answer, Failure> {
    let at = place::writable_file(&ask.head)?;
    let rename = parse(&ask.head, &at, directory)?;
    let entry = ask.store.rename(&at, rename).await?;
    Ok(describe::written(Answer::new(StatusCode::OK), &ask.head, &entry))
}

fn parse(head: &Head, at: &FileAt, directory: bool) -> Result<Rename, Refusal> {
    Ok(Rename {
        source: place::rename_source(head, at)?,
        directory,
        replace: head.flag("x-ms-file-rename-replace-if-exists")?,
        ignore_read_only: head.flag("x-ms-file-rename-ignore-readonly")?,
        source_lease: head.opt("x-ms-source-lease-id", LeaseId::parse)?,
        destination_lease: head.opt("x-ms-destination-lease-id", LeaseId::parse)?,
        smb: smb::optional(head)?,
        metadata: Some(headers::metadata(head)?).filter(|metadata| !metadata.is_empty()),
        content_type: head.text("x-ms-content-type").map(str::to_owned),
    })
}
