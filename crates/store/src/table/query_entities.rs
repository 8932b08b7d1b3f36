//! Query Entities: a page of what a filter wants, of one state of the table.
//!
//! A page costs what it looks at, and there is a limit to that: it ends after a thousand entities, after 4 MiB of
//! them, or when it has looked at enough that did not fit; then it may be empty, and says where to go on.

use std::ops::ControlFlow;

use lazuli_engine::range_cache::{Skipping, Stretched};
use lazuli_engine::{Entry, Fault, Key as RowKey, Txn, Walker};
use lazuli_model::table::{Entity, Filter, Key, Plan, Sight, Within};

use super::spans::ranges;
use super::zones::Zones;
use super::{Found, OpenTable, Row, no_entity};
use crate::keys::read_entity;
use crate::transact::Decided;
use crate::{Failure, Store};

#[derive(Clone, Debug, Default)]
pub struct QueryEntities {
    pub filter: Option<Filter>,
    /// 0..=1000.
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
    /// Shows each entity, without copying it, until `see` has enough.
    pub fn each(&self, mut see: impl FnMut(&Sight<'_>) -> bool) -> Result<(), Failure> {
        let mut properties = Vec::new();
        for found in &self.items {
            let sight = found.see(properties)?;
            if !see(&sight) {
                break;
            }
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
/// A look with a filter of so many comparisons counts for one row; with each two more, for one more.
const PLAIN_COMPARISONS: usize = 16;
/// What a page may hold.
const PAGE_BYTES_MAX: usize = 4 << 20;

impl Store {
    pub async fn query_entities(&self, table: &OpenTable, query: &QueryEntities) -> Result<EntityPage, Failure> {
        // A query for no entity gets none, and no continuation.
        if query.most == 0 {
            return Ok(EntityPage::default());
        }
        let mut ranges = ranges(&Plan::of(query.filter.as_ref(), &query.within), &table.keys);
        if let Some(from) = &query.from {
            let from = table.keys.entity(&from.partition, &from.row);
            ranges.retain_mut(|(begin, end)| {
                *begin = from.clone().max(begin.clone());
                begin < end
            });
        }
        // A query within one PartitionKey is of one moment, as in Azure; one over several is of a moment for each.
        match table.keys.single_partition(&ranges) {
            Some(at) => self.look(&at, |txn| page(txn, query, &ranges)).await,
            None => self.scan(table.keys.space, |txn| page(txn, query, &ranges)).await,
        }
    }
}

/// What was looked at so far, and what it came to.
struct Looking<'a> {
    query: &'a QueryEntities,
    /// What a look at a row counts for. Passing over several costs about as much.
    cost: usize,
    rows: usize,
    bytes: usize,
    page_bytes: usize,
    items: Vec<Found>,
    /// The first key of the next page, if it has come to that.
    end: Result<Option<Key>, Fault>,
}

fn page(txn: &mut Txn<'_>, query: &QueryEntities, ranges: &[(RowKey, RowKey)]) -> Decided<EntityPage> {
    let comparisons = query.filter.as_ref().map_or(0, Filter::comparisons);
    let cost = 1 + comparisons.saturating_sub(PLAIN_COMPARISONS) / 2;
    let mut looking = Looking { query, cost, rows: 0, bytes: 0, page_bytes: 0, items: Vec::new(), end: Ok(None) };
    for (from, to) in ranges {
        txn.walk(from, to, &mut looking)?;
        if !matches!(looking.end, Ok(None)) {
            break;
        }
    }
    Ok(EntityPage { items: looking.items, next: looking.end? })
}

impl Walker for Looking<'_> {
    fn see(&mut self, entry: &Entry<'_>) -> ControlFlow<()> {
        let more = if self.is_full() { key_of(entry).map(Some) } else { self.judge(entry).map(|()| None) };
        match more {
            Ok(None) => ControlFlow::Continue(()),
            ended => {
                self.end = ended;
                ControlFlow::Break(())
            }
        }
    }

    fn skipping(&mut self) -> Option<&mut dyn Skipping> {
        Some(self)
    }
}

impl Skipping for Looking<'_> {
    fn passes(&mut self, stretch: &dyn Stretched) -> bool {
        let Some(filter) = self.query.filter.as_ref().filter(|_| !self.is_full()) else { return false };
        let passes = Zones::noted(stretch).is_some_and(|zones| !filter.can_hold(zones));
        self.rows += if passes { self.cost } else { 0 };
        passes
    }
}

impl Looking<'_> {
    fn is_full(&self) -> bool {
        self.items.len() >= self.query.most
            || self.page_bytes >= PAGE_BYTES_MAX
            || self.rows >= LOOKED_ROWS_MAX
            || self.bytes >= LOOKED_BYTES_MAX
    }

    fn judge(&mut self, entry: &Entry<'_>) -> Result<(), Fault> {
        self.rows += self.cost;
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
