//! What a gateway has to tell its clients: breaks, handles that were closed by force, changes in directories that are watched.
//!
//! Held true: a notice is a row that is written by the transaction which causes it, and removed by the gateway that takes it. So none is
//! lost between a commit and its reader, whether somebody waits for it or not; those of a gateway that is no more go with its handles.

use lazuli_model::file::FileId;
use lazuli_model::file::arbiter;
use serde::{Deserialize, Serialize};

use super::ShareAt;
use super::tree::Tree;
use super::watches::Change;
use crate::records::{decode, encode};
use crate::transact::Decided;
use crate::{Failure, Store};

/// Notices that one transaction takes.
const BATCH: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notice {
    /// A client may cache less.
    Broken { file: FileId, notice: arbiter::Notice },
    /// Somebody else has closed the handle.
    Closed { file: FileId, handle: u64 },
    /// Something has changed below the directory that the handle watches.
    Changed { handle: u64, changes: Vec<Change> },
    /// The directory that the handle watches is to go.
    Doomed { handle: u64 },
}

impl Tree<'_, '_> {
    pub fn tell(&mut self, file: FileId, notices: Vec<arbiter::Notice>) {
        for notice in notices {
            self.notify(notice.gateway, &Notice::Broken { file, notice });
        }
    }

    pub fn notify(&mut self, gateway: u128, notice: &Notice) {
        let key = self.keys.notice(gateway, self.txn.stamp().0, self.notices);
        self.notices += 1;
        self.txn.put(key, encode(notice));
    }
}

impl Store {
    /// What a gateway has to tell its clients about a share, in the order in which it came about. It is told once.
    pub async fn take_notices(&self, at: &ShareAt, gateway: u128) -> Result<Vec<Notice>, Failure> {
        let mut all = Vec::new();
        loop {
            let taken = self.change_tree(at, move |tree| take(tree, gateway)).await?;
            let is_last = taken.len() < BATCH;
            all.extend(taken);
            if is_last {
                return Ok(all);
            }
        }
    }
}

fn take(tree: &mut Tree<'_, '_>, gateway: u128) -> Decided<Vec<Notice>> {
    let own = tree.keys.notices(gateway);
    let rows = tree.txn.scan(&own, &own.after_prefix(), BATCH)?;
    let mut notices = Vec::with_capacity(rows.len());
    for (key, bytes) in rows {
        notices.push(decode(&bytes)?);
        tree.txn.delete(key);
    }
    Ok(notices)
}
