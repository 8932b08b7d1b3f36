//! The work that nobody waits for, and the only place that sleeps. Held true: one bounded step at a time, as ordinary
//! transactions, so that a stop or a crash between two steps loses nothing.

use std::time::Duration;

use lazuli_store::Store;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::listen::stopped;

/// Garbage that comes together is swept together.
const GATHER: Duration = Duration::from_millis(100);
/// Blocks grow old, and rounds fall due, without a sound.
const REST: Duration = Duration::from_secs(30);
/// Changes that come together are published together.
const PUBLISH: Duration = Duration::from_secs(5);
/// After a fault: a full disk, an engine that is being reopened.
const PATIENCE: Duration = Duration::from_secs(10);

pub async fn sweep(store: Store, mut stop: watch::Receiver<bool>) {
    tokio::select! {
        () = sweep_forever(&store) => {}
        () = stopped(&mut stop) => {}
    }
}

#[expect(clippy::disallowed_methods, reason = "the background loop")]
async fn sweep_forever(store: &Store) {
    loop {
        match store.sweep_step().await {
            Ok(true) => tokio::task::yield_now().await,
            Ok(false) => {
                // Woken or not, there may be something.
                let _ = timeout(REST, store.sweep_wanted()).await;
                tokio::time::sleep(GATHER).await;
            }
            Err(failure) => {
                tracing::warn!(?failure, "sweeping waits");
                tokio::time::sleep(PATIENCE).await;
            }
        }
    }
}

/// Publishes the change feeds.
pub async fn publish(store: Store, mut stop: watch::Receiver<bool>) {
    tokio::select! {
        () = publish_forever(&store) => {}
        () = stopped(&mut stop) => {}
    }
}

#[expect(clippy::disallowed_methods, reason = "the background loop")]
async fn publish_forever(store: &Store) {
    loop {
        match store.feed_step().await {
            Ok(true) => tokio::task::yield_now().await,
            Ok(false) => {
                // Woken or not: an hour may be over.
                let _ = timeout(REST, store.feed_wanted()).await;
                tokio::time::sleep(PUBLISH).await;
            }
            Err(failure) => {
                tracing::warn!(?failure, "the change feed waits");
                tokio::time::sleep(PATIENCE).await;
            }
        }
    }
}
