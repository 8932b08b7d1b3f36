//! Delete Directory, which must be empty.

use http::StatusCode;

use crate::answer::Answer;
use crate::file::place;
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;

pub const SPEC: Spec = Spec {
    name: "DeleteDirectory",
    methods: &["DELETE"],
    on: On::Directory,
    restype: Some("directory"),
    needs: "d",
    account_sas: Some(AccountNeeds { resource: 'o', any: "d" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    ask.store.delete_directory(&place::writable(&ask.head)?).await?;
    Ok(Answer::new(StatusCode::ACCEPTED))
}
