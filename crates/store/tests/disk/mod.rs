//! A store over the engine and the extents that ship, in a directory of the test's own that can be opened again.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::PathBuf;
use std::sync::Arc;

use lazuli_engine::Embedded;
use lazuli_engine::extents::Extents;
use lazuli_store::Store;

/// Gone with the test.
pub struct Directory(PathBuf);

impl Directory {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lazuli-store-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &std::path::Path {
        &self.0
    }

    /// Waits for what the store before still does in the background, which keeps the directory in use.
    pub async fn open(&self) -> Store {
        for _ in 0..100_000 {
            let engine = Embedded::open(self.0.join("data"), Default::default());
            let content = Extents::open(&self.0.join("extents"), Default::default());
            if let (Ok(engine), Ok(content)) = (engine, content) {
                return Store::new(Arc::new(engine), Arc::new(content));
            }
            tokio::task::yield_now().await;
        }
        panic!("{:?} cannot be opened", self.0);
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
