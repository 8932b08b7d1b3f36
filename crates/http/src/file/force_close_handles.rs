//! Force Close Handles: of a file, a directory, or all that is below one.

use http::StatusCode;
use lazuli_model::file::CloseHandles;

use crate::answer::{Answer, name};
use crate::file::{list_handles, place};
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;

pub const SPEC: Spec = Spec {
    name: "ForceCloseHandles",
    methods: &["PUT"],
    on: On::File,
    comp: Some("forceclosehandles"),
    needs: "w",
    account_sas: Some(AccountNeeds { resource: 'o', any: "w" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::any(&ask.head)?;
    let close = ask.head.required("x-ms-handle-id", |text| match text {
        "*" => Some(CloseHandles::All),
        id => id.parse().ok().map(CloseHandles::One),
    })?;
    let closed = ask.store.close_handles(&at, close, list_handles::parse(&ask.head)?).await?;
    Ok(Answer::new(StatusCode::OK)
        .number(&name::HANDLES_CLOSED, closed.closed.into())
        .number(&name::HANDLES_FAILED, closed.failed.into())
        .optional(&name::MARKER, closed.next))
}
