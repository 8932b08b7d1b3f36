//! The end of a move that somebody did not finish: the rows say whether the target has it.

use lazuli_engine::{Key, Txn};
use lazuli_model::blob::Deleted;
use lazuli_model::lake::{Caller, LakePath, Node};

use super::bury_row;
use crate::keys::{Moving, TreeKeys};
use crate::lake::address::PathAddress;
use crate::lake::tree::{self, link};
use crate::records::{RemovedPath, encode};
use crate::transact::{Decided, get, now};
use crate::{Failure, Store};

/// What lost its name to another while its move was under way can be undeleted for so long.
const KEPT_SECONDS: u64 = 7 * 24 * 60 * 60;

impl Store {
    /// A row of a move that nobody has touched for long.
    pub(crate) async fn settle_move(&self, keys: TreeKeys, row: Key, moving: Moving, id: u64) -> Result<(), Failure> {
        match moving {
            Moving::Departing { to, .. } => {
                let to = TreeKeys { space: to };
                let arrived = to.arrived(&keys, id);
                match self.look(&to.partition(), |txn| get::<RemovedPath>(txn, &arrived)).await? {
                    Some(_) => self.bury_departed(keys, row).await,
                    None => self.take_back(keys, row, to, id).await,
                }
            }
            Moving::Arriving => self.bury_departed(keys, row).await,
            // The source has been told, or asks before this is over.
            Moving::Arrived { from } => {
                let from = TreeKeys { space: from };
                let prefix = from.departing_to(&keys);
                let end = prefix.after_prefix();
                let waiting = self.look(&from.partition(), |txn| Ok(txn.scan(&prefix, &end, 1)?)).await?;
                match waiting.is_empty() {
                    true => {
                        let forgotten = self.transact(keys.partition(), move |txn| {
                            txn.delete(row.clone());
                            Ok(())
                        });
                        forgotten.await
                    }
                    false => Ok(()),
                }
            }
        }
    }

    pub(super) async fn bury_departed(&self, keys: TreeKeys, row: Key) -> Result<(), Failure> {
        let left = self.transact(keys.partition(), move |txn| bury_row(txn, &keys, &row)).await?;
        self.hint_left(left);
        Ok(())
    }

    /// Ends the move in the target, if it has not arrived there; only then the source is given its name back.
    pub(super) async fn take_back(&self, from: TreeKeys, row: Key, to: TreeKeys, id: u64) -> Result<(), Failure> {
        let ended = self.transact(to.partition(), move |txn| {
            if get::<RemovedPath>(txn, &to.arrived(&from, id))?.is_some() {
                return Ok((true, None));
            }
            Ok((false, bury_row(txn, &to, &to.arriving(&from, id))?))
        });
        let (arrived, left) = ended.await?;
        self.hint_left(left);
        match arrived {
            true => self.bury_departed(from, row).await,
            false => self.transact(from.partition(), move |txn| give_back(txn, &from, &row)).await,
        }
    }
}

/// Under its old path; if another has taken that, among what was deleted, from where it can be brought back.
fn give_back(txn: &mut Txn<'_>, keys: &TreeKeys, row: &Key) -> Decided<()> {
    let (Some(departed), Some((text, id))) = (get::<RemovedPath>(txn, row)?, TreeKeys::read_removed(row)) else {
        return Ok(());
    };
    let Some(Moving::Departing { path, .. }) = Moving::read(&text) else { return Ok(()) };
    txn.delete(row.clone());
    let path = PathAddress { keys: *keys, path: LakePath::parse(&path)?, caller: Caller::superuser().into() };
    let free = match path.make_parents(txn) {
        Ok(making) if making.entry.is_none() => Some(making),
        Ok(_) | Err(_) => None,
    };
    match free {
        Some(making) => {
            let node = tree::node(txn, keys, departed.node.id)?;
            link(txn, keys, departed.node.id, &Node { parent: making.parent, name: making.name, ..node });
        }
        None => {
            let at = now(txn);
            let deleted = Deleted { at, until: at.plus_seconds(KEPT_SECONDS) };
            txn.put(keys.removed(&path.path.to_string(), id), encode(&RemovedPath { deleted, ..departed }));
        }
    }
    Ok(())
}
