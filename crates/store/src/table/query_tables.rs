//! Query Tables: a page of names, by the filter's word on `TableName`.

use lazuli_engine::{Key, Txn};
use lazuli_model::AccountName;
use lazuli_model::table::{Fields, Filter, Plan, Seen, Table};

use crate::records::decode;
use crate::transact::Decided;
use crate::{Failure, Store, keys};

#[derive(Clone, Debug, Default)]
pub struct QueryTables {
    pub filter: Option<Filter>,
    /// 1..=1000.
    pub most: usize,
    /// What `TablePage::next` said.
    pub from: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub struct TablePage {
    pub names: Vec<String>,
    pub next: Option<String>,
}

/// What a page may look at.
const LOOKED_MAX: usize = 10_000;
const STEP: usize = 256;

impl Store {
    pub async fn query_tables(&self, account: &AccountName, query: &QueryTables) -> Result<TablePage, Failure> {
        let all = keys::tables(account, &[]);
        let start = query.from.as_ref().map(|name| keys::tables(account, name.to_ascii_lowercase().as_bytes()));
        let from = start.map_or(all.clone(), |start| start.max(all.clone()));
        let ranges = match query.filter.as_ref().and_then(|filter| Plan::names(filter, "TableName")) {
            Some(mut names) => {
                names.iter_mut().for_each(|name| name.make_ascii_lowercase());
                names.sort();
                names.dedup();
                let one = |name: &String| keys::tables(account, name.as_bytes());
                names.iter().map(|name| (one(name).max(from.clone()), one(name).successor())).collect()
            }
            None => vec![(from, all.after_prefix())],
        };
        self.scan(keys::ROOT, |txn| page(txn, query, &ranges)).await
    }
}

fn page(txn: &mut Txn<'_>, query: &QueryTables, ranges: &[(Key, Key)]) -> Decided<TablePage> {
    let mut page = TablePage::default();
    let mut looked = 0;
    for (from, to) in ranges {
        let mut from = from.clone();
        loop {
            let rows = txn.scan(&from, to, STEP)?;
            for (_, value) in &rows {
                let table: Table = decode(value)?;
                if page.names.len() == query.most || looked == LOOKED_MAX {
                    page.next = Some(table.name.folded());
                    return Ok(page);
                }
                looked += 1;
                let name = table.name.as_str();
                // "The metrics tables do not appear when a listing operation is performed".
                if table.name.is_of_metrics() {
                    continue;
                }
                if query.filter.as_ref().is_none_or(|filter| filter.holds(&Named(name))) {
                    page.names.push(name.to_owned());
                }
            }
            match rows.last() {
                Some((last, _)) if rows.len() == STEP => from = last.successor(),
                Some(_) | None => break,
            }
        }
    }
    Ok(page)
}

/// What a filter looks into.
struct Named<'a>(&'a str);

impl Fields for Named<'_> {
    fn field(&self, name: &str) -> Option<Seen<'_>> {
        (name == "TableName").then_some(Seen::String(self.0))
    }
}
