//! Tables and entities: their records, their limits, and what each operation makes of them.
//!
//! Held true: an entity's ETag is its `Timestamp`, so the two move together; a client that wants to change an entity must say
//! which one it saw, unless it says `*`, or asks for an upsert ("Update Entity", "Insert Or Replace Entity").

mod change;
pub mod filter;
mod limits;
pub mod plan;
mod refused;
mod tag;
mod value;

pub use change::{Action, Change, Changed, Expect, OPERATIONS_MAX, Place, check_batch, check_count};
pub use filter::{Extent, Extents, Fields, Filter};
pub use limits::{KEY_UNITS_MAX, PROPERTIES_MAX, check};
pub use plan::{Plan, Span};
pub use refused::Refused;
pub use tag::Tag;
pub use value::{Guid, Seen, Value, read_time};

use serde::{Deserialize, Serialize};

use crate::access::StoredPolicy;
use crate::{Refusal, Timestamp};

/// 3–63 letters and digits, a letter first. Two names that differ only in case are the same table.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TableName(String);

impl TableName {
    /// A name that somebody may give, or one of metrics.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        if is_of_metrics(text) {
            return Ok(Self(text.to_owned()));
        }
        if !(3..=63).contains(&text.chars().take(64).count()) {
            return Err(Refused::NameLength.into());
        }
        let letters = text.bytes().all(|b| b.is_ascii_alphanumeric());
        let reserved = text.eq_ignore_ascii_case("tables");
        if letters && text.as_bytes()[0].is_ascii_alphabetic() && !reserved {
            Ok(Self(text.to_owned()))
        } else {
            Err(Refusal::InvalidResourceName)
        }
    }

    /// Of a table that storage analytics writes.
    pub(crate) fn of_metrics(text: &str) -> Self {
        debug_assert!(is_of_metrics(text), "{text}");
        Self(text.to_owned())
    }

    /// Whether only the service makes it and writes there; nobody lists it.
    pub fn is_of_metrics(&self) -> bool {
        is_of_metrics(&self.0)
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What tells it from other tables.
    pub fn folded(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

/// `$MetricsHourPrimaryTransactionsBlob` and its kin ("Storage Analytics metrics table schema").
fn is_of_metrics(text: &str) -> bool {
    let folded = text.to_ascii_lowercase();
    let Some(rest) = folded.strip_prefix("$metrics") else { return false };
    let span = rest.strip_prefix("hour").or_else(|| rest.strip_prefix("minute"));
    match span.and_then(|rest| rest.strip_prefix("primarytransactions")) {
        Some(service) => ["blob", "queue", "table", "file"].contains(&service),
        None => rest == "capacityblob",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// The space of its entities. Creating the table anew gives it another.
    pub id: u128,
    /// As it was written when it was created.
    pub name: TableName,
    pub policies: Vec<StoredPolicy>,
}

#[derive(Clone, Debug)]
pub struct CreateTable {
    pub id: u128,
    pub name: TableName,
}

impl CreateTable {
    pub fn decide(&self, current: Option<&Table>) -> Result<Table, Refusal> {
        match current {
            None => Ok(Table { id: self.id, name: self.name.clone(), policies: Vec::new() }),
            Some(_) => Err(Refused::TableAlreadyExists.into()),
        }
    }
}

/// What an entity is found by. Ordered as tables are: by partition, then by row, each by its characters.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub partition: String,
    pub row: String,
}

impl Key {
    pub fn new(partition: impl Into<String>, row: impl Into<String>) -> Self {
        Self { partition: partition.into(), row: row.into() }
    }
}

/// An entity without its keys. Properties stand in the order in which they were inserted, or by name once it was changed
/// (observed).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entity {
    pub modified: Timestamp,
    pub properties: Vec<(String, Value)>,
}

impl Entity {
    pub fn tag(&self) -> Tag {
        Tag(self.modified)
    }

    /// What there is to see of it, under its key.
    pub fn see<'a>(&'a self, key: &'a Key) -> Sight<'a> {
        let properties = self.properties.iter().map(|(name, value)| (name.as_str(), value.seen())).collect();
        Sight { partition: &key.partition, row: &key.row, modified: self.modified, properties }
    }
}

/// An entity with its keys that is looked at and not kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Sight<'a> {
    pub partition: &'a str,
    pub row: &'a str,
    pub modified: Timestamp,
    pub properties: Vec<(&'a str, Seen<'a>)>,
}

impl Sight<'_> {
    pub fn tag(&self) -> Tag {
        Tag(self.modified)
    }
}

/// The part of a table that a shared access signature opens: from one key to another, both included. `None` is no bound;
/// a row is a bound only together with its partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Within {
    pub from: Option<(String, Option<String>)>,
    pub to: Option<(String, Option<String>)>,
}

impl Within {
    pub fn everything(&self) -> bool {
        self.from.is_none() && self.to.is_none()
    }

    pub fn holds(&self, partition: &str, row: &str) -> bool {
        let after = self.from.as_ref().is_none_or(|(first, from)| {
            partition > first || (partition == first && from.as_deref().is_none_or(|from| row >= from))
        });
        let before = self.to.as_ref().is_none_or(|(last, to)| {
            partition < last || (partition == last && to.as_deref().is_none_or(|to| row <= to))
        });
        after && before
    }
}

#[cfg(test)]
mod tests;
