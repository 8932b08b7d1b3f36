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
mod record;
mod set_table_acl;
mod spans;
mod zones;

pub use query_entities::{EntityPage, QueryEntities};
pub use query_tables::{QueryTables, TablePage};

use std::cell::Cell;

use bytes::Bytes;
use lazuli_engine::{Fault, Partition, Txn};
use lazuli_model::table::{Entity, Fields, Filter, Key, Refused, Seen, Sight, Table};
use lazuli_model::{AccountName, TableName};

use crate::keys::{self, TableKeys, read_entity};
use crate::records::{corrupt, decode};
use crate::transact::{Decided, get};
use crate::{Failure, Store};
use record::EntityRecord;

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

impl OpenTable {
    pub(crate) fn keys(&self) -> &TableKeys {
        &self.keys
    }
}

impl Store {
    pub async fn open_table(&self, at: &TableAt) -> Result<OpenTable, Failure> {
        let table =
            self.look(&partition(at), |txn| stored(txn, at)).await?.ok_or(Refused::TableNotFound).map_err(refused)?;
        Ok(OpenTable { name: table.name, keys: TableKeys::new(table.id) })
    }
}

fn refused(refused: Refused) -> Failure {
    Failure::Refused(refused.into())
}

/// An entity that was found, as it is stored.
#[derive(Clone, Debug)]
pub struct Found {
    key: lazuli_engine::Key,
    record: Bytes,
}

impl Found {
    /// What there is to see of it. The second is a list to put the properties in, so that one serves a whole page.
    pub fn see<'a>(&'a self, mut properties: Vec<(&'a str, Seen<'a>)>) -> Result<Sight<'a>, Fault> {
        let (partition, row) = read_entity(self.key.as_bytes()).ok_or_else(|| no_entity(self.key.as_bytes()))?;
        let record = EntityRecord::open(&self.record).ok_or_else(|| corrupt::<Entity>(&self.record))?;
        record.read(&mut properties).ok_or_else(|| corrupt::<Entity>(&self.record))?;
        let modified = record.modified().ok_or_else(|| corrupt::<Entity>(&self.record))?;
        Ok(Sight { partition, row, modified, properties })
    }

    /// A copy of it.
    pub fn entity(&self) -> Result<(Key, Entity), Fault> {
        let (partition, row) = read_entity(self.key.as_bytes()).ok_or_else(|| no_entity(self.key.as_bytes()))?;
        Ok((Key::new(partition, row), decode(&self.record)?))
    }
}

fn no_entity(key: &[u8]) -> Fault {
    Fault::Corrupt(format!("the key of an entity has no keys: {}", key.escape_ascii()))
}

/// What a filter looks into: an entity's keys, and what is stored of it, each read when it is asked for.
struct Row<'a> {
    key: &'a [u8],
    record: &'a [u8],
    is_broken: Cell<bool>,
}

impl<'a> Row<'a> {
    fn new(key: &'a [u8], record: &'a [u8]) -> Self {
        Self { key, record, is_broken: Cell::new(false) }
    }

    /// Refused if what was asked for could not be read.
    fn fits(&self, filter: &Filter) -> Result<bool, Fault> {
        let holds = filter.holds(self);
        if self.is_broken.get() { Err(corrupt::<Entity>(self.record)) } else { Ok(holds) }
    }

    #[inline]
    fn stored(&self, name: &str) -> Option<Option<Seen<'a>>> {
        Some(match name {
            "PartitionKey" => Some(Seen::String(read_entity(self.key)?.0)),
            "RowKey" => Some(Seen::String(read_entity(self.key)?.1)),
            "Timestamp" => Some(Seen::DateTime(EntityRecord::open(self.record)?.modified()?)),
            _ => EntityRecord::open(self.record)?.find(name)?,
        })
    }
}

impl Fields for Row<'_> {
    #[inline]
    fn field(&self, name: &str) -> Option<Seen<'_>> {
        let stored = self.stored(name);
        if stored.is_none() {
            self.is_broken.set(true);
        }
        stored?
    }
}
