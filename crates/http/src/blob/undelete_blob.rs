//! Undelete Blob.

use http::StatusCode;
use lazuli_store::Failure;

use crate::answer::Answer;
use crate::blob::headers;
use crate::operation::{AccountNeeds, On, Spec};
use crate::serve::Ask;

pub const SPEC: Spec = Spec {
    name: "UndeleteBlob",
    methods: &["PUT"],
    on: On::Blob,
    comp: Some("undelete"),
    needs: "w",
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    headers::conditions(&ask.head, &SPEC)?;
    ask.store.undelete_blob(&ask.head.blob_at()?).await?;
    Ok(Answer::new(StatusCode::OK))
}
