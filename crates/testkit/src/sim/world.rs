//! One world from one seed: built, lived in, judged.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use lazuli_engine::Engine;
use lazuli_engine::content::{Content, Memory as ContentMemory};
use lazuli_engine::memory::{Manners, Memory};
use lazuli_http::{Edge, Options, Service};
use lazuli_model::AccountName;
use lazuli_store::Store;
use tokio::task::JoinHandle;

use super::blob::{Kind, OneBlob};
use super::container::OneContainer;
use super::faults::{Breaking, Dice};
use super::object::{Object, Record, client};
use super::queue::OneQueue;
use super::scene::{Mischief, Scene, Time, accounts};
use super::share::OneShare;
use super::shelf::Shelf;
use super::shrink::judge;
use super::table::Partition;
use super::wire::{Request, Told, Wire};
use crate::chance::Chance;
use crate::client::{ACCOUNT, KEY};

/// What a world came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub histories: usize,
    pub calls: usize,
    pub refused: usize,
    /// Calls of which nobody was told whether they happened.
    pub untold: usize,
    /// Histories whose judge gave up.
    pub undecided: usize,
    /// Of everything that every client was told, and when.
    pub digest: u64,
}

impl Report {
    pub fn add(&mut self, other: Report) {
        self.histories += other.histories;
        self.calls += other.calls;
        self.refused += other.refused;
        self.untold += other.untold;
        self.undecided += other.undecided;
        self.digest = self.digest.rotate_left(1) ^ other.digest;
    }
}

pub fn run(seed: u64) -> Result<Report, String> {
    run_with(seed, Mischief::of(seed))
}

pub fn run_with(seed: u64, mischief: Mischief) -> Result<Report, String> {
    // Timers never come due: a world is over before any of them, and only a client that stalls would need one.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let outcome = runtime.block_on(live(seed, mischief));
    runtime.shutdown_background();
    outcome.map_err(|what| format!("seed {seed}, {what}"))
}

async fn live(seed: u64, mischief: Mischief) -> Result<Report, String> {
    let mut chance = Chance::new(seed);
    let time = Time::new(seed);
    let engine = Memory::distributed_with(Manners::rough(chance.draw()), time.clock());
    let dice = Dice::new(chance.draw(), mischief.faults);
    let engine = Arc::new(Breaking { inner: engine, dice: dice.clone() });
    let content = Arc::new(Breaking { inner: ContentMemory::new(), dice });
    let versioning = chance.one_in(3);
    let scene = build(engine, content, time, mischief, versioning).await;
    let sweeper = tokio::spawn(sweep(scene.store.clone(), chance.draw()));

    let mut casts = Vec::new();
    let blobs = [("one", Kind::Block), ("two", Kind::Block), ("log", Kind::Append), ("disk", Kind::Page)];
    prepare(&scene, Service::Blob, vec![Request::new("PUT", "/blobs?restype=container")], &mut chance).await?;
    for (name, kind) in blobs {
        casts.push(cast(&scene, OneBlob { name, kind, versioning }, &mut chance).await?);
    }
    casts.push(cast(&scene, OneContainer, &mut chance).await?);
    casts.push(cast(&scene, Shelf, &mut chance).await?);
    casts.push(cast(&scene, Partition, &mut chance).await?);
    casts.push(cast(&scene, OneQueue, &mut chance).await?);
    casts.push(cast(&scene, OneShare, &mut chance).await?);
    let mut report = Report::default();
    for cast in casts {
        report.add(cast.await.map_err(|gone| format!("a client ended: {gone}"))??);
    }
    sweeper.abort();
    Ok(report)
}

/// The server over `engine` and `content`.
pub async fn build(
    engine: Arc<dyn Engine>,
    content: Arc<dyn Content>,
    time: Arc<Time>,
    mischief: Mischief,
    versioning: bool,
) -> Arc<Scene> {
    let store = Store::new(engine, content).digesting_here();
    let account = AccountName::parse(ACCOUNT).expect("a name");
    let setting = if versioning { "on" } else { "off" };
    while store.set_account(&account, vec![("versioning".into(), setting.into())]).await.is_err() {}
    let next = AtomicU64::new(1);
    let ids = Arc::new(move || (u128::from(next.fetch_add(1, SeqCst)) << 64) | 0x51);
    let edge = Edge::new(store.clone(), accounts(KEY), Options::default(), ids);
    Scene::new(edge, store, time, mischief)
}

/// What has to be there, whatever it takes.
async fn prepare(
    scene: &Arc<Scene>,
    service: Service,
    requests: Vec<Request>,
    chance: &mut Chance,
) -> Result<(), String> {
    let mut wire = Wire::new(scene.clone(), service);
    for request in requests {
        loop {
            match wire.ask(&request, chance).await {
                // It is there already where a try was not told that it had succeeded.
                Told::Answer(answer) if answer.good() || answer.status == 409 => break,
                Told::Answer(answer) => return Err(format!("{request:?} was answered with {answer:?}")),
                Told::Wrong(what) => return Err(what),
                Told::Nothing | Told::Void => {}
            }
        }
    }
    Ok(())
}

/// Lets clients loose on `object`, and judges what they saw.
async fn cast<O: Object>(
    scene: &Arc<Scene>,
    object: O,
    chance: &mut Chance,
) -> Result<JoinHandle<Result<Report, String>>, String>
where
    O::State: Send,
{
    prepare(scene, O::SERVICE, object.setup(), chance).await?;
    let object = Arc::new(object);
    let clients: Vec<_> = (0..scene.mischief.clients)
        .map(|id| tokio::spawn(client(id, scene.clone(), object.clone(), Chance::new(chance.draw()))))
        .collect();
    Ok(tokio::spawn(async move {
        let mut history = Vec::new();
        for client in clients {
            history.extend(client.await.map_err(|gone| format!("a client of {} ended: {gone}", object.name()))??);
        }
        let known = judge(&*object, &history)?;
        Ok(Report { undecided: usize::from(!known), ..report::<O>(&history) })
    }))
}

pub fn report<O: Object>(history: &[Record<O>]) -> Report {
    let mut hasher = DefaultHasher::new();
    format!("{history:?}").hash(&mut hasher);
    let answers = || history.iter().filter_map(|record| record.returned.as_ref()).filter(|(one, _)| one.is_known());
    Report {
        histories: 1,
        calls: history.len(),
        refused: answers().filter(|(answer, _)| !answer.good()).count(),
        untold: history.len() - answers().count(),
        undecided: 0,
        digest: hasher.finish(),
    }
}

/// Collecting garbage must change nothing that anyone sees.
async fn sweep(store: Store, seed: u64) {
    let mut chance = Chance::new(seed);
    loop {
        if chance.one_in(4) {
            let _ = store.sweep_step().await;
        }
        tokio::task::yield_now().await;
    }
}
