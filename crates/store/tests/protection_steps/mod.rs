//! The steps of a random program that are about tiers, legal holds, immutability policies and expiry.

use super::*;

impl Run {
    pub async fn protection_step(&mut self, name: &str) {
        match self.random.below(5) {
            0 => self.set_tier(name).await,
            1 => self.set_hold(name, true).await,
            2 => self.set_hold(name, false).await,
            3 => self.set_policy(name).await,
            _ => self.set_expiry(name).await,
        }
    }

    pub fn permit_overwrite(&self, name: &str) -> Result<(), Refusal> {
        let permit = |old: &Blob| Keeping::NOTHING.permit_overwrite(old, self.world.store.now());
        self.base(name).map_or(Ok(()), permit)
    }

    /// What has expired is gone on both sides, with all that hangs on it.
    pub async fn let_expire(&mut self) {
        let now = self.world.store.now();
        let gone: Vec<String> = self
            .reference
            .bases
            .iter()
            .filter(|(_, kept)| kept.blob.clone().at(now).is_none())
            .map(|(name, _)| name.clone())
            .collect();
        if gone.is_empty() {
            return;
        }
        for name in gone {
            assert_eq!(self.world.get(&name, None).await, Err(Failure::Refused(Refusal::BlobNotFound)));
            self.reference.bases.remove(&name);
            self.reference.pending.remove(&name);
            self.reference.snapshots.retain(|(of, _), _| *of != name);
        }
        self.world.sweep().await;
    }

    async fn set_tier(&mut self, name: &str) {
        let tier = *self.random.pick(&[Tier::Hot, Tier::Cool, Tier::Cold, Tier::Premium(Premium::P20)]);
        let set = SetBlobTier {
            which: Which::Current,
            tier,
            priority: None,
            conditions: Conditions::default(),
            lease: self.lease(),
        };
        let want = set.decide(self.base(name), Rehydration::DEFAULT, self.world.store.now());
        let got = self.world.store.set_blob_tier(&blob(name), set).await;
        if same("set tier", got, want.clone().map(drop)).is_some() {
            // The time of the change is the store's own.
            let stored = self.world.store.blob(&blob(name), ReadBlob::default()).await.unwrap();
            let want = Blob { tier_changed: stored.tier_changed, ..want.unwrap().0 };
            assert_eq!(stored, want);
            self.reference.bases.get_mut(name).unwrap().blob = want;
        }
    }

    async fn set_hold(&mut self, name: &str, hold: bool) {
        let set = SetLegalHold { which: Which::Current, hold };
        let want = set.decide(self.base(name));
        let got = self.world.store.set_legal_hold(&blob(name), set).await;
        if same("set hold", got, want.clone().map(drop)).is_some() {
            self.reference.bases.get_mut(name).unwrap().blob = want.unwrap();
        }
    }

    async fn set_policy(&mut self, name: &str) {
        // Odd, while the clock stands at even seconds.
        let until = self.world.store.now().whole_seconds().plus_seconds(3 + 2 * (self.random.next() % 5));
        let policy = Immutability { until, locked: self.random.chance(50) };
        let set = SetImmutabilityPolicy { which: Which::Current, policy, conditions: Conditions::default() };
        let want = set.decide(self.base(name));
        let got = self.world.store.set_immutability_policy(&blob(name), set).await;
        if let Some(blob) = same("set policy", got, want.map(drop)) {
            self.reference.bases.get_mut(name).unwrap().blob = blob;
        }
    }

    async fn set_expiry(&mut self, name: &str) {
        let expiry = match self.random.below(3) {
            0 => Expiry::Never,
            _ => Expiry::RelativeToNow((5 + 2 * (self.random.next() % 10)) * 1000),
        };
        let set = SetBlobExpiry { expiry, lease: self.lease() };
        let want = set.decide(self.base(name), self.world.store.now());
        let got = self.world.store.set_blob_expiry(&blob(name), set).await;
        if let Some(blob) = same("set expiry", got, want.map(drop)) {
            self.reference.bases.get_mut(name).unwrap().blob = blob;
        }
    }

    /// Holds are lifted, and policies have ended, so that everything can be deleted.
    pub async fn lift(&mut self) {
        for name in NAMES {
            let _ =
                self.world.store.set_legal_hold(&blob(name), SetLegalHold { which: Which::Current, hold: false }).await;
        }
    }
}
