//! Opens and closes what is stored. Held true: a clean close leaves nothing for the next start to repair.

use std::sync::Arc;

use lazuli_engine::extents::{self, Extents};
use lazuli_engine::{Clock, ClockState, Embedded, Engine, EngineExt, Memory, Space, Stop, content, embedded};
use lazuli_model::blob::Rehydration;
use lazuli_store::{SealedAccounts, Store};

use crate::clock::Moved;
use crate::secrets;
use crate::settings::{Place, Settings};

pub struct Data {
    pub store: Store,
    engine: Arc<dyn Engine>,
    embedded: Option<(Arc<Embedded>, Arc<Extents>)>,
    clock: Box<dyn Fn() -> ClockState + Send + Sync>,
    /// By how much the lab moved the clocks.
    pub moved: Moved,
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
    pub fn open(place: &Place) -> Result<Self, String> {
        let directory = match place {
            Place::Memory => {
                let moved = Moved::of(None)?;
                let engine = Arc::new(Memory::with_clock(Clock::moved(moved.ticks.clone())));
                let told = engine.clone();
                let store = Store::new(engine.clone(), Arc::new(content::Memory::new()));
                return Ok(Self { store, engine, embedded: None, clock: Box::new(move || told.clock()), moved });
            }
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
        Ok(Self { store, engine, embedded: Some((keys, extents)), clock: Box::new(move || told.clock()), moved })
    }

    /// With secrets sealed under the key file; and the accounts whose secrets stood in the clear before.
    pub async fn sealing(self, settings: &Settings) -> Result<(Self, SealedAccounts), String> {
        let Place::Directory(directory) = &settings.place else { return Ok((self, SealedAccounts::default())) };
        let file = secrets::key_file(directory, settings.key_file.as_deref());
        let (store, accounts) = secrets::seal(self.store.clone(), &file).await?;
        Ok((Self { store, ..self }, accounts))
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
