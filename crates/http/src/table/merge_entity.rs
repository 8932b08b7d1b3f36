//! Merge Entity, which needs to know what it changes, and Insert Or Merge Entity, which does not.

use super::DOCUMENT_MAX;
use super::insert_entity::change;
use crate::answer::Answer;
use crate::operation::{AccountNeeds, Body, On, Spec, When};
use crate::refusal::Failure;
use crate::serve::Ask;

pub const MERGE: Spec = Spec {
    name: "MergeEntity",
    methods: &["PATCH", "MERGE"],
    on: On::Entity,
    when: &[When::Header("if-match")],
    needs: "u",
    account_sas: Some(AccountNeeds { resource: 'o', any: "u" }),
    body: Body::Document { most: DOCUMENT_MAX },
    ..Spec::PLAIN
};

pub const UPSERT: Spec = Spec {
    name: "InsertOrMergeEntity",
    when: &[When::NoHeader("if-match")],
    needs: "au",
    account_sas: Some(AccountNeeds { resource: 'o', any: "au" }),
    ..MERGE
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    change(ask).await
}
