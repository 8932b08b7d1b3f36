//! Set Blob Legal Hold.

use http::StatusCode;
use lazuli_model::blob::SetLegalHold;

use crate::answer::Answer;
use crate::blob::protection;
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "SetBlobLegalHold",
    methods: &["PUT"],
    on: On::Blob,
    comp: Some("legalhold"),
    needs: "i",
    account_sas: Some(AccountNeeds { resource: 'o', any: "i" }),
    moments: true,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    protection::permit(ask)?;
    headers::conditions(&ask.head, &SPEC)?;
    let hold = protection::legal_hold(&ask.head)?;
    let hold = hold.ok_or(Refusal::MissingRequiredHeader { header: "x-ms-legal-hold".into() })?;
    let which = headers::which(&ask.head)?;
    ask.store.set_legal_hold(&ask.head.blob_at()?, SetLegalHold { which, hold }).await?;
    Ok(protection::hold_of(Answer::new(StatusCode::OK), hold))
}
