//! Create Share: a name gets a space of its own, never used before.

use lazuli_model::file::{CreateShare, Share};

use super::{born, keys};
use crate::file::rows::Born;
use crate::records::encode;
use crate::transact::now;
use crate::{Failure, ShareAt, Store};

impl Store {
    pub async fn create_share(&self, at: &ShareAt, create: CreateShare) -> Result<Share, Failure> {
        debug_assert_ne!(create.id, crate::keys::ROOT.0, "zero is the root's space");
        self.end_half_deleted(at).await?;
        let at = at.clone();
        self.transact(keys::share_partition(&at), move |txn| {
            let share = create.decide(born(txn, &at)?.is_some(), now(txn))?;
            let born = Born { id: create.id, life: 0, share: share.clone() };
            txn.put(keys::share(&at), encode(&born));
            Ok(share)
        })
        .await
    }
}
