//! Several gateways: two or three stores that have nothing in common but the engine and the content, each with a clock of its own, a
//! sweeper, heartbeats and the work of the feed. Any of them may stall or die at any moment; others start in its place.
//!
//! Held true, whatever dies:
//! * what was acknowledged is there at the end, or what came after it;
//! * a reader is given the bytes of one write, whole, however long it takes; or a fault, if its own gateway was stopped meanwhile;
//! * a copy from elsewhere is taken over only from a gateway that has lost it;
//! * each change is in the feed once;
//! * in the end nothing is left over: no garbage, no dead space, no pin, no piece that nobody names, and the whole-store check finds
//!   nothing.

mod clients;
pub(super) mod gateway;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

use lazuli_engine::memory::{Manners, Memory};
use lazuli_engine::{Clock, Stamp, content};
use lazuli_model::container::CreateContainer;

use super::world::Report;
use crate::chance::Chance;
use clients::{Acked, account, at, container};
use gateway::Gateway;

const START: u64 = 639_000_000_000_000_000;
pub(super) const SECOND: u64 = 10_000_000;
const DAY: u64 = 24 * 60 * 60;

/// What all of them share, and what the judges know.
pub(super) struct World {
    ticks: Arc<AtomicU64>,
    engine: Memory,
    content: content::Memory,
    pub gateways: Mutex<Vec<Arc<Gateway>>>,
    next: AtomicU64,
    pub acked: Mutex<Acked>,
    ended: AtomicBool,
    pub calls: AtomicU64,
    pub untold: AtomicU64,
}

impl World {
    fn new(seed: u64) -> Arc<Self> {
        Self::with(Manners { conflict_percent: 5, lost_percent: 5, ..Manners::rough(seed) })
    }

    pub fn with(manners: Manners) -> Arc<Self> {
        let ticks = Arc::new(AtomicU64::new(START));
        let engine = Memory::distributed_with(manners, lazuli_store::layout, wall(&ticks, 0));
        Arc::new(Self {
            ticks,
            engine,
            content: content::Memory::new(),
            gateways: Mutex::default(),
            next: AtomicU64::new(1),
            acked: Mutex::default(),
            ended: AtomicBool::new(false),
            calls: AtomicU64::new(0),
            untold: AtomicU64::new(0),
        })
    }

    pub fn next(&self) -> u64 {
        self.next.fetch_add(1, SeqCst)
    }

    pub fn now(&self) -> u64 {
        self.ticks.load(SeqCst)
    }

    pub fn has_ended(&self) -> bool {
        self.ended.load(SeqCst)
    }

    pub fn all(&self) -> Vec<Arc<Gateway>> {
        self.gateways.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Those that do something.
    pub fn awake(&self) -> Vec<Arc<Gateway>> {
        self.all().into_iter().filter(|gateway| gateway.is_awake()).collect()
    }

    pub fn any(&self, chance: &mut Chance) -> Option<Arc<Gateway>> {
        let awake = self.awake();
        (!awake.is_empty()).then(|| chance.pick(&awake).clone())
    }

    pub fn acked<T>(&self, act: impl FnOnce(&mut Acked) -> T) -> T {
        act(&mut self.acked.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A gateway whose clock is up to ten seconds off, and which serves once its first heartbeat is heard.
    pub async fn start(self: &Arc<Self>, chance: &mut Chance) -> Arc<Gateway> {
        let id = u128::from(self.next());
        let clock = wall(&self.ticks, chance.below(11) as u64 * SECOND);
        let gateway = Gateway::new(id, self.engine.gateway_as(id, clock), self.content.gateway(id));
        while gateway.store.beat(id, true).await.is_err() {}
        gateway.work(self, chance);
        self.gateways.lock().unwrap_or_else(PoisonError::into_inner).push(gateway.clone());
        gateway
    }

    /// Some seconds pass, in steps in which every gateway that is awake comes to its heartbeat.
    pub async fn pass(&self, seconds: u64) {
        for _ in 0..seconds.div_ceil(5) {
            self.ticks.fetch_add(5 * SECOND, SeqCst);
            let rounds: Vec<_> = self.awake().into_iter().map(|gateway| (gateway.rounds(), gateway)).collect();
            for (before, gateway) in rounds {
                while gateway.is_awake() && gateway.rounds() < before + 2 {
                    tokio::task::yield_now().await;
                }
            }
        }
    }

    /// Some days pass, and the last gateway does all that is left to do.
    async fn let_days_pass(&self, last: &Gateway) {
        for _ in 0..4 {
            // Nobody else counts heartbeats any more.
            self.ticks.fetch_add((DAY + 60) * SECOND, SeqCst);
            self.pass(15 * 60).await;
        }
        last.rest().await;
    }

    /// Days later the whole-store check finds nothing, and nothing is left over.
    pub async fn end(&self, last: &Gateway) -> Result<(), String> {
        self.let_days_pass(last).await;
        self.nothing_is_left(last).await
    }

    async fn nothing_is_left(&self, last: &Gateway) -> Result<(), String> {
        let audit = last.store.audit(&mut |_| {}).await.map_err(|failure| format!("the check failed: {failure:?}"))?;
        if let Some(what) = audit.damage.first() {
            return Err(format!("{} things are wrong, first: {what}", audit.damaged));
        }
        let known: std::collections::BTreeSet<u64> = audit.known.iter().map(|(extent, _)| *extent).collect();
        if let Some(lost) = known.iter().find(|extent| !self.content.extents().contains(extent)) {
            return Err(format!("piece {lost} is named, and gone"));
        }
        if let Some(left) = self.content.extents().iter().find(|extent| !known.contains(extent)) {
            return Err(format!("piece {left} is left over for ever"));
        }
        // Garbage, dead spaces, long copies, what is unfinished, and what gateways leave.
        for (key, _) in self.engine.entries() {
            let is_root = key.space().0 == 0;
            let what = match (is_root, key.column().0 & 0x7F) {
                (false, b'd') => "garbage",
                (false, b'g') => "a copy under way",
                (true, b'x') => "a dead space",
                (true, b'g') => "an unfinished copy",
                (true, b'r' | b's') if key.is_volatile() => "a pin",
                (true, b'W') if key.row() != last.id.to_be_bytes()[..] => "a dead gateway",
                _ => continue,
            };
            return Err(format!("{what} is left over for ever: {key:?}"));
        }
        Ok(())
    }
}

/// A clock that is so much behind.
fn wall(ticks: &Arc<AtomicU64>, behind: u64) -> Clock {
    let ticks = ticks.clone();
    Clock::new(move || Stamp(ticks.load(SeqCst) - behind))
}

pub fn run(seed: u64) -> Result<Report, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let outcome = runtime.block_on(live(seed));
    runtime.shutdown_background();
    outcome.map_err(|what| format!("seed {seed} with several gateways, {what}"))
}

async fn live(seed: u64) -> Result<Report, String> {
    let mut chance = Chance::new(seed ^ 0x6A7E);
    let world = World::new(chance.draw());
    for _ in 0..2 + chance.below(2) {
        world.start(&mut chance).await;
    }
    set_up(&world).await;
    let mut clients = Vec::new();
    for writer in 0..4 {
        clients.push(tokio::spawn(clients::write(world.clone(), writer, Chance::new(chance.draw()))));
    }
    for _ in 0..3 {
        clients.push(tokio::spawn(clients::read(world.clone(), Chance::new(chance.draw()))));
    }
    clients.push(tokio::spawn(clients::tell(world.clone(), Chance::new(chance.draw()))));
    let copiers = tokio::spawn(clients::fetch(world.clone(), Chance::new(chance.draw())));
    let trouble = tokio::spawn(disturb(world.clone(), Chance::new(chance.draw())));
    for client in clients {
        client.await.map_err(|gone| format!("a client ended: {gone}"))??;
    }
    copiers.await.map_err(|gone| format!("a copy ended: {gone}"))??;
    world.ended.store(true, SeqCst);
    trouble.await.map_err(|gone| format!("{gone}"))?;
    settle(&world, &mut chance).await?;
    let (calls, untold) = (world.calls.load(SeqCst) as usize, world.untold.load(SeqCst) as usize);
    Ok(Report { histories: 1, calls, untold, ..Report::default() })
}

async fn set_up(world: &Arc<World>) {
    let gateway = world.all().remove(0);
    while gateway.store.set_account(&account(), vec![("change-feed".into(), "on".into())]).await.is_err() {}
    for (name, id) in [("box", 11), ("other", 12), ("told", 13)] {
        let create = CreateContainer { id, scope: None, metadata: Default::default(), public: Default::default() };
        // A try that was not told of its success has succeeded.
        while let Err(lazuli_store::Failure::Broken(_)) =
            gateway.store.create_container(&container(name), create.clone()).await
        {}
    }
}

/// Time passes, and gateways stall, die and are replaced.
async fn disturb(world: Arc<World>, mut chance: Chance) {
    while !world.has_ended() {
        world.pass(5 + 5 * chance.below(4) as u64).await;
        let awake = world.awake();
        match chance.below(12) {
            0 if awake.len() > 1 => chance.pick(&awake).kill(),
            1 if awake.len() > 1 => {
                let stalled = chance.pick(&awake).clone();
                stalled.stall(true);
                world.pass(10 + 10 * chance.below(12) as u64).await;
                stalled.stall(false);
            }
            2 if awake.len() < 3 => drop(world.start(&mut chance).await),
            _ => {}
        }
        for _ in 0..chance.below(40) {
            tokio::task::yield_now().await;
        }
    }
}

/// All but one die. What they left is the last one's, and in the end nothing is left over.
async fn settle(world: &Arc<World>, chance: &mut Chance) -> Result<(), String> {
    let last = world.start(chance).await;
    for gateway in world.all().iter().filter(|gateway| gateway.id != last.id) {
        gateway.kill();
    }
    world.pass(25 * 60).await;
    world.let_days_pass(&last).await;
    clients::judge(world, &last).await?;
    clients::judge_feed(world, &last).await?;
    world.nothing_is_left(&last).await?;
    // And what is there can be read.
    for writer in 0..4 {
        let _ = clients::bytes(&last.store, &at("box", &format!("w{writer}"))).await;
    }
    Ok(())
}
