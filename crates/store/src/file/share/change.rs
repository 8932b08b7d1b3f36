//! Set Share Properties, Metadata and ACL, Lease Share: the record changes and nothing else.

use lazuli_model::file::{LeaseShare, SetShareAcl, SetShareMetadata, SetShareProperties, Share};
use lazuli_model::lease::Outcome;
use lazuli_model::{Refusal, Timestamp};

use crate::file::rows::Snapshot;
use crate::records::encode;
use crate::{Failure, ShareAt, Store};

impl Store {
    pub async fn set_share_properties(&self, at: &ShareAt, set: SetShareProperties) -> Result<Share, Failure> {
        self.change_share(at, move |share, now| set.decide(share, now)).await
    }

    pub async fn set_share_metadata(&self, at: &ShareAt, set: SetShareMetadata) -> Result<Share, Failure> {
        self.change_share(at, move |share, now| set.decide(share, now)).await
    }

    pub async fn set_share_acl(&self, at: &ShareAt, set: SetShareAcl) -> Result<Share, Failure> {
        self.change_share(at, move |share, now| set.decide(share, now)).await
    }

    pub async fn lease_share(&self, at: &ShareAt, lease: LeaseShare) -> Result<(Share, Outcome), Failure> {
        self.change_tree(at, move |tree| {
            let now = tree.now();
            match lease.snapshot {
                None => {
                    let (share, outcome) = tree.share()?.leased(lease.action, now)?;
                    tree.txn.put(tree.keys.properties(), encode(&share));
                    Ok((share, outcome))
                }
                Some(time) => {
                    let snapshot = tree.snapshot(time)?;
                    let (share, outcome) = snapshot.share.leased(lease.action, now)?;
                    tree.txn.put(tree.keys.snapshot(time), encode(&Snapshot { share: share.clone(), ..snapshot }));
                    Ok((share, outcome))
                }
            }
        })
        .await
    }

    async fn change_share(
        &self,
        at: &ShareAt,
        decide: impl Fn(&Share, Timestamp) -> Result<Share, Refusal> + Send + 'static,
    ) -> Result<Share, Failure> {
        self.change_tree(at, move |tree| {
            let share = decide(&tree.share()?, tree.now())?;
            tree.txn.put(tree.keys.properties(), encode(&share));
            if share.quota_gib != tree.head.quota_gib {
                tree.change_head().quota_gib = share.quota_gib;
            }
            Ok(share)
        })
        .await
    }
}
