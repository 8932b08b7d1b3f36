//! Set File Metadata.

use http::StatusCode;
use lazuli_model::file::SetFileMetadata;

use crate::answer::{Answer, name};
use crate::file::place;
use crate::operation::{AccountNeeds, LEASE, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "SetFileMetadata",
    methods: &["PUT"],
    on: On::File,
    comp: Some("metadata"),
    needs: "w",
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    takes: LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable_file(&ask.head)?;
    let set = SetFileMetadata { metadata: headers::metadata(&ask.head)?, lease: headers::lease_id(&ask.head)? };
    let file = ask.store.set_file_metadata(&at, set).await?;
    let answer = Answer::new(StatusCode::OK).etag(file.node.etag, file.node.modified);
    Ok(answer.constant(&name::REQUEST_SERVER_ENCRYPTED, "true"))
}
