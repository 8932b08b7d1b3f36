//! `check` lists what is damaged, and `salvage` copies what is whole; neither changes what it reads.

mod scratch;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use bytes::{BufMut, Bytes, BytesMut};
use lazuli_engine::content::{Content, Piece};
use lazuli_engine::embedded::{self, Embedded, Options, Report};
use lazuli_engine::extents::{self, Extents};
use lazuli_engine::{Fault, Key};
use scratch::{Scratch, all, contents, copy, files, write};

/// Rows from here on claim a piece.
const CLAIMS: u32 = 9_000;

fn small() -> Options {
    Options { memtable_bytes: 24 << 10, cache_bytes: 1 << 20, ..Options::default() }
}

fn claim(key: &Key, value: &[u8]) -> Option<Piece> {
    let row = u32::from_be_bytes(key.row()[..].try_into().ok()?);
    let word = |at: usize| u64::from_be_bytes(value[at..at + 8].try_into().expect("8 bytes"));
    (row >= CLAIMS).then(|| Piece { extent: word(0), offset: word(8), length: word(16), seal: word(24) })
}

fn check(path: &Path) -> Report {
    let before = contents(path);
    let report = embedded::check(path, &claim, &mut |_| {}).expect("can be checked");
    assert!(contents(path) == before, "it is only read");
    report
}

async fn stage(extents: &Extents, bytes: Bytes) -> Piece {
    let mut stage = extents.stage(None);
    stage.write(bytes).await.expect("there is room");
    let staged = stage.finish().await.expect("there is room");
    let piece = staged.pieces()[0];
    staged.adopted();
    piece
}

/// Tables, several files of the log, and content.
async fn world(at: &Scratch) -> Vec<(Key, Bytes)> {
    for round in 0..3_u32 {
        let engine = Embedded::open(at, small()).expect("opens");
        let extents = Extents::open(&engine.directory().extents(), extents::Options::default()).expect("opens");
        for row in 0..300 {
            let value: Vec<u8> = (0..60).map(|n| (1 + (row + n + round) % 250) as u8).collect();
            write(&engine, row, Some(value)).await.expect("there is room");
        }
        write(&engine, 7, None).await.expect("there is room");
        let Piece { extent, offset, length, seal } = stage(&extents, Bytes::from(vec![round as u8 + 1; 100_000])).await;
        let mut value = BytesMut::new();
        [extent, offset, length, seal].iter().for_each(|word| value.put_u64(*word));
        write(&engine, CLAIMS + round, Some(value.to_vec())).await.expect("there is room");
    }
    let engine = Embedded::open(at, small()).expect("opens");
    for row in 0..12 {
        write(&engine, 2_000 + row, Some(vec![row as u8 + 1; 50])).await.expect("there is room");
    }
    all(&engine).await.expect("no fault")
}

fn salvage(from: &Scratch, to: &Scratch) -> Report {
    let before = contents(&from.0);
    let report = embedded::salvage(&from.0, &to.0, &mut |_| {}).expect("can be copied");
    assert!(contents(&from.0) == before, "it is only read");
    report
}

#[tokio::test]
async fn what_is_whole_is_found_so_and_copied_whole() {
    let from = Scratch::in_memory("rescue-whole");
    let rows = world(&from).await;
    let report = check(&from.0);
    assert_eq!(report.damage, Vec::<String>::new());
    assert!(
        report.tables >= 1 && report.batches > 10 && report.pieces == 3 && report.piece_bytes == 300_000,
        "{report:?}"
    );
    let to = Scratch::in_memory("rescue-whole-to");
    assert_eq!(salvage(&from, &to).damage, Vec::<String>::new());
    assert_eq!(check(&to.0).damage, Vec::<String>::new());
    let engine = Embedded::open(&to, small()).expect("opens");
    assert_eq!(all(&engine).await, Ok(rows.clone()));
    let extents = Extents::open(&engine.directory().extents(), extents::Options::default()).expect("opens");
    for (key, value) in &rows {
        if let Some(piece) = claim(key, value) {
            assert!(matches!(extents.read(piece, 0, 10).next().await, Ok(Some(_))));
        }
    }
    assert!(embedded::salvage(&from.0, &to.0, &mut |_| {}).is_err(), "not into what is there");
    assert!(embedded::check(&to.0, &claim, &mut |_| {}).is_err(), "not while it is used");
}

/// Changes a byte in the middle of the file.
fn spoil(path: &Path, at: usize) {
    let mut bytes = fs::read(path).expect("reads");
    bytes[at] ^= 0x40;
    fs::write(path, bytes).expect("writes");
}

#[tokio::test]
async fn what_is_damaged_is_listed_and_all_else_is_copied() {
    let whole = Scratch::in_memory("rescue-damaged");
    let rows = world(&whole).await;
    let one = |part: &str| -> String {
        let found = files(&whole.0).into_iter().rfind(|path| path.to_string_lossy().contains(part)).expect(part);
        found.strip_prefix(&whole.0).expect("below").to_string_lossy().into_owned()
    };
    // File, place, and how many rows may be missing.
    let cases = [
        (one("keys/log/"), 64 + 300, 1),
        (one("keys/log/"), 40, 0),
        (one("tree/tables/"), 3_000, 150),
        (one("keys/inventory"), 30, 0),
        (one("tree/current"), 3, 0),
        (one("extents/inventory"), 10, 0),
        (one(".extent"), 20, 0),
        (one(".extent"), 4_096 + 500, 0),
    ];
    for (name, place, missing) in cases {
        let (from, to) = (Scratch::in_memory("rescue-from"), Scratch::in_memory("rescue-to"));
        copy(&whole.0, &from.0);
        spoil(&from.0.join(&name), place);
        let report = check(&from.0);
        assert!(!report.damage.is_empty(), "{name} at {place}");
        assert!(
            report.damage.iter().all(|what| what.contains(from.0.to_str().expect("a path"))),
            "{:?}",
            report.damage
        );
        let report = salvage(&from, &to);
        assert_eq!(
            report.damage.is_empty(),
            place == 4_096 + 500 || (name.contains("log") && place == 40) || name == "keys/inventory",
            "{name} at {place}: {:?}",
            report.damage
        );
        let engine = Embedded::open(&to, small()).expect("opens");
        let found: BTreeMap<Key, Bytes> = all(&engine).await.expect("no fault").into_iter().collect();
        let lost = rows.iter().filter(|(key, _)| !found.contains_key(key)).count();
        assert!(lost <= missing, "{name} at {place}: {lost} rows are lost, {:?}", report.damage);
        let other = rows.iter().filter(|(key, value)| found.get(key).is_some_and(|found| found != value)).count();
        assert!(other <= missing, "{name} at {place}: {other} rows are older");
        let extents = Extents::open(&engine.directory().extents(), extents::Options::default()).expect("opens");
        for piece in rows.iter().filter_map(|(key, value)| claim(key, value)) {
            let read = extents.read(piece, 0, 10).next().await;
            assert!(matches!(read, Ok(Some(_)) | Err(Fault::Corrupt(_))), "{read:?}");
        }
    }
}

/// Lost files are lost; what is in the others is not.
#[tokio::test]
async fn a_lost_file_is_named() {
    let whole = Scratch::in_memory("rescue-lost");
    world(&whole).await;
    for path in files(&whole.0) {
        let name = path.strip_prefix(&whole.0).expect("below").to_owned();
        if name.ends_with("lock") || name.ends_with("lazuli.format") || name == Path::new("extents/inventory") {
            continue;
        }
        let (from, to) = (Scratch::in_memory("rescue-lost-from"), Scratch::in_memory("rescue-lost-to"));
        copy(&whole.0, &from.0);
        fs::remove_file(from.0.join(&name)).expect("removes");
        if check(&from.0).damage.is_empty() {
            // A version of the tree that is no longer the one.
            assert!(name.starts_with("keys/tree/v"), "{}", name.display());
            continue;
        }
        salvage(&from, &to);
        drop(Embedded::open(&to, small()).expect("opens"));
        // Something else under its name is no better, and does not hold anybody up.
        let again = Scratch::in_memory("rescue-lost-again");
        fs::create_dir(from.0.join(&name)).expect("makes");
        assert!(!salvage(&from, &again).damage.is_empty() || name == Path::new("keys/inventory"), "{}", name.display());
        drop(Embedded::open(&again, small()).expect("opens"));
    }
}

/// Directories of format 1, too.
#[tokio::test]
async fn what_an_older_lazuli_wrote_is_checked_and_copied() {
    let (from, to) = (Scratch::in_memory("rescue-old"), Scratch::in_memory("rescue-old-to"));
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/1"), &from.0);
    fs::create_dir_all(from.0.join("extents")).expect("creates");
    assert_eq!(check(&from.0).damage, Vec::<String>::new());
    assert_eq!(salvage(&from, &to).damage, Vec::<String>::new());
    let engine = Embedded::open(&to, small()).expect("opens");
    assert_eq!(all(&engine).await.expect("no fault").len(), 351);
    drop(engine);
    spoil(&from.0.join("keys/0.jnl"), 9_000);
    assert!(check(&from.0).damage[0].contains("0.jnl"));
}
