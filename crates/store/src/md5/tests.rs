//! The `md-5` crate is the oracle; RFC 1321's own vectors vouch for it and for us.

use bytes::Bytes;
use md5::Digest as _;

use super::lanes::{INITIAL, LANES, Md5Block, advance_all, advance_one};
use super::{Digests, Md5};

/// Steele's SplitMix64: the same tests in every run.
struct Seed(u64);

impl Seed {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % below as u64) as usize
    }

    fn bytes(&mut self, length: usize) -> Bytes {
        (0..length).map(|_| self.next(256) as u8).collect()
    }

    /// `whole` cut up: nothing, single bytes, parts of a block, and many blocks.
    fn cut(&mut self, mut whole: Bytes) -> Vec<Bytes> {
        let mut parts = Vec::new();
        while !whole.is_empty() {
            let longest = [1, 2, 64, 65, 130, 5000, 40_000][self.next(7)];
            let length = self.next(longest + 1).min(whole.len());
            parts.push(whole.split_to(length));
        }
        parts
    }
}

fn expected(bytes: &[u8]) -> [u8; 16] {
    md5::Md5::digest(bytes).into()
}

fn hex(digest: [u8; 16]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn digest(service: &Digests, batches: Vec<Vec<Bytes>>) -> [u8; 16] {
    let mut md5 = Md5::new();
    for batch in batches {
        md5 = service.submit(md5, batch).unwrap().await.unwrap();
    }
    md5.finish()
}

#[tokio::test]
async fn vectors_of_rfc_1321() {
    let service = Digests::new();
    for (text, digested) in [
        ("", "d41d8cd98f00b204e9800998ecf8427e"),
        ("a", "0cc175b9c0f1b6a831c399e269772661"),
        ("abc", "900150983cd24fb0d6963f7d28e17f72"),
        ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"),
        (
            "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
            "57edf4a22be3c955ac49da2e2107b67a",
        ),
    ] {
        assert_eq!(hex(digest(&service, vec![vec![Bytes::from(text)]]).await), digested, "{text:?}");
    }
}

#[tokio::test]
async fn every_padding() {
    let service = Digests::new();
    let whole = Seed(1).bytes(260);
    for length in 0..=whole.len() {
        let bytes = whole.slice(..length);
        assert_eq!(digest(&service, vec![vec![bytes.clone()]]).await, expected(&bytes), "{length} bytes");
    }
}

#[test]
fn lanes_agree_with_one() {
    let mut seed = Seed(2);
    let whole: [Bytes; LANES] = std::array::from_fn(|_| seed.bytes(9 * 64));
    for shortest in 0..9 {
        let blocks: [&[Md5Block]; LANES] = std::array::from_fn(|lane| {
            let blocks = whole[lane].as_chunks().0;
            if lane == shortest % LANES { &blocks[..shortest] } else { blocks }
        });
        let mut states = [INITIAL; LANES];
        assert_eq!(advance_all(&mut states, blocks), shortest);
        // A second time from another state than the first.
        assert_eq!(advance_all(&mut states, blocks), shortest);
        for (lane, state) in states.into_iter().enumerate() {
            let mut one = INITIAL;
            advance_one(&mut one, &blocks[lane][..shortest]);
            advance_one(&mut one, &blocks[lane][..shortest]);
            assert_eq!(state, one, "lane {lane}, {shortest} blocks");
        }
    }
}

/// Streams of all lengths, cut at random into chunks and batches, so many at once that lanes fill, empty and wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_streams_at_once() {
    for streams in [1, 2, 3, 7, 8, 9, 40] {
        let service = std::sync::Arc::new(Digests::new());
        let mut seed = Seed(streams as u64);
        let tasks: Vec<_> = (0..streams)
            .map(|_| {
                let longest = [200, 10_000, 300_000][seed.next(3)];
                let length = seed.next(longest);
                let whole = seed.bytes(length);
                let parts = seed.cut(whole.clone());
                let size = 1 + seed.next(6);
                let batches = parts.chunks(size).map(<[Bytes]>::to_vec).collect();
                let service = service.clone();
                tokio::spawn(async move { assert_eq!(digest(&service, batches).await, expected(&whole)) })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    }
}

/// Tells when the last holder of some bytes lets go of them.
struct Watched(Vec<u8>, Option<tokio::sync::oneshot::Sender<()>>);

impl AsRef<[u8]> for Watched {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.1.take().map(|gone| gone.send(()));
    }
}

#[tokio::test]
async fn dropped_upload_leaves_its_bytes() {
    let service = Digests::new();
    let (gone, told) = tokio::sync::oneshot::channel();
    let bytes = Bytes::from_owner(Watched(vec![7; 1 << 20], Some(gone)));
    drop(service.submit(Md5::new(), vec![bytes; 64]).unwrap());
    told.await.unwrap();
    assert_eq!(digest(&service, vec![vec![Bytes::from_static(b"abc")]]).await, expected(b"abc"));
}

struct Mine;

impl AsRef<[u8]> for Mine {
    fn as_ref(&self) -> &[u8] {
        b"boom"
    }
}

impl Drop for Mine {
    fn drop(&mut self) {
        panic!("on purpose: this kills the worker");
    }
}

/// Nothing in the worker panics by itself; should it yet, no upload may wait for ever.
#[tokio::test]
async fn dead_worker_is_replaced() {
    let service = Digests::new();
    let job = service.submit(Md5::new(), vec![Bytes::from_owner(Mine), Bytes::from_static(b"abc")]).unwrap();
    assert!(job.await.is_err());
    // The stream's end is told while the worker unwinds, so the next batch may still meet the old one.
    while service.submit(Md5::new(), vec![Bytes::from_static(b"abc")]).unwrap().await.is_err() {}
}

/// H4. Uploads together gather no more than there is room for; who finds none digests each part at once, and none is lost.
#[tokio::test]
async fn without_room_nothing_is_gathered() {
    let service = Digests::new();
    let mut seed = Seed(5);
    let whole = seed.bytes(300_000);
    for taken in [0, 63 << 20, 64 << 20] {
        let held = service.room(taken);
        assert!(held.is_some(), "all that was taken before was given back");
        let mut digesting = crate::upload::Digesting::new(&service);
        for part in seed.cut(whole.clone()) {
            digesting.update(part).await.unwrap();
        }
        assert_eq!(digesting.finish().await.unwrap(), expected(&whole));
    }
}
