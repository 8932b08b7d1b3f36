//! Create Hard Link: another name for a file of an NFS share.

use http::StatusCode;
use lazuli_model::file::{CreateHardLink, FilePath};
use lazuli_store::Failure;

use crate::answer::{Answer, name};
use crate::blob::headers;
use crate::file::{describe, place};
use crate::operation::{AccountNeeds, LEASE, On, Spec};
use crate::serve::Ask;

pub const SPEC: Spec = Spec {
    name: "CreateHardLink",
    methods: &["PUT"],
    on: On::File,
    restype: Some("hardlink"),
    needs: "cw",
    account_sas: Some(AccountNeeds { resource: 'o', any: "cw" }),
    takes: LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable_file(&ask.head)?;
    let create = CreateHardLink {
        target: ask.head.required("x-ms-file-target-file", |text| {
            let text = percent_encoding::percent_decode_str(text).decode_utf8().ok()?;
            FilePath::parse(&text, true).ok().filter(|path| !path.is_root())
        })?,
        lease: headers::lease_id(&ask.head)?,
    };
    let entry = ask.store.create_hard_link(&at, create).await?;
    let answer = describe::entry(Answer::new(StatusCode::CREATED), &ask.head, &entry);
    Ok(answer.number(&name::LINK_COUNT, entry.node.links.into()))
}
