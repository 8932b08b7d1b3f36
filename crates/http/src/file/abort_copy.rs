//! Abort Copy File. Copies are done when they are answered, so that there is never one to abort.

use crate::answer::Answer;
use crate::file::{get_file_properties, place};
use crate::head::read_guid;
use crate::operation::{AccountNeeds, LEASE, On, Spec, When};
use crate::refusal::{Denied, Failure, Refusal};
use crate::serve::Ask;

pub const SPEC: Spec = Spec {
    name: "AbortCopyFile",
    methods: &["PUT"],
    on: On::File,
    comp: Some("copy"),
    when: &[When::HeaderIs("x-ms-copy-action", "abort")],
    needs: "w",
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    takes: LEASE,
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable_file(&ask.head)?;
    let id = ask.head.query.get("copyid");
    let id = id.ok_or(Refusal::MissingRequiredQueryParameter { name: "copyid".into() })?;
    // Rule F3.
    if read_guid(id).is_none() {
        let (name, value, reason) = ("copyid".into(), id.to_owned(), "copyid needs to be valid Guid.".into());
        return Err(Refusal::InvalidQueryParameterValue { name, value, reason }.into());
    }
    ask.store.file(&at, get_file_properties::parse(&ask.head)?).await?;
    Err(Denied::NoPendingCopyOperation.into())
}
