//! Extents against the real file system, in a directory of their own.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bytes::{Bytes, BytesMut};

use super::layout::{HEADER, crc64, footer_length, room};
use super::{Extents, OpenError, Options};
use crate::Fault;
use crate::content::{Content, Memory, PIECE_MAX, Piece, Recovery, Staged};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// A directory that goes when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lazuli-extents-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn open(&self) -> Extents {
        self.open_with(Options::default())
    }

    fn open_with(&self, options: Options) -> Extents {
        Extents::open(&self.0, options).expect("a directory of extents")
    }

    fn files(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(&self.0)
            .expect("the directory")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name"))
            .filter(|name| !name.starts_with("inventory"))
            .collect();
        names.sort();
        names
    }

    /// Bytes on disk, holes left out.
    fn used(&self) -> u64 {
        self.files().iter().map(|name| fs::metadata(self.0.join(name)).expect("a file").blocks() * 512).sum()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Bytes that differ everywhere and between seeds.
fn pattern(length: u64, seed: u64) -> Bytes {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = BytesMut::with_capacity(length as usize + 8);
    while (bytes.len() as u64) < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length as usize);
    bytes.freeze()
}

async fn put(content: &dyn Content, bytes: &Bytes, expected: Option<u64>, step: usize) -> Result<Staged, Fault> {
    let mut stage = content.stage(expected);
    for part in bytes.chunks(step.max(1)) {
        stage.write(bytes.slice_ref(part)).await?;
    }
    stage.finish().await
}

async fn keep(content: &dyn Content, bytes: &Bytes) -> Vec<Piece> {
    let staged = put(content, bytes, Some(bytes.len() as u64), 100_000).await.expect("room");
    let pieces = staged.pieces().to_vec();
    staged.adopted();
    pieces
}

async fn get(content: &dyn Content, piece: Piece, from: u64, to: u64) -> Result<Bytes, Fault> {
    let mut chunks = content.read(piece, from, to);
    let mut all = BytesMut::new();
    while let Some(chunk) = chunks.next().await? {
        assert!(!chunk.is_empty() && chunk.len() as u64 <= MIB, "chunks suit streaming");
        all.extend_from_slice(&chunk);
    }
    Ok(all.freeze())
}

async fn get_all(content: &dyn Content, pieces: &[Piece]) -> Result<Bytes, Fault> {
    let mut all = BytesMut::new();
    for piece in pieces {
        all.extend_from_slice(&get(content, *piece, 0, piece.length).await?);
    }
    Ok(all.freeze())
}

#[tokio::test]
async fn what_was_written_is_read() {
    let scratch = Scratch::new("round");
    let (extents, memory) = (scratch.open(), Memory::new());
    let buffered = Scratch::new("round-buffered");
    let plain = buffered.open_with(Options { direct: false, ..Options::default() });
    let contents: [&dyn Content; 3] = [&extents, &memory, &plain];
    let sizes = [0, 1, 511, 4095, 4096, 4097, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 300_000, MIB - 1, MIB];
    let longer = [MIB + 1, 4 * MIB, 5 * MIB + 12_345, 9 * MIB];
    for length in sizes.into_iter().chain(longer) {
        let bytes = pattern(length, length);
        // Known, unknown, too little, too much: what was expected is only a hint.
        for expected in [Some(length), None, Some(length / 2), Some(length * 2 + 1), Some(100)] {
            for content in contents {
                let staged = put(content, &bytes, expected, 77_777).await.expect("room");
                assert_eq!(staged.crc64(), crc64(&bytes), "{length} bytes, {expected:?} expected");
                assert_eq!(staged.length(), length);
                assert!(staged.pieces().iter().all(|piece| piece.length > 0 && piece.length <= PIECE_MAX));
                assert_eq!(get_all(content, staged.pieces()).await, Ok(bytes.clone()), "{length}, {expected:?}");
            }
        }
    }
}

#[tokio::test]
async fn long_content_is_several_pieces() {
    let (scratch, memory) = (Scratch::new("long"), Memory::new());
    let extents = scratch.open_with(Options { capacity: 100 * MIB, ..Options::default() });
    let bytes = pattern(PIECE_MAX * 2 + 70_000, 5);
    for content in [&extents as &dyn Content, &memory] {
        for expected in [Some(bytes.len() as u64), None] {
            let staged = put(content, &bytes, expected, 3_000_000).await.expect("room");
            assert!(staged.pieces().len() >= 3);
            assert_eq!(staged.crc64(), crc64(&bytes));
            assert_eq!(get_all(content, staged.pieces()).await, Ok(bytes.clone()));
        }
    }
}

#[tokio::test]
async fn any_range_is_read() {
    let (scratch, memory) = (Scratch::new("ranges"), Memory::new());
    let extents = scratch.open();
    let bytes = pattern(700_001, 3);
    let edges = [0, 1, 65_535, 65_536, 65_537, 262_143, 262_144, 262_145, 500_000, 700_000, 700_001];
    for content in [&extents as &dyn Content, &memory] {
        let piece = keep(content, &bytes).await[0];
        for from in edges {
            for to in edges.into_iter().filter(|to| *to >= from) {
                let got = get(content, piece, from, to).await;
                assert_eq!(got, Ok(bytes.slice(from as usize..to as usize)), "{from}..{to}");
            }
        }
        assert!(matches!(get(content, piece, 0, 700_002).await, Err(Fault::Corrupt(_))), "past the end");
    }
}

#[tokio::test]
async fn damage_is_never_read_as_data() {
    let scratch = Scratch::new("damage");
    let bytes = pattern(200_000, 9);
    let extents = scratch.open();
    let piece = keep(&extents, &bytes).await[0];
    drop(extents);
    let path = scratch.0.join("00000001.extent");
    let file = fs::OpenOptions::new().read(true).write(true).open(&path).expect("the extent");

    // Each region of the room: every block's edges, and the whole footer.
    let blocks = [0, 65_535, 65_536, 131_071, 131_072, 196_607, 196_608, 199_999];
    let footer = piece.length..piece.length + footer_length(piece.length);
    for at in blocks.into_iter().chain(footer.clone()) {
        let mut byte = [0];
        file.read_exact_at(&mut byte, piece.offset + at).expect("a byte");
        file.write_all_at(&[byte[0] ^ 1 << (at % 8)], piece.offset + at).expect("damage");
        let extents = scratch.open();
        let whole = get(&extents, piece, 0, piece.length).await;
        assert!(matches!(whole, Err(Fault::Corrupt(_))), "byte {at}: {whole:?}");
        if !footer.contains(&at) {
            // Other blocks are as good as before.
            let block = at / 65_536;
            let other = (block + 1) % 4 * 65_536;
            let part = get(&extents, piece, other, other + 10).await;
            assert_eq!(part, Ok(bytes.slice(other as usize..other as usize + 10)), "byte {at}");
        }
        drop(extents);
        file.write_all_at(&byte, piece.offset + at).expect("repair");
    }

    let extents = scratch.open();
    assert_eq!(get(&extents, piece, 0, piece.length).await, Ok(bytes.clone()), "repaired");
    // A record that names another place, length or seal is not satisfied by what is there.
    let wrong = [
        Piece { offset: piece.offset + 4096, ..piece },
        Piece { length: piece.length - 1, ..piece },
        Piece { length: piece.length + 65_536, ..piece },
        Piece { extent: 2, ..piece },
        Piece { seal: piece.seal ^ 1, ..piece },
    ];
    for wrong in wrong {
        assert!(matches!(get(&extents, wrong, 0, 10).await, Err(Fault::Corrupt(_))), "{wrong:?}");
    }
    // A file cut short is a fault, not a panic; and the next start finds it out.
    drop(extents);
    let extents = scratch.open();
    file.set_len(piece.offset + 100_000).expect("a cut");
    assert!(matches!(get(&extents, piece, 0, 10).await, Err(Fault::Corrupt(_))));
    drop(extents);
    assert!(matches!(Extents::open(&scratch.0, Options::default()), Err(OpenError::Lost(_))));
}

/// M4: a lost extent keeps the directory from being opened, and nothing is made, settled or removed meanwhile.
#[tokio::test]
async fn a_lost_extent_is_refused() {
    let scratch = Scratch::new("lost");
    let extents = scratch.open_with(Options { lanes: 1, capacity: 64 << 10, ..Options::default() });
    for seed in 0..3 {
        keep(&extents, &pattern(100_000, seed)).await;
    }
    // The last is open, as after a kill. The inventory may still be on its way.
    std::mem::forget(extents.core.clone());
    while scratch.0.join("inventory.new").exists() {
        tokio::task::yield_now().await;
    }
    let names = scratch.files();
    assert!(names.len() >= 3 && names.iter().any(|name| name.ends_with(".open")), "{names:?}");
    let copy = Scratch::new("lost-copy");
    fs::create_dir_all(&copy.0).expect("a directory");
    for name in names.iter().map(String::as_str).chain(["inventory"]) {
        fs::copy(scratch.0.join(name), copy.0.join(name)).expect("a copy");
    }
    for name in &names {
        fs::rename(copy.0.join(name), scratch.0.with_extension("away")).expect("moves");
        assert!(matches!(Extents::open(&copy.0, Options::default()), Err(OpenError::Lost(_))), "{name}");
        assert_eq!(copy.files().len(), names.len() - 1, "{name}");
        fs::rename(scratch.0.with_extension("away"), copy.0.join(name)).expect("moves");
    }
    let mut listed = fs::read(copy.0.join("inventory")).expect("an inventory");
    listed[20] ^= 1;
    fs::write(copy.0.join("inventory"), listed).expect("writes");
    assert!(matches!(Extents::open(&copy.0, Options::default()), Err(OpenError::Inventory(_))));
    // What a crash left of a probe, or of an extent that was being made.
    for unfinished in [u64::MAX, 99] {
        fs::write(copy.0.join(format!("{unfinished:08}.new")), b"").expect("writes");
    }
    // Before there were inventories: what is there is listed.
    fs::remove_file(copy.0.join("inventory")).expect("removes");
    drop(copy.open());
    assert!(copy.0.join("inventory").exists());
}

#[tokio::test]
async fn bytes_swapped_between_places_are_caught() {
    let scratch = Scratch::new("swap");
    let extents = scratch.open_with(Options { lanes: 1, ..Options::default() });
    let (a, b) = (keep(&extents, &pattern(5000, 1)).await[0], keep(&extents, &pattern(5000, 2)).await[0]);
    drop(extents);
    let file = fs::OpenOptions::new().read(true).write(true).open(scratch.0.join("00000001.extent")).expect("open");
    let mut whole = vec![0; room(5000) as usize];
    file.read_exact_at(&mut whole, b.offset).expect("read");
    file.write_all_at(&whole, a.offset).expect("a misdirected write");
    let extents = scratch.open();
    assert!(matches!(get(&extents, a, 0, 5000).await, Err(Fault::Corrupt(_))));
    assert!(get(&extents, b, 0, 5000).await.is_ok());
}

#[tokio::test]
async fn freed_space_returns() {
    let scratch = Scratch::new("freed");
    let extents = scratch.open_with(Options { lanes: 1, ..Options::default() });
    let (first, second) = (pattern(3 * MIB, 1), pattern(100_001, 2));
    let (gone, kept) = (keep(&extents, &first).await, keep(&extents, &second).await);
    let before = scratch.used();
    drop(extents.free(gone.clone()));
    extents.freed().await;
    assert!(before - scratch.used() >= 3 * MIB, "{before} before, {} after", scratch.used());
    assert_eq!(get_all(&extents, &kept).await, Ok(second.clone()), "its neighbour is whole");
    assert!(matches!(get_all(&extents, &gone).await, Err(Fault::Corrupt(_))), "and it is gone");

    drop(extents.free(gone)); // again: no harm
    extents.freed().await;
    assert_eq!(get_all(&extents, &kept).await, Ok(second));
}

/// H4. Uploads that stall give their memory back, so that others are served; and when they go on, nothing of them is lost.
#[tokio::test]
async fn stalled_uploads_hold_no_memory() {
    let scratch = Scratch::new("stalled");
    let upload_memory = 4 << 20;
    let extents = scratch.open_with(Options { upload_memory, ..Options::default() });
    let (length, stalls_at) = (3 * MIB + 12_345, 1_600_000);
    let mut stalled = Vec::new();
    for seed in 0..24 {
        let (bytes, known) = (pattern(length, seed), seed % 2 == 0);
        let mut stage = extents.stage(known.then_some(length));
        stage.write(bytes.slice(..stalls_at)).await.expect("room");
        stage.rest().await.expect("room");
        stage.rest().await.expect("and nothing more to do");
        stalled.push((stage, bytes));
    }
    let other = pattern(9 * MIB, 99);
    let kept = keep(&extents, &other).await;
    assert_eq!(get_all(&extents, &kept).await, Ok(other));
    for (mut stage, bytes) in stalled {
        for part in bytes.slice(stalls_at..).chunks(300_000) {
            stage.write(Bytes::copy_from_slice(part)).await.expect("room");
        }
        let staged = stage.finish().await.expect("room");
        assert_eq!((staged.length(), staged.crc64()), (length, crc64(&bytes)));
        let pieces = staged.pieces().to_vec();
        staged.adopted();
        assert_eq!(get_all(&extents, &pieces).await, Ok(bytes));
    }
    assert!(extents.core.upload_memory.is_whole(upload_memory), "whatever was taken was given back");
}

/// H4. An upload that finds the memory for uploads taken goes on in short steps, and waits if there is no memory for these.
#[tokio::test]
async fn uploads_wait_for_memory() {
    let scratch = Scratch::new("waiting");
    // One long buffer, and eight short ones.
    let extents = Arc::new(scratch.open_with(Options { upload_memory: 5 << 19, ..Options::default() }));
    let begin = async || {
        let mut stage = extents.stage(None);
        stage.write(pattern(1000, 1)).await.expect("room");
        stage
    };
    let mut held = Vec::new();
    for _ in 0..9 {
        held.push(begin().await);
        if !extents.core.upload_memory.has_short() {
            break;
        }
    }
    assert!(held.len() == 9, "who comes late gets a short buffer");
    let waiting = {
        let extents = extents.clone();
        tokio::spawn(async move { keep(&*extents, &pattern(5 * MIB, 2)).await })
    };
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert!(!waiting.is_finished(), "there is no room for another");
    held.pop();
    let kept = waiting.await.expect("it goes on");
    assert_eq!(get_all(&*extents, &kept).await, Ok(pattern(5 * MIB, 2)));
}

/// However slowly bytes come, a body is not of more pieces than a record can name.
#[tokio::test]
async fn an_upload_that_rests_without_end_is_given_up() {
    let scratch = Scratch::new("trickle");
    let extents = scratch.open();
    let mut stage = extents.stage(None);
    let mut rested = 0;
    let fault = loop {
        stage.write(Bytes::from_static(b"x")).await.expect("room");
        match stage.rest().await {
            Ok(()) => rested += 1,
            Err(fault) => break fault,
        }
    };
    assert!(matches!(fault, Fault::Unavailable(_)), "{fault:?}");
    assert_eq!(rested, 1000);
}

#[tokio::test]
async fn what_is_given_up_returns() {
    let scratch = Scratch::new("given-up");
    let (extents, memory) = (scratch.open(), Memory::new());
    let bytes = pattern(70 * MIB, 4);
    for content in [&extents as &dyn Content, &memory] {
        drop(put(content, &bytes, None, 1 << 20).await.expect("room"));
        let mut stage = content.stage(Some(bytes.len() as u64));
        stage.write(bytes.clone()).await.expect("room");
        drop(stage);
        content.free(Vec::new()).await;
    }
    // The write that was on its way when the stage went may end later, and is then given back.
    drop(extents);
    let extents = loop {
        match Extents::open(&scratch.0, Options::default()) {
            Ok(extents) => break extents,
            Err(OpenError::InUse(_)) => tokio::task::yield_now().await, // by that write
            Err(error) => panic!("{error}"),
        }
    };
    for extent in extents.unsettled() {
        extents.settle(extent, Vec::new()).await.expect("settled");
    }
    assert!(scratch.used() < 64 * KIB, "{}", scratch.used());
    assert_eq!(memory.size(), 0);
}

#[tokio::test]
async fn a_crash_leaves_what_start_up_settles() {
    let scratch = Scratch::new("crash");
    let options = Options { lanes: 1, ..Options::default() };
    let extents = scratch.open_with(options.clone());
    let all: Vec<_> = (0..4).map(|seed| pattern(200_000 + seed * 65_536, seed)).collect();
    let mut pieces = Vec::new();
    for bytes in &all {
        pieces.push(keep(&extents, bytes).await[0]);
    }
    // As after kill -9: nothing is sealed. The copy is what a second process would find.
    let copy = Scratch::new("crash-copy");
    fs::create_dir_all(&copy.0).expect("a directory");
    fs::copy(scratch.0.join("00000001.open"), copy.0.join("00000001.open")).expect("a copy");
    fs::write(copy.0.join("00000002.new"), b"torn").expect("a torn extent");
    drop(extents);

    let extents = copy.open_with(options.clone());
    assert_eq!(extents.unsettled(), [1]);
    let later = keep(&extents, &all[0]).await;
    assert!(later[0].extent > 1, "an old extent is never appended to again");
    let live = [pieces[1], pieces[3], pieces[3]];
    extents.settle(1, live.iter().map(|piece| (piece.offset, piece.length)).collect()).await.expect("settled");
    assert!(extents.unsettled().is_empty());
    assert_eq!(get_all(&extents, &pieces[1..2]).await, Ok(all[1].clone()));
    assert_eq!(get_all(&extents, &pieces[3..4]).await, Ok(all[3].clone()));
    for gone in [pieces[0], pieces[2]] {
        assert!(matches!(get(&extents, gone, 0, 100).await, Err(Fault::Corrupt(_))));
    }
    let sealed = fs::metadata(copy.0.join("00000001.extent")).expect("sealed");
    let live_rooms = room(pieces[1].length) + room(pieces[3].length) + HEADER;
    assert!(sealed.blocks() * 512 <= live_rooms + 64 * KIB, "{} of {live_rooms}", sealed.blocks() * 512);

    // When the last of it goes, so does the file.
    drop(extents.free(vec![pieces[1], pieces[3]]));
    extents.freed().await;
    assert_eq!(copy.files(), ["00000002.open"]);
    drop(extents);
    assert_eq!(copy.files(), ["00000002.extent"], "a clean end leaves nothing to settle");
    assert!(copy.open_with(options).unsettled().is_empty());
}

#[tokio::test]
async fn ids_are_not_used_again() {
    let scratch = Scratch::new("ids");
    for round in 1..4 {
        let extents = scratch.open();
        let pieces = keep(&extents, &pattern(100_000, 1)).await;
        assert_eq!(pieces[0].extent, round);
        drop(extents.free(pieces));
        extents.freed().await;
        drop(extents);
        assert_eq!(scratch.files(), [format!("{round:08}.extent")], "empty, but it keeps the count");
        assert!(scratch.used() < 16 * KIB);
    }
}

#[tokio::test]
async fn a_full_extent_is_followed_by_the_next() {
    let scratch = Scratch::new("roll");
    let extents = scratch.open_with(Options { capacity: MIB, lanes: 1, ..Options::default() });
    let mut kept = HashMap::new();
    for seed in 0..10 {
        let bytes = pattern(300_000, seed);
        kept.insert(keep(&extents, &bytes).await[0], bytes);
    }
    extents.freed().await; // sealing happens behind
    assert_eq!(scratch.files(), ["00000001.extent", "00000002.extent", "00000003.extent", "00000004.open"]);
    for (piece, bytes) in &kept {
        assert_eq!(get(&extents, *piece, 0, piece.length).await, Ok(bytes.clone()));
    }
    let first = kept.keys().filter(|piece| piece.extent == 1).copied().collect();
    drop(extents.free(first));
    extents.freed().await;
    assert_eq!(scratch.files(), ["00000002.extent", "00000003.extent", "00000004.open"]);
}

#[tokio::test]
async fn an_extent_with_open_questions_is_not_sealed() {
    let scratch = Scratch::new("left");
    let extents = scratch.open_with(Options { capacity: MIB, lanes: 1, ..Options::default() });
    let bytes = pattern(900_000, 1);
    let held = put(&extents, &bytes, None, 1 << 20).await.expect("room");
    let left = put(&extents, &bytes, None, 1 << 20).await.expect("room");
    let piece = left.pieces()[0];
    keep(&extents, &bytes).await;
    extents.freed().await;
    assert_eq!(scratch.files(), ["00000001.open", "00000002.open", "00000003.open"]);
    held.adopted();
    left.leave();
    extents.freed().await;
    assert_eq!(scratch.files(), ["00000001.extent", "00000002.open", "00000003.open"]);
    drop(extents);
    let extents = scratch.open();
    assert_eq!(extents.unsettled(), [2]);
    assert_eq!(get(&extents, piece, 0, piece.length).await, Ok(bytes));
}

#[tokio::test]
async fn without_holes_whole_files_return() {
    let scratch = Scratch::new("no-holes");
    let options = Options { capacity: MIB, lanes: 1, punch: false, ..Options::default() };
    let extents = scratch.open_with(options.clone());
    assert!(!extents.punches());
    let bytes = pattern(400_000, 1);
    let mut pieces = Vec::new();
    for _ in 0..6 {
        pieces.push(keep(&extents, &bytes).await[0]);
    }
    drop(extents.free(vec![pieces[0]]));
    extents.freed().await;
    assert_eq!(scratch.files(), ["00000001.extent", "00000002.extent", "00000003.open"]);
    drop(extents.free(vec![pieces[1], pieces[1]]));
    extents.freed().await;
    assert_eq!(scratch.files(), ["00000002.extent", "00000003.open"]);
    drop(extents);

    let extents = scratch.open_with(options);
    assert_eq!(extents.unsettled(), [2, 3], "nothing on disk says what is free in them");
    extents.settle(2, vec![(pieces[3].offset, pieces[3].length)]).await.expect("settled");
    extents.settle(3, vec![]).await.expect("settled");
    assert_eq!(scratch.files(), ["00000002.extent", "00000003.extent"]);
    assert!(scratch.used() < MIB + 64 * KIB, "the last one is emptied, but keeps the count");
    drop(extents.free(vec![pieces[3]]));
    extents.freed().await;
    assert_eq!(scratch.files(), ["00000003.extent"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_finish_together_share_a_sync() {
    let scratch = Scratch::new("syncs");
    let extents = Arc::new(scratch.open_with(Options { lanes: 1, ..Options::default() }));
    let extent = {
        keep(&*extents, &pattern(10, 0)).await;
        extents.core.lanes.first().expect("an open extent")
    };
    let count = Arc::new(AtomicU64::new(0));
    // One sync is under way; fifty come while it runs: they wait for the next one, all together.
    let during = loop {
        match extent.hold_sync() {
            Some(held) => break held,
            None => tokio::task::yield_now().await, // the leader of the first upload is just leaving
        }
    };
    let waiting: Vec<_> = (0..50)
        .map(|_| {
            let (extent, count) = (extent.clone(), count.clone());
            tokio::spawn(async move { extent.sync(&count).await })
        })
        .collect();
    while extent.waiting_for_sync() < 50 {
        tokio::task::yield_now().await;
    }
    assert_eq!(count.load(Relaxed), 0, "the one under way may have begun before their writes ended");
    during.end(&extent, &count);
    for task in waiting {
        assert_eq!(task.await.expect("no panic"), Ok(()));
    }
    assert_eq!(count.load(Relaxed), 1);
}

#[tokio::test]
async fn a_failed_sync_loses_the_extent_but_not_the_service() {
    let scratch = Scratch::new("broken");
    let extents = scratch.open_with(Options { lanes: 1, ..Options::default() });
    let bytes = pattern(10_000, 1);
    let kept = keep(&extents, &bytes).await;
    let mut stage = extents.stage(None);
    stage.write(bytes.clone()).await.expect("room");
    extents.core.lanes.first().expect("an open extent").break_syncs(Fault::Unavailable("pulled".into()));
    let staged = put(&extents, &bytes, None, 999).await.expect("another extent");
    assert_ne!(staged.pieces()[0].extent, kept[0].extent);
    assert_eq!(get_all(&extents, &kept).await, Ok(bytes), "what was synced before is there");
}

#[tokio::test]
async fn a_full_disk_refuses_and_recovers() {
    let scratch = Scratch::new("full");
    let extents = scratch.open();
    let bytes = pattern(100_000, 1);
    let kept = keep(&extents, &bytes).await;
    extents.core.space.keep_free.store(u64::MAX / 2, Relaxed);
    for expected in [Some(100_000), None] {
        assert_eq!(put(&extents, &bytes, expected, 1000).await.err(), Some(Fault::Full));
    }
    let mut stage = extents.stage(Some(10 * MIB));
    let mut refused = None;
    for _ in 0..100 {
        refused = refused.or(stage.write(bytes.clone()).await.err());
    }
    assert_eq!(refused, Some(Fault::Full), "told early, not at the end");
    drop(stage);
    assert_eq!(get_all(&extents, &kept).await, Ok(bytes.clone()), "reads go on");
    extents.core.space.keep_free.store(0, Relaxed);
    assert!(put(&extents, &bytes, None, 1000).await.is_ok(), "space returned");

    // An upload that says how much it wants is refused at once if that can never fit.
    assert_eq!(put(&extents, &bytes, Some(u64::MAX / 4), 1000).await.err(), None, "short ones only need what they are");
    let mut stage = extents.stage(Some(u64::MAX / 4));
    stage.write(pattern(2 * MIB, 1)).await.expect("buffered");
    assert_eq!(stage.finish().await.err(), Some(Fault::Full));
}

#[test]
fn what_the_system_says_is_understood() {
    let cases = [(28, Fault::Full), (122, Fault::Full), (27, Fault::Full)]; // ENOSPC, EDQUOT, EFBIG
    for (code, expected) in cases {
        assert_eq!(super::fault("x", &std::io::Error::from_raw_os_error(code)), expected, "errno {code}");
    }
    let broken = super::fault("x", &std::io::Error::from_raw_os_error(5)); // EIO
    assert!(matches!(broken, Fault::Unavailable(_)));
}

#[test]
fn a_directory_that_is_not_right_is_not_opened() {
    let scratch = Scratch::new("foreign");
    let refused = |what: &str| match Extents::open(&scratch.0, Options::default()) {
        Ok(_) => panic!("opened with {what}"),
        Err(error) => error.to_string(),
    };
    let file = |name: &str, bytes: &[u8]| -> PathBuf {
        let path: PathBuf = Path::new(&scratch.0).join(name);
        fs::create_dir_all(&scratch.0).expect("a directory");
        fs::write(&path, bytes).expect("a file");
        path
    };
    let extents = scratch.open();
    assert!(refused("two owners").contains("in use"));
    drop(extents);

    for name in ["notes.txt", "1.open", "00000000.open", "00000001.open.bak", "-0000001.open"] {
        let path = file(name, b"");
        assert!(refused(name).contains("move it elsewhere"), "{name}");
        fs::remove_file(path).expect("removed");
    }
    let sound = super::layout::header(1);
    let mut damaged = sound;
    damaged[20] ^= 1;
    let mut newer = sound;
    newer[8] = 2;
    let crc = crc64(&newer[..24]);
    newer[24..32].copy_from_slice(&crc.to_le_bytes());
    let cases: [(&str, &[u8], &str); 5] = [
        ("00000001.open", &damaged, "restore the file from a backup"),
        ("00000001.extent", b"short", "restore the file from a backup"),
        ("00000001.open", b"", "restore the file from a backup"),
        ("00000007.open", &sound, "undo the renaming"),
        ("00000001.open", &newer, "newer Lazuli"),
    ];
    for (name, bytes, advice) in cases {
        let path = file(name, bytes);
        assert!(refused(name).contains(advice), "{name}: {}", refused(name));
        fs::remove_file(path).expect("removed");
    }
    file("00000001.open", &sound);
    assert_eq!(scratch.open().unsettled(), [1]);
    let missing = Extents::open(Path::new("/proc/none"), Options::default());
    assert!(matches!(missing, Err(OpenError::Io(..))));
}
