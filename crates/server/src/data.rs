//! Opens and closes what is stored. Held true: a clean close leaves nothing for the next start to repair.

use std::sync::Arc;

use lazuli_engine::extents::{self, Extents};
use lazuli_engine::{
    Clock, ClockState, Embedded, Engine, EngineExt, Fault, Memory, Rados, Space, Stop, content, embedded, rados,
};
use lazuli_model::blob::Rehydration;
use lazuli_store::{SealedAccounts, Store};

use crate::clock::Moved;
use crate::settings::{Place, Settings};
use crate::{cluster, secrets};

pub struct Data {
    pub store: Store,
    engine: Arc<dyn Engine>,
    embedded: Option<(Arc<Embedded>, Arc<Extents>)>,
    cluster: Option<Cluster>,
    clock: Box<dyn Fn() -> ClockState + Send + Sync>,
    /// By how much the lab moved the clocks.
    pub moved: Moved,
}

/// What is shared with other servers.
struct Cluster {
    engine: Arc<Rados>,
    content: rados::Objects,
}

/// What a look at the store found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Not closed, and not between a failure and its reopening.
    pub is_open: bool,
    /// Whether writes are taken.
    pub has_room: bool,
    /// Content files that are gone, or why they cannot be looked for.
    pub missing_extents: Result<Vec<u64>, String>,
}

impl Data {
    /// `gateway` is the name of this process among those that share a cluster.
    pub fn open(place: &Place, gateway: u128) -> Result<Self, String> {
        let directory = match place {
            Place::Memory => {
                let moved = Moved::of(None)?;
                let engine = Arc::new(Memory::with_clock(Clock::moved(moved.ticks.clone())));
                let told = engine.clone();
                let store = Store::new(engine.clone(), Arc::new(content::Memory::new()));
                let clock = Box::new(move || told.clock());
                return Ok(Self { store, engine, embedded: None, cluster: None, clock, moved });
            }
            Place::Cluster(place) => return Self::share(cluster::connect(place)?, gateway),
            Place::Directory(directory) => directory,
        };
        let moved = Moved::of(Some(directory))?;
        let options = embedded::Options { clock: Clock::moved(moved.ticks.clone()), ..embedded::Options::default() };
        let keys = Embedded::open(directory, options).map_err(|error| error.to_string())?;
        let keys = Arc::new(keys);
        let extents = Extents::open(&keys.directory().extents(), extents::Options::default())
            .map_err(|error| error.to_string())?;
        let extents = Arc::new(extents);
        let engine: Arc<dyn Engine> = keys.clone();
        let store = Store::new(engine.clone(), extents.clone());
        let told = keys.clone();
        let clock = Box::new(move || told.clock());
        Ok(Self { store, engine, embedded: Some((keys, extents)), cluster: None, clock, moved })
    }

    fn share(pool: Arc<dyn rados::Pool>, gateway: u128) -> Result<Self, String> {
        let moved = Moved::fixed();
        let clock = Arc::new(Clock::system());
        let engine = Rados::new(pool.clone(), lazuli_store::layout, clock.clone(), gateway, rados::Options::default());
        let engine = Arc::new(engine);
        let content = rados::Objects::new(pool, gateway, clock);
        engine.commits_while(content.clone());
        let store = Store::new(engine.clone(), Arc::new(content.clone())).shared_as(gateway);
        let told = engine.clone();
        let clock = Box::new(move || told.clock());
        Ok(Self {
            store,
            engine: engine.clone(),
            embedded: None,
            cluster: Some(Cluster { engine, content }),
            clock,
            moved,
        })
    }

    /// Whether this process does the work of the background. Of the servers that share a cluster, one does: as long as its
    /// lease lasts.
    pub async fn holds_lease(&self, work: &str) -> Result<bool, Fault> {
        match &self.cluster {
            Some(cluster) => cluster.engine.hold_lease(work).await,
            None => Ok(true),
        }
    }

    /// Says to other servers that this one is there, and looks for content that dead ones left. True when that has to be done.
    pub async fn attend_content(&self) -> Result<bool, Fault> {
        match &self.cluster {
            Some(cluster) => cluster.content.attend().await.map(|()| true),
            None => Ok(false),
        }
    }

    /// Whether nothing that this server writes counts any more, because it was silent for too long.
    pub fn is_taken_for_dead(&self) -> bool {
        self.cluster.as_ref().is_some_and(|cluster| !cluster.content.is_alive())
    }

    pub fn cluster_metrics(&self) -> Option<rados::Metrics> {
        self.cluster.as_ref().map(|cluster| cluster.engine.metrics())
    }

    /// With secrets sealed under the key file; and the accounts whose secrets stood in the clear before.
    pub async fn sealing(self, settings: &Settings) -> Result<(Self, SealedAccounts), String> {
        let file = match (&settings.place, &settings.key_file) {
            (Place::Memory, _) => return Ok((self, SealedAccounts::default())),
            (Place::Directory(directory), given) => secrets::key_file(directory, given.as_deref()),
            (Place::Cluster(_), Some(given)) => given.clone(),
            (Place::Cluster(_), None) => {
                let sealed = self.store.sealed_account().await;
                return match sealed.map_err(|failure| format!("accounts cannot be read: {failure:?}"))? {
                    None => Ok((self, SealedAccounts::default())),
                    Some(account) => Err(format!(
                        "the secrets of the account {} are sealed: give --key-file with the key file that all servers of this cluster share",
                        account.as_str()
                    )),
                };
            }
        };
        let (store, accounts) = secrets::seal(self.store.clone(), &file).await?;
        Ok((Self { store, ..self }, accounts))
    }

    /// How those who wait for SMB clients are woken.
    pub fn waking_by(self, alarm: lazuli_store::Alarm) -> Self {
        Self { store: self.store.waking_by(alarm), ..self }
    }

    pub fn rehydrating_in(self, rehydration: Rehydration) -> Self {
        Self { store: self.store.rehydrating_in(rehydration), ..self }
    }

    /// Whether a read works.
    pub async fn healthy(&self) -> Result<(), String> {
        let looked = self.engine.survey(Space(0), |_| Ok::<_, Stop<()>>(())).await;
        looked.map(drop).map_err(|fault| format!("{fault:?}"))
    }

    /// How the times of what is stored differ from the machine's clock.
    pub fn clock(&self) -> ClockState {
        (self.clock)()
    }

    pub fn engine_metrics(&self) -> Option<embedded::Metrics> {
        self.embedded.as_ref().map(|(keys, _)| keys.metrics())
    }

    /// Looks at engine, disk and content files. Asks the file system, which may take its time.
    pub fn probe(&self) -> Probe {
        let Some((keys, extents)) = &self.embedded else {
            return Probe { is_open: true, has_room: true, missing_extents: Ok(Vec::new()) };
        };
        let keys = keys.health();
        Probe {
            is_open: keys.is_open,
            has_room: keys.has_room && extents.has_room(),
            missing_extents: extents.missing().map_err(|error| error.to_string()),
        }
    }

    /// Bytes of the file system that are free, and all of them.
    pub fn disk(&self) -> Option<(u64, u64)> {
        let (keys, _) = self.embedded.as_ref()?;
        let found = rustix::fs::statvfs(keys.directory().extents()).ok()?;
        Some((found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize))
    }

    pub fn content_turned_away(&self) -> Option<u64> {
        self.embedded.as_ref().map(|(_, extents)| extents.turned_away())
    }

    pub fn content_syncs(&self) -> Option<u64> {
        self.embedded.as_ref().map(|(_, extents)| extents.syncs())
    }

    /// Finishes what was submitted. Extents are retired when the last reader lets go of them.
    pub fn close(&self) {
        if let Some((keys, _)) = &self.embedded {
            keys.close();
        }
    }
}
