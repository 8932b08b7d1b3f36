//! A store moves to another one, whose content puts pieces elsewhere: all is as it was, however often the import is broken off.

mod world;

use std::collections::{HashMap, HashSet};

use lazuli_engine::Fault;
use lazuli_engine::content::Piece;
use lazuli_model::blob::Search;
use lazuli_store::{Failure, ImportJournal};
use world::*;

type Start = (u64, u64);

/// In memory; it fails after some notes, as if the process ended there.
struct Journal {
    id: u128,
    pieces: HashMap<Start, Piece>,
    spaces: HashSet<u128>,
    notes_left: usize,
}

impl Journal {
    fn new(id: u128) -> Self {
        Self { id, pieces: HashMap::new(), spaces: HashSet::new(), notes_left: usize::MAX }
    }

    fn step(&mut self) -> Result<(), Fault> {
        let ended = || Fault::Unavailable("the process ended".into());
        self.notes_left = self.notes_left.checked_sub(1).ok_or_else(ended)?;
        Ok(())
    }
}

impl ImportJournal for Journal {
    fn id(&self) -> u128 {
        self.id
    }

    fn moved(&self, start: Start) -> Option<Piece> {
        self.pieces.get(&start).copied()
    }

    fn note(&mut self, pieces: &[(Start, Piece)]) -> Result<(), Fault> {
        self.step()?;
        self.pieces.extend(pieces.iter().copied());
        Ok(())
    }

    fn is_done(&self, space: u128) -> bool {
        self.spaces.contains(&space)
    }

    fn done(&mut self, space: u128) -> Result<(), Fault> {
        self.step()?;
        self.spaces.insert(space);
        Ok(())
    }
}

async fn filled() -> World {
    let world = World::plain();
    for (container, id) in [("box", 1), ("other", 2), ("gone", 3)] {
        world.create(container, id).await;
    }
    world.put("small", b"inline").await.unwrap();
    for n in 0..30 {
        world.put(&format!("large{n}"), &pattern(n, 100_000)).await.unwrap();
    }
    world.put_block("blocks", "AAAA", &pattern(102, 40_000)).await.unwrap();
    world.put_block("blocks", "AAAB", &pattern(103, 40_000)).await.unwrap();
    world.commit("blocks", &[(Search::Latest, "AAAA"), (Search::Latest, "AAAB")]).await.unwrap();
    world.snapshot("blocks").await;
    world.put_block("waiting", "AAAA", &pattern(104, 40_000)).await.unwrap();
    world.put("deleted", &pattern(105, 50_000)).await.unwrap();
    world.delete("deleted", None).await.unwrap();
    world.drop_container("gone").await;
    world
}

/// Where pieces are differs from the source.
async fn target() -> World {
    let world = World::gentle();
    let staged = world.receive(&pattern(9, 70_000)).await;
    drop(staged);
    world.advance_seconds(60);
    world
}

async fn same(source: &World, target: &World) {
    for n in 0..30 {
        let name = format!("large{n}");
        assert_eq!(target.get(&name, None).await.unwrap(), source.get(&name, None).await.unwrap(), "{name}");
    }
    for name in ["small", "blocks"] {
        assert_eq!(target.get(name, None).await.unwrap(), source.get(name, None).await.unwrap(), "{name}");
    }
    let audit = target.store.audit(&mut |_| {}).await.unwrap();
    assert_eq!(audit.damage, [""; 0]);
    target.put_block("waiting", "AAAB", b"more").await.unwrap();
    target.commit("waiting", &[(Search::Latest, "AAAA"), (Search::Latest, "AAAB")]).await.unwrap();
    assert_eq!(target.get("waiting", None).await.unwrap().len(), 40_004);
}

#[tokio::test]
async fn everything_moves() {
    let (source, target) = (filled().await, target().await);
    let moved = target.store.import(&source.store, &mut Journal::new(7), &mut |_| {}).await.unwrap();
    assert_eq!(
        (moved.spaces, moved.pieces),
        (2, 34),
        "what waits for the sweeper goes along, a dead space stays behind"
    );
    assert!(!target.store.is_being_imported().await.unwrap());
    same(&source, &target).await;
}

#[tokio::test]
async fn an_import_that_is_broken_off_goes_on() {
    let source = filled().await;
    for notes in 0..6 {
        let target = target().await;
        let mut journal = Journal { notes_left: notes, ..Journal::new(7) };
        let broken = target.store.import(&source.store, &mut journal, &mut |_| {}).await;
        assert!(matches!(broken, Err(Failure::Broken(_))), "after {notes} notes");
        assert!(target.store.is_being_imported().await.unwrap());
        let other = target.store.import(&source.store, &mut Journal::new(8), &mut |_| {}).await;
        assert!(matches!(other, Err(Failure::Broken(_))), "another import");
        journal.notes_left = usize::MAX;
        target.store.import(&source.store, &mut journal, &mut |_| {}).await.unwrap();
        same(&source, &target).await;
    }
}

#[tokio::test]
async fn only_an_empty_store_is_imported_to() {
    let (source, target) = (filled().await, filled().await);
    let refused = target.store.import(&source.store, &mut Journal::new(7), &mut |_| {}).await;
    assert!(matches!(refused, Err(Failure::Broken(Fault::Unavailable(why))) if why.contains("not empty")));
}
