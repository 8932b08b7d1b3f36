//! Delete Blob Immutability Policy.

use http::StatusCode;
use lazuli_model::blob::DeleteImmutabilityPolicy;

use crate::answer::Answer;
use crate::blob::protection;
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "DeleteBlobImmutabilityPolicy",
    methods: &["DELETE"],
    on: On::Blob,
    comp: Some("immutabilityPolicies"),
    needs: "i",
    account_sas: Some(AccountNeeds { resource: 'o', any: "i" }),
    moments: true,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    protection::permit(ask)?;
    headers::conditions(&ask.head, &SPEC)?;
    let delete = DeleteImmutabilityPolicy { which: headers::which(&ask.head)? };
    ask.store.delete_immutability_policy(&ask.head.blob_at()?, delete).await?;
    Ok(Answer::new(StatusCode::OK))
}
