//! One world from one seed: built, lived in, judged.

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use lazuli_engine::content::{Content, Memory as ContentMemory};
use lazuli_engine::memory::{Manners, Memory};
use lazuli_engine::{BoxFuture, Engine};
use lazuli_http::{Edge, Options, Service, recorder};
use lazuli_model::AccountName;
use lazuli_store::Store;
use tokio::task::JoinHandle;

use super::blob::{Kind, OneBlob};
use super::container::OneContainer;
use super::explained::{self, Known};
use super::faults::{Breaking, Dice};
use super::handles;
use super::object::{Object, Record, client, one};
use super::queue::OneQueue;
use super::scene::{Mischief, SEQUEL, Scene, Time, accounts};
use super::share::OneShare;
use super::shelf::Shelf;
use super::shrink::judge;
use super::table::Partition;
use super::wire::{Answer, Request, Told, Wire};
use crate::chance::Chance;
use crate::client::{ACCOUNT, KEY};

const YEAR: u64 = 365 * 24 * 60 * 60;

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
    /// Refusals of which the recorder named the winner, and rightly.
    pub explained: usize,
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
        self.explained += other.explained;
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
    let engine = Memory::distributed_with(Manners::rough(chance.draw()), lazuli_store::layout, time.clock());
    let dice = Dice::new(chance.draw(), mischief.faults);
    let engine = Arc::new(Breaking { inner: engine, dice: dice.clone() });
    let content = Arc::new(Breaking { inner: ContentMemory::new(), dice });
    let versioning = chance.one_in(3);
    let scene = serve(engine, content, time, mischief, None, 1);
    let sweeper = tokio::spawn(sweep(scene.store.clone(), chance.draw()));

    prepare(&scene, Service::File, handles::setup(), &mut chance).await?;
    let mut casts = everything(&scene, versioning, &mut chance).await?;
    casts.push(handles::cast(&scene, &mut chance));
    let (mut report, mut histories) = (Report::default(), Vec::new());
    for cast in casts {
        let saw = cast.await.map_err(|gone| format!("a client ended: {gone}"))??;
        report.add(saw.judge()?);
        histories.push(saw);
    }
    sweeper.abort();
    // All of them have ended before the record is read.
    let records = scene.edge.recorder().map(|recorder| recorder.records()).unwrap_or_default();
    for saw in histories {
        report.explained += saw.explained(&records)?;
    }
    Ok(report)
}

/// Clients for every kind of object.
pub async fn everything(scene: &Arc<Scene>, versioning: bool, chance: &mut Chance) -> Result<Vec<Cast>, String> {
    let account = AccountName::parse(ACCOUNT).expect("a name");
    let setting = if versioning { "on" } else { "off" };
    while scene.store.set_account(&account, vec![("versioning".into(), setting.into())]).await.is_err() {}
    let blobs = [("one", Kind::Block), ("two", Kind::Block), ("log", Kind::Append), ("disk", Kind::Page)];
    let blobs = blobs.map(|(name, kind)| OneBlob { name, kind, versioning });
    let container = vec![Request::new("PUT", "/blobs?restype=container")];
    prepare(scene, Service::Blob, container, chance).await?;
    prepare(scene, Service::Blob, Shelf.setup(), chance).await?;
    prepare(scene, Service::Table, Partition.setup(), chance).await?;
    prepare(scene, Service::Queue, OneQueue.setup(), chance).await?;
    prepare(scene, Service::File, OneShare.setup(), chance).await?;
    scene.mark('S', 0);
    let mut casts: Vec<Cast> = blobs.into_iter().map(|blob| cast(scene, blob, chance)).collect();
    casts.push(cast(scene, OneContainer, chance));
    casts.push(cast(scene, Shelf, chance));
    casts.push(cast(scene, Partition, chance));
    casts.push(cast(scene, OneQueue, chance));
    casts.push(cast(scene, OneShare, chance));
    Ok(casts)
}

/// The server over `engine` and `content`.
pub fn serve(
    engine: Arc<dyn Engine>,
    content: Arc<dyn Content>,
    time: Arc<Time>,
    mischief: Mischief,
    marks: Option<File>,
    first: u64,
) -> Arc<Scene> {
    let store = Store::new(engine, content).digesting_here();
    let next = AtomicU64::new(first);
    let ids = Arc::new(move || (u128::from(next.fetch_add(1, SeqCst)) << 64) | 0x51);
    // The only time here is that of the scene: who is stopped for a minute has not been silent for one.
    let patient =
        Options { header_read_seconds: YEAR, body_idle_seconds: YEAR, answer_idle_seconds: YEAR, ..Options::default() };
    let outside = time.clone();
    let edge = Edge::new(store.clone(), accounts(KEY), patient, ids, Arc::new(move || outside.outside()));
    edge.record(Arc::new(recorder::Recorder::new(recorder::BYTES_DEFAULT)));
    Scene::new(edge, store, time, mischief, marks, first)
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

/// What clients of one object saw, when they are done.
pub type Cast = JoinHandle<Result<Box<dyn Saw>, String>>;

/// What clients of one object saw.
pub trait Saw: Send + Sync {
    fn judge(&self) -> Result<Report, String>;

    /// How many refusals the recorder explains, all of them rightly.
    fn explained(&self, records: &[recorder::Record]) -> Result<usize, String>;

    /// What was seen until somebody cut the power, as `marks` tell, and what is seen in `scene` now.
    fn judge_after<'a>(&'a self, scene: &'a Arc<Scene>, marks: &'a Marks) -> BoxFuture<'a, Result<Report, String>>;
}

/// The calls that had begun, and those that had been answered.
#[derive(Default)]
pub struct Marks {
    pub called: BTreeSet<u64>,
    pub returned: BTreeSet<u64>,
    /// All that has to be there was there.
    pub set_up: bool,
}

struct History<O: Object> {
    object: Arc<O>,
    records: Vec<Record<O>>,
}

impl<O: Object> Saw for History<O> {
    fn judge(&self) -> Result<Report, String> {
        let known = judge(&*self.object, &self.records)?;
        Ok(Report { undecided: usize::from(!known), ..report::<O>(&self.records) })
    }

    fn explained(&self, records: &[recorder::Record]) -> Result<usize, String> {
        let calls: Vec<Known> = self
            .records
            .iter()
            .map(|record| Known {
                request: self.object.request(&record.op.call),
                called: record.called,
                returned: record.returned.clone(),
            })
            .collect();
        explained::check(&calls, records).map_err(|what| format!("{}: {what}", self.object.name()))
    }

    fn judge_after<'a>(&'a self, scene: &'a Arc<Scene>, marks: &'a Marks) -> BoxFuture<'a, Result<Report, String>> {
        Box::pin(async move {
            let begun = self.records.iter().filter(|record| marks.called.contains(&record.called));
            let mut records: Vec<Record<O>> = begun.cloned().collect();
            for record in &mut records {
                if !marks.returned.contains(&record.called) {
                    record.returned = Some((Answer::unknown(), SEQUEL - 1));
                }
            }
            records.retain(|record| !O::reads(&record.op.call) || marks.returned.contains(&record.called));
            let mut wire = Wire::new(scene.clone(), O::SERVICE);
            let (mut known, mut chance) = (O::Known::default(), Chance::new(1));
            for record in &records {
                if let Some((answer, _)) = record.returned.as_ref().filter(|(answer, _)| answer.is_known()) {
                    self.object.learn(scene, &mut known, &record.op.call, answer);
                }
            }
            for call in self.object.inspect(&known) {
                records.extend(one(99, scene, &*self.object, &mut wire, &mut known, call, &mut chance).await?);
            }
            let known = judge(&*self.object, &records)?;
            Ok(Report { undecided: usize::from(!known), ..report::<O>(&records) })
        })
    }
}

/// Lets clients loose on `object`.
fn cast<O: Object>(scene: &Arc<Scene>, object: O, chance: &mut Chance) -> Cast {
    let object = Arc::new(object);
    let clients: Vec<_> = (0..scene.mischief.clients)
        .map(|id| tokio::spawn(client(id, scene.clone(), object.clone(), Chance::new(chance.draw()))))
        .collect();
    tokio::spawn(async move {
        let mut records = Vec::new();
        for client in clients {
            records.extend(client.await.map_err(|gone| format!("a client of {} ended: {gone}", object.name()))??);
        }
        Ok(Box::new(History { object, records }) as Box<dyn Saw>)
    })
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
        explained: 0,
        digest: hasher.finish(),
    }
}

/// Collecting garbage must change nothing that anyone sees.
pub async fn sweep(store: Store, seed: u64) {
    let mut chance = Chance::new(seed);
    loop {
        if chance.one_in(4) {
            let _ = store.sweep_step().await;
        }
        tokio::task::yield_now().await;
    }
}
