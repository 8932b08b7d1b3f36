//! Random programs on a sparse content and on plain vectors, at every epoch; in the end, nothing may be left.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use lazuli_engine::memory::Manners;
use lazuli_engine::{BoxFuture, Clock, Embedded, Engine, Memory, Space, Stamp, content};

use super::window::{Place, Span};
use super::*;
use crate::claims::Trash;
use crate::crypt::{Cipher, CustomerKey, Sealed};
use crate::keys::{self, BlobKeys};
use crate::records::{Garbage, Run};
use crate::upload::{Body, Received};
use crate::{Broken, Failure, Source, Store};

const LENGTH: usize = 2 * WINDOW as usize + 100_000;
const CONTENT: u64 = 7;

struct Once(Option<Bytes>);

impl Source for Once {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Broken>> {
        let next = self.0.take();
        Box::pin(async { Ok(next) })
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }
}

/// What the content is at an epoch: its bytes, and in which epoch each was written (zero: not), or taken away (zero: not).
#[derive(Clone)]
struct Plain {
    bytes: Vec<u8>,
    written: Vec<u8>,
    cleared: Vec<u8>,
}

struct Trial {
    store: Store,
    keys: BlobKeys,
    epoch: u64,
    current: Plain,
    snapshots: BTreeMap<u64, Plain>,
    random: Random,
}

impl Trial {
    fn new(engine: Arc<dyn Engine>, content: content::Memory, name: &str, seed: u64) -> Self {
        let current = Plain { bytes: vec![0; LENGTH], written: vec![0; LENGTH], cleared: vec![0; LENGTH] };
        Self {
            store: Store::new(engine, Arc::new(content)),
            keys: BlobKeys::new(9, name),
            epoch: 1,
            current,
            snapshots: BTreeMap::new(),
            random: Random(seed),
        }
    }

    fn at(&self) -> Seen {
        Seen { content: CONTENT, epoch: self.epoch }
    }

    fn place(&mut self, length: usize) -> usize {
        let edges = [0, WINDOW as usize, 2 * WINDOW as usize, LENGTH];
        let near = edges[self.random.below(4)].saturating_sub(self.random.below(20_000));
        let at = if self.random.below(3) == 0 { self.random.below(LENGTH) } else { near + self.random.below(9) * 512 };
        at.min(LENGTH - length)
    }

    async fn step(&mut self) {
        match self.random.below(18) {
            0..=6 => self.write().await,
            16 | 17 => self.copy_within().await,
            7 | 8 => self.clear().await,
            9 => self.truncate().await,
            10 => {
                self.snapshots.insert(self.epoch, self.current.clone());
                self.epoch += 1;
            }
            11 => self.forget().await,
            12 => self.sweep().await,
            _ => self.compare().await,
        }
    }

    async fn write(&mut self) {
        let lengths = [1, 100, 512, 4096, 16 << 10, (16 << 10) + 1, 100_000, 1_200_000];
        let length = lengths[self.random.below(lengths.len())];
        let (at, fill) = (self.place(length), self.random.below(255) as u8 + 1);
        let bytes: Vec<u8> = (0..length).map(|i| fill.wrapping_add((i / 7) as u8)).collect();
        self.current.bytes[at..at + length].copy_from_slice(&bytes);
        self.current.written[at..at + length].fill(self.epoch as u8);
        self.current.cleared[at..at + length].fill(0);
        let mut source = Once(Some(bytes.into()));
        let received = self.store.receive(&mut source, Some(length as u64), u64::MAX, false).await.unwrap();
        let (fill, keys, seen) = (Fill::of(&received), self.keys.clone(), self.at());
        let trash = self.store.transact_staged(keys.partition(), received.body.into_staged(), move |txn| {
            let (mut editor, mut trash) = (Editor::new(&keys, seen), Trash::default());
            editor.write(txn, at as u64, &fill)?;
            editor.finish(&mut trash);
            Ok(trash.write(txn, &keys))
        });
        let trash = trash.await.unwrap();
        self.store.hint(trash, self.keys.clone());
    }

    /// Within the content, also over itself. What cannot be shared is left as it is.
    async fn copy_within(&mut self) {
        let length = [1, 700, 16 << 10, 100_000, 1_200_000][self.random.below(5)];
        let (from, to) = (self.place(length), self.place(length));
        let (keys, seen) = (self.keys.clone(), self.at());
        let copied = self.store.transact(keys.partition(), move |txn| {
            let (mut editor, mut trash) = (Editor::new(&keys, seen), Trash::default());
            let shared = editor.copy_within(txn, seen, from as u64, to as u64, length as u64)?;
            editor.finish(&mut trash);
            Ok((shared, trash.write(txn, &keys)))
        });
        let (shared, trash) = copied.await.unwrap();
        self.store.hint(trash, self.keys.clone());
        if !shared {
            return;
        }
        let before = self.current.clone();
        let plain = &mut self.current;
        for at in 0..length {
            plain.bytes[to + at] = before.bytes[from + at];
            let was = before.written[to + at] != 0;
            (plain.written[to + at], plain.cleared[to + at]) = match before.written[from + at] {
                0 if was => (0, self.epoch as u8),
                0 => (0, before.cleared[to + at]),
                _ => (self.epoch as u8, 0),
            };
        }
    }

    async fn clear(&mut self) {
        let length = [1, 512, 100_000, 1_500_000][self.random.below(4)];
        let from = self.place(length);
        self.clear_range(from, from + length).await;
    }

    async fn truncate(&mut self) {
        let from = self.place(0);
        self.clear_range(from, LENGTH).await;
    }

    async fn clear_range(&mut self, from: usize, to: usize) {
        self.current.bytes[from..to].fill(0);
        for at in from..to {
            if std::mem::take(&mut self.current.written[at]) != 0 {
                self.current.cleared[at] = self.epoch as u8;
            }
        }
        let to = if to == LENGTH { u64::MAX } else { to as u64 };
        let mut next = Some(from as u64);
        while let Some(from) = next {
            let (keys, seen) = (self.keys.clone(), self.at());
            let cleared = self.store.transact(keys.partition(), move |txn| {
                let (mut editor, mut trash) = (Editor::new(&keys, seen), Trash::default());
                let next = editor.clear(txn, from, to, 2)?;
                editor.finish(&mut trash);
                Ok((next, trash.write(txn, &keys)))
            });
            let (rest, trash) = cleared.await.unwrap();
            self.store.hint(trash, self.keys.clone());
            next = rest;
        }
    }

    async fn forget(&mut self) {
        let epochs: Vec<u64> = self.snapshots.keys().copied().collect();
        if epochs.is_empty() {
            return;
        }
        self.snapshots.remove(&epochs[self.random.below(epochs.len())]);
        let visible = self.snapshots.keys().copied().chain([self.epoch]).collect();
        self.discard(Forgetting { content: CONTENT, until: self.epoch, visible, from: 0 }).await;
    }

    async fn discard(&mut self, forget: Forgetting) {
        let keys = self.keys.clone();
        let noted = self
            .store
            .transact(keys.partition(), move |txn| Ok(Trash(vec![Garbage::Sparse(forget.clone())]).write(txn, &keys)));
        let trash = noted.await.unwrap();
        self.store.hint(trash, self.keys.clone());
    }

    async fn sweep(&self) {
        for _ in 0..3 {
            while self.store.sweep_step().await.unwrap() {}
            for _ in 0..32 {
                tokio::task::yield_now().await;
            }
        }
    }

    async fn read(&self, seen: Seen, from: usize, to: usize) -> Result<Vec<u8>, Failure> {
        let opening = self.store.readers.enter();
        let (keys, first) = (&self.keys, (from + to) / 2);
        let batch = self
            .store
            .look(&self.keys.partition(), |txn| Batch::load(txn, keys, seen, from as u64, first as u64))
            .await?;
        let _hold = opening.hold(keys, seen.content);
        let mut reader = SparseReader::new(keys.clone(), seen, batch, &opening);
        drop(opening);
        reader.seek(from as u64, to as u64);
        let mut bytes = Vec::new();
        while let Some(part) = reader.next(&self.store, None).await? {
            bytes.extend_from_slice(&part);
        }
        Ok(bytes)
    }

    async fn compare(&mut self) {
        let mut epochs: Vec<u64> = self.snapshots.keys().copied().collect();
        epochs.push(self.epoch);
        let epoch = epochs[self.random.below(epochs.len())];
        let older = epochs[self.random.below(epochs.len())];
        let (from, to) = (self.random.below(LENGTH), self.random.below(LENGTH) + 1);
        let (from, to) = (from.min(to), from.max(to));
        self.compare_at(epoch, older, from, to).await;
    }

    async fn compare_at(&self, epoch: u64, older: u64, from: usize, to: usize) {
        let plain = |epoch: u64| if epoch == self.epoch { &self.current } else { &self.snapshots[&epoch] };
        let seen = Seen { content: CONTENT, epoch };
        let want = plain(epoch);
        assert!(self.read(seen, from, to).await.unwrap() == want.bytes[from..to], "bytes {from}..{to} at {epoch}");
        let keys = &self.keys;
        let stretch = |from: u64| Stretch { from, to: to as u64, most: 2 };
        let (mut found, mut next) = (Vec::new(), Some(from as u64));
        while let Some(from) = next {
            let (page, rest) =
                self.store.look(&self.keys.partition(), |txn| ranges(txn, keys, seen, stretch(from))).await.unwrap();
            page.into_iter().for_each(|range| super::ranges::join(&mut found, range));
            next = rest;
        }
        assert_eq!(found, runs(from, to, |at| want.written[at] != 0), "ranges in {from}..{to} at {epoch}");
        if older < epoch {
            let whole = Stretch { from: from as u64, to: to as u64, most: usize::MAX };
            let (found, _) =
                self.store.look(&self.keys.partition(), |txn| diff(txn, keys, older, seen, whole)).await.unwrap();
            let since = older as u8;
            let written = runs(from, to, |at| want.written[at] > since);
            let mut all: Vec<Difference> = written.into_iter().map(Difference::Written).collect();
            let cleared = runs(from, to, |at| want.cleared[at] > since);
            all.extend(cleared.into_iter().map(Difference::Cleared));
            all.sort_by_key(|difference| difference.range().start);
            assert_eq!(found, all, "from {older} to {epoch}");
        }
    }
}

fn runs(from: usize, to: usize, holds: impl Fn(usize) -> bool) -> Vec<Range> {
    let mut found: Vec<Range> = Vec::new();
    for at in (from..to).filter(|at| holds(*at)) {
        super::ranges::join(&mut found, at as u64..at as u64 + 1);
    }
    found
}

async fn program(engine: Arc<dyn Engine>, name: &str, seed: u64, steps: usize) {
    let content = content::Memory::new();
    let mut run = Trial::new(engine, content.clone(), name, seed);
    for _ in 0..steps {
        run.step().await;
    }
    run.sweep().await;
    let epochs: Vec<u64> = run.snapshots.keys().copied().chain([run.epoch]).collect();
    for epoch in &epochs {
        run.compare_at(*epoch, epochs[0], 0, LENGTH).await;
    }
    if seed.is_multiple_of(2) {
        while !run.snapshots.is_empty() {
            run.forget().await;
        }
    }
    run.discard(Forgetting::all(CONTENT)).await;
    run.sweep().await;
    let (from, to) =
        (keys::column(Space(9), lazuli_engine::Column(0)), keys::column(Space(10), lazuli_engine::Column(0)));
    let left = run.store.look(&run.keys.partition(), |txn| Ok(txn.scan(&from, &to, 10)?)).await.unwrap();
    assert!(left.is_empty(), "seed {seed} leaves rows: {left:?}");
    assert_eq!(content.size(), 0, "seed {seed} leaves bytes");
}

fn inline(bytes: Vec<u8>) -> Received {
    let (length, body) = (bytes.len() as u64, Body::Inline(bytes.into()));
    Received { length, crc64: 0, md5: None, cipher: Cipher::None, body }
}

fn clock() -> Clock {
    Clock::new(|| Stamp(638_000_000_000_000_000))
}

#[tokio::test]
async fn programs_on_the_plain_engine() {
    for seed in 0..12 {
        program(Arc::new(Memory::laid_out(crate::layout, clock())), ["blob", ""][seed as usize % 2], seed, 60).await;
    }
}

#[tokio::test]
async fn programs_on_an_engine_with_the_manners_of_a_cluster() {
    for seed in 100..106 {
        let engine = Memory::distributed_with(Manners::rough(seed), crate::layout, clock());
        program(Arc::new(engine), ["blob", ""][seed as usize % 2], seed, 40).await;
    }
}

#[tokio::test]
async fn programs_on_the_embedded_engine() {
    let directory = std::env::temp_dir().join(format!("lazuli-sparse-{}", std::process::id()));
    for seed in 200..203 {
        let _ = std::fs::remove_dir_all(&directory);
        let engine = Embedded::open(&directory, Default::default()).unwrap();
        program(Arc::new(engine), "blob", seed, 60).await;
    }
    let _ = std::fs::remove_dir_all(&directory);
}

#[tokio::test]
async fn what_a_customers_key_encrypts_is_read_with_it_alone() {
    let (engine, content) = (Arc::new(Memory::laid_out(crate::layout, clock())), content::Memory::new());
    let run = Trial::new(engine, content, "secret", 1);
    let key = CustomerKey::new([7; 32], [0; 32]);
    let mut want = vec![0; 2 * WINDOW as usize];
    for (number, (at, length)) in
        [(WINDOW - 50_000, 100_000), (WINDOW - 60_000, 20_000), (WINDOW - 100, 300)].into_iter().enumerate()
    {
        let bytes: Vec<u8> = (0..length).map(|at| (at * 7 + number as u64) as u8).collect();
        want[at as usize..(at + length) as usize].copy_from_slice(&bytes);
        let lock = Some(key.lock(number as u128 + 1));
        let mut source = Once(Some(bytes.into()));
        let received = run.store.receive_encrypted(&mut source, Some(length), u64::MAX, false, lock).await.unwrap();
        let (fill, keys, seen) = (Fill::of(&received), run.keys.clone(), run.at());
        let written = run.store.transact_staged(keys.partition(), received.body.into_staged(), move |txn| {
            let mut editor = Editor::new(&keys, seen);
            editor.write(txn, at, &fill)?;
            editor.finish(&mut Trash::default());
            Ok(())
        });
        written.await.unwrap();
    }
    let (to, keys, seen) = (2 * WINDOW, &run.keys, run.at());
    for from in [0, WINDOW - 55_555, WINDOW - 7, WINDOW + 100] {
        let opening = run.store.readers.enter();
        let batch = run.store.look(&run.keys.partition(), |txn| Batch::load(txn, keys, seen, from, to)).await.unwrap();
        let mut reader = SparseReader::new(keys.clone(), seen, batch, &opening);
        drop(opening);
        reader.seek(from, to);
        let mut bytes = Vec::new();
        while let Some(part) = reader.next(&run.store, Some(&key)).await.unwrap() {
            bytes.extend_from_slice(&part);
        }
        assert!(bytes == want[from as usize..], "from {from}");
        reader.seek(WINDOW, to);
        assert!(reader.next(&run.store, None).await.is_err(), "no key, no bytes");
    }
}

#[tokio::test]
async fn many_small_writes_stay_a_short_list() {
    let engine = Arc::new(Memory::laid_out(crate::layout, clock()));
    let mut run = Trial::new(engine.clone(), content::Memory::new(), "log", 1);
    let keys = run.keys.clone();
    for at in 0..3000u64 {
        let (keys, seen) = (keys.clone(), run.at());
        run.store
            .transact(keys.partition(), move |txn| {
                let body = inline(vec![at as u8; 100]);
                let (mut editor, mut trash) = (Editor::new(&keys, seen), Trash::default());
                editor.write(txn, at * 100, &Fill::of(&body))?;
                editor.finish(&mut trash);
                trash.write(txn, &keys);
                Ok(())
            })
            .await
            .unwrap();
        run.current.bytes[at as usize * 100..][..100].fill(at as u8);
        run.current.written[at as usize * 100..][..100].fill(1);
    }
    run.compare_at(1, 1, 0, LENGTH).await;
    let sizes = |column| {
        engine
            .entries()
            .iter()
            .filter(|(key, _)| key.column() == column)
            .map(|(_, value)| value.len())
            .collect::<Vec<_>>()
    };
    let (windows, smalls) = (sizes(keys::WINDOWS), sizes(keys::SMALLS));
    assert!(windows.iter().all(|size| *size < 8 << 10), "{windows:?}");
    assert!(smalls.len() <= 257 && smalls.iter().sum::<usize>() == 300_000, "{} rows", smalls.len());
}

#[tokio::test]
async fn one_page_in_a_tebibyte_costs_a_page() {
    let engine = Arc::new(Memory::laid_out(crate::layout, clock()));
    let run = Trial::new(engine.clone(), content::Memory::new(), "disk", 1);
    let (keys, seen, at) = (run.keys.clone(), run.at(), (1 << 40) - 512);
    run.store
        .transact(run.keys.partition(), move |txn| {
            let body = inline(vec![1; 512]);
            let mut editor = Editor::new(&keys, seen);
            editor.write(txn, at, &Fill::of(&body))?;
            editor.finish(&mut Trash::default());
            Ok(())
        })
        .await
        .unwrap();
    assert_eq!(engine.entries().len(), 2);
    let whole = Stretch { from: 0, to: 1 << 40, most: 10 };
    let found = run.store.look(&run.keys.partition(), |txn| ranges(txn, &run.keys, seen, whole)).await.unwrap();
    assert_eq!((found.0.as_slice(), found.1), (std::slice::from_ref(&(at..1 << 40)), None));
    assert_eq!(run.read(seen, at as usize - 3, at as usize + 2).await.unwrap(), [0, 0, 0, 1, 1]);
}

#[test]
fn a_cut_leaves_what_is_beside_it() {
    let run = Run { extent: 1, offset: 0, length: 100, seal: 0 };
    let span = |from, to, skip| Span { from, to, written: 1, place: Place::Piece(run), skip, sealed: Sealed::None };
    let cases = [
        ((0, 10), vec![span(10, 60, 0)]),
        ((0, 10 + 1), vec![span(11, 60, 1)]),
        ((20, 30), vec![span(10, 20, 0), span(30, 60, 20)]),
        ((59, 90), vec![span(10, 59, 0)]),
        ((10, 60), vec![]),
        ((60, 70), vec![span(10, 60, 0)]),
    ];
    for ((from, to), want) in cases {
        let mut window = Window { spans: vec![span(10, 60, 0)] };
        let hit = window.cut(from, to);
        assert_eq!(hit.is_empty(), window.spans == vec![span(10, 60, 0)], "{from}..{to}");
        assert_eq!(window.spans, want, "{from}..{to}");
    }
}
