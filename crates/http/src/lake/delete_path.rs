//! Delete: a file, or a directory with or without what is in it.

use http::StatusCode;
use lazuli_store::{DeletePath, DeletedPath};

use super::headers as own;
use crate::answer::{Answer, name};
use crate::operation::{AccountNeeds, DATES, ETAGS, LEASE, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::versions::Since;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "DeletePath",
    methods: &["DELETE"],
    on: On::Blob,
    needs: "d",
    account_sas: Some(AccountNeeds { resource: 'o', any: "d" }),
    takes: ETAGS | DATES | LEASE,
    lake: true,
    ..Spec::PLAIN
};

/// One transaction takes a whole tree away, so that no answer ever has a continuation; one that is sent says nothing.
pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let head = &ask.head;
    let delete = DeletePath {
        recursive: own::flag(head, "recursive")?,
        conditions: headers::conditions(head, &SPEC)?,
        lease: headers::lease_id(head)?,
    };
    let deleted = ask.store.delete_path(&own::path_at(head)?, delete).await?;
    let answer = Answer::new(StatusCode::OK);
    if ask.head.lacks(Since::PathExpiry) {
        return Ok(answer);
    }
    Ok(match deleted {
        DeletedPath::Gone => answer.constant(&name::DELETE_TYPE_PERMANENT, "true"),
        DeletedPath::Kept(id) => answer.constant(&name::DELETE_TYPE_PERMANENT, "false").number(&name::DELETION_ID, id),
    })
}
