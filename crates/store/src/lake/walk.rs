//! Going over a file system depth first: a directory, then what is in it, in the order of names. A walk costs what it visits, and goes on
//! behind a path whether or not that is still there.

use lazuli_engine::Txn;
use lazuli_model::lake::{Caller, Right, permit};

use super::tree;
use crate::keys::TreeKeys;
use crate::records::{NodeId, decode};
use crate::transact::Decided;

/// Rows per scan.
const PAGE: usize = 256;

pub(super) struct Walk<'a> {
    pub keys: TreeKeys,
    pub caller: &'a Caller,
    /// What is in directories, too.
    pub recursive: bool,
    /// What names in the first directory begin with.
    pub prefix: &'a str,
}

/// What the visitor says of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visit {
    Taken,
    /// There is no room: it is the first of the next page.
    Full,
}

pub(super) type Visitor<'v> = dyn FnMut(&mut Txn<'_>, &str, NodeId) -> Decided<Visit> + 'v;

impl Walk<'_> {
    /// Goes over what is in `directory`, whose path is `path`, behind the path `after` (from there). True when the visitor was full.
    pub fn go(
        &self,
        txn: &mut Txn<'_>,
        directory: u128,
        path: &str,
        after: Option<&[String]>,
        visit: &mut Visitor<'_>,
    ) -> Decided<bool> {
        self.enter(txn, directory, path, self.prefix, after, visit)
    }

    fn enter(
        &self,
        txn: &mut Txn<'_>,
        directory: u128,
        path: &str,
        prefix: &str,
        after: Option<&[String]>,
        visit: &mut Visitor<'_>,
    ) -> Decided<bool> {
        if self.caller.is_bound {
            permit(self.caller, &tree::node(txn, &self.keys, directory)?.access, Right::List)?;
        }
        let end = self.keys.entry(directory, prefix).after_prefix();
        let (first, rest) = match after {
            Some([first, rest @ ..]) => (Some(first.as_str()), rest),
            Some([]) | None => (None, &[][..]),
        };
        let mut from = self.keys.entry(directory, first.unwrap_or(prefix).max(prefix));
        loop {
            let rows = txn.scan(&from, &end, PAGE)?;
            for (key, bytes) in &rows {
                let entry: NodeId = decode(bytes)?;
                let Some(name) = TreeKeys::read_entry(key) else { continue };
                let own = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
                // The page before has had it, if it is still the one; what is in it may be to come.
                let seen = first == Some(name.as_str());
                if !seen && visit(txn, &own, entry)? == Visit::Full {
                    return Ok(true);
                }
                let after = seen.then_some(rest).filter(|rest| !rest.is_empty());
                if entry.is_directory && self.recursive && self.enter(txn, entry.id, &own, "", after, visit)? {
                    return Ok(true);
                }
            }
            match rows.last() {
                Some((last, _)) if rows.len() == PAGE => from = last.successor(),
                Some(_) | None => return Ok(false),
            }
        }
    }
}

/// Continuation tokens: the path that a page ended with. Any path is one.
pub(super) fn segments(path: &str) -> Vec<String> {
    path.split('/').map(str::to_owned).collect()
}
