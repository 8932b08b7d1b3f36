//! Set Directory Metadata.

use http::StatusCode;

use crate::answer::{Answer, name};
use crate::file::place;
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "SetDirectoryMetadata",
    methods: &["PUT"],
    on: On::Directory,
    restype: Some("directory"),
    comp: Some("metadata"),
    needs: "w",
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable(&ask.head)?;
    let entry = ask.store.set_directory_metadata(&at, headers::metadata(&ask.head)?).await?;
    let answer = Answer::new(StatusCode::OK).etag(entry.node.etag, entry.node.modified);
    Ok(answer.constant(&name::REQUEST_SERVER_ENCRYPTED, "true"))
}
