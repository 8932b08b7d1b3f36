//! Copies of page blobs that take several transactions, and those that follow their source snapshot by snapshot: the bytes are
//! right, only what changed counts as changed, and nothing is left behind.

mod world;

use lazuli_model::blob::*;
use lazuli_model::{Conditions, Refusal, Tags, Timestamp};
use lazuli_store::{Difference, Failure, ListPages};
use world::*;

const DAY: u64 = 24 * 60 * 60;
/// A window of pages.
const WINDOW: u64 = 1 << 20;

/// The plain engine and one with the manners of a cluster, with copies in one step and in many.
fn worlds() -> impl Iterator<Item = World> {
    let worlds = std::iter::once(World::plain()).chain((0..3).map(World::distributed));
    worlds.zip([1 << 16, 1, 2, 1]).map(|(mut world, step)| {
        world.store = world.store.copying_at_once(step);
        world
    })
}

fn put_page(from: u64, to: u64) -> PutPage {
    PutPage {
        pages: Pages { from, to },
        sequence: SequenceConditions::default(),
        encryption: Encryption::Service,
        conditions: Conditions::default(),
        lease: None,
    }
}

fn follow() -> IncrementalCopy {
    IncrementalCopy {
        id: 1,
        source: "http://here/".into(),
        metadata: None,
        encryption: Encryption::Service,
        conditions: Conditions::default(),
        may_overwrite: true,
    }
}

impl World {
    async fn pages(&self, name: &str, length: u64) {
        self.store.create_page_blob(&blob(name), put_blob(), length, 0).await.unwrap();
    }

    async fn write(&self, name: &str, from: u64, bytes: &[u8]) {
        let content = self.receive(bytes).await;
        self.store.put_page(&blob(name), put_page(from, from + bytes.len() as u64), content).await.unwrap();
    }

    async fn clear(&self, name: &str, from: u64, to: u64) {
        self.store.clear_pages(&blob(name), put_page(from, to)).await.unwrap();
    }

    async fn resize(&self, name: &str, length: u64) {
        let set = SetPageProperties {
            length: Some(length),
            sequence: None,
            headers: None,
            conditions: Conditions::default(),
            lease: None,
        };
        self.store.set_page_properties(&blob(name), set).await.unwrap();
    }

    async fn open(&self, name: &str, which: Which) -> lazuli_store::Reader {
        let (conditions, family) = (Conditions::default(), Family::Copy);
        let source = CopySource { which, conditions, family, rehydrates: false, key: None };
        self.store.open_source(&blob(name), &source).await.unwrap()
    }

    /// The snapshot that the copy left.
    async fn follow(&self, from: &str, snapshot: Timestamp, to: &str) -> Result<Timestamp, Failure> {
        let which = Which::Snapshot(snapshot);
        let reader = self.open(from, which).await;
        let blob = self.store.incremental_copy(&blob(to), follow(), reader, which, None).await?;
        Ok(blob.copy.unwrap().snapshot.unwrap())
    }

    async fn differences(&self, name: &str, before: Timestamp, after: Timestamp) -> Vec<Difference> {
        let get = GetPageRanges {
            which: Which::Snapshot(after),
            since: Some(before),
            conditions: Conditions::default(),
            lease: None,
        };
        let list = ListPages { from: 0, to: u64::MAX, marker: None, most: 10_000 };
        self.store.page_ranges(&blob(name), get, list).await.unwrap().ranges
    }

    /// Everything goes, and nothing is left.
    async fn settle(&self) {
        self.drop_container("box").await;
        for _ in 0..4 {
            self.advance_seconds(DAY + 1);
            self.sweep().await;
        }
        assert_eq!((self.rows(), self.content.size()), (String::new(), 0));
    }
}

fn refusal<T: std::fmt::Debug>(got: Result<T, Failure>) -> Refusal {
    match got {
        Err(Failure::Refused(refusal)) => refusal,
        other => panic!("{other:?} instead of a refusal"),
    }
}

#[tokio::test]
async fn a_copy_follows_its_source() {
    for world in worlds() {
        world.create("box", 1).await;
        world.pages("src", 3 * WINDOW).await;
        world.write("src", 0, &pattern(1, 512)).await;
        world.write("src", WINDOW - 512, &pattern(2, 40_960)).await; // over a border, and in an extent
        let first = world.snapshot("src").await;
        let one = world.follow("src", first, "dst").await.unwrap();
        let size = world.content.size();
        world.write("src", 512, &pattern(3, 512)).await;
        world.write("src", WINDOW, &pattern(4, 512)).await;
        world.clear("src", WINDOW + 512, WINDOW + 1024).await;
        world.write("src", 2 * WINDOW, &pattern(5, 65_536)).await;
        let second = world.snapshot("src").await;
        let two = world.follow("src", second, "dst").await.unwrap();
        assert!(world.content.size() < size + 2 * 65_536, "pieces are shared");
        for (source, copied) in [(first, one), (second, two)] {
            let want = world.bytes_of("src", Which::Snapshot(source)).await.unwrap();
            assert_eq!(world.bytes_of("dst", Which::Snapshot(copied)).await.unwrap(), want);
        }
        assert_eq!(world.differences("dst", one, two).await, world.differences("src", first, second).await);

        let not_allowed = Refusal::OperationNotAllowedOnIncrementalCopyBlob;
        assert_eq!(refusal(world.bytes_of("dst", Which::Current).await), not_allowed);
        let content = world.receive(&[1; 512]).await;
        assert_eq!(refusal(world.store.put_page(&blob("dst"), put_page(0, 512), content).await), not_allowed);
        assert_eq!(refusal(world.put("dst", b"x").await), not_allowed);
        let earlier = Refusal::IncrementalCopyOfEarlierSnapshotNotAllowed;
        assert_eq!(refusal(world.follow("src", first, "dst").await), earlier);
        assert_eq!(refusal(world.follow("src", second, "dst").await), earlier);
        world.pages("other", 512).await;
        let other = world.snapshot("other").await;
        assert_eq!(refusal(world.follow("other", other, "dst").await), Refusal::IncrementalCopyBlobMismatch);
        assert_eq!(refusal(world.follow("src", second, "other").await), Refusal::IncrementalCopyBlobMismatch);
        let reader = world.open("src", Which::Current).await;
        let base = world.store.incremental_copy(&blob("new"), follow(), reader, Which::Current, None).await;
        assert_eq!(refusal(base), Refusal::IncrementalCopySourceMustBeSnapshot);

        // The source was put anew: there is nothing in common any more.
        world.pages("src", 512).await;
        let anew = world.snapshot("src").await;
        assert_eq!(refusal(world.follow("src", anew, "dst").await), Refusal::BlobOverwritten);
        world.delete("src", Some(DeleteSnapshots::Include)).await.unwrap();
        world.sweep().await;
        let kept = world.bytes_of("dst", Which::Snapshot(two)).await.unwrap();
        assert_eq!(kept[2 * WINDOW as usize..][..65_536], pattern(5, 65_536), "it outlives its source");
        world.delete("dst", Some(DeleteSnapshots::Include)).await.unwrap();
        world.settle().await;
    }
}

/// Random lives of a source and of what follows it; copies that skip snapshots, sources that grow and shrink.
#[tokio::test]
async fn random_sources_are_followed() {
    for seed in 0..12 {
        let mut random = Random(seed);
        let mut world = if seed % 2 == 0 { World::plain() } else { World::distributed(seed) };
        world.store = world.store.copying_at_once([1, 2, 3, 1 << 16][seed as usize % 4]);
        world.create("box", 1).await;
        world.pages("src", 4 * WINDOW).await;
        let mut length = 4 * WINDOW;
        let (mut taken, mut copied) = (Vec::new(), Vec::new());
        for _ in 0..60 {
            match random.below(8) {
                0..=3 => {
                    let most = (length - 512) / 512;
                    let from = random.next() % most * 512;
                    let pages = [1, 9, 40, 200][random.below(4)] * 512;
                    let to = (from + pages).min(length);
                    world.write("src", from, &pattern(random.next() % 251, (to - from) as usize)).await;
                }
                4 => {
                    let from = random.next() % (length / 512) * 512;
                    let to = (from + WINDOW / 2).min(length);
                    world.clear("src", from, to).await;
                }
                5 => {
                    length = [WINDOW, WINDOW + 512, 3 * WINDOW, 4 * WINDOW, 6 * WINDOW][random.below(5)];
                    world.resize("src", length).await;
                }
                6 => {
                    let time = world.snapshot("src").await;
                    taken.push((time, world.bytes_of("src", Which::Snapshot(time)).await.unwrap()));
                }
                _ => {
                    if let Some((time, bytes)) = taken.pop() {
                        taken.clear();
                        let snapshot = world.follow("src", time, "dst").await.unwrap();
                        assert!(
                            world.bytes_of("dst", Which::Snapshot(snapshot)).await.unwrap() == bytes,
                            "seed {seed}"
                        );
                        copied.push((snapshot, time, bytes));
                    }
                }
            }
            if random.chance(10) {
                world.sweep().await;
            }
        }
        world.sweep().await;
        for (snapshot, _, bytes) in &copied {
            assert!(world.bytes_of("dst", Which::Snapshot(*snapshot)).await.unwrap() == *bytes, "seed {seed}");
        }
        for pair in copied.windows(2) {
            let (one, other) = (&pair[0], &pair[1]);
            let written = |found: Vec<Difference>| -> Vec<Difference> {
                found.into_iter().filter(|range| matches!(range, Difference::Written(_))).collect()
            };
            let theirs = written(world.differences("src", one.1, other.1).await);
            assert_eq!(written(world.differences("dst", one.0, other.0).await), theirs, "seed {seed}");
        }
        world.settle().await;
    }
}

/// More than one transaction takes: nobody sees half of it, and one that is broken off leaves nothing.
#[tokio::test]
async fn a_copy_of_many_windows_is_made_in_steps() {
    for world in worlds() {
        world.create("box", 1).await;
        world.pages("src", 9 * WINDOW).await;
        for window in 0..9 {
            world.write("src", window * WINDOW, &pattern(window, if window % 2 == 0 { 512 } else { 20_480 })).await;
        }
        world.put("block", b"x").await.unwrap();
        let copy = |conditions: Conditions| CopyBlob {
            id: 1,
            source: "http://here/".into(),
            family: Family::Copy,
            metadata: None,
            tags: CopyTags::These(Tags::default()),
            tier: None,
            seal: None,
            protection: Protection::default(),
            encryption: Encryption::Service,
            conditions,
            lease: None,
            may_overwrite: true,
        };
        let want = world.bytes_of("src", Which::Current).await.unwrap();
        for to in ["dst", "src", "dst"] {
            let reader = world.open("src", Which::Current).await;
            world.store.copy_blob(&blob(to), copy(Conditions::default()), reader, Which::Current, None).await.unwrap();
            assert!(world.bytes_of(to, Which::Current).await.unwrap() == want);
            world.sweep().await;
        }
        // Under another hand the source changes, and the copy is refused, wherever it had come to.
        let reader = world.open("src", Which::Current).await;
        world.write("src", 0, &[9; 512]).await;
        let late = blob("late");
        let refused = world.store.copy_blob(&late, copy(Conditions::default()), reader, Which::Current, None);
        assert_eq!(refusal(refused.await), Refusal::SourceConditionNotMet);
        world.settle().await;
    }
}

/// A copy from another host that a process left pending is found by the next one, and is not taken for lost meanwhile.
#[tokio::test]
async fn a_pending_copy_is_found_after_a_restart() {
    for mut world in worlds() {
        world.create("box", 1).await;
        let source = Blob::new(Kind::Block, ContentRef::EMPTY, world.store.now());
        let fetch = from_there();
        world.store.begin_copy(&blob("a"), copy_from_there(), source, 5, fetch.clone()).await.unwrap();
        world.restart();
        world.advance_seconds(DAY);
        let mut unfinished = world.store.unfinished_copies().await.unwrap();
        let found = unfinished.pop().unwrap();
        assert!(unfinished.is_empty() && found.fetch == fetch && found.encryption == Encryption::Service);
        world.sweep().await;
        let content = world.receive(b"bytes").await;
        let whole = world.store.end_copy(&found.copying, content).await.unwrap();
        assert_eq!(whole.copy.unwrap().status, CopyStatus::Success);
        assert_eq!(world.bytes_of("a", Which::Current).await.unwrap(), b"bytes");
        assert!(world.store.unfinished_copies().await.unwrap().is_empty(), "it has ended, and its row goes");
        world.settle().await;
    }
}

/// A copy whose gateway is silent for two minutes is another gateway's to make, without a restart; one that is renewed is not. If the first gateway
/// was only slow, it finds that the copy has ended.
#[tokio::test]
async fn a_copy_of_a_silent_gateway_is_taken_over() {
    for seed in 0..4 {
        let (gateways, ticks) = World::gateways(seed);
        let (slow, other) = (gateways[0].clone(), gateways[1].clone());
        let mut world = World::shared(gateways, ticks);
        world.create("box", 1).await;
        let source = Blob::new(Kind::Block, ContentRef::EMPTY, slow.now());
        let (_, copying) = slow.begin_copy(&blob("a"), copy_from_there(), source, 5, from_there()).await.unwrap();
        for _ in 0..6 {
            world.advance_seconds(110);
            assert!(slow.renew_copy(&copying, 2).await.unwrap());
            assert!(other.unfinished_copies().await.unwrap().is_empty(), "its gateway is at it");
        }
        world.advance_seconds(122);
        let mut unfinished = other.unfinished_copies().await.unwrap();
        let found = unfinished.pop().unwrap();
        assert!(unfinished.is_empty() && found.fetch == from_there());
        assert!(slow.unfinished_copies().await.unwrap().is_empty(), "it is made once");
        world.store = other.clone();
        let content = world.receive(b"bytes").await;
        other.end_copy(&found.copying, content).await.unwrap();
        world.store = slow.clone();
        let late = world.receive(b"bytes").await;
        assert_eq!(refusal(slow.end_copy(&copying, late).await), Refusal::NoPendingCopyOperation);
        assert_eq!(world.bytes_of("a", Which::Current).await.unwrap(), b"bytes");
    }
}

fn copy_from_there() -> CopyBlob {
    CopyBlob {
        id: 7,
        source: "http://there/file".into(),
        family: Family::Copy,
        metadata: None,
        tags: CopyTags::These(Tags::default()),
        tier: None,
        seal: None,
        protection: Protection::default(),
        encryption: Encryption::Service,
        conditions: Conditions::default(),
        lease: None,
        may_overwrite: true,
    }
}

fn from_there() -> lazuli_store::Fetch {
    lazuli_store::Fetch {
        url: "http://there/file?sig=a-secret-of-the-source".into(),
        authorization: None,
        version: None,
        etag: Some("\"1\"".into()),
        account: "account".into(),
        container: "box".into(),
    }
}

/// H7: the signature of a source is sealed while its copy is pending. With the key file the next process goes on; without it the copy has
/// failed, and the blob says so.
#[tokio::test]
async fn the_source_of_a_pending_copy_is_sealed() {
    for (key, goes_on) in [(1, true), (2, false)] {
        let mut world = World::plain();
        let sealing = |store: lazuli_store::Store, key| {
            store.sealing_under(lazuli_store::SecretsKey([key; 32]), std::sync::Arc::new(|| 77))
        };
        world.store = sealing(world.store, 1);
        world.create("box", 1).await;
        let source = Blob::new(Kind::Block, ContentRef::EMPTY, world.store.now());
        world.store.begin_copy(&blob("a"), copy_from_there(), source, 5, from_there()).await.unwrap();
        let secret = b"a-secret-of-the-source";
        let holds = |value: &[u8]| value.windows(secret.len()).any(|part| part == secret);
        assert!(!world.engine.entries().iter().any(|(_, value)| holds(value)));
        world.restart();
        world.store = sealing(world.store, key);
        let unfinished = world.store.unfinished_copies().await.unwrap();
        assert_eq!(unfinished.len(), usize::from(goes_on));
        assert!(unfinished.iter().all(|found| found.fetch == from_there()));
        let blob = world.store.blob(&blob("a"), ReadBlob::default()).await.unwrap();
        let status = if goes_on { CopyStatus::Pending } else { CopyStatus::Failed };
        assert_eq!(blob.copy.as_ref().map(|copy| copy.status), Some(status));
    }
}
