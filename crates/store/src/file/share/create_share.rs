//! Create Share: a name gets a space of its own, never used before.

use lazuli_engine::Partition;
use lazuli_model::file::{CreateShare, Share};

use super::{born, keys, living};
use crate::file::rows::Born;
use crate::records::encode;
use crate::transact::now;
use crate::{Failure, ShareAt, Store};

impl Store {
    pub async fn create_share(&self, at: &ShareAt, create: CreateShare) -> Result<Share, Failure> {
        debug_assert_ne!(create.id, crate::keys::ROOT.0, "zero is the root's space");
        let gone = self.look(|txn| match born(txn, at)? {
            Some(born) => Ok(living(txn, &born)?.is_none()),
            None => Ok(false),
        });
        // A process died in the middle of deleting it.
        if gone.await? {
            self.bury_share(at).await?;
        }
        let at = at.clone();
        self.transact(Partition::new(crate::keys::ROOT, keys::share_partition(&at)), move |txn| {
            let share = create.decide(born(txn, &at)?.is_some(), now(txn))?;
            let born = Born { id: create.id, life: 0, share: share.clone() };
            txn.put(keys::share(&at), encode(&born));
            Ok(share)
        })
        .await
    }
}
