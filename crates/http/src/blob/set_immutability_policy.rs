//! Set Blob Immutability Policy.

use http::StatusCode;
use lazuli_model::blob::SetImmutabilityPolicy;

use crate::answer::Answer;
use crate::blob::protection;
use crate::head::Head;
use crate::operation::{AccountNeeds, IF_UNMODIFIED_SINCE, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "SetBlobImmutabilityPolicy",
    methods: &["PUT"],
    on: On::Blob,
    comp: Some("immutabilityPolicies"),
    needs: "i",
    account_sas: Some(AccountNeeds { resource: 'o', any: "i" }),
    takes: IF_UNMODIFIED_SINCE,
    moments: true,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    protection::permit(ask)?;
    let set = parse(&ask.head)?;
    let policy = set.policy;
    ask.store.set_immutability_policy(&ask.head.blob_at()?, set).await?;
    // Without ETag and Last-Modified, which the reference has here (observed): the policy changes neither.
    Ok(protection::policy_of(Answer::new(StatusCode::OK), policy))
}

fn parse(head: &Head) -> Result<SetImmutabilityPolicy, Refusal> {
    let until = "x-ms-immutability-policy-until-date";
    Ok(SetImmutabilityPolicy {
        which: headers::which(head)?,
        policy: protection::policy(head)?.ok_or(Refusal::MissingRequiredHeader { header: until.into() })?,
        conditions: headers::conditions(head, &SPEC)?,
    })
}
