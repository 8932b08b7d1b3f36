//! Lifecycle management carried out: once a day, and soon after a policy was set, a round over all that an account has.
//!
//! Held true: a step looks at one page of one container, and acts by the operations that clients use, each under the condition that the blob
//! is still the one that was looked at. So a blob that somebody changes, leases or protects meanwhile stays as it is; and a round that a
//! crash ends is begun anew, since what it did already it does not want again.

use std::collections::BTreeMap;

use lazuli_model::account::AccountSettings;
use lazuli_model::blob::{DeleteBlob, SetBlobTier, TierConditions, Which};
use lazuli_model::conditions::Match;
use lazuli_model::feed::Cause;
use lazuli_model::lifecycle::{Part, Policy, PolicyAct, passes_over};
use lazuli_model::{AccountName, Conditions, ETag, Refusal, Timestamp};

use crate::{BlobAt, BlobItem, ContainerAt, Entry, Failure, Include, ListBlobs, ListContainers, RequestContext, Store};

/// Blobs that one step looks at.
const PAGE: u32 = 500;
/// "Each run starts once a day".
const DAY_SECONDS: u64 = 24 * 60 * 60;

/// What has been done, and where the round under way has come to. To be kept between steps; who loses it begins again.
#[derive(Debug, Default)]
pub struct Rounds {
    under_way: Option<Round>,
    /// When the last round of an account began, and by which policy.
    begun: BTreeMap<AccountName, (Timestamp, Policy)>,
    pub deleted: u64,
    pub moved: u64,
}

#[derive(Debug)]
struct Round {
    account: AccountName,
    settings: AccountSettings,
    policy: Policy,
    /// The marker of the container, and within it of the blobs.
    containers: Option<String>,
    blobs: Option<String>,
}

impl Store {
    /// A bounded piece of work. True when there is more to do right now.
    pub async fn lifecycle_step(&self, rounds: &mut Rounds) -> Result<bool, Failure> {
        let Some(mut round) = rounds.under_way.take() else {
            rounds.under_way = self.next_round(rounds).await?;
            return Ok(rounds.under_way.is_some());
        };
        if self.advance(&mut round, rounds).await? {
            rounds.under_way = Some(round);
        }
        Ok(true)
    }

    /// The first account whose day has come, or whose policy is a new one.
    async fn next_round(&self, rounds: &mut Rounds) -> Result<Option<Round>, Failure> {
        let now = self.now();
        for (account, settings) in self.all_settings().await? {
            let Some(policy) = settings.lifecycle.clone() else { continue };
            let is_due = rounds
                .begun
                .get(&account)
                .is_none_or(|(began, by)| *by != policy || began.plus_seconds(DAY_SECONDS) <= now);
            if is_due {
                rounds.begun.insert(account.clone(), (now, policy.clone()));
                return Ok(Some(Round { account, settings, policy, containers: None, blobs: None }));
            }
        }
        Ok(None)
    }

    /// One page. False when the round is over.
    async fn advance(&self, round: &mut Round, rounds: &mut Rounds) -> Result<bool, Failure> {
        let marker = round.containers.clone();
        let list = ListContainers { marker, most: 1, ..ListContainers::default() };
        let page = self.list_containers(&round.account, list).await?;
        let Some(container) = page.items.into_iter().next().map(|item| item.name) else { return Ok(false) };
        // "Lifecycle management doesn't affect system containers such as $logs or $web".
        let is_system = container.as_str().starts_with('$') && container.as_str() != "$root";
        if !is_system && round.policy.concerns(container.as_str()) {
            let at = ContainerAt { account: round.account.clone(), container };
            let include = Include { snapshots: true, versions: true, ..Include::default() };
            let list = ListBlobs { marker: round.blobs.take(), most: PAGE, include, ..ListBlobs::default() };
            let blobs = match self.list_blobs(&at, list).await {
                // It has gone since.
                Err(Failure::Refused(Refusal::ContainerNotFound)) => None,
                page => Some(page?),
            };
            if let Some(blobs) = blobs {
                for entry in blobs.entries {
                    if let Entry::Blob(item) = entry {
                        self.consider(round, &at, *item, rounds).await?;
                    }
                }
                round.blobs = blobs.next;
            }
            if round.blobs.is_some() {
                return Ok(true);
            }
        }
        round.containers = page.next;
        Ok(round.containers.is_some())
    }

    async fn consider(
        &self,
        round: &Round,
        at: &ContainerAt,
        item: BlobItem,
        rounds: &mut Rounds,
    ) -> Result<(), Failure> {
        let (part, which) = match (item.snapshot, item.blob.version) {
            (Some(time), _) => (Part::Snapshot(time), Which::Snapshot(time)),
            (None, Some(id)) if item.blob.previous => (Part::Version(id), Which::Version(id)),
            (None, Some(_) | None) => (Part::Base, Which::Current),
        };
        if item.uncommitted || item.versions_only {
            return Ok(());
        }
        let (container, name) = (at.container.as_str(), item.name.as_str());
        let Some(act) = round.policy.wants(container, name, part, &item.blob, self.now()) else { return Ok(()) };
        let at = BlobAt { account: at.account.clone(), container: at.container.clone(), blob: item.name.clone() };
        let conditions = unchanged(item.blob.etag);
        let done = match act {
            PolicyAct::Delete => {
                let tier = TierConditions::default();
                let delete = DeleteBlob { which, permanent: false, snapshots: None, tier, conditions, lease: None };
                self.acting("DeleteBlob").delete_blob(&at, delete).await.map(|_| rounds.deleted += 1)
            }
            // Premium block blobs have no tiers to go to.
            PolicyAct::Tier(_) if !round.settings.kind.infers_block_tier() => Ok(()),
            PolicyAct::Tier(tier) => {
                let set = SetBlobTier { which, tier, priority: None, conditions, lease: None };
                self.acting("SetBlobTier").set_blob_tier(&at, set).await.map(|_| rounds.moved += 1)
            }
        };
        match done {
            Err(Failure::Refused(refusal)) if passes_over(&refusal) => Ok(()),
            done => done,
        }
    }

    /// For the change feed: nobody asked for it.
    fn acting(&self, api: &str) -> Self {
        let cause = Cause { api: api.to_owned(), request: 0, client_request: String::new() };
        self.acting_for(RequestContext { cause: Some(cause.into()), ..self.request() })
    }
}

fn unchanged(etag: ETag) -> Conditions {
    Conditions { if_match: Some(Match::OneOf(vec![Some(etag)])), ..Conditions::default() }
}
