//! List Handles: what SMB clients have open, of a file, a directory, or all that is below one.

use http::StatusCode;
use lazuli_store::ListHandles;

use crate::answer::Answer;
use crate::file::place;
use crate::head::Head;
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::page;
use crate::wire::xml;

pub const SPEC: Spec = Spec {
    name: "ListHandles",
    methods: &["GET"],
    on: On::File,
    comp: Some("listhandles"),
    needs: "lr",
    account_sas: Some(AccountNeeds { resource: 'o', any: "lr" }),
    ..Spec::PLAIN
};

/// Which handles are asked for: those to list, or to close.
pub fn parse(head: &Head) -> Result<ListHandles, Refusal> {
    Ok(ListHandles {
        snapshot: place::snapshot(head)?,
        recursive: head.flag("x-ms-recursive")?,
        marker: head.query.get("marker").map(str::to_owned),
        most: page::most(head)?,
    })
}

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let found = ask.store.list_handles(&place::any(&ask.head)?, parse(&ask.head)?).await?;
    let (marker, most) = (ask.head.query.get("marker"), page::repeated(&ask.head));
    Ok(Answer::new(StatusCode::OK).xml(xml::handles(&found, marker, most, ask.head.version)))
}
