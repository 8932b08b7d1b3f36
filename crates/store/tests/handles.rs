//! REST against SMB: a small client that opens, locks, caches and deletes through the store, as an SMB server will, while REST calls
//! come from elsewhere.

mod share;
mod world;

use std::time::Duration;

use lazuli_model::file::arbiter::{Access, Acknowledged, Cache, Caching, Lock, Opening, Reach};
use lazuli_model::file::*;
use lazuli_model::lease::{Action, Length};
use lazuli_model::{LeaseId, Refusal};
use lazuli_store::{
    Failure, Filter, Gone, HandleAt, Happened, ListHandles, Locked, NewEntry, Notice, OpenFile, Opened, Patience,
    STALE_SECONDS, Waiting, Wanted,
};
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

impl Held {
    fn at(&self) -> HandleAt {
        HandleAt { share: share_at(), snapshot: None, file: self.file, handle: self.handle }
    }
}

/// Does not wait.
struct Impatience;

impl Waiting for Impatience {
    fn begins(&self) -> lazuli_engine::BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn cancelled(&self) -> lazuli_engine::BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

fn lease(key: u128) -> Cache {
    Cache::Lease { client: 1, key }
}

fn open_file(does: &str, shares: &str, caches: &str, key: u128) -> OpenFile {
    let opening = Opening {
        access: access(does),
        sharing: access(shares),
        reach: Reach::Content,
        truncate: false,
        delete_on_close: false,
        caching: caching(caches),
        cache: lease(key),
        epoch: 0,
        again: false,
    };
    OpenFile {
        claim: None,
        session: 1,
        gateway: GATEWAY,
        client: "10.0.0.4:50000".into(),
        client_name: "box".into(),
        opening,
        disposition: Disposition::Open,
        wanted: Wanted::Anything,
        new: NewEntry::default(),
    }
}

impl World {
    async fn try_open(&self, path: &str, does: &str, shares: &str, caches: &str, key: u128) -> Result<Opened, Failure> {
        let open = open_file(does, shares, caches, key);
        self.store.open_handle(&at(path), open, &Impatience).await.map(|opened| opened.expect("nobody caches it"))
    }

    async fn open(&self, path: &str, does: &str, shares: &str, caches: &str) -> Held {
        let Opened { handle, caching, entry, .. } = self.try_open(path, does, shares, caches, 1).await.unwrap();
        Held { file: entry.node.id, handle, caching }
    }

    async fn mark_deletion(&self, held: &Held, pending: bool) {
        self.store.mark_deletion(&held.at(), pending, &Patience).await.unwrap();
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
        let held = world.open("f", "R", shares, "").await;
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
    world.mark_deletion(&held, true).await;
    for name in ["Properties", "Get", "Ranges", "Write", "Create", "Lease", "Delete"] {
        assert_eq!(world.rest(name).await.err(), refused(Refusal::DeletePending), "{name}");
    }
    assert_eq!(world.try_open("f", "R", "RWD", "", 2).await.err(), refused(Refusal::DeletePending));
    assert!(world.list("").await.is_empty(), "and it is not listed");
    let list = ListHandles { most: 10, ..ListHandles::default() };
    assert_eq!(world.store.list_handles(&at("f"), list).await.unwrap().items.len(), 2);
    // It may be changed back, by a client that may delete.
    world.mark_deletion(&held, false).await;
    world.rest("Get").await.unwrap();
    world.mark_deletion(&held, true).await;
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
    let lock = Lock::new(100, 100, true);
    assert_eq!(world.store.lock_ranges(&held.at(), vec![lock], None).await, Ok(Locked::Granted));
    assert_eq!(world.rest("Write").await.err(), refused(Refusal::FileLockConflict));
    assert_eq!(world.rest("Get").await.err(), refused(Refusal::FileLockConflict));
    assert!(world.store.open_file_range(&at("f"), ReadFile::default(), 0, 100).await.is_ok());
    assert_eq!(world.store.unlock_ranges(&held.at(), vec![lock]).await, Ok(true));
    world.rest("Write").await.unwrap();
    world.close(&held).await;
    let acquire = Action::Acquire { proposed: LeaseId(1), length: Length::Infinite };
    world.store.lease_file(&at("f"), acquire).await.unwrap();
    for (does, fits) in [("R", true), ("W", false), ("D", false), ("RW", false), ("RD", false)] {
        let opened = world.try_open("f", does, "RWD", "", 1).await;
        assert_eq!(opened.is_ok(), fits, "{does}");
        if let Ok(Opened { handle, entry, .. }) = opened {
            world.store.close_handle(&share_at(), entry.node.id, handle).await.unwrap();
        }
    }
}

/// What the gateway's clients are told that they may still cache.
async fn breaks(world: &World) -> Vec<Caching> {
    let notices = world.store.take_notices(&share_at(), GATEWAY).await.unwrap();
    let broken = |notice: Notice| match notice {
        Notice::Broken { notice, .. } => Some(notice.to),
        Notice::Closed { .. } | Notice::Changed { .. } | Notice::Doomed { .. } => None,
    };
    notices.into_iter().filter_map(broken).collect()
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
        async move { store.noticed().await }
    });
    tokio::task::yield_now().await;
    let body = world.receive(b"new").await;
    let writing = tokio::spawn({
        let store = store.clone();
        async move { store.put_range(&at("f"), PutRange { from: 0, written: SetTime::Now, lease: None }, body).await }
    });
    asked.await.unwrap();
    assert!(!writing.is_finished());
    assert!(store.take_notices(&share_at(), 77).await.unwrap().is_empty());
    assert_eq!(breaks(&world).await, [Caching::NONE]);
    assert_eq!(breaks(&world).await, [], "told once");
    let acknowledged = store.acknowledge_break(&held.at(), lease(1), Caching::NONE).await.unwrap();
    assert_eq!(acknowledged, Acknowledged::Done(Vec::new()));
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
    assert!(!world.rows().contains(volatile(b'K')), "{}", world.rows());
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
        world.mark_deletion(&marked, true).await;

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

/// A break that nobody waits for is told too, and is not lost when nobody was listening.
#[tokio::test]
async fn breaks_that_nobody_waits_for_are_told() {
    let world = World::plain();
    world.create_share(1).await;
    world.make_file("f", 10).await.unwrap();
    let held = world.open("f", "R", "RWD", "RH").await;
    world.rest("Write").await.unwrap();
    assert_eq!(world.store.noticed().await, [share_at()]);
    assert_eq!(breaks(&world).await, [Caching::NONE]);
    world.close(&held).await;
    world.sweep().await;
    assert!(!world.rows().contains([b'N', b'O'].map(volatile)), "{}", world.rows());
}

/// A client that never answers a break keeps others waiting for 35 seconds, and no longer.
#[tokio::test]
async fn a_break_that_is_not_acknowledged_ends() {
    let world = World::plain();
    world.create_share(1).await;
    world.make_file("f", 10).await.unwrap();
    let silent = world.open("f", "RW", "RWD", "RWH").await;
    let store = world.store.clone();
    let open = open_file("RW", "RWD", "", 2);
    let opening = tokio::spawn(async move { store.open_handle(&at("f"), open, &Patience).await });
    let mut waited = 0;
    while !opening.is_finished() && waited < 1000 {
        tokio::time::timeout(Duration::from_millis(1), std::future::pending::<()>()).await.ok();
        world.advance_seconds(1);
        let _ = world.store.sweep_step().await.unwrap();
        waited += 1;
    }
    assert!(opening.await.unwrap().unwrap().is_some());
    assert!((35..200).contains(&waited), "{waited}");
    world.close(&silent).await;
}

/// Who comes after a client has given something up finds what those have done who waited for it.
#[tokio::test]
async fn who_waited_goes_first() {
    for by_closing in [false, true] {
        let world = World::plain();
        world.create_share(1).await;
        world.make_file("f", 10).await.unwrap();
        let caching = world.open("f", "R", "RWD", "RH").await;
        let mover = world.try_open("f", "RD", "RWD", "", 2).await.unwrap();
        let mover = Held { file: caching.file, handle: mover.handle, caching: Caching::NONE };
        let (store, handle) = (world.store.clone(), mover.at());
        let to = FilePath::parse("g", false).unwrap();
        let moving =
            tokio::spawn(
                async move { store.rename_handle(&handle, to, false, Frozen::default(), None, &Patience).await },
            );
        while breaks(&world).await.is_empty() {
            tokio::task::yield_now().await;
        }
        assert!(!moving.is_finished());
        if by_closing {
            world.close(&caching).await;
        } else {
            world.store.acknowledge_break(&caching.at(), lease(1), Caching::READ).await.unwrap();
        }
        let late = world.try_open("g", "R", "RWD", "", 3).await;
        assert!(late.is_ok(), "{late:?} by closing: {by_closing}");
        assert_eq!(moving.await.unwrap(), Ok(Some(())));
    }
}

/// A lock that is waited for is had when the one before it is given up, or its handle closed.
#[tokio::test]
async fn locks_are_waited_for() {
    for by_closing in [false, true] {
        let world = World::plain();
        world.create_share(1).await;
        world.make_file("f", 1000).await.unwrap();
        let first = world.open("f", "RW", "RWD", "").await;
        let second = world.try_open("f", "RW", "RWD", "", 2).await.unwrap();
        let second = Held { file: first.file, handle: second.handle, caching: Caching::NONE };
        let lock = Lock::new(0, 10, true);
        assert_eq!(world.store.lock_ranges(&first.at(), vec![lock], None).await, Ok(Locked::Granted));
        assert_eq!(world.store.lock_ranges(&second.at(), vec![lock], None).await, Ok(Locked::Held));
        let impatient: Option<&dyn Waiting> = Some(&Impatience);
        assert_eq!(world.store.lock_ranges(&second.at(), vec![lock], impatient).await, Ok(Locked::Cancelled));
        let (store, handle) = (world.store.clone(), second.at());
        let waiting = tokio::spawn(async move { store.lock_ranges(&handle, vec![lock], Some(&Patience)).await });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        if by_closing {
            world.close(&first).await;
        } else {
            assert_eq!(world.store.unlock_ranges(&first.at(), vec![lock]).await, Ok(true));
        }
        assert_eq!(waiting.await.unwrap(), Ok(Locked::Granted));
        assert_eq!(world.store.unlock_ranges(&second.at(), vec![Lock::new(0, 9, true)]).await, Ok(false));
    }
}

/// What SMB changes is told to those who watch, also from above; what REST changes is not.
#[tokio::test]
async fn directories_are_watched() {
    let world = World::plain();
    world.create_share(1).await;
    world.make_directory("d").await.unwrap();
    let root = world.open("", "R", "RWD", "").await;
    let inner = world.open("d", "R", "RWD", "").await;
    let names = Filter::FILE_NAME.with(Filter::DIRECTORY_NAME);
    world.store.watch(&root.at(), names, true).await.unwrap();
    world.store.watch(&inner.at(), names.with(Filter::SIZE), false).await.unwrap();
    world.make_file("d/rest", 1).await.unwrap();
    let create = OpenFile { disposition: Disposition::Create, ..open_file("RWD", "RWD", "", 3) };
    let new = world.store.open_handle(&at("d/smb"), create, &Patience).await.unwrap().unwrap();
    let new = Held { file: new.entry.node.id, handle: new.handle, caching: Caching::NONE };
    world.store.write_handle(&new.at(), 0, "hello".into(), Frozen::default()).await.unwrap();
    let to = FilePath::parse("moved", false).unwrap();
    world.store.rename_handle(&new.at(), to, false, Frozen::default(), None, &Patience).await.unwrap().unwrap();
    world.mark_deletion(&new, true).await;
    world.close(&new).await;
    let mut heard = Vec::new();
    for notice in world.store.take_notices(&share_at(), GATEWAY).await.unwrap() {
        if let Notice::Changed { handle, changes } = notice {
            let who = if handle == root.handle { "root" } else { "inner" };
            heard.extend(changes.into_iter().map(|change| (who, change.happened, change.path)));
        }
    }
    let want = [
        ("inner", Happened::Added, "smb"),
        ("root", Happened::Added, r"d\smb"),
        ("inner", Happened::Modified, "smb"),
        ("inner", Happened::Removed, "smb"),
        ("root", Happened::Removed, r"d\smb"),
        ("root", Happened::Added, "moved"),
        ("root", Happened::Removed, "moved"),
    ];
    assert_eq!(heard, want.map(|(who, happened, path)| (who, happened, path.to_owned())));
    world.close(&inner).await;
    world.close(&root).await;
    world.sweep().await;
    assert!(!world.rows().contains([b'V', b'O'].map(volatile)), "{}", world.rows());
}

/// Dispositions are decided in the transaction that opens.
#[tokio::test]
async fn opens_create_and_overwrite() {
    let world = World::plain();
    world.create_share(1).await;
    let open = |disposition, wanted| OpenFile { disposition, wanted, ..open_file("RW", "RWD", "", 1) };
    let attempt = async |path: &str, disposition, wanted| {
        let opened = world.store.open_handle(&at(path), open(disposition, wanted), &Patience).await?.unwrap();
        world.store.close_handle(&share_at(), opened.entry.node.id, opened.handle).await?;
        Ok::<_, Failure>((opened.done, opened.entry.node.length))
    };
    use Disposition::*;
    let table = [
        ("f", Open, Wanted::Anything, Err(Refusal::ResourceNotFound)),
        ("d/f", OpenIf, Wanted::Anything, Err(Refusal::ParentNotFound)),
        ("d", Create, Wanted::Directory, Ok((Done::Created, 0))),
        ("d/f", OpenIf, Wanted::File, Ok((Done::Created, 0))),
        ("d/f", Create, Wanted::File, Err(Refusal::ResourceAlreadyExists)),
        ("d/f", Open, Wanted::Directory, Err(Refusal::ResourceTypeMismatch)),
        ("d", Open, Wanted::File, Err(Refusal::ResourceTypeMismatch)),
        ("D/F", Open, Wanted::Anything, Ok((Done::Opened, 0))),
    ];
    for (path, disposition, wanted, want) in table {
        assert_eq!(attempt(path, disposition, wanted).await, want.map_err(Failure::Refused), "{path} {disposition:?}");
    }
    world.make_file("g", 10).await.unwrap();
    assert_eq!(attempt("g", OpenIf, Wanted::Anything).await, Ok((Done::Opened, 10)));
    assert_eq!(attempt("g", OverwriteIf, Wanted::Anything).await, Ok((Done::Overwritten, 0)));
}

/// Within a share a copy names the same pieces: no byte is stored for it, and each of the two outlives the other.
#[tokio::test]
async fn a_range_is_copied_without_its_bytes() {
    const LENGTH: u64 = 3 << 20;
    let world = World::plain();
    world.create_share(1).await;
    world.make_file("from", 0).await.unwrap();
    world.make_file("to", 0).await.unwrap();
    let from = world.open("from", "RWD", "RWD", "").await;
    let to = world.try_open("to", "RWD", "RWD", "", 2).await.unwrap();
    let to = Held { file: to.entry.node.id, handle: to.handle, caching: Caching::NONE };
    let bytes = pattern(7, LENGTH as usize);
    world.store.write_handle(&from.at(), 0, bytes.clone().into(), Frozen::default()).await.unwrap();
    let stored = world.content.size();
    let copy = |at: u64, into: u64, length: u64| {
        let (store, from, to) = (&world.store, from.at(), to.at());
        async move { store.copy_range(&from, at, &to, into, length, Frozen::default()).await }
    };
    copy(5, 1000, LENGTH - 5).await.unwrap();
    assert_eq!(copy(6, 0, LENGTH - 5).await, Err(Failure::Refused(Refusal::InvalidRange)), "beyond the source's end");
    assert_eq!(world.content.size(), stored, "nothing was written");
    let want = [&[0; 1000][..], &bytes[5..]].concat();
    assert!(world.read("to").await.unwrap() == want);
    world.mark_deletion(&from, true).await;
    assert!(world.close(&from).await);
    world.sweep().await;
    assert!(world.read("to").await.unwrap() == want, "the source is gone, its pieces are not");
    world.mark_deletion(&to, true).await;
    assert!(world.close(&to).await);
    world.sweep().await;
    assert_eq!(world.content.size(), 0, "nor does anything stay");
}
