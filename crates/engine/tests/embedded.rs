//! The suite over the embedded engine, and what is its own: reopening, its directory, a full disk.

use std::fs;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use bytes::Bytes;
use lazuli_engine::embedded::{Embedded, FreeSpace, Health, OpenError, Options, Probe};
use lazuli_engine::{Clock, Column, Engine, EngineExt, Entry, Fault, Key, Partition, Space, Stamp, Stop, suite};

const SPACE: Space = Space(1);

/// A directory of its own for each test, gone with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lazuli-engine-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl AsRef<Path> for Scratch {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

/// A process that starts has everything open that this one has, also the lock of a directory, until it executes its program.
static STARTING: RwLock<()> = RwLock::new(());

fn start(command: &mut Command) -> io::Result<Child> {
    let _alone = STARTING.write();
    command.spawn()
}

fn opened(path: impl AsRef<Path>, options: Options) -> Result<Embedded, OpenError> {
    let _nothing_starts = STARTING.read();
    Embedded::open(path, options)
}

fn open(path: impl AsRef<Path>) -> Arc<Embedded> {
    Arc::new(opened(path, Options::default()).expect("opens"))
}

/// With stretches of a few entries, so that tests have many.
fn open_with_short_ranges(path: impl AsRef<Path>) -> Arc<Embedded> {
    Arc::new(opened(path, Options { range_cache_bytes: 128 << 10, ..Options::default() }).expect("opens"))
}

fn key(row: &[u8]) -> Key {
    Key::new(SPACE, Column(1), &[row])
}

async fn put(engine: &Embedded, row: &[u8], value: impl Into<Bytes>) -> Result<(), Fault> {
    let (key, value) = (key(row), value.into());
    let answer = engine.transact(Partition::new(SPACE, row.to_vec()), move |txn| {
        txn.put(key.clone(), value.clone());
        Ok::<_, Stop<()>>(())
    });
    answer.await.map(|done| done.expect("no refusal"))
}

async fn delete(engine: &Embedded, row: &[u8]) -> Result<(), Fault> {
    let key = key(row);
    let answer = engine.transact(Partition::new(SPACE, row.to_vec()), move |txn| {
        txn.delete(key.clone());
        Ok::<_, Stop<()>>(())
    });
    answer.await.map(|done| done.expect("no refusal"))
}

async fn get(engine: &Embedded, row: &[u8]) -> Result<Option<Bytes>, Fault> {
    let key = key(row);
    engine.survey(SPACE, |txn| Ok::<_, Stop<()>>(txn.get(&key)?)).await.map(|got| got.expect("no refusal"))
}

#[tokio::test]
async fn the_suite() {
    let scratch = Scratch::new("suite");
    let engine = open(&scratch);
    for seed in 0..20 {
        let fresh = Scratch::new("suite-fresh");
        suite::all(open_with_short_ranges(&fresh), seed).await;
        suite::programs(&(engine.clone() as Arc<dyn Engine>), seed).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_suite_from_many_threads() {
    for seed in 0..5 {
        let fresh = Scratch::new("suite-threads");
        suite::all(open_with_short_ranges(&fresh), seed).await;
    }
}

#[tokio::test]
async fn volatile_rows_go_with_the_process() {
    let scratch = Scratch::new("restart");
    {
        let engine: Arc<dyn Engine> = open(&scratch);
        suite::all(engine.clone(), 1).await;
        suite::before_restart(&engine).await;
    }
    for _ in 0..2 {
        let engine: Arc<dyn Engine> = open(&scratch);
        suite::after_restart(&engine).await;
    }
}

/// They cost no sync, no room and no byte of the log, and what reads them finds them at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn volatile_rows_wait_for_no_disk() {
    let scratch = Scratch::new("volatile");
    let free = Arc::new(AtomicU64::new(1 << 30));
    let probed = free.clone();
    let probe = Probe::new(move |_| Ok(FreeSpace { free: probed.load(Ordering::Relaxed), total: 10 << 30 }));
    let engine = opened(&scratch, Options { probe, ..Options::default() }).expect("opens");
    put(&engine, b"a", "value").await.expect("there is room");
    let before = engine.metrics();
    free.store(60 << 20, Ordering::Relaxed);
    for n in 0..500_u32 {
        let volatile = Key::new(SPACE, Column::volatile(1), &[&(n % 100).to_be_bytes()]);
        let written = engine.transact(Partition::new(SPACE, "a"), move |txn| {
            assert_eq!(txn.get(&key(b"a"))?, Some("value".into()));
            if n < 450 {
                txn.put(volatile.clone(), n.to_be_bytes().to_vec())
            } else {
                txn.delete(volatile.clone())
            }
            Ok::<_, Stop<()>>(())
        });
        assert_eq!(written.await, Ok(Ok(())), "no room is needed");
    }
    let after = engine.metrics();
    assert_eq!((after.commits, after.committed_bytes), (before.commits, before.committed_bytes));
    assert_eq!(after.journal_bytes, before.journal_bytes);
    assert_eq!(after.volatile_rows, 51, "and one that the next change forgets");
    let all = Key::new(SPACE, Column::volatile(1), &[]);
    let seen = engine.survey(SPACE, |txn| Ok::<_, Stop<()>>(txn.scan(&all, &all.after_prefix(), 999)?));
    assert_eq!(seen.await.expect("no fault").expect("no refusal").len(), 50);
}

/// What changes volatile rows only is not answered before what it read is durable: it waits for the batch that it is part of.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_volatile_change_waits_for_what_it_read() {
    let scratch = Scratch::new("waits");
    let engine = open(&scratch);
    for round in 0..50_u64 {
        // Holds the writer, so that the next two are one batch.
        let (release, held) = std::sync::mpsc::channel::<()>();
        let held = Mutex::new(held);
        let holds = engine.transact(Partition::new(SPACE, "p"), move |_| {
            held.lock().expect("not poisoned").recv().expect("is released");
            Ok::<_, Stop<()>>(())
        });
        let writes = engine.transact(Partition::new(SPACE, "p"), move |txn| {
            txn.put(key(b"round"), round.to_be_bytes().to_vec());
            Ok::<_, Stop<()>>(())
        });
        let reads = engine.transact(Partition::new(SPACE, "p"), move |txn| {
            let seen = txn.get(&key(b"round"))?;
            txn.put(Key::new(SPACE, Column::volatile(1), &[b"seen"]), "yes");
            Ok::<_, Stop<()>>(seen)
        });
        release.send(()).expect("the writer waits");
        let seen = reads.await.expect("no fault").expect("no refusal").expect("the batch so far");
        assert_eq!(number(&seen), round);
        // A look sees what is synced, and nothing else.
        assert_eq!(get(&engine, b"round").await, Ok(Some(seen)), "answered on what is not durable, in round {round}");
        assert_eq!((holds.await, writes.await), (Ok(Ok(())), Ok(Ok(()))));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stamps_go_on_after_reopening_though_the_clock_went_back() {
    let scratch = Scratch::new("stamps");
    let mut last = Stamp(0);
    for wall in [5_000, 9_000, 1_000, 1] {
        let options = Options { clock: Clock::new(move || Stamp(wall)), ..Options::default() };
        let engine: Arc<dyn Engine> = Arc::new(opened(&scratch, options).expect("opens"));
        assert!(engine.now() >= last);
        last = suite::stamps(&engine, last).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_submitted_before_close_is_there_afterwards() {
    let scratch = Scratch::new("close");
    let engine = open(&scratch);
    for n in 0..2_000_u32 {
        let key = key(&n.to_be_bytes());
        drop(engine.transact(Partition::new(SPACE, "p"), move |txn| {
            txn.put(key.clone(), "value");
            Ok::<_, Stop<()>>(())
        }));
    }
    engine.close();
    assert_eq!(put(&engine, b"late", "value").await, Err(Fault::Unavailable("the engine has stopped".into())));
    drop(engine);
    let reopened = open(&scratch);
    for n in 0..2_000_u32 {
        assert!(get(&reopened, &n.to_be_bytes()).await.expect("no fault").is_some(), "{n}");
    }
}

#[tokio::test]
async fn keys_that_the_store_would_cut_short_are_refused() {
    let scratch = Scratch::new("long");
    let engine = open(&scratch);
    assert!(put(&engine, &vec![7; 65_535 - 17], "value").await.is_ok());
    assert!(matches!(put(&engine, &vec![7; 65_536], "value").await, Err(Fault::Unavailable(_))));
    assert!(put(&engine, b"after", "value").await.is_ok());
}

fn refusal(path: impl AsRef<Path>) -> String {
    opened(path, Options::default()).err().expect("is refused").to_string()
}

#[test]
fn a_directory_that_is_not_ours_to_use() {
    let scratch = Scratch::new("directory");
    let first = open(&scratch);
    assert!(refusal(&scratch).contains("in use by another process: stop it"));
    drop(first);
    drop(open(&scratch));

    let marker = scratch.0.join("lazuli.format");
    let good = fs::read(&marker).expect("there is a marker");
    fs::write(&marker, "lazuli data directory, format 3, ready\n").expect("writes");
    assert!(refusal(&scratch).contains("written by a newer Lazuli"));
    for damaged in ["", "lazuli data directory, format x, ready\n", "lazuli data directory, format 2, odd\n"] {
        fs::write(&marker, damaged).expect("writes");
        assert!(refusal(&scratch).contains("restore it from a backup"), "{damaged}");
    }
    fs::write(&marker, good).expect("writes");
    fs::rename(scratch.0.join("keys"), scratch.0.join("elsewhere")).expect("renames");
    assert!(refusal(&scratch).contains("keys is missing"));
    fs::rename(scratch.0.join("elsewhere"), scratch.0.join("keys")).expect("renames");
    drop(open(&scratch));
    fs::remove_file(&marker).expect("removes");
    assert!(refusal(&scratch).contains("not a Lazuli data directory"));
}

#[test]
fn a_first_start_that_was_cut_short_is_begun_again() {
    let begun = [1, 2].map(|format| Some(format!("lazuli data directory, format {format}, new\n")));
    for marker in [None].into_iter().chain(begun) {
        let scratch = Scratch::new("first");
        fs::create_dir_all(scratch.0.join("lost+found")).expect("creates");
        fs::write(scratch.0.join("lock"), "").expect("writes");
        if let Some(marker) = marker {
            fs::write(scratch.0.join("lazuli.format"), marker).expect("writes");
            fs::create_dir_all(scratch.0.join("keys/log")).expect("creates");
            fs::write(scratch.0.join("keys/log/00000001.log"), "half").expect("writes");
        }
        drop(open(&scratch));
        assert!(matches!(opened(scratch.0.join("lock"), Options::default()), Err(OpenError::Io { .. })));
    }
}

#[tokio::test]
async fn a_full_disk_stops_writes_and_nothing_else() {
    let scratch = Scratch::new("full");
    let free = Arc::new(AtomicU64::new(1 << 30));
    let probed = free.clone();
    let probe = Probe::new(move |_| Ok(FreeSpace { free: probed.load(Ordering::Relaxed), total: 10 << 30 }));
    let engine = opened(&scratch, Options { probe, ..Options::default() }).expect("opens");
    put(&engine, b"a", "value").await.expect("there is room");
    assert_eq!(engine.health(), Health { is_open: true, has_room: true });

    free.store(60 << 20, Ordering::Relaxed);
    assert_eq!(engine.health(), Health { is_open: true, has_room: false });
    assert_eq!(put(&engine, b"b", "value").await, Err(Fault::Full));
    assert_eq!(get(&engine, b"a").await, Ok(Some("value".into())));
    assert_eq!(get(&engine, b"b").await, Ok(None));
    let refused = engine.transact(Partition::new(SPACE, "r"), |_| Err::<(), _>(Stop::Refused("no"))).await;
    assert_eq!(refused, Ok(Err("no")), "a refusal needs no room");
    assert_eq!(delete(&engine, b"a").await, Ok(()), "deleting is how room is made");
    assert_eq!(engine.metrics().turned_away, 1);

    free.store(1 << 30, Ordering::Relaxed);
    put(&engine, b"b", "value").await.expect("there is room again");
}

/// One caller after another needs no other thread; many at once are written together, by the writer's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_alone_writes_itself() {
    let scratch = Scratch::new("alone");
    let engine = open(&scratch);
    for n in 0..100_u8 {
        put(&engine, &[n], "value").await.expect("there is room");
        assert_eq!(get(&engine, &[n]).await, Ok(Some("value".into())), "{n}");
    }
    let alone = engine.metrics();
    assert!(alone.written_alone > 0 && alone.commits == 100, "{alone:?}");
    let crowd: Vec<_> = (0..100_u8)
        .map(|n| {
            let engine = engine.clone();
            tokio::spawn(async move { put(&engine, &[n, 1], "value").await })
        })
        .collect();
    for done in crowd {
        done.await.expect("no panic").expect("there is room");
    }
    assert!(engine.metrics().commits < 200, "{:?}", engine.metrics());
    engine.close();
    assert_eq!(put(&engine, b"late", "value").await, Err(Fault::Unavailable("the engine has stopped".into())));
}

/// Nobody is woken to watch the sockets while the only caller writes; if there are two, somebody is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_the_only_one_keeps_its_place() {
    // In memory, where a commit is short.
    let scratch = Scratch(PathBuf::from("/dev/shm").join(format!("lazuli-engine-{}-place", std::process::id())));
    let engine = open(&scratch);
    let put_some = |rows: std::ops::Range<u8>| {
        let engine = engine.clone();
        async move {
            let putting = async move {
                for n in rows {
                    put(&engine, &[n], "value").await.expect("there is room");
                }
            };
            tokio::spawn(putting).await.expect("no panic");
        }
    };
    for n in 0..100 {
        put_some(n..n + 1).await;
    }
    assert_eq!(engine.metrics().written_in_place, 0, "a hundred callers wrote one each");
    put_some(100..250).await;
    let alone = engine.metrics();
    assert!(alone.written_in_place > 0, "{alone:?}");
    assert_eq!(alone.commits, 250);
}

/// A write that keeps its place and then hangs stops nobody else: sockets are looked after.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_hangs_in_its_place_stops_nobody() {
    let scratch = Scratch(PathBuf::from("/dev/shm").join(format!("lazuli-engine-{}-hangs", std::process::id())));
    let engine = open(&scratch);
    let socket = || {
        let (ours, theirs) = tokio::net::UnixStream::pair().expect("a pair of sockets");
        (ours, theirs.into_std().expect("a socket"))
    };
    let (reads, to_reader) = socket();
    let (release, released) = std::sync::mpsc::channel();
    let reader = tokio::spawn(async move {
        reads.readable().await.expect("a byte");
        release.send(())
    });
    let released = Mutex::new(released);
    let writer = tokio::spawn(async move {
        for n in 0..100_u8 {
            put(&engine, &[n], "value").await.expect("there is room");
        }
        // The thread that reads this byte is the one that watched the socket.
        let (begins, mut to_writer) = socket();
        to_writer.write_all(b"x").expect("sends");
        begins.readable().await.expect("a byte");
        let hangs = engine.transact(Partition::new(SPACE, "hangs"), move |txn| {
            (&to_reader).write_all(b"x").expect("sends");
            let patience = std::time::Duration::from_secs(20);
            let in_time = released.lock().expect("one at a time").recv_timeout(patience).is_ok();
            txn.put(key(b"hangs"), Bytes::new());
            Ok::<_, Stop<()>>(in_time)
        });
        hangs.await.expect("there is room").expect("no refusal")
    });
    assert!(writer.await.expect("no panic"), "the reader had its byte while the write hung");
    reader.await.expect("no panic").expect("somebody waited");
}

#[tokio::test]
async fn a_probe_that_fails_stops_nothing() {
    let scratch = Scratch::new("probe");
    let probe = Probe::new(|_| Err(io::Error::other("no answer")));
    let engine = opened(&scratch, Options { probe, ..Options::default() }).expect("opens");
    put(&engine, b"a", "value").await.expect("there may be room");
    assert_eq!(engine.health(), Health { is_open: true, has_room: true });
    engine.close();
    assert!(!engine.health().is_open);
}

/// A small file system, mounted for the test that fills it.
struct Tmpfs(PathBuf);

impl Tmpfs {
    fn mount(path: &Path, options: &str) -> Self {
        fs::create_dir_all(path).expect("creates");
        let mount = start(Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(path));
        assert!(
            mount.and_then(|mut mount| mount.wait()).expect("mount runs").success(),
            "this test mounts a tmpfs: run it as root"
        );
        Self(path.into())
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = start(Command::new("umount").arg("-l").arg(&self.0)).and_then(|mut umount| umount.wait());
    }
}

fn free(path: impl AsRef<Path>) -> usize {
    let stat = rustix::fs::statvfs(path.as_ref()).expect("there is a file system");
    usize::try_from(stat.f_bavail * stat.f_frsize).expect("it is small")
}

/// With the probe honest, writes stop in time; with a probe that lies, commits fail in earnest and the store is reopened.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_is_really_full() {
    for honest in [true, false] {
        let scratch = Scratch::new(if honest { "tmpfs-honest" } else { "tmpfs-lying" });
        let _mounted = Tmpfs::mount(&scratch.0, "size=64m");
        let probe = match honest {
            true => Probe::file_system(),
            false => Probe::new(|_| Ok(FreeSpace { free: 1 << 40, total: 1 << 40 })),
        };
        let engine = opened(scratch.0.join("data"), Options { probe, ..Options::default() }).expect("opens");
        let ballast = scratch.0.join("ballast");
        for round in 0..3_u8 {
            let mut kept: Vec<[u8; 2]> = Vec::new();
            fs::write(&ballast, vec![1; free(&scratch) - (8 << 20)]).expect("there is room for ballast");
            let fault = loop {
                let row = [round, kept.len() as u8];
                match put_both(&engine, &row, noise(64 << 10, row)).await {
                    Ok(()) => kept.push(row),
                    Err(fault) => break fault,
                }
                assert!(kept.len() < 255, "the disk is never full");
            };
            assert_eq!(fault, Fault::Full, "round {round}");
            for row in &kept {
                assert_eq!(get(&engine, row).await, Ok(Some(noise(64 << 10, *row))), "what was acknowledged is there");
                assert!(has_volatile(&engine, row).await, "and so is its volatile half");
            }
            let next = [round, kept.len() as u8];
            assert_eq!(get(&engine, &next).await, Ok(None), "what failed is not");
            assert!(!has_volatile(&engine, &next).await, "nor its volatile half");
            fs::remove_file(&ballast).expect("removes");
            put(&engine, b"after", vec![round]).await.expect("there is room again, and no restart was needed");
            for row in &kept {
                delete(&engine, row).await.expect("there is room");
            }
        }
        assert_eq!(engine.metrics().reopenings > 0, !honest);
        drop(engine);
        let reopened = open(scratch.0.join("data"));
        assert_eq!(get(&reopened, b"after").await, Ok(Some(vec![2].into())));
    }
}

/// A durable row and a volatile one, together.
async fn put_both(engine: &Embedded, row: &[u8], value: Bytes) -> Result<(), Fault> {
    let (durable, volatile) = (key(row), Key::new(SPACE, Column::volatile(1), &[row]));
    let answer = engine.transact(Partition::new(SPACE, row.to_vec()), move |txn| {
        txn.put(durable.clone(), value.clone());
        txn.put(volatile.clone(), "held");
        Ok::<_, Stop<()>>(())
    });
    answer.await.map(|done| done.expect("no refusal"))
}

async fn has_volatile(engine: &Embedded, row: &[u8]) -> bool {
    let key = Key::new(SPACE, Column::volatile(1), &[row]);
    let got = engine.survey(SPACE, |txn| Ok::<_, Stop<()>>(txn.get(&key)?));
    got.await.expect("no fault").expect("no refusal").is_some()
}

/// Bytes that do not compress.
fn noise(length: usize, seed: [u8; 2]) -> Bytes {
    let mut state = u64::from(u16::from_be_bytes(seed)) + 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..length).map(|_| next()).collect::<Vec<_>>().into()
}

#[tokio::test]
async fn looks_never_wait_for_the_writer() {
    let scratch = Scratch::new("looks");
    let engine = open(&scratch);
    put(&engine, b"a", "value").await.expect("there is room");
    // A decision that holds the writer until the look is done.
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = Mutex::new(held);
    let slow = engine.transact(Partition::new(SPACE, "p"), move |_| {
        held.lock().expect("not poisoned").recv().expect("is released");
        Ok::<_, Stop<()>>(())
    });
    assert_eq!(get(&engine, b"a").await, Ok(Some("value".into())));
    release.send(()).expect("the writer waits");
    assert_eq!(slow.await, Ok(Ok(())));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_look_is_of_one_state_though_half_of_it_is_hot() {
    let scratch = Scratch::new("half-hot");
    let engine = open(&scratch);
    // The pair changes together; the cold ones make looks need a snapshot before, between or after.
    let pair = [key(b"left"), key(b"right")];
    let stop = Arc::new(AtomicU64::new(0));
    let mut readers = Vec::new();
    for reader in 0..3_u64 {
        let (engine, pair, stop) = (engine.clone(), pair.clone(), stop.clone());
        readers.push(tokio::spawn(async move {
            let mut looks = 0_u64;
            while stop.load(Ordering::Relaxed) == 0 {
                let cold = key(&[&reader.to_be_bytes()[..], &looks.to_be_bytes()].concat());
                let seen = engine.survey(SPACE, |txn| {
                    if looks % 4 == 1 {
                        txn.get(&cold)?;
                    }
                    let left = txn.get(&pair[0])?;
                    if looks % 4 == 2 {
                        txn.get(&cold)?;
                    }
                    let right = txn.get(&pair[1])?;
                    if looks % 4 == 3 {
                        let found = txn.scan(&pair[0], &pair[1].successor(), 9)?;
                        assert!(found.iter().all(|(_, value)| Some(value) == left.as_ref()));
                    }
                    Ok::<_, Stop<()>>((left, right))
                });
                let (left, right) = seen.await.expect("no fault").expect("no refusal");
                assert_eq!(left, right, "look {looks} of reader {reader}");
                looks += 1;
                tokio::task::yield_now().await;
            }
            looks
        }));
    }
    for n in 0..3_000_u64 {
        let pair = pair.clone();
        let written = engine.transact(Partition::new(SPACE, "pair"), move |txn| {
            assert_eq!(txn.get(&pair[0])?, txn.get(&pair[1])?);
            pair.iter().for_each(|key| txn.put(key.clone(), n.to_be_bytes().to_vec()));
            Ok::<_, Stop<()>>(())
        });
        assert_eq!(written.await, Ok(Ok(())));
    }
    stop.store(1, Ordering::Relaxed);
    for reader in readers {
        assert!(reader.await.expect("no reader saw a half") > 0);
    }
}

/// Two rows change at a time, by as much; so the sum stays. Walks begin and end anywhere, so that stretches do; what a walk is shown must be what
/// a scan finds, which knows no stretches.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_walk_is_of_one_state_though_half_of_it_was_passed_over_before() {
    const ROWS: u64 = 64;
    const EACH: u64 = 1_000;
    let scratch = Scratch::new("stretches");
    let engine = open_with_short_ranges(&scratch);
    let row = |n: u64| key(&n.to_be_bytes());
    for n in 0..ROWS {
        put(&engine, &n.to_be_bytes(), EACH.to_be_bytes().to_vec()).await.expect("there is room");
    }
    let stop = Arc::new(AtomicU64::new(0));
    let walkers = (0..3_u64).map(|walker| {
        let (engine, stop) = (engine.clone(), stop.clone());
        tokio::spawn(async move {
            let mut looks = 0_u64;
            while stop.load(Ordering::Relaxed) == 0 {
                let (from, to) = match looks % 3 {
                    0 => (row(0), row(ROWS)),
                    _ => (row((looks * 7 + walker) % ROWS), row((looks * 13) % ROWS + 1)),
                };
                let seen = engine.survey(SPACE, |txn| {
                    let mut walked = Vec::new();
                    txn.walk(&from, &to, &mut |entry: &Entry<'_>| {
                        walked.push(entry.keep());
                        // Some are broken off.
                        if looks % 5 == 4 && walked.len() == 20 {
                            ControlFlow::Break(())
                        } else {
                            ControlFlow::Continue(())
                        }
                    })?;
                    Ok::<_, Stop<()>>((txn.scan(&from, &to, walked.len().max(1))?, walked))
                });
                let (scanned, walked) = seen.await.expect("no fault").expect("no refusal");
                assert_eq!(walked, scanned, "look {looks} of walker {walker}");
                if looks.is_multiple_of(15) {
                    assert_eq!(walked.iter().map(|(_, value)| number(value)).sum::<u64>(), ROWS * EACH);
                }
                looks += 1;
                tokio::task::yield_now().await;
            }
            looks
        })
    });
    let walkers: Vec<_> = walkers.collect();
    for n in 0..3_000_u64 {
        let (one, other) = (row(n * 31 % ROWS), row((n * 17 + 5) % ROWS));
        let moved = engine.transact(Partition::new(SPACE, "rows"), move |txn| {
            for (key, by) in [(&one, 1), (&other, u64::MAX)] {
                let value = txn.get(key)?.map_or(0, |value| number(&value)).wrapping_add(by);
                txn.put(key.clone(), value.to_be_bytes().to_vec());
            }
            Ok::<_, Stop<()>>(())
        });
        assert_eq!(moved.await, Ok(Ok(())));
    }
    stop.store(1, Ordering::Relaxed);
    for walker in walkers {
        assert!(walker.await.expect("no walker saw two states") > 0);
    }
}

/// A column that was found empty is not looked into; until something is put there, which may be while it is looked into.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_put_into_an_empty_column_is_found_there() {
    const ASIDE: Column = Column(9);
    let scratch = Scratch::new("columns");
    let engine = open(&scratch);
    let aside = |n: u64| Key::new(SPACE, ASIDE, &[&n.to_be_bytes()]);
    // Looks aside and writes something else. Says what was there.
    let look_aside = |n: u64| {
        let (engine, looked_for, written) = (engine.clone(), aside(n), key(&n.to_be_bytes()));
        async move {
            let looked = engine.transact(Partition::new(SPACE, "rows"), move |txn| {
                txn.put(written.clone(), Bytes::from_static(b"here"));
                Ok::<_, Stop<()>>(txn.get(&looked_for)?)
            });
            looked.await.expect("no fault").expect("no refusal")
        }
    };
    let write_aside = |n: u64, value: Option<&'static [u8]>| {
        let (engine, written) = (engine.clone(), aside(n));
        async move {
            let wrote = engine.transact(Partition::new(SPACE, "rows"), move |txn| {
                match value {
                    Some(value) => txn.put(written.clone(), Bytes::from_static(value)),
                    None => txn.delete(written.clone()),
                }
                Ok::<_, Stop<()>>(())
            });
            assert_eq!(wrote.await, Ok(Ok(())));
        }
    };
    for round in 0..4_u64 {
        let mut misses = 0;
        while engine.metrics().empty_columns == 0 {
            assert_eq!(look_aside(misses % 1000).await, None);
            misses += 1;
        }
        write_aside(round, Some(b"aside")).await;
        assert_eq!(engine.metrics().empty_columns, 0);
        // As often as it takes to ask again: now there is something.
        for _ in 0..200 {
            assert_eq!(look_aside(round).await.as_deref(), Some(b"aside".as_slice()));
            assert_eq!(look_aside(round + 1).await, None);
        }
        assert_eq!(engine.metrics().empty_columns, 0);
        write_aside(round, None).await;
    }
    // And with nobody waiting for anybody.
    for round in 0..200_u64 {
        let misses = async {
            for n in 0..40 {
                assert_eq!(look_aside(1000 + n).await, None);
            }
        };
        tokio::join!(misses, write_aside(round, Some(b"aside")));
        assert_eq!(look_aside(round).await.as_deref(), Some(b"aside".as_slice()), "{round}");
        write_aside(round, None).await;
    }
}

#[tokio::test]
async fn a_clean_stop_leaves_everything_in_tables() {
    let scratch = Scratch::new("tables");
    for round in 0..3_u8 {
        let engine = open(&scratch);
        for n in 0..round {
            assert_eq!(get(&engine, &[n]).await, Ok(Some(noise(6 << 20, [n, round - 1]))), "round {round}");
        }
        for n in 0..=round {
            put(&engine, &[n], noise(6 << 20, [n, round])).await.expect("there is room");
        }
        drop(engine);
        let logs = fs::read_dir(scratch.0.join("keys/log")).expect("lists");
        assert_eq!(logs.count(), 0, "round {round}");
    }
}

const CHILD: &str = "LAZULI_ENGINE_TEST_CHILD";

/// Not a test of its own: the process that `nothing_acknowledged_is_lost_to_kill_9` starts, and kills.
#[tokio::test]
async fn child_that_writes_until_it_is_killed() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let engine = open(PathBuf::from(path));
    let begin = get(&engine, b"last").await.expect("no fault").map_or(0, |bytes| number(&bytes) + 1);
    for n in begin.. {
        let pair = [key(b"last"), key(&n.to_be_bytes())];
        let written = engine.transact(Partition::new(SPACE, "pair"), move |txn| {
            pair.iter().for_each(|key| txn.put(key.clone(), n.to_be_bytes().to_vec()));
            Ok::<_, Stop<()>>(())
        });
        written.await.expect("no fault").expect("no refusal");
        println!("acknowledged {n} .");
    }
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().expect("eight bytes"))
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_to_kill_9() {
    use std::io::{BufRead, BufReader};
    let scratch = Scratch::new("kill");
    for kill in 1..=3_u64 {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", "child_that_writes_until_it_is_killed", "--nocapture"]);
        command.env(CHILD, &scratch.0).stdout(std::process::Stdio::piped());
        let mut child = start(&mut command).expect("a child");
        let mut acknowledged = None;
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
        for n in lines.filter_map(|line| line.strip_prefix("acknowledged ")?.strip_suffix(" .")?.parse::<u64>().ok()) {
            acknowledged = Some(n);
            if n >= kill * 300 {
                child.kill().expect("it can be killed");
            }
        }
        child.wait().expect("it ends");
        let acknowledged = acknowledged.expect("it wrote something");
        let engine = open(&scratch);
        let last = get(&engine, b"last").await.expect("no fault").expect("there is a last one");
        assert!(number(&last) >= acknowledged);
        for n in 0..=number(&last) {
            assert_eq!(get(&engine, &n.to_be_bytes()).await, Ok(Some(n.to_be_bytes().to_vec().into())), "{n}");
        }
        assert_eq!(get(&engine, &(number(&last) + 1).to_be_bytes()).await, Ok(None), "half a transaction");
    }
}

/// A mark that was set back stays so, and nothing else changes.
#[tokio::test]
async fn a_mark_can_be_set_back() {
    let scratch = Scratch::new("mark");
    let clock = || Clock::new(|| Stamp(5_000));
    {
        let engine = opened(&scratch.0, Options { clock: clock(), ..Options::default() }).expect("opens");
        put(&engine, b"a", "value").await.expect("writes");
    }
    let high = Embedded::mark(&scratch.0, None).expect("opens");
    assert!(high >= Stamp(5_000));
    assert_eq!(Embedded::mark(&scratch.0, Some(Stamp(100))).expect("sets back"), high);
    assert_eq!(Embedded::mark(&scratch.0, None).expect("opens"), Stamp(100));
    let engine = open(&scratch.0);
    assert_eq!(get(&engine, b"a").await, Ok(Some("value".into())));
}
