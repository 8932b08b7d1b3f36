//! List Directories and Files: the names in a directory, in their order. A page costs what is on it.

use lazuli_engine::{Fault, Key};
use lazuli_model::Timestamp;
use lazuli_model::file::{FileId, Node, fold};

use super::FileAt;
use super::keys::{at_epoch, read_epoch, read_name};
use super::rows::NameRow;
use super::tree::Tree;
use crate::listing::{decode_marker, encode_marker};
use crate::records::decode;
use crate::transact::Decided;
use crate::{Failure, Store};

/// Rows that are read together.
const BATCH: usize = 256;

#[derive(Clone, Debug, Default)]
pub struct ListEntries {
    pub snapshot: Option<Timestamp>,
    pub prefix: String,
    /// What `EntryPage::next` said.
    pub marker: Option<String>,
    /// 1..=5000.
    pub most: u32,
}

#[derive(Clone, Debug)]
pub struct EntryItem {
    /// As it was given.
    pub name: String,
    pub node: Node,
}

#[derive(Clone, Debug)]
pub struct EntryPage {
    /// The directory itself.
    pub directory: FileId,
    pub items: Vec<EntryItem>,
    pub next: Option<String>,
}

impl Store {
    /// `at` is the directory.
    pub async fn list_entries(&self, at: &FileAt, list: ListEntries) -> Result<EntryPage, Failure> {
        let marker = list.marker.as_deref().map(decode_marker).transpose()?.unwrap_or_default();
        self.look_tree(&at.share_at(), list.snapshot, |tree| page(tree, at, &list, &marker)).await
    }
}

fn page(tree: &mut Tree<'_, '_>, at: &FileAt, list: &ListEntries, marker: &[u8]) -> Decided<EntryPage> {
    let (directory, _) = tree.find_directory(&at.path)?;
    let directory = directory.id;
    let (items, next) = children(tree, directory, &list.prefix, marker, list.most as usize)?;
    Ok(EntryPage { directory, items, next: next.map(|next| encode_marker(&next)) })
}

/// The names in a directory from a position on, and where to go on.
pub(super) fn children(
    tree: &mut Tree<'_, '_>,
    directory: FileId,
    prefix: &str,
    from: &[u8],
    most: usize,
) -> Decided<(Vec<EntryItem>, Option<Vec<u8>>)> {
    let all = tree.keys.names(directory, fold(prefix).as_bytes());
    let end = all.after_prefix();
    let mut from = tree.keys.names(directory, from).max(all);
    let mut items = Vec::new();
    while let Some((name, row, next)) = next_name(tree, &from, &end)? {
        from = next;
        // A file that is to go with its last handle is not listed.
        let Some(named) = row.0 else { continue };
        if tree.is_going(named.id)? {
            continue;
        }
        if items.len() == most {
            return Ok((items, Some(name)));
        }
        let node = tree.node_of(&named)?;
        items.push(EntryItem { name: named.name, node });
    }
    Ok((items, None))
}

/// The next name that the tree's epoch sees something of, be it that nothing is there; and where to go on.
fn next_name(tree: &mut Tree<'_, '_>, from: &Key, end: &Key) -> Decided<Option<(Vec<u8>, NameRow, Key)>> {
    let mut from = from.clone();
    loop {
        let rows = tree.names_from(&from, end)?;
        let Some((key, bytes)) = rows else { return Ok(None) };
        let lost = || Fault::Corrupt(format!("the key of a name: {key:?}"));
        let (prefix, epoch) = read_epoch(&key).ok_or_else(lost)?;
        if epoch > tree.epoch() {
            from = at_epoch(&prefix, tree.epoch()); // too new for a snapshot: what it saw stands behind
            continue;
        }
        let (name, _) = read_name(&key).ok_or_else(lost)?;
        return Ok(Some((name.to_vec(), decode(&bytes)?, prefix.after_prefix())));
    }
}

impl Tree<'_, '_> {
    /// The first row from there on. Read in batches, so that a page is not as many scans as it has names.
    fn names_from(&mut self, from: &Key, end: &Key) -> Decided<Option<(Key, bytes::Bytes)>> {
        let ahead = self.ahead.range(from.clone()..).next().filter(|(key, _)| self.ahead_from <= *from && *key < end);
        if let Some((key, bytes)) = ahead {
            return Ok(Some((key.clone(), bytes.clone())));
        }
        let rows = self.txn.scan(from, end, BATCH)?;
        self.ahead_from = from.clone();
        self.ahead = rows.into_iter().collect();
        Ok(self.ahead.first_key_value().map(|(key, bytes)| (key.clone(), bytes.clone())))
    }
}
