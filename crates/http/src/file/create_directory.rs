//! Create Directory.

use http::StatusCode;
use lazuli_model::file::CreateDirectory;

use crate::answer::Answer;
use crate::file::{describe, place, smb};
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "CreateDirectory",
    methods: &["PUT"],
    on: On::Directory,
    restype: Some("directory"),
    needs: "cw",
    account_sas: Some(AccountNeeds { resource: 'o', any: "cw" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable(&ask.head)?;
    let create = CreateDirectory {
        smb: smb::of_new(&ask.head)?,
        posix: smb::posix(&ask.head)?,
        metadata: headers::metadata(&ask.head)?,
    };
    let entry = ask.store.create_directory(&at, create).await?;
    Ok(describe::written(Answer::new(StatusCode::CREATED), &ask.head, &entry))
}
