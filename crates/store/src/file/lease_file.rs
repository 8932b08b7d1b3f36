//! Lease File. A lease changes neither the ETag nor the date, and is none of a snapshot's.

use lazuli_model::Refusal;
use lazuli_model::file::Entry;
use lazuli_model::file::arbiter::Act;
use lazuli_model::lease::{self, Action, Outcome};

use super::rows::Held;
use super::{FileAt, entry};
use crate::{Failure, Store};

impl Store {
    pub async fn lease_file(&self, at: &FileAt, action: Action) -> Result<(Entry, Outcome), Failure> {
        let action = action.of_file()?;
        let acquires = matches!(action, Action::Acquire { .. });
        let act = if acquires { Act::Lease } else { Act::Look };
        let found = self.approach(at, act).await?;
        let path = at.path.clone();
        self.change_found(found, move |tree| {
            let (node, parent) = tree.find_file(&path)?;
            let standing = if acquires { tree.admit(node.id, Act::Lease)? } else { tree.standing(node.id)? };
            if standing.delete_pending {
                return Err(Refusal::DeletePending.into());
            }
            let outcome = lease::act(standing.lease, action, tree.now())?;
            tree.put_held(node.id, Held { lease: outcome.lease, delete_pending: false });
            Ok((entry(node, parent, outcome.lease), outcome))
        })
        .await
    }
}
