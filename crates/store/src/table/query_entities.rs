//! Query Entities: a page of what a filter wants, of one state of the table.
//!
//! A page costs what it looks at, and there is a limit to that: it ends after a thousand entities, after 4 MiB of
//! them, or when it has looked at enough that did not fit; then it may be empty, and says where to go on.

use std::ops::ControlFlow;

use lazuli_engine::{Entry, Fault, Key as RowKey, Txn};
use lazuli_model::table::{Entity, Filter, Key, Plan, Sight, Within};

use super::spans::ranges;
use super::{Found, OpenTable, Row, no_entity};
use crate::keys::read_entity;
use crate::transact::Decided;
use crate::{Failure, Store};

#[derive(Clone, Debug, Default)]
pub struct QueryEntities {
    pub filter: Option<Filter>,
    /// 1..=1000.
    pub most: usize,
    /// What `EntityPage::next` said.
    pub from: Option<Key>,
    pub within: Within,
}

#[derive(Clone, Debug, Default)]
pub struct EntityPage {
    pub items: Vec<Found>,
    pub next: Option<Key>,
}

impl EntityPage {
    /// Shows each entity, without copying it.
    pub fn each(&self, mut see: impl FnMut(&Sight<'_>)) -> Result<(), Failure> {
        let mut properties = Vec::new();
        for found in &self.items {
            let sight = found.see(properties)?;
            see(&sight);
            properties = sight.properties;
        }
        Ok(())
    }

    /// A copy of all of it.
    pub fn entities(&self) -> Result<Vec<(Key, Entity)>, Failure> {
        self.items.iter().map(|found| Ok(found.entity()?)).collect()
    }
}

/// What a page may look at.
const LOOKED_ROWS_MAX: usize = 20_000;
const LOOKED_BYTES_MAX: usize = 32 << 20;
/// What a page may hold.
const PAGE_BYTES_MAX: usize = 4 << 20;

impl Store {
    pub async fn query_entities(&self, table: &OpenTable, query: &QueryEntities) -> Result<EntityPage, Failure> {
        let mut ranges = ranges(&Plan::of(query.filter.as_ref(), &query.within), &table.keys);
        if let Some(from) = &query.from {
            let from = table.keys.entity(&from.partition, &from.row);
            ranges.retain_mut(|(begin, end)| {
                *begin = from.clone().max(begin.clone());
                begin < end
            });
        }
        self.look(|txn| page(txn, query, &ranges)).await
    }
}

/// What was looked at so far, and what it came to.
struct Looking<'a> {
    query: &'a QueryEntities,
    rows: usize,
    bytes: usize,
    page_bytes: usize,
    items: Vec<Found>,
}

fn page(txn: &mut Txn<'_>, query: &QueryEntities, ranges: &[(RowKey, RowKey)]) -> Decided<EntityPage> {
    let mut looking = Looking { query, rows: 0, bytes: 0, page_bytes: 0, items: Vec::new() };
    for (from, to) in ranges {
        let mut end = Ok(None);
        txn.walk(from, to, &mut |entry| {
            let more = if looking.is_full() { key_of(entry).map(Some) } else { looking.judge(entry).map(|()| None) };
            match more {
                Ok(None) => ControlFlow::Continue(()),
                ended => {
                    end = ended;
                    ControlFlow::Break(())
                }
            }
        })?;
        if let next @ Some(_) = end? {
            return Ok(EntityPage { items: looking.items, next });
        }
    }
    Ok(EntityPage { items: looking.items, next: None })
}

impl Looking<'_> {
    fn is_full(&self) -> bool {
        self.items.len() >= self.query.most
            || self.page_bytes >= PAGE_BYTES_MAX
            || self.rows >= LOOKED_ROWS_MAX
            || self.bytes >= LOOKED_BYTES_MAX
    }

    fn judge(&mut self, entry: &Entry<'_>) -> Result<(), Fault> {
        self.rows += 1;
        self.bytes += entry.value.len();
        let QueryEntities { filter, within, .. } = self.query;
        if !within.everything() {
            let (partition, row) = read_entity(entry.key).ok_or_else(|| no_entity(entry.key))?;
            if !within.holds(partition, row) {
                return Ok(());
            }
        }
        if let Some(filter) = filter
            && !Row::new(entry.key, entry.value).fits(filter)?
        {
            return Ok(());
        }
        self.page_bytes += entry.value.len();
        let (key, record) = entry.keep();
        self.items.push(Found { key, record });
        Ok(())
    }
}

fn key_of(entry: &Entry<'_>) -> Result<Key, Fault> {
    let (partition, row) = read_entity(entry.key).ok_or_else(|| no_entity(entry.key))?;
    Ok(Key::new(partition, row))
}
