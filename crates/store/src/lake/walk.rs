//! Going over a file system depth first: a directory, then what is in it, in the order of names. A walk costs what it visits, and goes on
//! at or behind a path whether or not that is still there, without looking at what comes before it.

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
    /// Neither it nor anything behind it is wanted.
    Over,
}

/// Where a walk begins, as names from the first directory down.
#[derive(Clone, Copy, Debug)]
pub(super) enum Begin<'a> {
    First,
    /// Behind this path: what is in it comes.
    Behind(&'a [String]),
    /// With this path.
    At(&'a [String]),
}

impl<'a> Begin<'a> {
    /// Its entry in the directory that is walked.
    fn entry(self) -> Option<&'a str> {
        match self {
            Begin::First => None,
            Begin::Behind(path) | Begin::At(path) => path.first().map(String::as_str),
        }
    }

    /// Whether that entry itself comes before the beginning.
    fn passes_entry(self) -> bool {
        match self {
            Begin::First => false,
            Begin::Behind(_) => true,
            Begin::At(path) => path.len() > 1,
        }
    }

    /// In the directory that is that entry.
    fn below_entry(self) -> Self {
        match self {
            Begin::Behind([_, rest @ ..]) if !rest.is_empty() => Begin::Behind(rest),
            Begin::At([_, rest @ ..]) if !rest.is_empty() => Begin::At(rest),
            Begin::First | Begin::Behind(_) | Begin::At(_) => Begin::First,
        }
    }
}

pub(super) type Visitor<'v> = dyn FnMut(&mut Txn<'_>, &str, NodeId) -> Decided<Visit> + 'v;

impl Walk<'_> {
    /// Goes over what is in `directory`, whose path is `path`. True when the visitor was full.
    pub fn go(
        &self,
        txn: &mut Txn<'_>,
        directory: u128,
        path: &str,
        begin: Begin<'_>,
        visit: &mut Visitor<'_>,
    ) -> Decided<bool> {
        Ok(self.enter(txn, directory, path, self.prefix, begin, visit)? == Visit::Full)
    }

    fn enter(
        &self,
        txn: &mut Txn<'_>,
        directory: u128,
        path: &str,
        prefix: &str,
        begin: Begin<'_>,
        visit: &mut Visitor<'_>,
    ) -> Decided<Visit> {
        if self.caller.is_bound {
            permit(self.caller, &tree::node(txn, &self.keys, directory)?.access, Right::List)?;
        }
        let end = self.keys.entry(directory, prefix).after_prefix();
        let first = begin.entry();
        let mut from = self.keys.entry(directory, first.unwrap_or(prefix).max(prefix));
        loop {
            let rows = txn.scan(&from, &end, PAGE)?;
            for (key, bytes) in &rows {
                let entry: NodeId = decode(bytes)?;
                let Some(name) = TreeKeys::read_entry(key) else { continue };
                let own = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
                let begin = if first == Some(name.as_str()) { begin } else { Begin::First };
                if !begin.passes_entry() {
                    let visited = visit(txn, &own, entry)?;
                    if visited != Visit::Taken {
                        return Ok(visited);
                    }
                }
                if entry.is_directory && self.recursive {
                    let visited = self.enter(txn, entry.id, &own, "", begin.below_entry(), visit)?;
                    if visited != Visit::Taken {
                        return Ok(visited);
                    }
                }
            }
            match rows.last() {
                Some((last, _)) if rows.len() == PAGE => from = last.successor(),
                Some(_) | None => return Ok(Visit::Taken),
            }
        }
    }
}

/// Continuation tokens: the path that a page ended with. Any path is one.
pub(super) fn segments(path: &str) -> Vec<String> {
    path.split('/').map(str::to_owned).collect()
}
