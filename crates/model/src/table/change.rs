//! What becomes of an entity: insert, update, merge, the two upserts and delete; and what a batch of them must keep to.

use std::collections::HashSet;

use super::{Entity, Key, Refused, Tag, Value, check};
use crate::{Refusal, Timestamp};

/// Of one entity group transaction.
pub const OPERATIONS_MAX: usize = 100;

/// `If-Match`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// `*`: whatever is there, but something must be.
    Any,
    /// `None` is a tag that no entity can have.
    Tag(Option<Tag>),
}

impl Expect {
    fn check(self, current: Option<&Entity>) -> Result<&Entity, Refusal> {
        let current = current.ok_or(Refusal::ResourceNotFound)?;
        match self {
            Expect::Any => Ok(current),
            Expect::Tag(tag) if tag == Some(current.tag()) => Ok(current),
            Expect::Tag(_) => Err(Refused::UpdateConditionNotSatisfied.into()),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Insert(Vec<(String, Value)>),
    Replace(Place, Vec<(String, Value)>),
    Merge(Place, Vec<(String, Value)>),
    Delete(Expect),
}

/// Where an update or a merge may land.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On an entity that is there and is the expected one.
    Found(Expect),
    /// On whatever is there, or on nothing: an upsert, which checks nothing.
    Anywhere,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub key: Key,
    pub action: Action,
}

/// What a change left behind: the entity, or nothing.
pub type Changed = Option<Entity>;

impl Change {
    /// What the entity becomes.
    pub fn decide(&self, current: Option<&Entity>, now: Timestamp) -> Result<Changed, Refusal> {
        let properties = match &self.action {
            Action::Insert(_) if current.is_some() => return Err(Refused::EntityAlreadyExists.into()),
            Action::Insert(properties) => properties.clone(),
            Action::Replace(place, properties) => {
                place.check(current)?;
                by_name(properties.clone())
            }
            Action::Merge(place, properties) => {
                let old = place.check(current)?.map_or(&[][..], |entity| &entity.properties);
                let kept = old.iter().filter(|(name, _)| !properties.iter().any(|(new, _)| new == name));
                let merged = by_name(kept.chain(properties).cloned().collect());
                check(&self.key, &merged)?;
                merged
            }
            Action::Delete(expect) => return expect.check(current).map(|_| None),
        };
        Ok(Some(Entity { modified: now, properties }))
    }

    /// What can be said of it without looking at what is there.
    pub fn check(&self) -> Result<(), Refusal> {
        match &self.action {
            Action::Insert(properties) | Action::Replace(_, properties) | Action::Merge(_, properties) => {
                check(&self.key, properties)
            }
            Action::Delete(_) => check(&self.key, &[]),
        }
    }
}

impl Place {
    fn check(self, current: Option<&Entity>) -> Result<Option<&Entity>, Refusal> {
        match self {
            Place::Anywhere => Ok(current),
            Place::Found(expect) => expect.check(current).map(Some),
        }
    }
}

fn by_name(mut properties: Vec<(String, Value)>) -> Vec<(String, Value)> {
    properties.sort_by(|(one, _), (other, _)| one.cmp(other));
    properties
}

fn in_batch(index: usize, refused: Refused) -> Refusal {
    Refused::InBatch { index, refusal: Box::new(refused.into()) }.into()
}

/// At most a hundred operations.
pub fn check_count(operations: usize) -> Result<(), Refusal> {
    if operations > OPERATIONS_MAX { Err(in_batch(OPERATIONS_MAX - 1, Refused::TooManyOperations)) } else { Ok(()) }
}

/// One partition, and each entity once. How many there are was checked before they were read ([`check_count`]).
pub fn check_batch<'a>(keys: impl ExactSizeIterator<Item = &'a Key>) -> Result<(), Refusal> {
    let refuse = |index: usize, refused: Refused| Err(in_batch(index, refused));
    assert!(keys.len() <= OPERATIONS_MAX, "operations were counted before they were read");
    let mut partition = None;
    let mut rows = HashSet::new();
    for (index, key) in keys.enumerate() {
        if *partition.get_or_insert(&key.partition) != &key.partition {
            return refuse(index, Refused::CommandsInBatchActOnDifferentPartitions);
        }
        if !rows.insert(&key.row) {
            return refuse(index, Refused::InvalidDuplicateRow);
        }
    }
    Ok(())
}
