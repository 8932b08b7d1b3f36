//! Both doors of a share: clients of SMB and of REST at once, over two gateways that may die, on one file. SMB's clients speak real
//! frames with real gateways over pipes; REST's call the store, as HTTP does.
//!
//! Held true: whatever is lost, the history of the file has an order by the rules of [`reference`]. A client that caches writes has
//! written when it says so; so a cache that is not given up before others look makes a history without an order. At every moment the rows
//! of the share agree with each other. In the end no handle is left over.

mod clients;
mod reference;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use lazuli_engine::memory::Manners;
use lazuli_model::AccountName;
use lazuli_model::file::{CreateShare, FilePath, Protocol, ShareName, ShareSettings};
use lazuli_smb::serve::{Admission, Gateway as SmbGateway, Settings};
use lazuli_smb::session::negotiation::Encryption;
use lazuli_store::{Alarm, FileAt, ListHandles};
use tokio::io::DuplexStream;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::gateways::World;
use super::gateways::gateway::Gateway;
use super::world::Report;
use crate::chance::Chance;
use crate::linear::check_within;
use clients::{DoorEvent, SmbUser};
use reference::{Answer, Call, OneFile};

const ACCOUNT: &str = "account";
const KEY: &str = "a2V5IG9mIHRoZSBhY2NvdW50";
const SHARE: &str = "both";
/// Tries of the checker: a history of which it knows nothing then is counted apart.
const TRIES: usize = 400_000;

/// A gateway's two doors.
pub struct Door {
    pub gateway: Arc<Gateway>,
    smb: Arc<SmbGateway>,
    attending: AbortHandle,
    connections: Mutex<Vec<watch::Sender<bool>>>,
}

impl Door {
    fn new(gateway: Arc<Gateway>, world: &Arc<World>, mut chance: Chance) -> Arc<Self> {
        let alarm: Alarm = {
            let world = world.clone();
            Arc::new(move |after| {
                let world = world.clone();
                let until = world.now() + u64::try_from(after.as_nanos() / 100).unwrap_or(u64::MAX / 2);
                Box::pin(async move {
                    while world.now() < until {
                        tokio::task::yield_now().await;
                    }
                })
            })
        };
        let random = {
            let drawn = Mutex::new(Chance::new(chance.draw()));
            Arc::new(move || {
                let mut drawn = drawn.lock().unwrap_or_else(PoisonError::into_inner);
                u128::from(drawn.draw()) << 64 | u128::from(drawn.draw())
            })
        };
        let smb = SmbGateway::new(Settings {
            store: gateway.store.clone(),
            gateway: gateway.id,
            accounts: Arc::new(|name, _| {
                let keys = [KEY.to_owned(), KEY.to_owned()];
                let known = Admission::Known { keys, encryption: Encryption::Offered, bound: false };
                Box::pin(async move { if name.as_str() == ACCOUNT { known } else { Admission::Unknown } })
            }),
            random,
            alarm,
            encryption: Encryption::Offered,
            name: "lazuli".into(),
            observer: None,
        });
        let attending = tokio::spawn(smb.clone().attend()).abort_handle();
        Arc::new(Self { gateway, smb, attending, connections: Mutex::default() })
    }

    pub fn connect(&self) -> DuplexStream {
        let (near, far) = tokio::io::duplex(64 << 10);
        let (smb, peer) = (self.smb.clone(), SocketAddr::from((Ipv4Addr::LOCALHOST, 1)));
        let (run, stop) = watch::channel(false);
        tokio::spawn(async move { smb.serve(far, peer, stop).await });
        self.connections.lock().unwrap_or_else(PoisonError::into_inner).push(run);
        near
    }

    /// Nothing of it goes on.
    fn kill(&self) {
        self.gateway.kill();
        self.attending.abort();
        for connection in self.connections.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let _ = connection.send(true);
        }
    }
}

/// What clients share.
pub struct Stage {
    world: Arc<World>,
    doors: Mutex<Vec<Arc<Door>>>,
    next: AtomicU64,
    ended: AtomicBool,
}

impl Stage {
    /// A number that nobody has had, larger than all before.
    pub fn next(&self) -> u64 {
        self.next.fetch_add(1, SeqCst)
    }

    fn all(&self) -> Vec<Arc<Door>> {
        self.doors.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A gateway that lives.
    pub fn any(&self, chance: &mut Chance) -> Option<Arc<Door>> {
        let awake: Vec<_> = self.all().into_iter().filter(|door| door.gateway.is_awake()).collect();
        (!awake.is_empty()).then(|| chance.pick(&awake).clone())
    }

    async fn start(&self, chance: &mut Chance) -> Arc<Door> {
        let gateway = self.world.start(chance).await;
        let door = Door::new(gateway, &self.world, Chance::new(chance.draw()));
        self.doors.lock().unwrap_or_else(PoisonError::into_inner).push(door.clone());
        door
    }
}

pub fn file_at(path: &str) -> FileAt {
    FileAt {
        account: AccountName::parse(ACCOUNT).expect("a name"),
        share: ShareName::parse(SHARE).expect("a name"),
        path: FilePath::parse(path, false).expect("a path"),
    }
}

pub fn run(seed: u64) -> Result<Report, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let outcome = runtime.block_on(live(seed));
    runtime.shutdown_background();
    outcome.map_err(|what| format!("seed {seed} with both doors, {what}"))
}

async fn live(seed: u64) -> Result<Report, String> {
    let mut chance = Chance::new(seed ^ 0xD00F);
    let manners = Manners { conflict_percent: 5, lost_percent: 0, ..Manners::rough(chance.draw()) };
    let world = World::with(manners);
    let (next, ended) = (AtomicU64::new(1), AtomicBool::new(false));
    let stage = Arc::new(Stage { world, doors: Mutex::default(), next, ended });
    for _ in 0..2 {
        stage.start(&mut chance).await;
    }
    set_up(&stage).await;
    let tide = tokio::spawn(tide(stage.clone(), Chance::new(chance.draw())));
    let mut users = Vec::new();
    for id in 0..3 {
        users.push(tokio::spawn(SmbUser::new(id, stage.clone(), Chance::new(chance.draw())).live(9)));
    }
    for id in 3..5 {
        users.push(tokio::spawn(clients::rest(id, stage.clone(), Chance::new(chance.draw()), 8)));
    }
    let mut records = Vec::new();
    for user in users {
        records.extend(user.await.map_err(|gone| format!("a client ended: {gone}"))?);
    }
    stage.ended.store(true, SeqCst);
    tide.await.map_err(|gone| format!("{gone}"))??;
    records.extend(settle(&stage, &mut chance).await?);
    judge(&records)
}

async fn set_up(stage: &Stage) {
    let door = stage.all().remove(0);
    let settings = ShareSettings { quota_gib: Some(1), ..ShareSettings::default() };
    let create = CreateShare { id: 5, metadata: Default::default(), settings, protocol: Protocol::Smb };
    let share = file_at("").share_at();
    while let Err(lazuli_store::Failure::Broken(_)) = door.gateway.store.create_share(&share, create.clone()).await {}
}

/// Time passes, and now and then a gateway dies and another one comes.
async fn tide(stage: Arc<Stage>, mut chance: Chance) -> Result<(), String> {
    let dies_at = chance.below(8);
    let mut round = 0;
    while !stage.ended.load(SeqCst) {
        stage.world.pass(5).await;
        // So that what is under way takes less time than clients have for an answer.
        for _ in 0..300 + chance.below(300) {
            tokio::task::yield_now().await;
        }
        audited(&stage, &mut chance).await?;
        if round == dies_at {
            let victim = stage.any(&mut chance);
            stage.start(&mut chance).await;
            victim.into_iter().for_each(|door| door.kill());
        }
        round += 1;
    }
    Ok(())
}

/// What committed rows say of each other is true, also while clients are at work: the share is one partition, and its rows are fewer
/// than the check reads at a time, so it sees them of one moment.
async fn audited(stage: &Stage, chance: &mut Chance) -> Result<(), String> {
    let Some(door) = stage.any(chance) else { return Ok(()) };
    match door.gateway.store.audit(&mut |_| {}).await {
        Ok(audit) => match audit.damage.first() {
            None => Ok(()),
            Some(what) => Err(format!("{} things are wrong, first: {what}", audit.damaged)),
        },
        // A gateway that is asked at a bad time.
        Err(lazuli_store::Failure::Broken(_)) => Ok(()),
        Err(failure) => Err(format!("the check failed: {failure:?}")),
    }
}

/// Everything that was held ends: connections are over, and those of dead gateways are found. What is left is looked at.
async fn settle(stage: &Arc<Stage>, chance: &mut Chance) -> Result<Vec<DoorEvent>, String> {
    let last = stage.start(chance).await;
    for door in stage.all().iter().filter(|door| door.gateway.id != last.gateway.id) {
        door.kill();
    }
    stage.world.pass(5 * 60).await;
    let list = ListHandles { recursive: true, most: 100, ..ListHandles::default() };
    let handles = last.gateway.store.list_handles(&file_at(""), list).await;
    let left = handles.map_err(|failure| format!("handles could not be listed: {failure:?}"))?.items;
    if let Some(handle) = left.first() {
        return Err(format!("{} handles are left over for ever, first: {handle:?}", left.len()));
    }
    audited(stage, chance).await?;
    let mut records = Vec::new();
    for op in [Call::RestList, Call::RestRead] {
        records.extend(clients::one(99, stage, &last, op).await);
    }
    Ok(records)
}

fn judge(records: &[DoorEvent]) -> Result<Report, String> {
    let known = check_within(&OneFile, records, TRIES)
        .map_err(|violation| format!("no order after {} of {}:\n{}", violation.done, violation.of, violation.story))?;
    let refused = |record: &&DoorEvent| matches!(record.returned, Some((Answer::Refused(_), _)));
    let untold = records.iter().filter(|record| record.returned.is_none()).count();
    let (calls, refused) = (records.len(), records.iter().filter(refused).count());
    Ok(Report { histories: 1, calls, refused, untold, undecided: usize::from(!known), ..Report::default() })
}
