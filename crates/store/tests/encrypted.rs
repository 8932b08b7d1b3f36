//! L8: content under a customer's key is what was sent, or an error, whatever was done to the disk. Block blobs in one piece and in blocks,
//! append blobs, page blobs and copies of all of them, over a content store that can be made to lie without its checksums noticing.

mod disk;
mod world;

use std::sync::{Arc, Mutex};

use bytes::{Bytes, BytesMut};
use lazuli_engine::content::{self, Chunks, Content, Piece, Stage};
use lazuli_engine::{BoxFuture, Fault, Memory};
use lazuli_model::Conditions;
use lazuli_model::blob::*;
use lazuli_store::{CustomerKey, Failure, Lock, Received, Store};
use world::*;

/// Content in memory whose reads can be led astray: somebody wrote to the disk, and made the checksums agree.
#[derive(Clone)]
struct Disk {
    kept: content::Memory,
    lie: Arc<Mutex<Lie>>,
    /// Every piece that was read since this was last emptied.
    read: Arc<Mutex<Vec<Piece>>>,
}

#[derive(Clone, Copy)]
enum Lie {
    None,
    /// A bit of this byte of this piece is another.
    Flip(Piece, u64),
    /// These two have changed places.
    Swap(Piece, Piece),
}

impl Disk {
    fn new() -> Self {
        Self { kept: content::Memory::new(), lie: Arc::new(Mutex::new(Lie::None)), read: Arc::default() }
    }

    fn tell(&self, lie: Lie) {
        *self.lie.lock().unwrap() = lie;
    }

    /// The pieces that `reading` reads.
    async fn pieces<T>(&self, reading: impl Future<Output = T>) -> Vec<Piece> {
        self.read.lock().unwrap().clear();
        reading.await;
        let mut pieces = std::mem::take(&mut *self.read.lock().unwrap());
        pieces.sort();
        pieces.dedup();
        pieces
    }
}

impl Content for Disk {
    fn stage(&self, expected: Option<u64>) -> Box<dyn Stage> {
        self.kept.stage(expected)
    }

    fn read(&self, piece: Piece, from: u64, to: u64) -> Box<dyn Chunks> {
        self.read.lock().unwrap().push(piece);
        match *self.lie.lock().unwrap() {
            Lie::Swap(one, other) if piece == one => self.kept.read(other, from, to),
            Lie::Swap(one, other) if piece == other => self.kept.read(one, from, to),
            Lie::Flip(flipped, at) if piece == flipped => {
                Box::new(Flipped { inner: self.kept.read(piece, from, to), at: at.checked_sub(from) })
            }
            Lie::None | Lie::Flip(..) | Lie::Swap(..) => self.kept.read(piece, from, to),
        }
    }

    fn free(&self, pieces: Vec<Piece>) -> BoxFuture<'static, ()> {
        self.kept.free(pieces)
    }
}

struct Flipped {
    inner: Box<dyn Chunks>,
    /// How far it is to the byte.
    at: Option<u64>,
}

impl Chunks for Flipped {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Fault>> {
        Box::pin(async {
            let Some(bytes) = self.inner.next().await? else { return Ok(None) };
            let mut bytes = BytesMut::from(&bytes[..]);
            match self.at {
                Some(at) if at < bytes.len() as u64 => {
                    bytes[at as usize] ^= 4;
                    self.at = None;
                }
                Some(at) => self.at = Some(at - bytes.len() as u64),
                None => {}
            }
            Ok(Some(bytes.freeze()))
        })
    }
}

struct Trial {
    disk: Disk,
    store: Store,
    random: Mutex<u128>,
}

fn key(number: u8) -> CustomerKey {
    CustomerKey::new([number; 32], [number; 32])
}

fn by(key: &CustomerKey) -> Encryption {
    Encryption::Customer(key.hash())
}

impl Trial {
    async fn new() -> Self {
        let disk = Disk::new();
        Self::over(Store::new(Arc::new(Memory::new()), Arc::new(disk.clone())), disk).await
    }

    async fn over(store: Store, disk: Disk) -> Self {
        let trial = Self { disk, store, random: Mutex::new(1) };
        let create = lazuli_model::container::CreateContainer {
            id: 1,
            scope: None,
            metadata: Default::default(),
            public: Default::default(),
        };
        trial.store.create_container(&container("box"), create).await.unwrap();
        trial
    }

    fn lock(&self, key: &CustomerKey) -> Lock {
        let mut random = self.random.lock().unwrap();
        *random += 1;
        key.lock(*random)
    }

    async fn receive(&self, key: &CustomerKey, bytes: &[u8]) -> Received {
        let (mut body, lock) = (Parts::of(bytes, 33_333), self.lock(key));
        // Nobody says how long a long one will be.
        let expected = Some(bytes.len() as u64).filter(|length| *length < 2 << 20);
        self.store.receive_encrypted(&mut body, expected, u64::MAX, false, Some(lock)).await.unwrap()
    }

    async fn put(&self, name: &str, key: &CustomerKey, bytes: &[u8]) {
        let put = PutBlob { encryption: by(key), ..put_blob() };
        self.store.put_blob(&blob(name), put, self.receive(key, bytes).await).await.unwrap();
    }

    async fn put_blocks(&self, name: &str, key: &CustomerKey, blocks: &[Vec<u8>]) {
        let ids = ["QUFB", "QkJC", "Q0ND"];
        for (id, bytes) in ids.iter().zip(blocks) {
            let put = PutBlock { id: block_id(id), encryption: by(key), lease: None };
            self.store.put_block(&blob(name), put, self.receive(key, bytes).await).await.unwrap();
        }
        let list: Vec<_> = ids[..blocks.len()].iter().map(|id| (Search::Latest, *id)).collect();
        let put = PutBlockList { encryption: by(key), ..block_list(&list) };
        self.store.put_block_list(&blob(name), put).await.unwrap();
    }

    async fn append(&self, name: &str, key: &CustomerKey, blocks: &[Vec<u8>]) {
        let put = PutBlob { encryption: by(key), ..put_blob() };
        self.store.create_append_blob(&blob(name), put).await.unwrap();
        for bytes in blocks {
            let (conditions, encryption) = (Conditions::default(), by(key));
            let append = AppendBlock { position: None, most: None, encryption, conditions, lease: None };
            self.store.append_block(&blob(name), append, self.receive(key, bytes).await).await.unwrap();
        }
    }

    async fn put_pages(&self, name: &str, key: &CustomerKey, at: u64, bytes: &[u8]) {
        let put = PutPage {
            pages: Pages::new(at, at + bytes.len() as u64 - 1).unwrap(),
            sequence: SequenceConditions::default(),
            encryption: by(key),
            conditions: Conditions::default(),
            lease: None,
        };
        self.store.put_page(&blob(name), put, self.receive(key, bytes).await).await.unwrap();
    }

    /// Writes that lie over each other and over the borders of windows, small and large. Gives what is in the blob then.
    async fn pages(&self, name: &str, key: &CustomerKey) -> Vec<u8> {
        let length = 3 << 20;
        let put = PutBlob { encryption: by(key), ..put_blob() };
        self.store.create_page_blob(&blob(name), put, length, 0).await.unwrap();
        let mut whole = vec![0; length as usize];
        let writes: [(u64, usize); 6] =
            [(512, 1 << 20), (4096, 512), ((1 << 20) - 1024, 4096), ((2 << 20) - 512, 1024), (5120, 70_144), (0, 512)];
        for (seed, (at, length)) in writes.into_iter().enumerate() {
            let bytes = pattern(seed as u64, length);
            self.put_pages(name, key, at, &bytes).await;
            whole[at as usize..at as usize + length].copy_from_slice(&bytes);
        }
        whole
    }

    async fn read(&self, name: &str, key: &CustomerKey, from: u64, to: u64) -> Result<Vec<u8>, Failure> {
        let read = ReadBlob { key: Some(key.hash()), ..ReadBlob::default() };
        let mut reader = self.store.open_blob(&blob(name), read).await?;
        reader.unlock(Some(key.clone()));
        reader.seek(from, to);
        let mut bytes = Vec::new();
        while let Some(part) = reader.next().await? {
            bytes.extend_from_slice(&part);
        }
        Ok(bytes)
    }

    async fn copy(&self, from: &str, source_key: Option<&CustomerKey>, to: &str, key: Option<&CustomerKey>) {
        let encryption = key.map_or(Encryption::Service, by);
        let hash = source_key.map(CustomerKey::hash);
        let (which, conditions, family) = (Which::Current, Conditions::default(), Family::Copy);
        let source = CopySource { which, conditions: conditions.clone(), family, rehydrates: false, key: hash };
        let mut reader = self.store.open_source(&blob(from), &source).await.unwrap();
        reader.unlock(source_key.cloned());
        let copy = CopyBlob {
            id: 1,
            source: "http://here/".into(),
            family,
            metadata: None,
            tags: CopyTags::These(Default::default()),
            tier: None,
            seal: None,
            protection: Protection::default(),
            encryption,
            conditions,
            lease: None,
            may_overwrite: true,
        };
        let lock = key.map(|key| self.lock(key));
        self.store.copy_blob(&blob(to), copy, reader, which, lock).await.unwrap();
    }

    /// One blob of each kind, by name, and what is in it.
    async fn one_of_each(&self, key: &CustomerKey) -> Vec<(&'static str, Vec<u8>)> {
        let whole = pattern(1, 300_001);
        self.put("whole", key, &whole).await;
        let blocks = [pattern(2, 70_000), pattern(3, 100), pattern(4, 131_040)];
        self.put_blocks("blocks", key, &blocks).await;
        let appended = [pattern(5, 1_040_000), pattern(6, 15_000), pattern(7, 3), pattern(8, 70_000)];
        self.append("appended", key, &appended).await;
        let pages = self.pages("pages", key).await;
        let small = pattern(9, 1000);
        self.put("small", key, &small).await;
        self.put("empty", key, b"").await;
        let (blocks, appended) = (blocks.concat(), appended.concat());
        vec![
            ("whole", whole),
            ("blocks", blocks),
            ("appended", appended),
            ("pages", pages),
            ("small", small),
            ("empty", vec![]),
        ]
    }
}

/// About the borders of segments, windows and writes, and some others.
fn ranges(length: u64, random: &mut Random) -> Vec<(u64, u64)> {
    let mut all = vec![(0, length), (0, length.min(1)), (length.saturating_sub(1), length)];
    for border in [4096, 65_519, 65_520, 65_521, 131_040, 1 << 20, (1 << 20) + 512] {
        all.push((border - 3, border + 3));
    }
    for _ in 0..20 {
        let from = random.next() % (length + 1);
        all.push((from, from + random.next() % 100_000));
    }
    let within = |(from, to): (u64, u64)| (from.min(length), to.min(length));
    all.into_iter().map(within).collect()
}

#[tokio::test]
async fn every_range_of_every_kind_is_what_was_sent() {
    let (trial, key, mut random) = (Trial::new().await, key(1), Random(1));
    for (name, whole) in trial.one_of_each(&key).await {
        for (from, to) in ranges(whole.len() as u64, &mut random) {
            let read = trial.read(name, &key, from, to).await.unwrap();
            assert!(read == whole[from as usize..to as usize], "{name}: {from}..{to}");
        }
    }
}

/// Long bodies are several pieces, each of which holds whole segments: in memory, and in the extents that ship.
#[tokio::test]
async fn long_bodies_are_cut_between_segments() {
    let (length, cut, key, other) = ((64 << 20) + 300_000, (64_u64 << 20) / 65_536 * 65_520, key(1), key(2));
    let directory = disk::Directory::new("encrypted");
    for trial in [Trial::new().await, Trial::over(directory.open().await, Disk::new()).await] {
        let whole = pattern(1, length);
        trial.put("whole", &key, &whole).await;
        trial.append("appended", &key, &[pattern(2, 1000), whole.clone()]).await;
        trial.copy("appended", Some(&key), "copy", Some(&other)).await;
        for border in [4 << 20, 12 << 20, cut, length as u64] {
            for (from, to) in [(border - 3, border + 3), (border - 200_000, border + 200_000)] {
                let (from, to) = (from.min(length as u64), to.min(length as u64));
                let want = &whole[from as usize..to as usize];
                assert!(trial.read("whole", &key, from, to).await.unwrap() == want, "{from}..{to}");
                for (name, key) in [("appended", &key), ("copy", &other)] {
                    let read = trial.read(name, key, from + 1000, to + 1000).await.unwrap();
                    assert!(read == want, "{name}: {from}..{to}");
                }
            }
        }
        assert!(trial.read("copy", &other, 1000, u64::MAX).await.unwrap() == whole);
    }
}

#[tokio::test]
async fn a_changed_disk_is_an_error_and_never_other_bytes() {
    let (trial, key) = (Trial::new().await, key(1));
    for (name, whole) in trial.one_of_each(&key).await {
        let length = whole.len() as u64;
        let pieces = trial.disk.pieces(trial.read(name, &key, 0, length)).await;
        assert!(!pieces.is_empty() || length <= 16 << 10, "{name}");
        for piece in pieces {
            for at in [0, 1, 65_519, 65_520, 65_535, 65_536, piece.length / 2, piece.length - 16, piece.length - 1] {
                trial.disk.tell(Lie::Flip(piece, at.min(piece.length - 1)));
                match trial.read(name, &key, 0, length).await {
                    Err(Failure::Broken(Fault::Corrupt(_))) => {}
                    // Where pages were written over, a segment may be of no use to anybody.
                    Ok(read) => assert!(name == "pages" && read == whole, "{name}: byte {at}"),
                    Err(other) => panic!("{name}: {other:?}"),
                }
            }
        }
        trial.disk.tell(Lie::None);
        assert!(trial.read(name, &key, 0, length).await.unwrap() == whole, "{name}");
    }
}

#[tokio::test]
async fn a_piece_in_the_place_of_another_is_an_error() {
    let (trial, key) = (Trial::new().await, key(1));
    trial.put("one", &key, &pattern(1, 100_000)).await;
    trial.put("two", &key, &pattern(1, 100_000)).await;
    trial.put_blocks("blocks", &key, &[pattern(1, 65_520), pattern(2, 65_520)]).await;
    let [one, two] = ["one", "two"].map(|name| trial.read(name, &key, 0, 100_000));
    let (one, two) = (trial.disk.pieces(one).await[0], trial.disk.pieces(two).await[0]);
    let blocks = trial.disk.pieces(trial.read("blocks", &key, 0, 131_040)).await;
    for (name, lie) in
        [("one", Lie::Swap(one, two)), ("two", Lie::Swap(one, two)), ("blocks", Lie::Swap(blocks[0], blocks[1]))]
    {
        trial.disk.tell(lie);
        let read = trial.read(name, &key, 0, 10).await;
        assert!(matches!(read, Err(Failure::Broken(Fault::Corrupt(_)))), "{name}: {read:?}");
    }
}

/// Under the same key what is stored is shared; under another, or none, it is encrypted anew.
#[tokio::test]
async fn copies_of_every_kind_are_what_was_copied() {
    let (trial, own, other, mut random) = (Trial::new().await, key(1), key(2), Random(2));
    for (name, whole) in trial.one_of_each(&own).await {
        let size = trial.disk.kept.size();
        let [shared, elsewhere, plain, back] =
            ["shared", "other", "plain", "back"].map(|copy| format!("{name}-{copy}"));
        trial.copy(name, Some(&own), &shared, Some(&own)).await;
        assert_eq!(trial.disk.kept.size(), size, "{name}: a copy under the same key writes no bytes");
        trial.copy(name, Some(&own), &elsewhere, Some(&other)).await;
        trial.copy(&elsewhere, Some(&other), &plain, None).await;
        trial.copy(&plain, None, &back, Some(&own)).await;
        for (copy, key) in [(&shared, &own), (&elsewhere, &other), (&back, &own)] {
            for (from, to) in ranges(whole.len() as u64, &mut random) {
                let read = trial.read(copy, key, from, to).await.unwrap();
                assert!(read == whole[from as usize..to as usize], "{name} to {copy}: {from}..{to}");
            }
        }
        let mut reader = trial.store.open_blob(&blob(&plain), ReadBlob::default()).await.unwrap();
        reader.seek(0, u64::MAX);
        let mut bytes = Vec::new();
        while let Some(part) = reader.next().await.unwrap() {
            bytes.extend_from_slice(&part);
        }
        assert!(bytes == whole, "{name} without a key");
        let refused = trial.read(&shared, &other, 0, 1).await;
        assert!(matches!(refused, Err(Failure::Refused(_))), "{name}: another key opens nothing");
    }
}
