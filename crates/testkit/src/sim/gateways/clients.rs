//! Clients of several gateways, and what they must find. Each writer has blobs of its own, so what it was told is what is there.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use bytes::Bytes;
use lazuli_engine::{BoxFuture, Fault};
use lazuli_model::blob::*;
use lazuli_model::{AccountName, BlobName, BlockId, Conditions, ContainerName, Refusal, Tags};
use lazuli_store::{BlobAt, Broken, ContainerAt, Failure, Fetch, Received, Source, Store};

use super::World;
use super::gateway::Gateway;
use crate::chance::Chance;

/// More than is kept inline.
const BLOCK: usize = 17 << 10;
const NAMES: [&str; 4] = ["w0", "w1", "w2", "w3"];

/// What the judges know.
#[derive(Default)]
pub struct Acked {
    /// What a name may have: the number of a write, or nothing.
    may_be: BTreeMap<String, BTreeSet<Option<u64>>>,
    /// Subjects of what the feed has to tell. (Stamps, and so ETags, differ within a partition only.)
    told: BTreeSet<String>,
    /// Who is at a copy, while its gateway is sound.
    copying: BTreeMap<u128, Arc<Gateway>>,
}

impl Acked {
    /// It was told that this is there now; or nobody was told.
    fn wrote(&mut self, name: &str, what: Option<u64>, is_told: bool) {
        let may_be = self.may_be.entry(name.into()).or_insert_with(|| [None].into());
        if is_told {
            may_be.clear();
        }
        may_be.insert(what);
    }
}

pub fn account() -> AccountName {
    AccountName::parse("account").expect("a name")
}

pub fn container(name: &str) -> ContainerAt {
    ContainerAt { account: account(), container: ContainerName::parse(name).expect("a name") }
}

pub fn at(box_name: &str, name: &str) -> BlobAt {
    let ContainerAt { account, container } = container(box_name);
    BlobAt { account, container, blob: BlobName::parse(name).expect("a name") }
}

/// The bytes of a write tell which one it was, in every page.
fn bytes_of(number: u64, length: usize) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = number.to_be_bytes().to_vec();
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_be_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// Which write these bytes are of, if they are all of one.
fn number_of(bytes: &[u8]) -> Option<u64> {
    let number = u64::from_be_bytes(*bytes.first_chunk()?);
    (bytes_of(number, bytes.len()) == bytes).then_some(number)
}

struct Parts(VecDeque<Bytes>);

impl Source for Parts {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Broken>> {
        let next = self.0.pop_front();
        Box::pin(async move {
            tokio::task::yield_now().await;
            Ok(next)
        })
    }
}

async fn receive(store: &Store, bytes: &[u8]) -> Result<Received, Failure> {
    let mut parts = Parts(bytes.chunks(6_000).map(Bytes::copy_from_slice).collect());
    store.receive(&mut parts, Some(bytes.len() as u64), u64::MAX, false).await
}

fn put() -> PutBlob {
    PutBlob {
        headers: ContentHeaders::default(),
        metadata: Default::default(),
        tags: Tags::default(),
        tier: None,
        protection: Default::default(),
        encryption: Default::default(),
        conditions: Conditions::default(),
        lease: None,
        may_overwrite: true,
    }
}

fn copy(id: u128) -> CopyBlob {
    CopyBlob {
        id,
        source: "http://here/".into(),
        family: Family::Copy,
        metadata: None,
        tags: CopyTags::These(Tags::default()),
        tier: None,
        seal: None,
        protection: Default::default(),
        encryption: Default::default(),
        conditions: Conditions::default(),
        lease: None,
        may_overwrite: true,
    }
}

fn delete(snapshots: Option<DeleteSnapshots>) -> DeleteBlob {
    DeleteBlob {
        which: Which::Current,
        permanent: false,
        snapshots,
        tier: Default::default(),
        conditions: Conditions::default(),
        lease: None,
    }
}

/// Writes its own blobs, by any gateway.
pub async fn write(world: Arc<World>, writer: usize, mut chance: Chance) -> Result<(), String> {
    for _ in 0..14 {
        let Some(gateway) = world.any(&mut chance) else { return Ok(()) };
        let name = format!("{}{}", NAMES[writer], if chance.one_in(2) { "" } else { "x" });
        let (place, number) = (at("box", &name), world.next());
        world.calls.fetch_add(1, SeqCst);
        let (done, what) = match chance.below(8) {
            0 => {
                let deleted = gateway.store.delete_blob(&place, delete(Some(DeleteSnapshots::Include))).await;
                (deleted.map(drop), None)
            }
            1 | 2 => (put_whole(&gateway.store, &place, number).await, Some(number)),
            3 | 4 => (put_blocks(&gateway.store, &place, number).await, Some(number)),
            5 => (put_pages(&gateway.store, &place, number).await, Some(number)),
            6 => {
                let snapshot = SnapshotBlob {
                    metadata: None,
                    encryption: Default::default(),
                    conditions: Conditions::default(),
                    lease: None,
                };
                let _ = gateway.store.snapshot_blob(&place, snapshot).await;
                continue;
            }
            _ => {
                share(&gateway.store, &world, &mut chance, writer).await?;
                continue;
            }
        };
        match done {
            Ok(()) => world.acked(|acked| acked.wrote(&name, what, true)),
            Err(Failure::Refused(Refusal::BlobNotFound)) if what.is_none() => {}
            Err(Failure::Refused(refusal)) => return Err(format!("{name}: a write was refused: {refusal:?}")),
            Err(Failure::Broken(_)) => {
                world.untold.fetch_add(1, SeqCst);
                world.acked(|acked| acked.wrote(&name, what, false));
            }
        }
        for _ in 0..chance.below(30) {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}

async fn put_whole(store: &Store, place: &BlobAt, number: u64) -> Result<(), Failure> {
    let content = receive(store, &bytes_of(number, 2 * BLOCK)).await?;
    store.put_blob(place, put(), content).await.map(drop)
}

async fn put_blocks(store: &Store, place: &BlobAt, number: u64) -> Result<(), Failure> {
    let bytes = bytes_of(number, 5 * BLOCK);
    let mut blocks = Vec::new();
    for (part, bytes) in bytes.chunks(BLOCK).enumerate() {
        let id = BlockId::from_base64(&format!("{:04}{part:04}", number % 10_000)).expect("an id");
        let block = PutBlock { id: id.clone(), encryption: Default::default(), lease: None };
        match store.put_block(place, block, receive(store, bytes).await?).await {
            Ok(()) => {}
            // There are pages under this name.
            Err(Failure::Refused(Refusal::InvalidBlobType)) => return put_whole(store, place, number).await,
            Err(failure) => return Err(failure),
        }
        blocks.push((Search::Latest, id));
    }
    let list = PutBlockList {
        blocks,
        headers: ContentHeaders::default(),
        metadata: Default::default(),
        tags: Tags::default(),
        tier: None,
        protection: Default::default(),
        encryption: Default::default(),
        conditions: Conditions::default(),
        lease: None,
        may_overwrite: true,
    };
    match store.put_block_list(place, list).await {
        Ok(_) => Ok(()),
        Err(Failure::Refused(Refusal::InvalidBlobType)) => put_whole(store, place, number).await,
        Err(failure) => Err(failure),
    }
}

/// One write of all pages, so that a reader that sees some of it sees all.
async fn put_pages(store: &Store, place: &BlobAt, number: u64) -> Result<(), Failure> {
    let length = 64 << 10;
    store.create_page_blob(place, put(), length, 0).await?;
    let content = receive(store, &bytes_of(number, length as usize)).await?;
    let pages = PutPage {
        pages: Pages { from: 0, to: length },
        sequence: Default::default(),
        encryption: Default::default(),
        conditions: Conditions::default(),
        lease: None,
    };
    store.put_page(place, pages, content).await.map(drop)
}

/// Copies a blob of anybody to one that nobody else writes: the pieces are lent.
async fn share(store: &Store, world: &World, chance: &mut Chance, writer: usize) -> Result<(), String> {
    let name = *chance.pick(&NAMES);
    let from = at("box", name);
    let to = at("other", &format!("copy{writer}"));
    let Ok(reader) = store.open_blob(&from, ReadBlob::default()).await else { return Ok(()) };
    if reader.blob.kind != Kind::Block {
        return Ok(());
    }
    match store.copy_blob(&to, copy(u128::from(world.next())), reader, Which::Current, None).await {
        Ok(_) | Err(Failure::Broken(Fault::Busy | Fault::Unavailable(_))) => {}
        Err(failure) => return Err(format!("a copy failed: {failure:?}")),
    }
    if chance.one_in(3) {
        let _ = store.delete_blob(&to, delete(None)).await;
    }
    Ok(())
}

/// All of a blob, with time for others between one piece and the next.
pub async fn bytes(store: &Store, place: &BlobAt) -> Result<Vec<u8>, Failure> {
    slowly(store, place, &mut Chance::new(1), 0).await
}

async fn slowly(store: &Store, place: &BlobAt, chance: &mut Chance, most: usize) -> Result<Vec<u8>, Failure> {
    let mut reader = store.open_blob(place, ReadBlob::default()).await?;
    reader.seek(0, u64::MAX);
    let mut bytes = Vec::new();
    loop {
        for _ in 0..if most == 0 { 0 } else { chance.below(most) } {
            tokio::task::yield_now().await;
        }
        match reader.next().await? {
            Some(part) => bytes.extend_from_slice(&part),
            None => return Ok(bytes),
        }
    }
}

/// Reads anything, slowly, by any gateway.
pub async fn read(world: Arc<World>, mut chance: Chance) -> Result<(), String> {
    for _ in 0..14 {
        let Some(gateway) = world.any(&mut chance) else { return Ok(()) };
        let (within, name) = match chance.below(4) {
            0 => ("other", format!("copy{}", chance.below(4))),
            1 => ("box", format!("{}x", *chance.pick(&NAMES))),
            _ => ("box", (*chance.pick(&NAMES)).to_owned()),
        };
        let was_sound = gateway.is_sound();
        world.calls.fetch_add(1, SeqCst);
        let slow = *chance.pick(&[10, 200, 2_000]);
        match slowly(&gateway.store, &at(within, &name), &mut chance, slow).await {
            // Pages are created and then written; between the two they are zeros.
            Ok(bytes) if number_of(&bytes).is_some() || bytes.iter().all(|byte| *byte == 0) => {}
            Ok(bytes) => return Err(format!("{name}: {} bytes are not of one write", bytes.len())),
            Err(Failure::Refused(Refusal::BlobNotFound)) => {}
            Err(Failure::Refused(refusal)) => return Err(format!("{name}: a read was refused: {refusal:?}")),
            Err(Failure::Broken(Fault::Busy)) => {}
            Err(Failure::Broken(fault)) if was_sound && gateway.is_sound() => {
                return Err(format!("{name}: a reader of a gateway that was always there was given {fault:?}"));
            }
            Err(Failure::Broken(_)) => drop(world.untold.fetch_add(1, SeqCst)),
        }
    }
    Ok(())
}

/// Puts blobs that the feed has to tell of, once each.
pub async fn tell(world: Arc<World>, mut chance: Chance) -> Result<(), String> {
    for _ in 0..12 {
        let Some(gateway) = world.any(&mut chance) else { return Ok(()) };
        let name = format!("t{:09}", world.next());
        let place = at("told", &name);
        let Ok(content) = receive(&gateway.store, b"told").await else { continue };
        if gateway.store.put_blob(&place, put(), content).await.is_ok() {
            world.acked(|acked| acked.told.insert(format!("containers/told/blobs/{name}")));
        }
        for _ in 0..chance.below(60) {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}

/// Copies from elsewhere, which take many minutes; and gateways that start, which take over what is lost.
pub async fn fetch(world: Arc<World>, mut chance: Chance) -> Result<(), String> {
    for round in 0..3_u64 {
        let Some(gateway) = world.any(&mut chance) else { return Ok(()) };
        let (place, id) = (at("other", &format!("fetched{round}")), u128::from(world.next()) << 64);
        let Ok(content) = receive(&gateway.store, b"source").await else { continue };
        let source = at("other", "source");
        let Ok(blob) = gateway.store.put_blob(&source, put(), content).await else { continue };
        let fetch = Fetch {
            url: "http://elsewhere/".into(),
            authorization: None,
            version: None,
            etag: None,
            account: "account".into(),
            container: "other".into(),
        };
        let Ok((_, copying)) = gateway.store.begin_copy(&place, copy(id), *blob, 6, fetch).await else { continue };
        world.acked(|acked| acked.copying.insert(id, gateway.clone()));
        let until = world.now() + (300 + chance.below(900) as u64) * super::SECOND;
        while world.now() < until && gateway.is_sound() {
            // Renewed every ten seconds, as a server does, and sometimes late.
            let next = world.now() + (10 + chance.below(30) as u64) * super::SECOND;
            while world.now() < next && gateway.is_sound() {
                take_over(&world, &mut chance).await?;
                tokio::task::yield_now().await;
            }
            if !matches!(gateway.store.renew_copy(&copying, 1).await, Ok(true)) && gateway.is_sound() {
                break;
            }
        }
        if !gateway.is_sound() || chance.one_in(3) {
            // Nobody is at it any more: it ends all the same.
            world.acked(|acked| acked.copying.remove(&id));
            continue;
        }
        let ended = match receive(&gateway.store, b"source").await {
            Ok(content) => gateway.store.end_copy(&copying, content).await,
            Err(failure) => Err(failure),
        };
        world.acked(|acked| acked.copying.remove(&id));
        if ended.is_ok() {
            let _ = gateway.store.forget_copy(&copying).await;
        }
    }
    Ok(())
}

/// As a gateway that starts does.
async fn take_over(world: &World, chance: &mut Chance) -> Result<(), String> {
    if !chance.one_in(40) {
        return Ok(());
    }
    let Some(gateway) = world.any(chance) else { return Ok(()) };
    for lost in gateway.store.unfinished_copies().await.unwrap_or_default() {
        let id = lost.copying.id;
        if let Some(owner) = world.acked(|acked| acked.copying.get(&id).cloned()).filter(|owner| owner.is_sound()) {
            return Err(format!("gateway {} seized a copy that gateway {} is at", gateway.id, owner.id));
        }
        let _ = gateway.store.fail_copy(&lost.copying, "lost".into()).await;
        let _ = gateway.store.forget_copy(&lost.copying).await;
    }
    Ok(())
}

/// What was acknowledged is there.
pub async fn judge(world: &World, last: &Gateway) -> Result<(), String> {
    let names: Vec<_> = world.acked(|acked| acked.may_be.clone().into_iter().collect());
    for (name, may_be) in names {
        let found = loop {
            match bytes(&last.store, &at("box", &name)).await {
                Ok(bytes) => break Ok(bytes),
                Err(Failure::Refused(Refusal::BlobNotFound)) => break Err(None),
                Err(Failure::Broken(Fault::Busy | Fault::Unavailable(_))) => {}
                Err(failure) => break Err(Some(failure)),
            }
        };
        let number = match &found {
            Ok(bytes) => match number_of(bytes) {
                Some(number) => Some(number),
                // Created, and the pages never written.
                None if bytes.iter().all(|byte| *byte == 0) && may_be.len() > 1 => continue,
                None => return Err(format!("{name} is of no write")),
            },
            Err(None) => None,
            Err(Some(failure)) => return Err(format!("{name} cannot be read: {failure:?}")),
        };
        if !may_be.contains(&number) {
            return Err(format!("{name} has write {number:?}, and may have {may_be:?}"));
        }
    }
    Ok(())
}

/// Each change that was acknowledged is in the feed, once.
pub async fn judge_feed(world: &World, last: &Gateway) -> Result<(), String> {
    let list = lazuli_store::ListBlobs { most: 5_000, ..Default::default() };
    let page = last.store.list_blobs(&container("$blobchangefeed"), list).await;
    let page = page.map_err(|failure| format!("the feed cannot be listed: {failure:?}"))?;
    let mut feed = Vec::new();
    for entry in page.entries {
        if let lazuli_store::Entry::Blob(item) = entry
            && item.name.as_str().ends_with(".avro")
        {
            let log = bytes(&last.store, &at("$blobchangefeed", item.name.as_str())).await;
            feed.extend(log.map_err(|failure| format!("a log cannot be read: {failure:?}"))?);
        }
    }
    for subject in world.acked(|acked| acked.told.clone()) {
        let times = feed.windows(subject.len()).filter(|window| *window == subject.as_bytes()).count();
        if times != 1 {
            return Err(format!("the feed tells {times} times of {subject}"));
        }
    }
    Ok(())
}
