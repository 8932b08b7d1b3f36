//! Get one table by its name, which says no more than that it is there.

use http::StatusCode;

use super::answers::fresh;
use super::create_table::one;
use super::format::Format;
use crate::answer::Answer;
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::{Denied, Failure};
use crate::serve::Ask;

pub const SPEC: Spec = Spec {
    name: "GetTable",
    methods: &["GET"],
    on: On::Table,
    account_sas: Some(AccountNeeds { resource: 'c', any: "lr" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let format = Format::wanted(&ask.head)?;
    let table = ask.store.table(&ask.head.table_at()?).await?.ok_or(Denied::ResourceNotFound)?;
    let (kind, text) = one(&ask.head, format, table.name.as_str());
    Ok(fresh(StatusCode::OK).json(kind, text))
}
