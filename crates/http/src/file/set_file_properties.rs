//! Set File Properties: the content's headers, its length, and SMB properties. One of the content's headers sets them all.

use http::StatusCode;
use lazuli_model::file::SetFileProperties;

use crate::answer::Answer;
use crate::file::create_file::LENGTH_MAX;
use crate::file::{describe, place, smb};
use crate::head::Head;
use crate::operation::{AccountNeeds, LEASE, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "SetFileProperties",
    methods: &["PUT"],
    on: On::File,
    comp: Some("properties"),
    needs: "w",
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    takes: LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable_file(&ask.head)?;
    let file = ask.store.set_file_properties(&at, parse(&ask.head)?).await?;
    Ok(describe::written(Answer::new(StatusCode::OK), &ask.head, &file))
}

fn parse(head: &Head) -> Result<SetFileProperties, Refusal> {
    let length = |text: &str| text.parse().ok().filter(|length| *length <= LENGTH_MAX);
    let content = smb::sets_content_headers(head).then(|| smb::content_headers(head)).transpose()?;
    Ok(SetFileProperties {
        length: head.opt("x-ms-content-length", length)?,
        headers: content,
        smb: smb::properties(head)?,
        posix: smb::posix(head)?,
        lease: headers::lease_id(head)?,
    })
}
