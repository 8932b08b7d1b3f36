//! Query Entities: a page of what a filter wants, of one state of the table.
//!
//! A page costs what it looks at, and there is a limit to that: it ends after a thousand entities, after 4 MiB of
//! them, or when it has looked at enough that did not fit; then it may be empty, and says where to go on.

use bytes::Bytes;
use lazuli_engine::{Fault, Key as RowKey, Txn};
use lazuli_model::table::{Entity, Filter, Key, Plan, Within};

use super::spans::ranges;
use super::{OpenTable, Row};
use crate::keys::read_entity;
use crate::records::decode;
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
    pub items: Vec<(Key, Entity)>,
    pub next: Option<Key>,
}

/// What a page may look at.
const LOOKED_ROWS_MAX: usize = 20_000;
const LOOKED_BYTES_MAX: usize = 32 << 20;
/// What a page may hold.
const PAGE_BYTES_MAX: usize = 4 << 20;
/// Rows of one step: few at first, because there may be few, or large ones.
const STEP_FIRST: usize = 32;
const STEP_MAX: usize = 1024;
const STEP_BYTES: usize = 1 << 20;

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
struct Looking {
    rows: usize,
    bytes: usize,
    page_bytes: usize,
    step: usize,
    page: EntityPage,
}

fn page(txn: &mut Txn<'_>, query: &QueryEntities, ranges: &[(RowKey, RowKey)]) -> Decided<EntityPage> {
    let mut looking =
        Looking { rows: 0, bytes: 0, page_bytes: 0, step: STEP_FIRST.min(query.most + 1), page: EntityPage::default() };
    for (from, to) in ranges {
        let mut from = from.clone();
        loop {
            let rows = txn.scan(&from, to, looking.step)?;
            let last = rows.last().map(|(key, _)| key.successor()).filter(|_| rows.len() == looking.step);
            let read: usize = rows.iter().map(|(_, value)| value.len()).sum();
            for (key, value) in &rows {
                if looking.is_full(query) {
                    looking.page.next = Some(key_of(key)?);
                    return Ok(looking.page);
                }
                looking.judge(query, key, value)?;
            }
            looking.step = (STEP_BYTES * rows.len() / read.max(1)).clamp(1, (looking.step * 2).min(STEP_MAX));
            match last {
                Some(next) => from = next,
                None => break,
            }
        }
    }
    Ok(looking.page)
}

impl Looking {
    fn is_full(&self, query: &QueryEntities) -> bool {
        self.page.items.len() >= query.most
            || self.page_bytes >= PAGE_BYTES_MAX
            || self.rows >= LOOKED_ROWS_MAX
            || self.bytes >= LOOKED_BYTES_MAX
    }

    fn judge(&mut self, query: &QueryEntities, key: &RowKey, value: &Bytes) -> Result<(), Fault> {
        self.rows += 1;
        self.bytes += value.len();
        let (partition, row) = read_entity(key).ok_or_else(|| no_entity(key))?;
        if !query.within.holds(partition, row) {
            return Ok(());
        }
        if let Some(filter) = &query.filter
            && !Row::new(partition, row, value).fits(filter)?
        {
            return Ok(());
        }
        self.page_bytes += value.len();
        self.page.items.push((Key::new(partition, row), decode(value)?));
        Ok(())
    }
}

fn key_of(key: &RowKey) -> Result<Key, Fault> {
    let (partition, row) = read_entity(key).ok_or_else(|| no_entity(key))?;
    Ok(Key::new(partition, row))
}

fn no_entity(key: &RowKey) -> Fault {
    Fault::Corrupt(format!("the key of an entity has no keys: {:?}", key.row()))
}
