//! REST against SMB: a small client that opens, locks, caches and deletes through the store, as an SMB server will, while REST calls
//! come from elsewhere.

mod share;
mod world;

use std::time::Duration;

use lazuli_model::file::arbiter::{Access, Caching, Lock, Opening};
use lazuli_model::file::*;
use lazuli_model::lease::{Action, Length};
use lazuli_model::{LeaseId, Refusal};
use lazuli_store::{Failure, Gone, ListHandles, OpenFile, Opened, STALE_SECONDS};
use share::*;
use world::*;

const GATEWAY: u128 = 5;

fn access(letters: &str) -> Access {
    Access { read: letters.contains('R'), write: letters.contains('W'), delete: letters.contains('D') }
}

fn caching(letters: &str) -> Caching {
    Caching { read: letters.contains('R'), write: letters.contains('W'), handle: letters.contains('H') }
}

struct Held {
    file: FileId,
    handle: u64,
    caching: Caching,
}

impl World {
    async fn try_open(&self, path: &str, does: &str, shares: &str, caches: &str, key: u128) -> Result<Opened, Failure> {
        let opening = Opening {
            access: access(does),
            sharing: access(shares),
            truncate: false,
            delete_on_close: false,
            caching: caching(caches),
            caching_key: key,
        };
        let open = OpenFile {
            session: 1,
            gateway: GATEWAY,
            client: "10.0.0.4:50000".into(),
            client_name: "box".into(),
            opening,
        };
        self.store.open_handle(&at(path), open).await
    }

    async fn open(&self, path: &str, does: &str, shares: &str, caches: &str) -> Held {
        match self.try_open(path, does, shares, caches, 1).await.unwrap() {
            Opened::Handle { handle, caching, entry } => Held { file: entry.node.id, handle, caching },
            Opened::Wait { .. } => panic!("somebody caches {path}"),
        }
    }

    async fn close(&self, held: &Held) -> bool {
        self.store.close_handle(&share_at(), held.file, held.handle).await.unwrap()
    }

    /// What REST may do, by the names of the documented matrix.
    async fn rest(&self, name: &str) -> Result<(), Failure> {
        match name {
            "Properties" => self.store.file(&at("f"), ReadFile::default()).await.map(drop),
            "Get" => self.read("f").await.map(drop),
            "Ranges" => self.ranges("f", None).await.map(drop),
            "Write" => self.write("f", 0, b"x").await.map(drop),
            "Create" => self.make_file("f", 10).await.map(drop),
            "Delete" => self.store.delete_file(&at("f"), None).await.map(drop),
            "Lease" => {
                let acquire = Action::Acquire { proposed: LeaseId(1), length: Length::Infinite };
                self.store.lease_file(&at("f"), acquire).await?;
                self.store.lease_file(&at("f"), Action::Release { id: LeaseId(1) }).await.map(drop)
            }
            other => panic!("no operation {other}"),
        }
    }
}

#[tokio::test]
async fn rest_under_every_share_mode() {
    let table = [
        ("", "Create Get Write Delete Ranges Lease"),
        ("R", "Create Write Delete Lease"),
        ("W", "Create Get Delete Ranges Lease"),
        ("D", "Create Get Write Ranges Delete Lease"),
        ("RW", "Create Delete Lease"),
        ("RD", "Create Write Delete Lease"),
        ("WD", "Get Ranges Delete Lease"),
        ("RWD", "Delete"),
    ];
    let world = World::plain();
    world.create_share(1).await;
    for (shares, fails) in table {
        world.make_file("f", 10).await.unwrap();
        let held = world.open("f", "", shares, "").await;
        for name in ["Properties", "Get", "Ranges", "Write", "Create", "Lease", "Delete"] {
            let want = fails.split(' ').any(|fail| fail == name).then_some(Refusal::SharingViolation);
            let got = world.rest(name).await;
            assert_eq!(got.err(), want.map(Failure::Refused), "{name} under {shares:?}");
        }
        world.close(&held).await;
        world.rest("Delete").await.unwrap();
    }
    world.sweep().await;
    assert_eq!(world.rows(), "F1 P1 U1");
}

#[tokio::test]
async fn a_file_that_is_to_go_is_refused_and_then_gone() {
    let world = World::plain();
    world.create_share(1).await;
    world.make_file("f", 10).await.unwrap();
    let held = world.open("f", "RD", "RWD", "").await;
    let other = world.open("f", "R", "RWD", "").await;
    world.store.mark_deletion(&share_at(), held.file, held.handle, true).await.unwrap();
    for name in ["Properties", "Get", "Ranges", "Write", "Create", "Lease", "Delete"] {
        assert_eq!(world.rest(name).await.err(), refused(Refusal::DeletePending), "{name}");
    }
    assert_eq!(world.try_open("f", "R", "RWD", "", 2).await.err(), refused(Refusal::DeletePending));
    assert!(world.list("").await.is_empty(), "and it is not listed");
    let list = ListHandles { most: 10, ..ListHandles::default() };
    assert_eq!(world.store.list_handles(&at("f"), list).await.unwrap().items.len(), 2);
    // It may be changed back, by a client that may delete.
    world.store.mark_deletion(&share_at(), held.file, held.handle, false).await.unwrap();
    world.rest("Get").await.unwrap();
    world.store.mark_deletion(&share_at(), held.file, held.handle, true).await.unwrap();
    assert!(!world.close(&held).await);
    assert!(world.close(&other).await);
    assert_eq!(world.rest("Get").await.err(), refused(Refusal::ResourceNotFound));
    world.sweep().await;
    assert_eq!(world.rows(), "F1 P1 U1");
}

#[tokio::test]
async fn locks_and_leases_across_the_protocols() {
    let world = World::plain();
    world.create_share(1).await;
    world.make_file("f", 1000).await.unwrap();
    let held = world.open("f", "RW", "RWD", "").await;
    let lock = Lock { from: 100, to: 200, exclusive: true };
    world.store.lock_range(&share_at(), held.file, held.handle, lock).await.unwrap();
    assert_eq!(world.rest("Write").await.err(), refused(Refusal::FileLockConflict));
    assert_eq!(world.rest("Get").await.err(), refused(Refusal::FileLockConflict));
    assert!(world.store.open_file_range(&at("f"), ReadFile::default(), 0, 100).await.is_ok());
    world.store.unlock_range(&share_at(), held.file, held.handle, 100, 200).await.unwrap();
    world.rest("Write").await.unwrap();
    world.close(&held).await;
    let acquire = Action::Acquire { proposed: LeaseId(1), length: Length::Infinite };
    world.store.lease_file(&at("f"), acquire).await.unwrap();
    for (does, fits) in [("R", true), ("W", false), ("D", false), ("RW", false), ("RD", false)] {
        let opened = world.try_open("f", does, "RWD", "", 1).await;
        assert_eq!(opened.is_ok(), fits, "{does}");
        if let Ok(Opened::Handle { handle, entry, .. }) = opened {
            world.store.close_handle(&share_at(), entry.node.id, handle).await.unwrap();
        }
    }
}

/// A write over REST waits until the client has written back what it cached; and not for ever.
#[tokio::test]
async fn caches_are_broken_and_waited_for() {
    let world = World::plain();
    world.create_share(1).await;
    world.make_file("f", 10).await.unwrap();
    let held = world.open("f", "RW", "RWD", "RWH").await;
    assert_eq!(held.caching, caching("RWH"));

    let store = world.store.clone();
    let asked = tokio::spawn({
        let store = store.clone();
        async move { store.breaks_asked().await }
    });
    tokio::task::yield_now().await;
    let body = world.receive(b"new").await;
    let writing = tokio::spawn({
        let store = store.clone();
        async move { store.put_range(&at("f"), PutRange { from: 0, written: SetTime::Now, lease: None }, body).await }
    });
    asked.await.unwrap();
    assert!(!writing.is_finished());
    let breaks = store.breaks_of(&share_at(), GATEWAY).await.unwrap();
    assert_eq!(breaks.iter().map(|asked| asked.asked.to).collect::<Vec<_>>(), [Caching::NONE]);
    assert!(store.breaks_of(&share_at(), 77).await.unwrap().is_empty());
    store.acknowledge_break(&share_at(), held.file, 1, Caching::NONE).await.unwrap();
    writing.await.unwrap().unwrap();
    assert_eq!(&world.read("f").await.unwrap()[..3], b"new");
    world.close(&held).await;

    // Who never answers makes the call fail, and nothing else.
    let held = world.open("f", "R", "RWD", "RW").await;
    let reading = tokio::spawn(async move { store.file(&at("f"), ReadFile::default()).await });
    let mut waited = 0;
    while !reading.is_finished() && waited < 1000 {
        world.advance_seconds(1);
        let _ = world.store.sweep_step().await.unwrap();
        tokio::time::timeout(Duration::from_millis(1), std::future::pending::<()>()).await.ok();
        waited += 1;
    }
    assert_eq!(reading.await.unwrap().err(), refused(Refusal::ClientCacheFlushDelay));
    assert!(waited >= 30, "{waited}");
    world.close(&held).await;
    world.rest("Get").await.unwrap();
}

#[tokio::test]
async fn handles_are_listed_and_closed_by_force_and_end_with_their_gateway() {
    let world = World::plain();
    world.create_share(1).await;
    world.make_directory("d").await.unwrap();
    world.make_file("d/f", 10).await.unwrap();
    world.make_file("g", 10).await.unwrap();
    let first = world.open("d/f", "R", "RWD", "").await;
    let _second = world.open("d/f", "RW", "RWD", "").await;
    let _third = world.open("g", "R", "RWD", "").await;
    let all = ListHandles { recursive: true, most: 100, ..ListHandles::default() };
    let paths = async |path: &str, list: ListHandles| {
        let page = world.store.list_handles(&at(path), list).await.unwrap();
        page.items.into_iter().map(|item| item.path).collect::<Vec<_>>()
    };
    assert_eq!(paths("", all.clone()).await, ["d/f", "d/f", "g"]);
    assert_eq!(paths("d", all.clone()).await, ["d/f", "d/f"]);
    assert_eq!(paths("d", ListHandles { recursive: false, ..all.clone() }).await, [""; 0]);
    assert_eq!(paths("d/f", ListHandles { recursive: false, ..all.clone() }).await, ["d/f", "d/f"]);
    let one = world.store.list_handles(&at(""), ListHandles { most: 2, ..all.clone() }).await.unwrap();
    assert_eq!(paths("", ListHandles { marker: one.next, ..all.clone() }).await, ["g"]);
    // Who is below a directory keeps it where it is; a file that is open goes, and its handles with it.
    assert_eq!(world.rename("d", "e", true).await.err(), refused(Refusal::SharingViolation));
    world.make_directory("e").await.unwrap();
    world.rename("d/f", "e/f", false).await.unwrap();
    world.rename("d", "c", true).await.unwrap();
    assert_eq!(world.rename("e", "d", true).await.err(), refused(Refusal::SharingViolation));
    assert_eq!(paths("e", all.clone()).await, ["e/f", "e/f"]);
    let none = ListHandles::default();
    let closed = world.store.close_handles(&at(""), CloseHandles::One(first.handle), none.clone()).await.unwrap();
    assert_eq!((closed.closed, closed.failed), (1, 0));
    let closed = world.store.close_handles(&at(""), CloseHandles::One(12345), none.clone()).await.unwrap();
    assert_eq!(closed.closed, 0);
    let closed = world.store.close_handles(&at("e"), CloseHandles::All, all.clone()).await.unwrap();
    assert_eq!((closed.closed, closed.next), (1, None));
    assert_eq!(paths("", all.clone()).await, ["g"]);
    world.rename("e", "d", true).await.unwrap();
    // After a restart nobody holds anything.
    let mut world = world;
    world.restart();
    assert_eq!(world.store.end_handles(Gone::AllBut(GATEWAY)).await.unwrap(), 0);
    assert_eq!(world.store.end_handles(Gone::AllBut(GATEWAY + 1)).await.unwrap(), 1);
    world.store.delete_file(&at("g"), None).await.unwrap();
}

/// The count is of all that is below, however deep, and follows every way to open, to move and to close.
#[tokio::test]
async fn a_directory_waits_for_those_below_it() {
    let world = World::plain();
    world.create_share(1).await;
    for path in ["a", "a/b", "a/b/c", "z"] {
        world.make_directory(path).await.unwrap();
    }
    world.make_file("a/b/c/f", 1).await.unwrap();
    let file = world.open("a/b/c/f", "R", "RWD", "").await;
    let directory = world.open("a/b", "R", "RWD", "").await;
    let moves = async |from: &str, to: &str| world.rename(from, to, true).await.map(drop).err();
    assert_eq!(moves("a", "x").await, refused(Refusal::SharingViolation));
    assert_eq!(moves("a/b", "x").await, refused(Refusal::SharingViolation));
    assert_eq!(moves("a/b/c", "x").await, refused(Refusal::SharingViolation));
    world.close(&file).await;
    assert_eq!(moves("a/b/c", "a/b/d").await, None);
    assert_eq!(moves("a", "x").await, refused(Refusal::SharingViolation), "a/b is open");
    // What is open itself, and shares that, goes along with its handle.
    assert_eq!(moves("a/b", "z/b").await, None);
    assert_eq!(moves("a", "x").await, None);
    assert_eq!(moves("z", "y").await, refused(Refusal::SharingViolation));
    world.close(&directory).await;
    assert_eq!(moves("z", "y").await, None);
    assert!(!world.rows().contains('K'), "{}", world.rows());
}

/// A gateway that is silent for a minute is no more, for every other. One that comes back is told.
#[tokio::test]
async fn the_handles_of_a_silent_gateway_end() {
    for world in [World::plain(), World::distributed(7)] {
        world.create_share(1).await;
        world.make_file("kept", 1).await.unwrap();
        world.make_file("gone", 1).await.unwrap();
        assert!(world.store.beat(GATEWAY, true).await.unwrap());
        world.open("kept", "RW", "", "").await;
        let marked = world.open("gone", "RD", "RWD", "").await;
        world.store.mark_deletion(&share_at(), marked.file, marked.handle, true).await.unwrap();

        world.advance_seconds(STALE_SECONDS - 1);
        assert!(!world.store.has_silent_gateway().await.unwrap());
        assert_eq!(world.store.end_handles(Gone::Silent).await.unwrap(), 0);
        assert!(world.store.beat(GATEWAY, false).await.unwrap());
        world.advance_seconds(STALE_SECONDS - 1);
        assert_eq!(world.store.end_handles(Gone::Silent).await.unwrap(), 0);
        assert_eq!(world.read("kept").await.err(), refused(Refusal::SharingViolation));

        world.advance_seconds(2);
        assert!(world.store.has_silent_gateway().await.unwrap());
        assert_eq!(world.store.end_handles(Gone::Silent).await.unwrap(), 2);
        assert!(!world.store.has_silent_gateway().await.unwrap(), "its row is gone");
        world.read("kept").await.unwrap();
        assert_eq!(world.read("gone").await.err(), refused(Refusal::ResourceNotFound), "deleted on close");

        assert!(!world.store.beat(GATEWAY, false).await.unwrap(), "it has to tell its clients");
        assert!(world.store.beat(GATEWAY, false).await.unwrap());
        world.open("kept", "R", "RWD", "").await;
        assert_eq!(world.store.end_handles(Gone::Silent).await.unwrap(), 0);
    }
}

/// A page costs a page, wherever it begins, and all pages together are the whole list.
#[tokio::test]
async fn ranges_come_in_pages() {
    let world = World::plain();
    world.create_share(1).await;
    world.make_file("f", 40 << 20).await.unwrap();
    for at in 0..30 {
        world.write("f", at << 20, b"x").await.unwrap();
    }
    // Two that are one, across two windows.
    world.write("f", (35 << 20) - 1, b"xy").await.unwrap();
    let list = |from, most| ListRanges {
        snapshot: None,
        since: None,
        support_rename: false,
        from,
        to: u64::MAX,
        most,
        lease: None,
    };
    let whole = world.store.list_ranges(&at("f"), list(0, None)).await.unwrap();
    assert_eq!((whole.ranges.len(), whole.next), (31, None));
    for most in [1, 7, 30, 31, 32] {
        let (mut pages, mut from) = (Vec::new(), Some(0));
        while let Some(start) = from {
            let page = world.store.list_ranges(&at("f"), list(start, Some(most))).await.unwrap();
            assert!(page.ranges.len() <= most as usize && !page.ranges.is_empty());
            pages.extend(page.ranges);
            from = page.next;
        }
        assert_eq!(pages, whole.ranges, "{most}");
    }
}
