//! Restore Share: brings a deleted share back, if the account keeps them.

use http::StatusCode;
use lazuli_model::file::ShareName;

use crate::answer::Answer;
use crate::file::{describe, place};
use crate::head::Target;
use crate::operation::{AccountNeeds, By, On, Second, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;

pub const SPEC: Spec = Spec { seconds: &[Second { by: By::DeletedShareName, judged_as: &[&RESTORED] }], ..RESTORED };

/// The same right is needed on the share that was deleted.
const RESTORED: Spec = Spec {
    name: "RestoreShare",
    methods: &["PUT"],
    on: On::Share,
    restype: Some("share"),
    comp: Some("undelete"),
    account_sas: Some(AccountNeeds { resource: 'c', any: "w" }),
    ..Spec::PLAIN
};

fn invalid(header: &'static str, value: &str) -> Refusal {
    Refusal::InvalidHeaderValue { header: header.into(), value: value.to_owned() }
}

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable_share(&ask.head)?;
    let naming = ask.required_naming(By::DeletedShareName)?;
    let deleted = ShareName::parse(naming.text).map_err(|_| naming.invalid())?;
    ask.permit_second(naming.second, Target::Share(naming.text.to_owned()), "").await?;
    let version = ask.head.required("x-ms-deleted-share-version", |text| Some(text.to_owned()))?;
    if deleted != at.share {
        return Err(invalid(By::DeletedShareName.header().unwrap_or_default(), deleted.as_str()).into());
    }
    let number = u64::from_str_radix(&version, 16).map_err(|_| invalid("x-ms-deleted-share-version", &version))?;
    let share = ask.store.restore_share(&at, number).await?;
    Ok(describe::changed_share(Answer::new(StatusCode::CREATED), &ask.head, &share, false))
}
