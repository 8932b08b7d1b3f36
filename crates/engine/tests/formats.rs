//! A directory of each format that was ever written opens, with all that is in it. `formats/N` has one of format N.

mod scratch;

use std::fs;
use std::path::Path;

use lazuli_engine::Engine;
use lazuli_engine::embedded::{Embedded, Options};
use scratch::{Scratch, all, contents, copy, files, read, refusal, write};

/// As `formats/N`, made by a Lazuli of its time: a table, and batches that are in the log alone, since it was killed.
fn of_format(number: u32, name: &str) -> Scratch {
    let scratch = Scratch::in_memory(&format!("format-{number}-{name}"));
    put_format(number, &scratch);
    scratch
}

fn put_format(number: u32, scratch: &Scratch) {
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats").join(number.to_string()), &scratch.0);
    // That of format 1 is empty, and such are not kept.
    fs::create_dir_all(scratch.0.join("extents")).expect("creates");
}

fn open(scratch: &Scratch) -> Embedded {
    Embedded::open(scratch, Options::default()).expect("opens")
}

/// What was written into each of them.
async fn expect_all(engine: &Embedded) {
    assert!(engine.now().0 >= 638_000_000_000_000_000, "the clock goes on");
    for row in 1_000..1_400 {
        let n = row - 1_000;
        let expected = match (n % 2, n / 2) {
            (0, half) => Some(format!("second {half}")),
            (_, half) if half < 50 => None,
            _ => Some(format!("first {n}")),
        };
        assert_eq!(
            read(engine, row).await.expect("no fault").as_deref(),
            expected.as_ref().map(String::as_bytes),
            "{row}"
        );
    }
    let long: Vec<u8> = (0..9_000_u32).map(|n| (n * n) as u8).collect();
    assert_eq!(read(engine, 5_000).await.expect("no fault").as_deref(), Some(&long[..]));
    assert_eq!(all(engine).await.expect("no fault").len(), 351, "and nothing else");
}

#[tokio::test]
async fn every_format_opens_and_goes_on() {
    for number in FORMATS {
        let scratch = of_format(number, "opens");
        for round in 0..3 {
            let engine = open(&scratch);
            if round > 0 {
                assert_eq!(read(&engine, 1).await, Ok(Some(vec![round].into())), "format {number}");
                write(&engine, 1, None).await.expect("there is room");
            }
            expect_all(&engine).await;
            write(&engine, 1, Some(vec![round + 1])).await.expect("there is room");
        }
    }
}

const FORMATS: [u32; 2] = [1, 2];

#[tokio::test]
async fn what_was_left_of_a_move_that_was_cut_short_does_not_matter() {
    let scratch = of_format(1, "cut-short");
    let old = contents(&scratch.0.join("keys"));
    // Before the marker was written: some of the new keys are there.
    fs::create_dir_all(scratch.0.join("keys/tree/tables")).expect("creates");
    fs::create_dir_all(scratch.0.join("keys/log")).expect("creates");
    for name in ["tree/current", "tree/tables/0", "log/00000001.log", "inventory", "inventory.new"] {
        fs::write(scratch.0.join("keys").join(name), "half").expect("writes");
    }
    let engine = open(&scratch);
    expect_all(&engine).await;
    drop(engine);
    // After it: some of the old ones are.
    for (path, bytes) in old {
        fs::create_dir_all(path.parent().expect("a parent")).expect("creates");
        fs::write(path, bytes).expect("writes");
    }
    let engine = open(&scratch);
    expect_all(&engine).await;
    assert!(
        !files(&scratch.0).iter().any(|path| path.to_string_lossy().contains("keyspaces") || path.ends_with("0.jnl"))
    );
}

/// C1 in a directory of format 1: whatever byte of the journal is changed, what was acknowledged is refused or there.
#[tokio::test]
async fn a_journal_with_a_flipped_bit_is_refused() {
    let scratch = of_format(1, "flipped");
    let path = scratch.0.join("keys/0.jnl");
    let whole = fs::read(&path).expect("a journal");
    let before = contents(&scratch.0);
    let step = if cfg!(debug_assertions) { 5 } else { 1 };
    // The magic bytes that end the last batch: without them it looks like one that was broken off.
    for at in (0..whole.len() - 4).step_by(step) {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        fs::write(&path, &flipped).expect("writes");
        // The number of the first batch, and of the last, may be some others.
        if let Ok(engine) = Embedded::open(&scratch, Options::default()) {
            expect_all(&engine).await;
            drop(engine);
            fs::remove_dir_all(&scratch.0).expect("goes");
            put_format(1, &scratch);
        }
    }
    fs::write(&path, &whole).expect("writes");
    assert!(contents(&scratch.0) == before, "a refusal changes nothing");
    expect_all(&open(&scratch)).await;
}

/// M4 in a directory of format 1.
#[test]
fn keys_that_lost_a_file_are_refused() {
    let scratch = of_format(1, "lost");
    for path in files(&scratch.0.join("keys")) {
        if path.ends_with("lock") {
            continue;
        }
        let bytes = fs::read(&path).expect("reads");
        fs::remove_file(&path).expect("removes");
        let before = contents(&scratch.0);
        assert!(refusal(&scratch).contains("is missing"), "{}: {}", path.display(), refusal(&scratch));
        assert!(contents(&scratch.0) == before, "a refusal changes nothing: {}", path.display());
        fs::write(&path, bytes).expect("writes");
    }
    for path in
        ["keys", "keys/keyspaces", "keys/keyspaces/0", "keys/keyspaces/1", "extents"].map(|path| scratch.0.join(path))
    {
        fs::rename(&path, scratch.0.join("elsewhere")).expect("renames");
        assert!(refusal(&scratch).contains("is missing"), "{}: {}", path.display(), refusal(&scratch));
        fs::rename(scratch.0.join("elsewhere"), &path).expect("renames");
    }
    drop(open(&scratch));
}
