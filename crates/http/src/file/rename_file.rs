//! Rename File: the destination is in the URL, the source in a header.

use http::StatusCode;
use lazuli_model::LeaseId;
use lazuli_model::file::{FilePath, Rename};
use lazuli_store::FileAt;

use crate::answer::Answer;
use crate::file::{describe, get_file, place, smb};
use crate::head::{Head, Target};
use crate::operation::{AccountNeeds, By, On, Second, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "RenameFile",
    methods: &["PUT"],
    on: On::File,
    comp: Some("rename"),
    needs: "w",
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    seconds: &[Second { by: By::FileRenameSource, judged_as: &[&get_file::SPEC, &MOVED] }],
    ..Spec::PLAIN
};

/// What the source loses: its name. The service takes `w` for that (recorded: `sp=rw`), as well as `d`. It must be readable too, because at
/// its new place others may read it.
pub const MOVED: Spec = Spec {
    name: "RenameSource",
    methods: &["DELETE"],
    on: On::File,
    needs: "wd",
    account_sas: Some(AccountNeeds { resource: 'o', any: "wd" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    rename(ask, false).await
}

/// Also of a directory.
pub async fn rename(ask: &mut Ask, directory: bool) -> Result<Answer, Failure> {
    let at = place::writable_file(&ask.head)?;
    let source = source(ask, &at).await?;
    let rename = parse(&ask.head, source, directory)?;
    let entry = ask.store.rename(&at, rename).await?;
    Ok(describe::written(Answer::new(StatusCode::OK), &ask.head, &entry))
}

/// The path of the source, if it may be taken away.
async fn source(ask: &Ask, to: &FileAt) -> Result<FilePath, Failure> {
    let naming = ask.required_naming(By::FileRenameSource)?;
    let (text, query) = place::rename_source(naming.text, to).ok_or_else(|| naming.invalid())?;
    let path = FilePath::parse(&text, ask.head.flag("x-ms-source-allow-trailing-dot")?)?;
    if path.is_root() {
        return Err(naming.invalid().into());
    }
    let target = Target::Path { share: to.share.as_str().to_owned(), path: text };
    ask.permit_second(naming.second, target, query).await?;
    Ok(path)
}

fn parse(head: &Head, source: FilePath, directory: bool) -> Result<Rename, Refusal> {
    Ok(Rename {
        source,
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
