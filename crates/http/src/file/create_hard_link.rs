//! Create Hard Link: another name for a file of an NFS share.

use http::StatusCode;
use lazuli_model::file::{CreateHardLink, FilePath};
use lazuli_store::FileAt;

use crate::answer::{Answer, name};
use crate::file::{describe, get_file, place, put_range};
use crate::head::Target;
use crate::operation::{AccountNeeds, By, LEASE, On, Second, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "CreateHardLink",
    methods: &["PUT"],
    on: On::File,
    restype: Some("hardlink"),
    needs: "cw",
    account_sas: Some(AccountNeeds { resource: 'o', any: "cw" }),
    takes: LEASE,
    // By its new name a file is read and written.
    seconds: &[Second { by: By::FileTargetFile, judged_as: &[&get_file::SPEC, &put_range::UPDATE] }],
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable_file(&ask.head)?;
    let create = CreateHardLink { target: target(ask, &at).await?, lease: headers::lease_id(&ask.head)? };
    let entry = ask.store.create_hard_link(&at, create).await?;
    let answer = describe::entry(Answer::new(StatusCode::CREATED), &ask.head, &entry);
    Ok(answer.number(&name::LINK_COUNT, entry.node.links.into()))
}

/// The file that gets another name, if it may be read and written.
async fn target(ask: &Ask, at: &FileAt) -> Result<FilePath, Failure> {
    let naming = ask.required_naming(By::FileTargetFile)?;
    let text = percent_encoding::percent_decode_str(naming.text).decode_utf8().map_err(|_| naming.invalid())?;
    let path = FilePath::parse(&text, true).ok().filter(|path| !path.is_root()).ok_or_else(|| naming.invalid())?;
    let target = Target::Path { share: at.share.as_str().to_owned(), path: text.trim_matches('/').to_owned() };
    ask.permit_second(naming.second, target, "").await?;
    Ok(path)
}
