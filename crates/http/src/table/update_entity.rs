//! Update Entity, which needs to know what it replaces, and Insert Or Replace Entity, which does not.

use super::insert_entity::change;
use super::merge_entity;
use crate::answer::Answer;
use crate::operation::Spec;
use crate::refusal::Failure;
use crate::serve::Ask;

pub const UPDATE: Spec = Spec { name: "UpdateEntity", methods: &["PUT"], ..merge_entity::MERGE };

pub const UPSERT: Spec = Spec { name: "InsertOrReplaceEntity", methods: &["PUT"], ..merge_entity::UPSERT };

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    change(ask).await
}
