//! Delete Entity.

use super::insert_entity::change;
use crate::answer::Answer;
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;

pub const SPEC: Spec = Spec {
    name: "DeleteEntity",
    methods: &["DELETE"],
    on: On::Entity,
    needs: "d",
    account_sas: Some(AccountNeeds { resource: 'o', any: "d" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    change(ask).await
}
