//! Operations on tables and their entities: one file each.
//!
//! Held true of a table's space:
//! * an entity is one row, at `partition 00 row`, so that tables are in the order of their keys;
//! * a partition of the engine is one PartitionKey, so that what changes together has one.

mod change_entities;
mod create_table;
mod delete_table;
mod get_entity;
mod get_table;
mod query_entities;
mod query_tables;
mod set_table_acl;
mod spans;

pub use query_entities::{EntityPage, QueryEntities};
pub use query_tables::{QueryTables, TablePage};

use std::cell::OnceCell;

use lazuli_engine::{Fault, Partition, Txn};
use lazuli_model::table::{Entity, Fields, Filter, Refused, Seen, Table};
use lazuli_model::{AccountName, TableName, Timestamp};
use serde::Deserialize;

use crate::keys::{self, TableKeys};
use crate::records::in_place;
use crate::transact::{Decided, get};
use crate::{Failure, Store};

/// Where a table is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableAt {
    pub account: AccountName,
    pub table: TableName,
}

/// A table that was found. What is done with it after it was deleted lands where nobody looks, as if just before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenTable {
    /// As it was written when it was created.
    pub name: TableName,
    keys: TableKeys,
}

fn stored(txn: &mut Txn<'_>, at: &TableAt) -> Decided<Option<Table>> {
    get(txn, &keys::table(at))
}

fn partition(at: &TableAt) -> Partition {
    Partition::new(keys::ROOT, keys::table_partition(at))
}

impl Store {
    pub async fn open_table(&self, at: &TableAt) -> Result<OpenTable, Failure> {
        let table = self.look(|txn| stored(txn, at)).await?.ok_or(Refused::TableNotFound).map_err(refused)?;
        Ok(OpenTable { name: table.name, keys: TableKeys::new(table.id) })
    }
}

fn refused(refused: Refused) -> Failure {
    Failure::Refused(refused.into())
}

/// An entity read where it is stored: encoded as [`lazuli_model::table::Entity`] is.
#[derive(Deserialize)]
struct Stored<'a> {
    modified: Timestamp,
    #[serde(borrow)]
    properties: Vec<(&'a str, Seen<'a>)>,
}

/// What a filter looks into: an entity's keys, and what is stored of it, which is read when it is first asked for.
struct Row<'a> {
    partition: &'a str,
    row: &'a str,
    record: &'a [u8],
    stored: OnceCell<Result<Stored<'a>, Fault>>,
}

impl<'a> Row<'a> {
    fn new(partition: &'a str, row: &'a str, record: &'a [u8]) -> Self {
        Self { partition, row, record, stored: OnceCell::new() }
    }

    fn stored(&self) -> Option<&Stored<'a>> {
        self.stored.get_or_init(|| in_place::<Entity, _>(self.record)).as_ref().ok()
    }

    /// Refused if what was asked for could not be read.
    fn fits(self, filter: &Filter) -> Result<bool, Fault> {
        let holds = filter.holds(&self);
        match self.stored.into_inner() {
            Some(Err(fault)) => Err(fault),
            Some(Ok(_)) | None => Ok(holds),
        }
    }
}

impl Fields for Row<'_> {
    fn field(&self, name: &str) -> Option<Seen<'_>> {
        match name {
            "PartitionKey" => Some(Seen::String(self.partition)),
            "RowKey" => Some(Seen::String(self.row)),
            "Timestamp" => Some(Seen::DateTime(self.stored()?.modified)),
            _ => self.stored()?.properties.iter().find(|(found, _)| *found == name).map(|(_, value)| *value),
        }
    }
}
