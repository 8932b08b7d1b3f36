//! Delete Table.

use http::StatusCode;

use super::answers::fresh;
use crate::answer::Answer;
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;

pub const SPEC: Spec = Spec {
    name: "DeleteTable",
    methods: &["DELETE"],
    on: On::Table,
    account_sas: Some(AccountNeeds { resource: 'c', any: "d" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    ask.store.delete_table(&ask.head.table_at()?).await?;
    Ok(fresh(StatusCode::NO_CONTENT))
}
