//! The work that nobody waits for, and the only place that sleeps. Held true: one bounded step at a time, as ordinary
//! transactions, so that a stop or a crash between two steps loses nothing.

use std::sync::Arc;
use std::time::Duration;

use lazuli_http::Edge;
use lazuli_store::{
    AnalyticsRounds, Failure, Gone, HEARTBEAT_SECONDS, InventoryReports, LifecycleRounds, ReplicationRounds, Store,
};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::data::Data;
use crate::listen::stopped;

/// Garbage that comes together is swept together.
const GATHER: Duration = Duration::from_millis(100);
/// No hint comes when blocks grow old and rounds fall due.
const REST: Duration = Duration::from_secs(30);
/// Changes that come together are published together.
const PUBLISH: Duration = Duration::from_secs(5);
/// After a fault: a full disk, an engine that is being reopened.
const PATIENCE: Duration = Duration::from_secs(10);

pub async fn sweep(data: Arc<Data>, mut stop: watch::Receiver<bool>) {
    tokio::select! {
        () = sweep_forever(&data) => {}
        () = stopped(&mut stop) => {}
    }
}

/// Ends the handles of gateways that are no more. `alone`: this process has the engine to itself, so at its start that is everybody,
/// and nobody need ever hear that it is alive. Else it says so, and watches the others.
pub async fn attend(store: Store, gateway: u128, alone: bool, mut stop: watch::Receiver<bool>) {
    tokio::select! {
        () = attend_forever(&store, gateway, alone) => {}
        () = stopped(&mut stop) => {}
    }
}

#[expect(clippy::disallowed_methods, reason = "the background loop")]
async fn attend_forever(store: &Store, gateway: u128, alone: bool) {
    let mut is_first = true;
    loop {
        let attended = if alone {
            store.end_handles(Gone::AllBut(gateway)).await
        } else {
            attend_once(store, gateway, is_first).await
        };
        match attended {
            Ok(0) => {}
            Ok(closed) => tracing::info!(closed, "handles of gateways that are no more were closed"),
            Err(failure) => {
                tracing::warn!(?failure, "handles of gateways that are no more could not be closed yet");
                tokio::time::sleep(PATIENCE).await;
                continue;
            }
        }
        if alone {
            return;
        }
        is_first = false;
        tokio::time::sleep(Duration::from_secs(HEARTBEAT_SECONDS)).await;
    }
}

/// Makes the copies that gateways began which are no more.
pub async fn take_over_copies(edge: Arc<Edge>, mut stop: watch::Receiver<bool>) {
    tokio::select! {
        () = take_over_forever(&edge) => {}
        () = stopped(&mut stop) => {}
    }
}

#[expect(clippy::disallowed_methods, reason = "the background loop")]
async fn take_over_forever(edge: &Arc<Edge>) {
    loop {
        tokio::time::sleep(REST).await;
        if let Err(failure) = edge.resume_copies().await {
            tracing::warn!(?failure, "copies of gateways that are no more could not be read yet");
        }
    }
}

async fn attend_once(store: &Store, gateway: u128, is_first: bool) -> Result<u64, Failure> {
    if !store.beat(gateway, is_first).await? {
        tracing::warn!("this gateway was silent for so long that its handles were closed");
    }
    if is_first || store.has_silent_gateway().await? { store.end_handles(Gone::Silent).await } else { Ok(0) }
}

#[expect(clippy::disallowed_methods, reason = "the background loop")]
async fn sweep_forever(data: &Data) {
    let store = &data.store;
    // What another gateway may read waits for its heartbeats.
    let rest = if store.is_shared() { Duration::from_secs(HEARTBEAT_SECONDS) } else { REST };
    loop {
        let swept = if is_ours(data, "sweep").await { store.sweep_step().await } else { store.sweep_own_step().await };
        match swept {
            Ok(true) => tokio::task::yield_now().await,
            Ok(false) => {
                // Woken or not, there may be something.
                let _ = timeout(rest, store.sweep_wanted()).await;
                tokio::time::sleep(GATHER).await;
            }
            Err(failure) => {
                tracing::warn!(?failure, "sweeping waits");
                tokio::time::sleep(PATIENCE).await;
            }
        }
    }
}

/// Whether this server is the one that does it.
async fn is_ours(data: &Data, work: &str) -> bool {
    match data.holds_lease(work).await {
        Ok(holds) => holds,
        Err(fault) => {
            tracing::warn!(?fault, work, "whose work it is cannot be told");
            false
        }
    }
}

/// Tells other servers that this one is there. `dead` is told when they have taken it for dead.
#[expect(clippy::disallowed_methods, reason = "the background loop")]
pub async fn attend_content(data: Arc<Data>, dead: watch::Sender<bool>, mut stop: watch::Receiver<bool>) {
    loop {
        match data.attend_content().await {
            Ok(true) => {}
            Ok(false) => return,
            Err(fault) => tracing::warn!(?fault, "other servers could not be told that this one is there"),
        }
        if data.is_taken_for_dead() {
            let _ = dead.send(true);
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(lazuli_engine::rados::HEARTBEAT_SECONDS)) => {}
            () = stopped(&mut stop) => return,
        }
    }
}

/// Publishes the change feeds.
pub async fn publish(data: Arc<Data>, mut stop: watch::Receiver<bool>) {
    tokio::select! {
        () = publish_forever(&data) => {}
        () = stopped(&mut stop) => {}
    }
}

#[expect(clippy::disallowed_methods, reason = "the background loop")]
async fn publish_forever(data: &Data) {
    let store = &data.store;
    loop {
        if !is_ours(data, "publish").await {
            tokio::time::sleep(PATIENCE).await;
            continue;
        }
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

/// Carries out the lifecycle policies of accounts.
pub async fn age(data: Arc<Data>, mut stop: watch::Receiver<bool>) {
    tokio::select! {
        () = age_forever(&data) => {}
        () = stopped(&mut stop) => {}
    }
}

#[expect(clippy::disallowed_methods, reason = "the background loop")]
async fn age_forever(data: &Data) {
    let mut rounds = LifecycleRounds::default();
    loop {
        if !is_ours(data, "lifecycle").await {
            tokio::time::sleep(PATIENCE).await;
            continue;
        }
        match data.store.lifecycle_step(&mut rounds).await {
            Ok(true) => tokio::task::yield_now().await,
            Ok(false) => {
                let (deleted, moved) = (std::mem::take(&mut rounds.deleted), std::mem::take(&mut rounds.moved));
                if deleted + moved > 0 {
                    tracing::info!(deleted, moved, "a lifecycle policy was carried out");
                }
                tokio::time::sleep(REST).await;
            }
            Err(failure) => {
                tracing::warn!(?failure, "lifecycle management waits");
                tokio::time::sleep(PATIENCE).await;
            }
        }
    }
}

/// Copies what accounts replicate.
pub async fn replicate(data: Arc<Data>, mut stop: watch::Receiver<bool>) {
    tokio::select! {
        () = replicate_forever(&data) => {}
        () = stopped(&mut stop) => {}
    }
}

#[expect(clippy::disallowed_methods, reason = "the background loop")]
async fn replicate_forever(data: &Data) {
    let store = &data.store;
    let mut rounds = ReplicationRounds::default();
    loop {
        if !is_ours(data, "replicate").await {
            tokio::time::sleep(PATIENCE).await;
            continue;
        }
        match store.replication_step(&mut rounds).await {
            Ok(true) => tokio::task::yield_now().await,
            Ok(false) => {
                let (copied, failed) = (std::mem::take(&mut rounds.copied), std::mem::take(&mut rounds.failed));
                if copied + failed > 0 {
                    tracing::info!(copied, failed, "objects were replicated");
                }
                // Woken or not: the write that woke it may not have been done yet.
                let _ = timeout(REST, store.replication_wanted()).await;
                tokio::time::sleep(GATHER).await;
            }
            Err(failure) => {
                tracing::warn!(?failure, "object replication waits");
                tokio::time::sleep(PATIENCE).await;
            }
        }
    }
}

/// Writes the logs and metrics that services are asked for.
pub async fn analyse(edge: Arc<Edge>, data: Arc<Data>, mut stop: watch::Receiver<bool>) {
    tokio::select! {
        () = analyse_forever(&edge, &data) => {}
        () = stopped(&mut stop) => {}
    }
    // What was gathered last.
    if let Err(failure) = edge.flush_analytics().await {
        tracing::warn!(?failure, "the last logs and metrics were lost");
    }
}

#[expect(clippy::disallowed_methods, reason = "the background loop")]
async fn analyse_forever(edge: &Edge, data: &Data) {
    let mut rounds = AnalyticsRounds::default();
    loop {
        match analyse_once(edge, data, &mut rounds).await {
            Ok(true) => tokio::task::yield_now().await,
            Ok(false) => tokio::time::sleep(PUBLISH).await,
            Err(failure) => {
                tracing::warn!(?failure, "logs and metrics wait");
                tokio::time::sleep(PATIENCE).await;
            }
        }
    }
}

/// Another server may have been told what is wanted, so it is looked for each time.
async fn analyse_once(edge: &Edge, data: &Data, rounds: &mut AnalyticsRounds) -> Result<bool, Failure> {
    edge.refresh_analytics().await?;
    edge.flush_analytics().await?;
    if is_ours(data, "analyse").await { data.store.analytics_step(rounds).await } else { Ok(false) }
}

/// Writes the inventory reports of accounts.
pub async fn report(data: Arc<Data>, mut stop: watch::Receiver<bool>) {
    tokio::select! {
        () = report_forever(&data) => {}
        () = stopped(&mut stop) => {}
    }
}

#[expect(clippy::disallowed_methods, reason = "the background loop")]
async fn report_forever(data: &Data) {
    let mut reports = InventoryReports::default();
    loop {
        if !is_ours(data, "inventory").await {
            tokio::time::sleep(PATIENCE).await;
            continue;
        }
        match data.store.inventory_step(&mut reports).await {
            Ok(true) => tokio::task::yield_now().await,
            Ok(false) => {
                let written = std::mem::take(&mut reports.written);
                if written > 0 {
                    tracing::info!(written, "inventory reports were written");
                }
                tokio::time::sleep(REST).await;
            }
            Err(failure) => {
                tracing::warn!(?failure, "inventory reports wait");
                tokio::time::sleep(PATIENCE).await;
            }
        }
    }
}
