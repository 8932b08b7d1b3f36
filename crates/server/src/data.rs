//! Opens and closes what is stored. Held true: a clean close leaves nothing for the next start to repair.

use std::sync::Arc;

use lazuli_engine::extents::{self, Extents};
use lazuli_engine::{Embedded, Engine, EngineExt, Memory, Stop, content, embedded};
use lazuli_model::blob::Rehydration;
use lazuli_store::Store;

use crate::settings::Place;

pub struct Data {
    pub store: Store,
    engine: Arc<dyn Engine>,
    embedded: Option<(Arc<Embedded>, Arc<Extents>)>,
}

impl Data {
    pub fn open(place: &Place) -> Result<Self, String> {
        let directory = match place {
            Place::Memory => {
                let engine: Arc<dyn Engine> = Arc::new(Memory::new());
                let store = Store::new(engine.clone(), Arc::new(content::Memory::new()));
                return Ok(Self { store, engine, embedded: None });
            }
            Place::Directory(directory) => directory,
        };
        let keys = Embedded::open(directory, embedded::Options::default()).map_err(|error| error.to_string())?;
        let keys = Arc::new(keys);
        let extents = Extents::open(&keys.directory().extents(), extents::Options::default())
            .map_err(|error| error.to_string())?;
        let extents = Arc::new(extents);
        let engine: Arc<dyn Engine> = keys.clone();
        let store = Store::new(engine.clone(), extents.clone());
        Ok(Self { store, engine, embedded: Some((keys, extents)) })
    }

    pub fn rehydrating_in(self, rehydration: Rehydration) -> Self {
        Self { store: self.store.rehydrating_in(rehydration), ..self }
    }

    /// Whether a read works.
    pub async fn healthy(&self) -> Result<(), String> {
        let looked = self.engine.read(|_| Ok::<_, Stop<()>>(())).await;
        looked.map(drop).map_err(|fault| format!("{fault:?}"))
    }

    pub fn engine_metrics(&self) -> Option<embedded::Metrics> {
        self.embedded.as_ref().map(|(keys, _)| keys.metrics())
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
