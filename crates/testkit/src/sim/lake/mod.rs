//! A lake: clients of one file system by both doors, Data Lake's and Blob's, of whom access control lists bind some; and directories that are moved
//! between two others. All over two or three gateways, which stall and die.
//!
//! Held true, whatever dies:
//! * the history of the file system has an order by the rules of [`reference`]: a rename is all or nothing, no entry is lost, doubled or
//!   reachable by two names, and nobody does what a list does not let him;
//! * a directory that is moved to another file system is never there by half, and in the end in one of the two;
//! * in the end the whole-store check finds nothing, and when all is deleted nothing is left over.

mod clients;
pub mod on_disk;
mod reference;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use lazuli_engine::memory::Manners;
use lazuli_model::container::CreateContainer;
use lazuli_model::lake::{Mode, SetAccessControl};
use lazuli_model::{AccountName, ContainerName};
use lazuli_store::{ContainerAt, DeletePath, Failure, Store};

use super::gateways::World;
use super::gateways::gateway::Gateway;
use super::world::Report;
use crate::chance::Chance;
use crate::linear::check_within;
use clients::{Counter, LakeEvent, path_at};
use reference::{Answer, Call, FileSystem, LakeCall, OWNER, ROOT_MODE};

/// Tries of the checker: a history of which it knows nothing then is counted apart.
const TRIES: usize = 400_000;
const MOVERS: [&str; 2] = ["m0", "m1"];

/// What clients share.
pub struct Shore {
    world: Arc<World>,
    next: AtomicU64,
    ended: AtomicBool,
    moves: AtomicU64,
}

impl Counter for Shore {
    fn next(&self) -> u64 {
        self.next.fetch_add(1, SeqCst)
    }
}

fn container_at(system: &str) -> ContainerAt {
    ContainerAt {
        account: AccountName::parse("account").expect("a name"),
        container: ContainerName::parse(system).expect("a name"),
    }
}

pub fn run(seed: u64) -> Result<Report, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let outcome = runtime.block_on(live(seed));
    runtime.shutdown_background();
    outcome.map_err(|what| format!("seed {seed} of the lake, {what}"))
}

async fn live(seed: u64) -> Result<Report, String> {
    let mut chance = Chance::new(seed ^ 0x1A4E);
    let manners = Manners { conflict_percent: 5, lost_percent: 3, ..Manners::rough(chance.draw()) };
    let world = World::with(manners);
    let (next, ended, moves) = (AtomicU64::new(1), AtomicBool::new(false), AtomicU64::new(0));
    let shore = Arc::new(Shore { world, next, ended, moves });
    for _ in 0..2 + chance.below(2) {
        shore.world.start(&mut chance).await;
    }
    set_up(&shore.world.all().remove(0).store).await;
    let trouble = tokio::spawn(disturb(shore.clone(), Chance::new(chance.draw())));
    let mut users = Vec::new();
    for id in 0..4 {
        users.push(tokio::spawn(clients::live(id, shore.clone(), Chance::new(chance.draw()), 11)));
    }
    let mut movers = Vec::new();
    for name in MOVERS {
        movers.push(tokio::spawn(clients::ferry(shore.clone(), name.into(), Chance::new(chance.draw()))));
    }
    let mut records = Vec::new();
    for user in users {
        records.extend(user.await.map_err(|gone| format!("a client ended: {gone}"))?);
    }
    for mover in movers {
        mover.await.map_err(|gone| format!("a mover ended: {gone}"))??;
    }
    shore.ended.store(true, SeqCst);
    trouble.await.map_err(|gone| format!("{gone}"))?;
    let last = settle(&shore, &mut records, &mut chance).await?;
    let report = judge(&records)?;
    nothing_is_left(&shore, &last).await?;
    Ok(Report { calls: report.calls + shore.moves.load(SeqCst) as usize, ..report })
}

async fn set_up(store: &Store) {
    let on = vec![("hierarchical-namespace".to_owned(), "on".to_owned())];
    while store.set_account(&container_at("box").account, on.clone()).await.is_err() {}
    for (name, id) in [("box", 21), ("left", 22), ("right", 23)] {
        let create = CreateContainer { id, scope: None, metadata: Default::default(), public: Default::default() };
        // A try that was not told of its success has succeeded.
        while let Err(Failure::Broken(_)) = store.create_container(&container_at(name), create.clone()).await {}
    }
    let open = SetAccessControl { permissions: Some(Mode::of(ROOT_MODE)), ..SetAccessControl::default() };
    while store.set_access_control(&path_at("box", ""), open.clone()).await.is_err() {}
    for name in MOVERS {
        while clients::load(store, name).await.is_err() {}
    }
}

/// Time passes, and gateways stall, die and are replaced.
async fn disturb(shore: Arc<Shore>, mut chance: Chance) {
    while !shore.ended.load(SeqCst) {
        shore.world.pass(5).await;
        let awake = shore.world.awake();
        match chance.below(10) {
            0 if awake.len() > 1 => chance.pick(&awake).kill(),
            1 if awake.len() > 1 => {
                let stalled = chance.pick(&awake).clone();
                stalled.stall(true);
                shore.world.pass(10 + 10 * chance.below(40) as u64).await;
                stalled.stall(false);
            }
            2 | 3 if awake.len() < 3 => drop(shore.world.start(&mut chance).await),
            _ => {}
        }
        for _ in 0..chance.below(60) {
            tokio::task::yield_now().await;
        }
    }
}

/// All but one die, and what they left is settled. Then everything is looked at, by both doors.
async fn settle(shore: &Arc<Shore>, records: &mut Vec<LakeEvent>, chance: &mut Chance) -> Result<Arc<Gateway>, String> {
    let last = shore.world.start(chance).await;
    for gateway in shore.world.all().iter().filter(|gateway| gateway.id != last.id) {
        gateway.kill();
    }
    shore.world.pass(25 * 60).await;
    last.rest().await;
    for call in [Call::List, Call::ListBlobs] {
        let events = clients::one(99, &**shore, &last.store, LakeCall { by: OWNER, call }).await;
        if events.is_empty() {
            return Err("the end cannot be listed".into());
        }
        records.extend(events);
    }
    for name in MOVERS {
        clients::landed(&last.store, name).await?;
    }
    Ok(last)
}

/// All is deleted. A day later nothing is left over.
async fn nothing_is_left(shore: &Arc<Shore>, last: &Arc<Gateway>) -> Result<(), String> {
    for system in ["box", "left", "right"] {
        let paths = clients::listed(&last.store, system).await.map_err(|failure| format!("{failure:?}"))?;
        for (path, _) in paths.iter().filter(|(path, _)| !path.contains('/')) {
            let delete = DeletePath { recursive: true, ..DeletePath::default() };
            while let Err(Failure::Broken(_)) = last.store.delete_path(&path_at(system, path), delete.clone()).await {}
        }
    }
    shore.world.end(last).await
}

fn judge(records: &[LakeEvent]) -> Result<Report, String> {
    let known = check_within(&FileSystem, records, TRIES)
        .map_err(|violation| format!("no order after {} of {}:\n{}", violation.done, violation.of, violation.story))?;
    let refused = |record: &&LakeEvent| matches!(record.returned, Some((Answer::Refused(_), _)));
    let untold = records.iter().filter(|record| record.returned.is_none()).count();
    let (calls, refused) = (records.len(), records.iter().filter(refused).count());
    Ok(Report { histories: 1, calls, refused, untold, undecided: usize::from(!known), ..Report::default() })
}
