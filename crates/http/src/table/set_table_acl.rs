//! Set Table ACL: the stored policies, all replaced at once.

use http::StatusCode;

use super::get_table_acl::not_by_token;
use crate::answer::Answer;
use crate::operation::{Body, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;
use crate::wire::xml;

const DOCUMENT_MAX: u64 = 64 << 10;

pub const SPEC: Spec = Spec {
    name: "SetTableAcl",
    methods: &["PUT"],
    on: On::Entities,
    comp: Some("acl"),
    body: Body::Document { most: DOCUMENT_MAX },
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    not_by_token(ask)?;
    let at = ask.head.table_at()?;
    let document = ask.body.document(DOCUMENT_MAX).await?;
    ask.store.set_table_acl(&at, xml::read_signed_identifiers(&document, xml::letters::TABLE)?).await?;
    Ok(Answer::new(StatusCode::NO_CONTENT))
}
