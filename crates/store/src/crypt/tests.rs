//! What is encrypted opens at its place and nowhere else; and bodies and records from before there were segments are still read.

use std::collections::VecDeque;
use std::sync::Arc;

use lazuli_engine::BoxFuture;

use super::segments::{Opening, Range, SENT};
use super::*;

const KEY: [u8; 32] = [7; 32];

fn key() -> CustomerKey {
    CustomerKey::new(KEY, [0; 32])
}

fn plain(length: u64) -> Vec<u8> {
    (0..length).map(|at| ((at * 31) >> 3) as u8).collect()
}

/// A body as it is stored, sent in parts of `step` bytes.
fn sealed(random: u128, sent: &[u8], step: usize) -> Vec<u8> {
    let mut sealing = Sealing::new(key().lock(random));
    let mut stored = Vec::new();
    for part in sent.chunks(step) {
        stored.extend_from_slice(&sealing.seal(Bytes::copy_from_slice(part)));
    }
    stored.extend_from_slice(&sealing.finish().0);
    stored
}

struct Parts(VecDeque<Bytes>);

impl Chunks for Parts {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Fault>> {
        Box::pin(async { Ok(self.0.pop_front()) })
    }
}

fn parts(stored: &[u8], step: usize) -> Box<dyn Chunks> {
    Box::new(Parts(stored.chunks(step).map(Bytes::copy_from_slice).collect()))
}

/// `from..to` of what is stored as a body of `length` bytes, in parts of `step` bytes.
async fn open(random: u128, stored: &[u8], length: u64, (from, to): (u64, u64), step: usize) -> Result<Vec<u8>, Fault> {
    let range = Range::of(0, length, from, to)?;
    let read = range.stored(stored.len() as u64);
    let stream = parts(&stored[read.start as usize..read.end as usize], step);
    let mut opening = Opening::new(&key(), Nonce(random.to_be_bytes()), range, stream);
    let mut opened = Vec::new();
    while let Some(bytes) = opening.next().await? {
        opened.extend_from_slice(&bytes);
    }
    Ok(opened)
}

fn corrupt<T>(result: Result<T, Fault>) -> bool {
    matches!(result, Err(Fault::Corrupt(_)))
}

#[tokio::test]
async fn any_range_can_be_opened_alone() {
    for length in [0, 1, 16, SENT - 1, SENT, SENT + 1, 2 * SENT, 3 * SENT + 77] {
        let sent = plain(length);
        let stored = sealed(5, &sent, 40_000);
        assert_eq!(stored.len() as u64, Cipher::Segments(Nonce([0; 16])).stored_length(length));
        assert_eq!(segments::sent_length(stored.len() as u64), length);
        let places = [0, 1, 15, SENT - 1, SENT, SENT + 1, 2 * SENT - 1, 2 * SENT, 3 * SENT, length / 2, length];
        for from in places.into_iter().filter(|from| *from <= length) {
            for to in places.into_iter().filter(|to| (from..=length).contains(to)) {
                for step in [1 << 17, 1 << 16, 1000] {
                    let opened = open(5, &stored, length, (from, to), step).await.unwrap();
                    assert!(opened == sent[from as usize..to as usize], "{from}..{to} of {length} by {step}");
                }
            }
        }
    }
}

#[test]
fn a_body_is_stored_the_same_however_it_comes() {
    let sent = plain(3 * SENT + 5);
    let want = sealed(9, &sent, sent.len());
    for step in [1, 1000, SENT as usize - 1, SENT as usize, SENT as usize + 1] {
        assert!(sealed(9, &sent, step) == want, "by {step}");
    }
}

/// L8: somebody who writes to the disk cannot change, move, exchange or cut off encrypted content unnoticed.
#[tokio::test]
async fn what_was_changed_does_not_open() {
    let length = 3 * SENT + 77;
    let sent = plain(length);
    let stored = sealed(5, &sent, 1 << 20);
    let segment = SEGMENT as usize;
    // Every kind of place in every segment: first and last bytes, the tag's first and last.
    for start in [0, segment, 2 * segment, 3 * segment] {
        let size = segment.min(stored.len() - start);
        for at in [start, start + 1, start + size / 2, start + size - 17, start + size - 16, start + size - 1] {
            let mut bad = stored.clone();
            bad[at] ^= 0x10;
            assert!(corrupt(open(5, &bad, length, (0, length), 1 << 17).await), "a bit at {at}");
            let (from, to) = (start as u64 / SEGMENT * SENT, (start as u64 / SEGMENT * SENT + 10).min(length));
            assert!(corrupt(open(5, &bad, length, (from, to), 1 << 17).await), "a range with a bit at {at}");
        }
    }
    let mut bad = stored.clone();
    bad[2 * segment] ^= 1;
    assert_eq!(open(5, &bad, length, (0, 2 * SENT), 1 << 16).await.unwrap(), sent[..2 * SENT as usize]);

    let moved = [&stored[segment..2 * segment], &stored[..segment], &stored[2 * segment..]].concat();
    assert!(corrupt(open(5, &moved, length, (0, 10), 1 << 17).await), "segments that changed places");
    let other = sealed(6, &sent, 1 << 20);
    assert!(corrupt(open(5, &other, length, (0, 10), 1 << 17).await), "another body under the same key");
    let mixed = [&stored[..segment], &other[segment..]].concat();
    assert!(corrupt(open(5, &mixed, length, (0, length), 1 << 17).await), "half of another body");
    assert!(corrupt(open(5, &stored[..stored.len() - 1], length, (0, length), 1 << 17).await), "a byte is missing");
    assert!(corrupt(open(5, &stored[..3 * segment], length, (0, length), 1 << 17).await), "a segment is missing");
    let shorter = open(5, &stored[..3 * segment], 3 * SENT, (0, 3 * SENT), 1 << 17).await;
    assert!(corrupt(shorter), "a body that was cut, together with its record");
    let other_key = CustomerKey::new([8; 32], [0; 32]);
    let range = Range::of(0, length, 0, 10).unwrap();
    assert!(corrupt(range.open(&other_key, Nonce(5_u128.to_be_bytes()), Bytes::copy_from_slice(&stored))));
}

#[test]
fn rows_are_opened_as_pieces_are() {
    let sent = plain(1000);
    let stored = Bytes::from(sealed(3, &sent, 1000));
    let place = Cipher::Segments(Nonce(3_u128.to_be_bytes())).part(0, 1000);
    assert_eq!(place.open(Some(&key()), &stored, 10, 20).unwrap(), sent[10..20]);
    assert!(corrupt(place.open(None, &stored, 10, 20)), "no key, no bytes");
    assert!(corrupt(place.open(Some(&key()), &stored, 10, 1001)), "more than there is");
    assert!(corrupt(place.open(Some(&key()), &stored.slice(..1000), 10, 20)), "without its tag");
}

/// Two bodies of one request must not be alike, nor two requests' that send the same.
#[test]
fn no_two_bodies_are_encrypted_alike() {
    let sent = plain(100);
    let mut lock = key().lock(u128::MAX);
    let stored: Vec<Vec<u8>> = (0..3)
        .map(|_| {
            let mut sealing = Sealing::new(lock.part());
            sealing.seal(Bytes::copy_from_slice(&sent));
            sealing.finish().0.to_vec()
        })
        .collect();
    assert!(stored[0] != stored[1] && stored[1] != stored[2] && stored[0] != stored[2]);
}

/// The counter form: NIST SP 800-38A, F.5.5.
#[test]
fn the_old_form_is_the_published_one() {
    let hex = |text: &str| -> Vec<u8> {
        (0..text.len() / 2).map(|at| u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).unwrap()).collect()
    };
    let key: [u8; 32] = hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4").try_into().unwrap();
    let nonce = Nonce(0xf0f1_f2f3_f4f5_f6f7_f8f9_fafb_fcfd_feff_u128.to_be_bytes());
    let stored = hex("601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5");
    let place = Cipher::Counter(nonce).part(0, 32);
    let opened = place.open(Some(&CustomerKey::new(key, [0; 32])), &stored.into(), 0, 32).unwrap();
    assert_eq!(opened, hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"));
}

/// Records have an option of a nonce where they say how a body is stored now.
#[test]
fn records_from_before_there_were_segments_are_read() {
    let nonce = Nonce(*b"sixteen bytes it");
    let option = |nonce: Option<Nonce>| postcard::to_stdvec(&nonce).unwrap();
    assert_eq!(postcard::from_bytes(&option(None)), Ok(Cipher::None));
    assert_eq!(postcard::from_bytes(&option(Some(nonce))), Ok(Cipher::Counter(nonce)));
    let window = |at: Option<(Nonce, u64)>| postcard::to_stdvec(&at).unwrap();
    assert_eq!(postcard::from_bytes(&window(None)), Ok(Sealed::None));
    assert_eq!(postcard::from_bytes(&window(Some((nonce, 77)))), Ok(Sealed::Counter { nonce, at: 77 }));
}

/// Bodies in counter mode, as earlier versions wrote them: in rows and in pieces, of block, append and page blobs, and in copies.
#[tokio::test]
async fn blobs_from_before_there_were_segments_are_read() {
    use lazuli_model::blob::*;
    use lazuli_model::{AccountName, BlobName, Conditions, ContainerName};

    use crate::upload::{Body, Received};
    use crate::{BlobAt, Reader, Store};

    let engine = Arc::new(lazuli_engine::Memory::new());
    let store = Store::new(engine, Arc::new(lazuli_engine::content::Memory::new()));
    let at = |name: &str| BlobAt {
        account: AccountName::parse("account").unwrap(),
        container: ContainerName::parse("box").unwrap(),
        blob: BlobName::parse(name).unwrap(),
    };
    let create = lazuli_model::container::CreateContainer {
        id: 1,
        scope: None,
        metadata: Default::default(),
        public: Default::default(),
    };
    store.create_container(&at("b").container_at(), create).await.unwrap();
    let nonce = Nonce(*b"sixteen bytes it");
    let old = async |sent: &[u8]| {
        let stored = counter::apply(&key(), nonce, 0, Bytes::copy_from_slice(sent));
        let body = match sent.len() {
            ..=16_384 => Body::Inline(stored),
            _ => Body::Staged(store.stage_inline(stored).await.unwrap()),
        };
        Received { length: sent.len() as u64, crc64: 0, md5: None, cipher: Cipher::Counter(nonce), body }
    };
    let encryption = Encryption::Customer(key().hash());
    let put = || PutBlob {
        headers: ContentHeaders::default(),
        metadata: Default::default(),
        tags: Default::default(),
        tier: None,
        protection: Default::default(),
        encryption: encryption.clone(),
        conditions: Conditions::default(),
        lease: None,
        may_overwrite: true,
    };
    let (small, large) = (plain(5000), plain(200_000));
    store.put_blob(&at("small"), put(), old(&small).await).await.unwrap();
    store.put_blob(&at("large"), put(), old(&large).await).await.unwrap();
    store.create_append_blob(&at("appended"), put()).await.unwrap();
    for body in [&large, &small] {
        let (conditions, encryption) = (Conditions::default(), encryption.clone());
        let append = AppendBlock { position: None, most: None, encryption, conditions, lease: None };
        store.append_block(&at("appended"), append, old(body).await).await.unwrap();
    }
    // And goes on in the new form.
    let mut source = Once(Some(Bytes::from(large.clone())));
    let lock = Some(key().lock(77));
    let received = store.receive_encrypted(&mut source, None, u64::MAX, false, lock).await.unwrap();
    let (conditions, encryption) = (Conditions::default(), encryption.clone());
    let append = AppendBlock { position: None, most: None, encryption, conditions, lease: None };
    store.append_block(&at("appended"), append, received).await.unwrap();
    let appended = [&large[..], &small, &large].concat();

    for (name, whole) in [("small", &small), ("large", &large), ("appended", &appended)] {
        let read = ReadBlob { key: Some(key().hash()), ..ReadBlob::default() };
        let mut reader: Reader = store.open_blob(&at(name), read).await.unwrap();
        reader.unlock(Some(key()));
        for (from, to) in [(0, whole.len()), (1, 17), (4_000, 4_999), (whole.len() / 2, whole.len())] {
            reader.seek(from as u64, to as u64);
            let mut bytes = Vec::new();
            while let Some(part) = reader.next().await.unwrap() {
                bytes.extend_from_slice(&part);
            }
            assert!(bytes == whole[from..to], "{name}: {from}..{to}");
        }
    }
}

struct Once(Option<Bytes>);

impl crate::Source for Once {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, crate::Broken>> {
        Box::pin(async { Ok(self.0.take()) })
    }
}
