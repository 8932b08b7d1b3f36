//! Tables, each read by itself.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use lsm_tree::{Cache, Checksum, InternalValue, Table};
use xxhash_rust::xxh3::xxh3_128;

use super::super::tree::{self, Named, Version};
use super::{Report, See};

/// Which tables there must be. If that cannot be read, those that are there, in the order they were made.
pub(super) fn named(tree: &Path, report: &mut Report) -> Version {
    match tree::version(tree) {
        Ok(version) => return version,
        Err(error) => report.add_error(&error),
    }
    let names = fs::read_dir(tree.join("tables")).into_iter().flatten().flatten();
    let mut tables: Vec<u64> = names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    tables.sort_unstable();
    let tables = tables.into_iter().map(|table| Named { table, level: 0, checksum: 0, global_sequence: 0 });
    Version { number: 0, tables: tables.collect() }
}

/// Reads every byte of a table.
pub(super) fn check(tree: &Path, named: &Named, report: &mut Report) {
    let path = tree::table_path(tree, named.table);
    report.tables += 1;
    match fs::read(&path) {
        Ok(bytes) if xxh3_128(&bytes) == named.checksum => {}
        Ok(_) => report.add(&path, "it does not agree with its checksum"),
        Err(error) => report.add(&path, error),
    }
}

/// Shows what is in all tables that can be read, older tables first, and says what cannot.
pub(super) fn read(tree: &Path, version: &Version, report: &mut Report, see: &mut See<'_>) {
    let mut tables = Vec::new();
    for named in &version.tables {
        match open(tree, named) {
            Ok(table) => tables.push((named.level, table)),
            Err(why) => report.add(&tree::table_path(tree, named.table), format!("all of it is lost ({why})")),
        }
    }
    // Deeper levels are older, and in the first level those with lower sequence numbers.
    tables.sort_by_key(|(level, table)| (std::cmp::Reverse(*level), table.get_highest_seqno()));
    for (_, table) in tables {
        // As above: it takes what agrees with a checksum for right.
        let read = catch_unwind(AssertUnwindSafe(|| read_table(&table, report, see)));
        if read.is_err() {
            report.add(&table.path, "the rest of it is lost: it cannot be read");
        }
    }
}

fn open(tree: &Path, named: &Named) -> Result<Table, String> {
    let path = tree::table_path(tree, named.table);
    let (checksum, cache) = (Checksum::from_raw(named.checksum), Arc::new(Cache::with_capacity_bytes(0)));
    // It takes what agrees with a checksum for right.
    let opened = catch_unwind(AssertUnwindSafe(|| {
        Table::recover(path, checksum, named.global_sequence, 0, cache, None, false, false)
    }));
    opened.map_err(|_| "it cannot be read".to_owned())?.map_err(|error| format!("{error:?}"))
}

/// From both ends as far as it goes: what is lost lies between two blocks that cannot be read, or in one.
fn read_table(table: &Table, report: &mut Report, see: &mut See<'_>) {
    let mut last = None;
    let mut is_whole = true;
    let mut newest = Newest::default();
    for entry in table.iter() {
        match entry {
            Ok(entry) => newest.take(entry, &mut last),
            Err(_) => {
                is_whole = false;
                break;
            }
        }
        newest.show_all_but(last.as_ref(), report, see);
    }
    if !is_whole {
        let mut first = None;
        for entry in table.iter().rev().map_while(Result::ok) {
            if last.as_ref().is_some_and(|last| entry.key.user_key[..] <= last[..]) {
                break;
            }
            newest.take(entry, &mut first);
        }
        let lost = format!("what was between the keys {} and {} is lost", name(last.as_ref()), name(first.as_ref()));
        report.add(&table.path, lost);
    }
    newest.show_all_but(None, report, see);
}

fn name(key: Option<&Bytes>) -> String {
    key.map_or("(the end)".into(), |key| key.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The newest entry of each key.
#[derive(Default)]
struct Newest(BTreeMap<Bytes, (u64, Option<Bytes>)>);

impl Newest {
    fn take(&mut self, entry: InternalValue, key: &mut Option<Bytes>) {
        let value = (!entry.key.is_tombstone()).then(|| Bytes::copy_from_slice(&entry.value));
        let at = Bytes::copy_from_slice(&entry.key.user_key);
        *key = Some(at.clone());
        let newest = self.0.entry(at).or_insert((entry.key.seqno, None));
        if entry.key.seqno >= newest.0 {
            *newest = (entry.key.seqno, value);
        }
    }

    /// What `key` has may not be all there is of it.
    fn show_all_but(&mut self, key: Option<&Bytes>, report: &mut Report, see: &mut See<'_>) {
        while let Some(first) = self.0.first_entry().filter(|first| Some(first.key()) != key) {
            let (key, (_, value)) = first.remove_entry();
            report.entries += 1;
            see(&key, value);
        }
    }
}
