//! The same lake over the embedded engine, on a disk whose power is cut: what was acknowledged is there, what was under way is there whole or
//! not at all. A rename has happened or not; a directory that was on its way to another file system is at one of them, or at neither and
//! still on its way, and never there by half.

use std::sync::Arc;

use lazuli_engine::BoxFuture;
use lazuli_http::recorder;
use lazuli_model::lake::RenamePath;
use lazuli_store::Failure;

use super::clients::{self, Counter, LakeEvent, SHORES, listed, path_at};
use super::reference::{Answer, Call, LakeCall, OWNER};
use super::{MOVERS, judge, set_up};
use crate::chance::Chance;
use crate::sim::scene::Scene;
use crate::sim::world::{Cast, Marks, Report, Saw};

impl Counter for Scene {
    fn next(&self) -> u64 {
        Scene::next(self)
    }

    fn mark(&self, what: char, call: u64) {
        Scene::mark(self, what, call);
    }
}

/// What has to be there, whatever it takes.
pub async fn prepare(scene: &Scene) {
    set_up(&scene.store).await;
}

/// Lets clients and movers loose.
pub fn cast(scene: &Arc<Scene>, chance: &mut Chance) -> Cast {
    let users: Vec<_> = (0..scene.mischief.clients)
        .map(|id| tokio::spawn(client(id, scene.clone(), Chance::new(chance.draw()))))
        .collect();
    let movers = MOVERS.map(|name| tokio::spawn(ferry(name, scene.clone())));
    tokio::spawn(async move {
        let mut seen = Lake { records: Vec::new(), moves: Vec::new() };
        for user in users {
            seen.records.extend(user.await.map_err(|gone| format!("a client of the lake ended: {gone}"))?);
        }
        for mover in movers {
            seen.moves.push(mover.await.map_err(|gone| format!("a mover ended: {gone}"))??);
        }
        Ok(Box::new(seen) as Box<dyn Saw>)
    })
}

async fn client(id: usize, scene: Arc<Scene>, mut chance: Chance) -> Vec<LakeEvent> {
    let mut records = Vec::new();
    for _ in 0..scene.mischief.calls {
        for _ in 0..chance.below(4) {
            tokio::task::yield_now().await;
        }
        let asked = clients::next_call(&mut chance, &*scene);
        records.extend(clients::one(id, &*scene, &scene.store, asked).await);
    }
    records
}

/// A mover's moves, from the first file system to the second and back, by the numbers that they began with.
struct Moves {
    name: &'static str,
    called: Vec<u64>,
    /// Of the last one nobody was told what came of it.
    is_unknown: bool,
}

async fn ferry(name: &'static str, scene: Arc<Scene>) -> Result<Moves, String> {
    let mut moves = Moves { name, called: Vec::new(), is_unknown: false };
    for turn in 0..4 {
        let (from, to) = (SHORES[turn % 2], SHORES[1 - turn % 2]);
        let call = Scene::next(&scene);
        moves.called.push(call);
        scene.mark('C', call);
        match scene.store.rename_path(&path_at(from, name), &path_at(to, name), RenamePath::default()).await {
            Ok(_) => scene.mark('R', call),
            Err(Failure::Refused(refusal)) => return Err(format!("a move of {name} was refused: {refusal:?}")),
            Err(Failure::Broken(_)) => {
                moves.is_unknown = true;
                break;
            }
        }
    }
    Ok(moves)
}

impl Moves {
    /// Where it is after the cut. `None`: it may be anywhere.
    fn shore(&self, marks: &Marks) -> Option<usize> {
        let begun = self.called.iter().filter(|call| marks.called.contains(call)).count();
        let ended = self.called.iter().filter(|call| marks.returned.contains(call)).count();
        (begun == ended).then_some(ended % 2)
    }

    /// `seen` says whether it is whole, in each of the two.
    fn judge(&self, shore: Option<usize>, seen: [bool; 2]) -> Result<(), String> {
        let name = self.name;
        match (shore, seen) {
            (_, [true, true]) => Err(format!("{name} is in both file systems")),
            (Some(at), _) if seen != [at == 0, at == 1] => {
                Err(format!("{name} should be in {}, and is: {seen:?}", SHORES[at]))
            }
            (Some(_) | None, _) => Ok(()),
        }
    }
}

/// What clients of the lake saw.
struct Lake {
    records: Vec<LakeEvent>,
    moves: Vec<Moves>,
}

impl Saw for Lake {
    fn judge(&self) -> Result<Report, String> {
        judge(&self.records).map_err(|what| format!("the lake: {what}"))
    }

    fn explained(&self, _records: &[recorder::Record]) -> Result<usize, String> {
        Ok(0)
    }

    fn judge_after<'a>(&'a self, scene: &'a Arc<Scene>, marks: &'a Marks) -> BoxFuture<'a, Result<Report, String>> {
        Box::pin(async move {
            let begun = self.records.iter().filter(|record| marks.called.contains(&record.called));
            let mut records: Vec<LakeEvent> = begun.cloned().collect();
            records.retain(|record| !record.op.call.looks() || marks.returned.contains(&record.called));
            for record in records.iter_mut().filter(|record| !marks.returned.contains(&record.called)) {
                record.returned = None;
            }
            for call in [Call::List, Call::ListBlobs] {
                let events = clients::one(99, &**scene, &scene.store, LakeCall { by: OWNER, call }).await;
                if events.is_empty() && !scene.mischief.damaged {
                    return Err("the lake cannot be listed".into());
                }
                records.extend(events);
            }
            read_all(scene, &mut records).await?;
            for moves in &self.moves {
                look_for(scene, moves, marks).await?;
            }
            judge(&records).map_err(|what| format!("the lake: {what}"))
        })
    }
}

/// Every file that is listed has its bytes.
async fn read_all(scene: &Scene, records: &mut Vec<LakeEvent>) -> Result<(), String> {
    let Ok(paths) = listed(&scene.store, "box").await else {
        return if scene.mischief.damaged { Ok(()) } else { Err("the lake cannot be listed".into()) };
    };
    for (path, _) in paths.into_iter().filter(|(_, value)| value.is_some()) {
        let events = clients::one(99, scene, &scene.store, LakeCall { by: OWNER, call: Call::Read { path } }).await;
        let refused = |event: &LakeEvent| matches!(event.returned, Some((Answer::Refused(_), _)));
        if !scene.mischief.damaged && (events.is_empty() || events.iter().any(refused)) {
            return Err(format!("a file that is listed cannot be read: {events:?}"));
        }
        records.extend(events);
    }
    Ok(())
}

async fn look_for(scene: &Scene, moves: &Moves, marks: &Marks) -> Result<(), String> {
    let mut seen = [false; 2];
    for (at, system) in SHORES.iter().enumerate() {
        match listed(&scene.store, system).await {
            Ok(paths) => seen[at] = clients::is_whole(&paths, moves.name)?,
            Err(_) if scene.mischief.damaged => return Ok(()),
            Err(failure) => return Err(format!("{system} cannot be listed: {failure:?}")),
        }
    }
    moves.judge(moves.shore(marks), seen)
}
