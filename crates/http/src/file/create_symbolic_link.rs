//! Create Symbolic Link, in an NFS share.

use http::StatusCode;
use lazuli_model::file::CreateSymbolicLink;

use crate::answer::Answer;
use crate::file::{describe, place, smb};
use crate::operation::{AccountNeeds, LEASE, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "CreateSymbolicLink",
    methods: &["PUT"],
    on: On::File,
    restype: Some("symboliclink"),
    needs: "cw",
    account_sas: Some(AccountNeeds { resource: 'o', any: "cw" }),
    takes: LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable_file(&ask.head)?;
    let create = CreateSymbolicLink {
        // Percent-encoded, because a header cannot hold every name.
        target: ask.head.required("x-ms-link-text", |text| {
            percent_encoding::percent_decode_str(text).decode_utf8().ok().map(|text| text.into_owned())
        })?,
        smb: smb::optional(&ask.head)?,
        posix: smb::posix(&ask.head)?,
        metadata: headers::metadata(&ask.head)?,
        lease: headers::lease_id(&ask.head)?,
    };
    let entry = ask.store.create_symbolic_link(&at, create).await?;
    Ok(describe::entry(Answer::new(StatusCode::CREATED), &ask.head, &entry))
}
