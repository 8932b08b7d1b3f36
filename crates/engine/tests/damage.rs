//! Damage to any file, at any place: the engine refuses to open, and changes nothing; or it opens, and each row is as it was acknowledged
//! or an error. Never other bytes, never fewer rows.

mod scratch;

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use lazuli_engine::embedded::{Embedded, Options};
use lazuli_engine::{Fault, Key};
use scratch::{Scratch, all, contents, copy, files, read, refusal, write};

type Rows = Vec<(Key, Bytes)>;

/// Directories with tables of several levels and several files of the log, and what is in them.
struct World {
    /// As a process left it that was killed after its last answer.
    killed: Scratch,
    /// And one that stopped in order.
    closed: Scratch,
    rows: Rows,
}

/// Memtables are small, so that there are many tables.
fn small() -> Options {
    Options { memtable_bytes: 24 << 10, cache_bytes: 1 << 20, ..Options::default() }
}

/// Never blank, so that a sector that is blank was lost.
fn value(row: u32, round: u32) -> Vec<u8> {
    (0..20 + row % 90).map(|at| (1 + (row * 31 + round * 7 + at * 13) % 255) as u8).collect()
}

impl World {
    async fn new(name: &str) -> Self {
        let live = Scratch::in_memory(&format!("{name}-live"));
        let engine = Embedded::open(&live, small()).expect("opens");
        for round in 0..3 {
            for row in 0..500 {
                write(&engine, row, Some(value(row, round))).await.expect("there is room");
            }
        }
        for row in (0..500).step_by(9) {
            write(&engine, row, None).await.expect("there is room");
        }
        drop(engine);
        // Each start begins a file.
        for row in 0..2 {
            let engine = Embedded::open(&live, small()).expect("opens");
            write(&engine, 1_000 + row, Some(value(row, 9))).await.expect("there is room");
        }
        let engine = Embedded::open(&live, small()).expect("opens");
        for row in 0..12 {
            write(&engine, 2_000 + row, Some(value(row, 5))).await.expect("there is room");
        }
        let rows = all(&engine).await.expect("no fault");
        let killed = Scratch::in_memory(&format!("{name}-killed"));
        copy_when_idle(&live.0, &killed.0);
        drop(engine);
        let closed = Scratch::in_memory(&format!("{name}-closed"));
        copy(&live.0, &closed.0);
        let world = Self { killed, closed, rows };
        for left in [&world.killed, &world.closed] {
            let count = |part: &str| files(&left.0).iter().filter(|path| path.to_string_lossy().contains(part)).count();
            assert!(count("keys/log/") >= 3 && count("keys/tree/tables/") >= 2, "{:?}", files(&left.0));
        }
        world
    }

    fn left(&self) -> [(&'static str, &Path); 2] {
        [("killed", &self.killed.0), ("closed", &self.closed.0)]
    }
}

/// A thread may still be writing tables.
fn copy_when_idle(from: &Path, to: &Path) {
    loop {
        let before = contents(from);
        copy(from, to);
        if contents(from) == before {
            return;
        }
        fs::remove_dir_all(to).expect("goes");
    }
}

#[derive(Debug, Default)]
struct Tally {
    tried: usize,
    refused: usize,
    errors: usize,
    right: usize,
}

impl Tally {
    /// Opens what was damaged. `whole` is what it was before, and is put back.
    async fn attempt(&mut self, at: &Path, whole: &Path, rows: &Rows, what: &str) {
        let damaged = contents(at);
        self.tried += 1;
        match Embedded::open(at, small()) {
            Err(_) => {
                self.refused += 1;
                assert!(contents(at) == damaged, "{what}: a refusal changes nothing");
                return;
            }
            Ok(engine) => match all(&engine).await {
                Ok(found) => {
                    assert!(found == *rows, "{what}: {} rows instead of {}", found.len(), rows.len());
                    self.right += 1;
                }
                Err(Fault::Corrupt(_)) => {
                    self.errors += 1;
                    for (key, value) in rows {
                        let row = u32::from_be_bytes(key.row()[..].try_into().expect("a row"));
                        match read(&engine, row).await {
                            Ok(found) => assert_eq!(found.as_ref(), Some(value), "{what}: row {row}"),
                            Err(fault) => assert!(matches!(fault, Fault::Corrupt(_)), "{what}: {fault:?}"),
                        }
                    }
                }
                Err(other) => panic!("{what}: {other:?}"),
            },
        }
        fs::remove_dir_all(at).expect("goes");
        copy(whole, at);
    }
}

fn kind(path: &Path) -> &'static str {
    let name = path.to_string_lossy();
    let kinds = ["extents/", "keys/log/", "tables/", "current", "keys/inventory", "lazuli.format", "tree/v"];
    kinds.into_iter().find(|kind| name.contains(kind)).unwrap_or("others")
}

/// C1, for every kind of file: a bit is flipped at every place of what is short, and at many of what is long.
#[tokio::test]
async fn a_flipped_bit_is_refused_or_does_no_harm() {
    let world = World::new("flips").await;
    for (name, whole) in world.left() {
        let at = Scratch::in_memory(&format!("flips-{name}-damaged"));
        copy(whole, &at.0);
        let mut tallies = std::collections::BTreeMap::<_, Tally>::new();
        // Extents are opened by somebody else, and tried there.
        for path in files(&at.0).into_iter().filter(|path| kind(path) != "extents/") {
            let bytes = fs::read(&path).expect("reads");
            // Blank ends are tried elsewhere (`log/tests.rs`).
            let length = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            let step = if kind(&path) == "tables/" { length / 60 + 1 } else { length / 900 + 1 };
            for place in (0..length).step_by(step) {
                let mut flipped = bytes.clone();
                flipped[place] ^= 1 << (place % 8);
                fs::write(&path, flipped).expect("writes");
                let what = format!("{name}, byte {place} of {}", path.display());
                tallies.entry(kind(&path)).or_default().attempt(&at.0, whole, &world.rows, &what).await;
                fs::write(&path, &bytes).expect("writes");
            }
        }
        println!("{name}: {tallies:#?}");
        for kind in ["keys/log/", "current", "keys/inventory"] {
            assert_eq!(
                tallies[kind].tried, tallies[kind].refused,
                "{name}: every flip in {kind} is noticed at the start"
            );
        }
    }
}

/// C1: each part of a batch in the middle of a file, by name.
#[tokio::test]
async fn every_part_of_a_batch_is_under_its_checksums() {
    let world = World::new("parts").await;
    for (name, whole) in world.left() {
        let at = Scratch::in_memory(&format!("parts-{name}-damaged"));
        copy(whole, &at.0);
        let log = files(&at.0.join("keys/log")).pop().expect("a log");
        let bytes = fs::read(&log).expect("reads");
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let length = |at: usize| 56 + word(at + 8).next_multiple_of(8) as usize + 8;
        // The fourth of the twelve batches of the newest file.
        let batch = (0..3).fold(64, |at, _| at + length(at));
        let parts = [
            ("magic", 0),
            ("count", 4),
            ("length", 8),
            ("sequence", 16),
            ("previous", 24),
            ("mark", 32),
            ("reach", 40),
            ("checksum of the head", 48),
            ("kind of the entry", 56),
            ("length of the key", 57),
            ("length of the value", 59),
            ("key", 63 + 10),
            ("value", 63 + 21 + 3),
            ("checksum", length(batch) - 8),
        ];
        for (part, offset) in parts {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[batch + offset] ^= 1 << bit;
                fs::write(&log, flipped).expect("writes");
                let why = refusal(&at);
                assert!(why.contains(&format!("at byte {batch}, batch")), "{name}, {part}: {why}");
                assert!(why.contains("lazuli check") && why.contains("lazuli salvage"), "{why}");
            }
        }
    }
}

/// M4: whatever file is gone, or shorter, the engine says so and begins nothing anew.
#[tokio::test]
async fn a_lost_file_is_refused() {
    let world = World::new("lost").await;
    for (name, whole) in world.left() {
        let at = Scratch::in_memory(&format!("lost-{name}-damaged"));
        copy(whole, &at.0);
        for path in files(&at.0) {
            let bytes = fs::read(&path).expect("reads");
            let mut shorter = vec![None];
            if !["others", "extents/"].contains(&kind(&path)) {
                let length = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                shorter.extend([0, 1, length / 2, length - 1].map(|length| Some(&bytes[..length])));
                if kind(&path) == "keys/log/" {
                    shorter.push(Some(&bytes[..last_batch(&bytes)]));
                }
            }
            for left in shorter {
                match left {
                    None => fs::remove_file(&path).expect("removes"),
                    Some(left) => fs::write(&path, left).expect("writes"),
                }
                let mut tally = Tally::default();
                let what = format!("{name}, {} bytes left of {}", left.map_or(0, <[u8]>::len), path.display());
                tally.attempt(&at.0, whole, &world.rows, &what).await;
                // The lock, and versions of the tree that are no longer the one.
                let matters = !path.ends_with("lock") && (kind(&path) != "tree/v" || is_current(&path, whole));
                assert_eq!(tally.refused, usize::from(matters), "{what}: {tally:?}");
                fs::write(&path, &bytes).expect("writes");
            }
        }
        for directory in ["keys", "keys/log", "keys/tree", "keys/tree/tables", "extents"].map(|path| at.0.join(path)) {
            fs::rename(&directory, at.0.join("elsewhere")).expect("renames");
            let why = refusal(&at);
            assert!(why.contains("missing"), "{}: {why}", directory.display());
            assert!(!directory.exists(), "nothing is made anew");
            fs::rename(at.0.join("elsewhere"), &directory).expect("renames");
        }
    }
}

/// Where the last batch of a file of the log begins.
fn last_batch(log: &[u8]) -> usize {
    let (mut at, mut next) = (64, 64);
    while log.get(next).is_some_and(|byte| *byte != 0) {
        at = next;
        next += 64 + u64::from_le_bytes(log[at + 8..at + 16].try_into().expect("8 bytes")).next_multiple_of(8) as usize;
    }
    at
}

fn is_current(path: &Path, whole: &Path) -> bool {
    let current = fs::read(whole.join("keys/tree/current")).expect("reads");
    let number = u64::from_le_bytes(current[..8].try_into().expect("8 bytes"));
    path.ends_with(format!("v{number}"))
}

/// What is damaged stays refused, and what is mended opens.
#[tokio::test]
async fn a_refused_directory_opens_when_it_is_mended() {
    let world = World::new("mended").await;
    for (_, whole) in world.left() {
        let log: PathBuf = files(&whole.join("keys/log")).remove(1);
        let bytes = fs::read(&log).expect("reads");
        fs::remove_file(&log).expect("removes");
        assert!(refusal(whole).contains(&format!("{}: it is missing", log.display())));
        fs::write(&log, bytes).expect("writes");
        let engine = Embedded::open(whole, small()).expect("opens");
        assert_eq!(all(&engine).await, Ok(world.rows.clone()));
    }
}

/// A batch that a power cut tore was never acknowledged: it goes, and all before it stays. Torn in the middle, it is damage.
#[tokio::test]
async fn a_torn_last_batch_is_cut_off_and_a_torn_earlier_one_is_damage() {
    let world = World::new("torn").await;
    let at = Scratch::in_memory("torn-damaged");
    for (is_last, opens) in [(true, true), (false, false)] {
        copy(&world.killed.0, &at.0);
        let log = files(&at.0.join("keys/log")).pop().expect("a log");
        let mut bytes = fs::read(&log).expect("reads");
        let end = bytes.iter().rposition(|byte| *byte != 0).expect("batches") + 1;
        let torn = if is_last { end.next_multiple_of(8) } else { end.next_multiple_of(8) - 400 };
        bytes[torn - 100..torn].fill(0);
        fs::write(&log, bytes).expect("writes");
        if !opens {
            assert!(refusal(&at).contains("batch"));
            continue;
        }
        for round in 0..2 {
            let engine = Embedded::open(&at, small()).expect("opens");
            let mut found = all(&engine).await.expect("no fault");
            found.retain(|(key, _)| key.row() != 5_000_u32.to_be_bytes()[..]);
            assert!(found == world.rows[..world.rows.len() - 1], "round {round}: all but the last");
            write(&engine, 5_000, Some(vec![1])).await.expect("there is room");
        }
        fs::remove_dir_all(&at.0).expect("goes");
    }
}
