//! The whole-store check: it finds nothing where all is well, and each thing that is not.

mod world;

use bytes::Bytes;
use lazuli_engine::{EngineExt, Key, Stop};
use lazuli_model::blob::Search;
use lazuli_model::lake::{LakePath, RenamePath};
use lazuli_store::{ContainerAt, DeletePath, PathAt};
use world::*;

/// Blobs in one piece and in blocks, pages, snapshots and blocks that wait.
async fn filled() -> World {
    let world = World::plain();
    world.create("box", 1).await;
    world.put("small", b"inline").await.unwrap();
    world.put("large", &pattern(1, 100_000)).await.unwrap();
    world.put_block("blocks", "AAAA", &pattern(2, 40_000)).await.unwrap();
    world.put_block("blocks", "AAAB", &pattern(3, 40_000)).await.unwrap();
    world.commit("blocks", &[(Search::Latest, "AAAA"), (Search::Latest, "AAAB")]).await.unwrap();
    world.snapshot("blocks").await;
    world.snapshot("blocks").await;
    world.put_block("waiting", "AAAA", &pattern(4, 40_000)).await.unwrap();
    world.put("gone", &pattern(5, 50_000)).await.unwrap();
    world.delete("gone", None).await.unwrap();
    world
}

async fn found(world: &World) -> Vec<String> {
    world.store.audit(&mut |_| {}).await.unwrap().damage
}

#[tokio::test]
async fn nothing_is_found_where_all_is_well() {
    let world = filled().await;
    assert_eq!(found(&world).await, [""; 0], "with garbage that waits");
    world.sweep().await;
    let audit = world.store.audit(&mut |_| {}).await.unwrap();
    assert_eq!((audit.damage, audit.garbage), (Vec::new(), 0));
    let known: Vec<u64> = audit.known.iter().map(|(extent, _)| *extent).collect();
    assert_eq!(known, world.content.extents());
}

/// A file system in which something was renamed, deleted, and deleted softly.
async fn tree() -> World {
    let world = World::plain();
    let on = [("hierarchical-namespace", "on"), ("blob-soft-delete", "1")];
    let on = on.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    world.store.set_account(&container("box").account, on).await.unwrap();
    world.create("box", 1).await;
    for path in ["d/sub/f", "d/g", "gone/h"] {
        world.put(path, b"x").await.unwrap();
    }
    let at = |path: &str| {
        let ContainerAt { account, container } = container("box");
        PathAt { account, container, path: LakePath::parse(path).unwrap() }
    };
    world.store.rename_path(&at("d/sub"), &at("e"), RenamePath::default()).await.unwrap();
    let delete = DeletePath { recursive: true, ..DeletePath::default() };
    world.store.delete_path(&at("gone"), delete).await.unwrap();
    world
}

/// A name that is lost, a node that is, and one that has two names.
#[tokio::test]
async fn what_is_wrong_in_a_tree_is_found() {
    let world = tree().await;
    assert_eq!(found(&world).await, [""; 0]);
    for (column, expected) in [(b'D', "is there and has no name"), (b'M', "has a name and is not there")] {
        let world = tree().await;
        let rows = world.engine.entries();
        // Not the root directory's.
        let (key, _) = rows.iter().rfind(|(key, _)| key.column().0 == column).expect("there is one");
        let (at, gone) = (lazuli_store::layout(key).expect("a key of the store"), key.clone());
        let done = world.engine.transact(at, move |txn| {
            txn.delete(gone.clone());
            Ok::<_, Stop<()>>(())
        });
        done.await.unwrap().unwrap();
        let damage = found(&world).await;
        assert!(damage.iter().any(|what| what.contains(expected)), "{expected}: {damage:?}");
    }
    let world = tree().await;
    let rows = world.engine.entries();
    let names: Vec<_> = rows.iter().filter(|(key, _)| key.column().0 == b'D').collect();
    let ((first, _), (_, other)) = (names[0], names[names.len() - 1]);
    let (at, key, bytes) = (lazuli_store::layout(first).expect("a key"), first.clone(), other.clone());
    let done = world.engine.transact(at, move |txn| {
        txn.put(key.clone(), bytes.clone());
        Ok::<_, Stop<()>>(())
    });
    done.await.unwrap().unwrap();
    let damage = found(&world).await;
    assert!(damage.iter().any(|what| what.contains("has another name")), "{damage:?}");
}

/// Damage, and words of what is said of it.
#[tokio::test]
async fn each_damage_is_found() {
    let in_column = |entries: &[(Key, Bytes)], column: u8| -> (Key, Bytes) {
        entries.iter().find(|(key, _)| key.column().0 == column && key.space().0 == 1).cloned().expect("there is one")
    };
    for (column, change, expected) in [
        (b'e', Change::Delete, "is named, and not claimed"),
        (b'e', Change::LastByte, "are counted"),
        (b'k', Change::Delete, "is missing"),
        (b'k', Change::Cut, "cannot be read"),
        (b'r', Change::Delete, "1 are counted"),
        (b'u', Change::Delete, "0 blocks wait; 1 are counted"),
        (b'e', Change::Elsewhere, "is claimed, and nothing names it"),
    ] {
        let world = filled().await;
        world.sweep().await;
        let (key, bytes) = in_column(&world.engine.entries(), column);
        let at = lazuli_store::layout(&key).expect("a key of the store");
        let (key, bytes) = match change {
            Change::Elsewhere => {
                let row = [&[0xFF; 16][..], &key.row()[16..]].concat();
                (Key::new(key.space(), key.column(), &[&row]), Some(bytes))
            }
            Change::Delete => (key, None),
            Change::Cut => (key, Some(bytes.slice(..bytes.len() / 2))),
            Change::LastByte => {
                let mut bytes = bytes.to_vec();
                *bytes.last_mut().expect("not empty") += 1;
                (key, Some(bytes.into()))
            }
        };
        let done = world.engine.transact(at, move |txn| {
            match &bytes {
                Some(bytes) => txn.put(key.clone(), bytes.clone()),
                None => txn.delete(key.clone()),
            }
            Ok::<_, Stop<()>>(())
        });
        done.await.unwrap().unwrap();
        let found = found(&world).await;
        assert!(found.iter().any(|what| what.contains(expected)), "{expected}: {found:?}");
    }
}

#[derive(Clone, Copy)]
enum Change {
    Delete,
    /// The number of holders is the last byte of a claim.
    LastByte,
    Cut,
    Elsewhere,
}
