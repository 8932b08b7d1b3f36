//! The change feed: what is published is what was changed, once and in order, whichever gateway publishes it and whenever that stops.

mod world;

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::task::Poll;

use lazuli_model::blob::*;
use lazuli_model::feed::{CONTAINER, Cause};
use lazuli_model::{BlobName, Conditions, ETag, Metadata, Tags, Timestamp};
use lazuli_store::{BlobAt, Entry, Failure, ListBlobs, RequestContext, Store};
use world::{Random, World, blob, container, put_blob};

const HOUR: u64 = 3600;

#[derive(Debug, PartialEq, Eq)]
struct Told {
    kind: String,
    blob: String,
    id: String,
    api: String,
    request: String,
    snapshot: Option<String>,
    previous: Vec<(String, String)>,
    pending: Vec<(String, String)>,
    sequencer: String,
}

/// Reads Avro, as far as it is written.
struct Avro<'a>(&'a [u8]);

impl Avro<'_> {
    fn long(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.0[0];
            self.0 = &self.0[1..];
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return number >> 1;
            }
        }
    }

    fn text(&mut self) -> String {
        let length = self.long() as usize;
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8(text.to_vec()).unwrap()
    }

    fn skip(&mut self, length: usize) {
        self.0 = &self.0[length..];
    }

    fn optional<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.long() == 1).then(|| read(self))
    }

    fn map<T>(&mut self, read: impl Fn(&mut Self) -> T) -> Vec<(String, T)> {
        let mut pairs = Vec::new();
        loop {
            let count = self.long();
            if count == 0 {
                return pairs;
            }
            for _ in 0..count {
                let name = self.text();
                pairs.push((name, read(self)));
            }
        }
    }

    fn event(&mut self) -> Told {
        assert_eq!(self.long(), 5);
        let (_topic, subject, kind, _time, id) = (self.text(), self.text(), self.text(), self.text(), self.text());
        let (api, _client, request) = (self.text(), self.text(), self.text());
        let (_etag, _type, _length, _blob_type) = (self.text(), self.text(), self.long(), self.text());
        let _versions = (self.optional(Avro::text), self.optional(Avro::text), self.optional(Avro::text));
        let (_url, sequencer) = (self.text(), self.text());
        let previous = self.optional(|avro| avro.map(Avro::text)).unwrap_or_default();
        let snapshot = self.optional(Avro::text);
        self.optional(|avro| avro.map(|avro| (avro.text(), avro.text())));
        let pending = self.optional(|avro| avro.map(Avro::text)).unwrap_or_default();
        self.optional(|avro| (avro.map(Avro::text), avro.map(Avro::text)));
        let blob = subject.split_once("/blobs/").unwrap().1.to_owned();
        Told { kind, blob, id, api, request, snapshot, previous, pending, sequencer }
    }
}

fn at(name: &str) -> BlobAt {
    let at = container(CONTAINER);
    BlobAt { account: at.account, container: at.container, blob: BlobName::parse(name).unwrap() }
}

async fn read(store: &Store, name: &str) -> String {
    String::from_utf8_lossy(&read_bytes(store, name).await).into_owned()
}

async fn read_bytes(store: &Store, name: &str) -> Vec<u8> {
    let mut reader = store.open_blob(&at(name), ReadBlob::default()).await.unwrap();
    let mut bytes = Vec::new();
    reader.seek(0, u64::MAX);
    while let Some(part) = reader.next().await.unwrap() {
        bytes.extend_from_slice(&part);
    }
    bytes
}

async fn names(store: &Store, prefix: &str) -> Vec<String> {
    let list = ListBlobs { most: 5000, prefix: prefix.into(), ..ListBlobs::default() };
    let page = store.list_blobs(&container(CONTAINER), list).await.unwrap();
    let name = |entry| match entry {
        Entry::Blob(item) => item.name.as_str().to_owned(),
        Entry::Prefix(prefix) => prefix,
        Entry::Directory(item) => item.name.as_str().to_owned(),
    };
    page.entries.into_iter().map(name).collect()
}

/// Everything in the logs.
async fn told(store: &Store) -> Vec<Told> {
    let mut all = Vec::new();
    for name in names(store, "log/").await {
        let bytes = read_bytes(store, &name).await;
        let mut avro = Avro(&bytes);
        assert_eq!(&avro.0[..4], b"Obj\x01");
        avro.skip(4);
        let head = avro.map(Avro::text);
        assert!(head[0].1.contains("BlobChangeEventData"));
        let sync = avro.0[..16].to_vec();
        avro.skip(16);
        while !avro.0.is_empty() {
            let (count, length) = (avro.long(), avro.long() as usize);
            let before = avro.0.len();
            all.extend((0..count).map(|_| avro.event()));
            assert_eq!(before - avro.0.len(), length);
            assert_eq!(&avro.0[..16], sync);
            avro.skip(16);
        }
    }
    all
}

async fn set(store: &Store, changes: &[(&str, &str)]) {
    let changes = changes.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    store.set_account(&container("box").account, changes).await.unwrap();
}

async fn publish(store: &Store) {
    while store.feed_step().await.unwrap() {}
}

/// A step that is dropped somewhere on its way, as by a kill.
async fn publish_until(store: &Store, polls: usize) {
    let mut step = Box::pin(store.feed_step());
    for _ in 0..polls {
        let done = poll_fn(|context| Poll::Ready(step.as_mut().poll(context).is_ready())).await;
        if done {
            return;
        }
        tokio::task::yield_now().await;
    }
}

fn conditions() -> Conditions {
    Conditions::default()
}

fn tier(to: Tier) -> SetBlobTier {
    SetBlobTier { which: Which::Current, tier: to, priority: None, conditions: conditions(), lease: None }
}

/// One operation, and what is to be told of it.
async fn operate(world: &World, random: &mut Random, name: &str) -> Vec<&'static str> {
    let (store, at) = (&world.store, blob(name));
    let current = store.blob(&at, ReadBlob::default()).await.ok();
    let said = |done: Result<(), Failure>, kinds: Vec<&'static str>| done.map_or(Vec::new(), |()| kinds);
    match random.below(10) {
        0..=2 => said(world.put(name, b"content").await.map(drop), vec!["BlobCreated"]),
        3 => {
            let metadata = Metadata::new(vec![("k".into(), random.below(3).to_string())]).unwrap();
            let set =
                SetBlobMetadata { metadata, encryption: Default::default(), conditions: conditions(), lease: None };
            said(store.set_blob_metadata(&at, set).await.map(drop), vec!["BlobPropertiesUpdated"])
        }
        4 => {
            let headers = ContentHeaders { content_type: Some("text/plain".into()), ..ContentHeaders::default() };
            let set = SetBlobProperties { headers, conditions: conditions(), lease: None };
            said(store.set_blob_properties(&at, set).await.map(drop), vec!["BlobPropertiesUpdated"])
        }
        5 => {
            let to = if random.chance(50) { Tier::Hot } else { Tier::Cool };
            let changes = current.is_some_and(|blob| blob.tier != Some(to));
            let kinds = if changes { vec!["BlobTierChanged"] } else { vec![] };
            said(store.set_blob_tier(&at, tier(to)).await.map(drop), kinds)
        }
        6 if current.is_some() => {
            world.snapshot(name).await;
            vec!["BlobSnapshotCreated"]
        }
        7 => {
            let tags = Tags::new(vec![("t".into(), random.below(2).to_string())]).unwrap();
            let changes = current.is_some_and(|blob| blob.tags != tags);
            let set = SetBlobTags { which: Which::Current, tags, conditions: conditions(), lease: None };
            said(store.set_blob_tags(&at, set).await, if changes { vec!["BlobPropertiesUpdated"] } else { vec![] })
        }
        8 => {
            let list = ListBlobs {
                prefix: name.into(),
                most: 5000,
                include: lazuli_store::Include { snapshots: true, ..Default::default() },
                ..ListBlobs::default()
            };
            let there = store.list_blobs(&container("box"), list).await.unwrap().entries.len();
            said(world.delete(name, Some(DeleteSnapshots::Include)).await, vec!["BlobDeleted"; there])
        }
        _ => {
            // Refused, so nothing happened.
            let unmet = lazuli_model::conditions::Match::OneOf(vec![Some(ETag::of(Timestamp::from_ticks(1)))]);
            let conditions = Conditions { if_match: Some(unmet), ..conditions() };
            let content = world.receive(b"never").await;
            assert!(store.put_blob(&at, PutBlob { conditions, ..put_blob() }, content).await.is_err());
            vec![]
        }
    }
}

#[tokio::test]
async fn what_is_published_is_what_was_changed() {
    for seed in 0..60 {
        let mut world = if seed % 3 == 0 { World::plain() } else { World::distributed(seed) };
        let mut random = Random(seed);
        world.create("box", 7).await;
        let versions = if random.chance(30) { "on" } else { "off" };
        let days = if random.chance(30) { "3" } else { "off" };
        set(&world.store, &[("change-feed", "on"), ("versioning", versions), ("blob-soft-delete", days)]).await;
        let mut other = Store::new(world.engine.clone(), std::sync::Arc::new(world.content.clone()));
        let mut expected: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for _ in 0..60 {
            let name = random.one_of(&["a", "b", "c/d"]);
            expected.entry(name).or_default().extend(operate(&world, &mut random, name).await);
            match random.below(14) {
                0 => publish(&world.store).await,
                1 => {
                    publish_until(&world.store, random.below(40)).await;
                    world.restart();
                }
                // Two gateways publish, each with all there is in view, while a third goes on writing.
                2 => {
                    for _ in 0..3 {
                        let others = [&world, &world]
                            .map(|world| Store::new(world.engine.clone(), std::sync::Arc::new(world.content.clone())));
                        let writing = operate(&world, &mut random, name);
                        let (one, two, kinds) = tokio::join!(others[0].feed_step(), others[1].feed_step(), writing);
                        one.and(two).unwrap();
                        expected.entry(name).or_default().extend(kinds);
                    }
                }
                3 => {
                    publish_until(&other, random.below(40)).await;
                    other = Store::new(world.engine.clone(), std::sync::Arc::new(world.content.clone()));
                }
                4 => world.advance_seconds(random.below(5000) as u64),
                _ => {}
            }
        }
        world.restart();
        publish(&world.store).await;
        let told = told(&world.store).await;
        for (name, kinds) in &expected {
            let of: Vec<_> = told.iter().filter(|event| event.blob == *name).collect();
            assert_eq!(of.iter().map(|event| &event.kind).collect::<Vec<_>>(), *kinds, "{name}, seed {seed}");
            assert!(of.windows(2).all(|pair| pair[0].sequencer <= pair[1].sequencer), "seed {seed}");
        }
        let mut ids: Vec<_> = told.iter().map(|event| &event.id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), expected.values().map(Vec::len).sum::<usize>(), "seed {seed}");
        let notes = world.engine.entries().into_iter().filter(|(key, _)| key.column().0 == b'f' && key.space().0 == 7);
        assert_eq!(notes.count(), 0);
    }
}

#[tokio::test]
async fn nothing_is_written_while_it_is_off() {
    let world = World::plain();
    world.create("box", 7).await;
    world.put("a", b"1").await.unwrap();
    world.snapshot("a").await;
    publish(&world.store).await;
    assert!(!world.rows().contains('f'), "{}", world.rows());
    assert!(world.store.container(&container(CONTAINER), Default::default()).await.is_err());
}

#[tokio::test]
async fn an_hour_is_final_when_it_is_over() {
    let mut world = World::plain();
    world.create("box", 7).await;
    set(&world.store, &[("change-feed", "on"), ("change-feed-retention", "1")]).await;
    publish(&world.store).await;
    assert_eq!(names(&world.store, "").await, ["idx/segments/1601/01/01/0000/meta.json", "meta/segments.json"]);
    assert!(read(&world.store, "meta/segments.json").await.contains(r#""lastConsumable":"1601-01-01T00:00:00.000Z""#));

    let cause = Cause { api: "PutBlob".into(), request: 0x77, client_request: "me".into() };
    let content = world.receive(b"x").await;
    world
        .store
        .acting_for(RequestContext { cause: Some(cause.into()), ..RequestContext::default() })
        .put_blob(&blob("a"), put_blob(), content)
        .await
        .unwrap();
    publish(&world.store).await;
    let segment = names(&world.store, "idx/segments/2").await.remove(0);
    assert!(read(&world.store, &segment).await.contains(r#""status":"Publishing""#));
    let first = told(&world.store).await;
    assert_eq!((first[0].api.as_str(), first[0].request.as_str()), ("PutBlob", "00000000-0000-0000-0000-000000000077"));

    world.advance_seconds(HOUR + 120);
    world.restart();
    publish(&world.store).await;
    assert!(read(&world.store, &segment).await.contains(r#""status":"Finalized""#));
    let begin = read(&world.store, &segment).await.split(r#""begin":""#).nth(1).unwrap()[..24].to_owned();
    let last = format!(r#""lastConsumable":"{begin}""#);
    assert!(read(&world.store, "meta/segments.json").await.contains(&last), "{last}");

    world.put("a", b"y").await.unwrap();
    publish(&world.store).await;
    assert_eq!(names(&world.store, "idx/segments/2").await.len(), 2, "the next hour has its own");

    world.advance_seconds(25 * HOUR);
    world.put("b", b"y").await.unwrap();
    publish(&world.store).await;
    assert_eq!(names(&world.store, "idx/segments/2").await.len(), 1, "older than a day goes");
    assert_eq!(told(&world.store).await.len(), 1);
}

#[tokio::test]
async fn what_was_noted_outlives_its_container() {
    let world = World::plain();
    world.create("box", 7).await;
    set(&world.store, &[("change-feed", "on")]).await;
    world.put("a", b"1").await.unwrap();
    world.drop_container("box").await;
    world.sweep().await;
    world.advance_seconds(700);
    world.sweep().await;
    publish(&world.store).await;
    assert_eq!(told(&world.store).await.len(), 1);
    world.advance_seconds(700);
    world.sweep().await;
    world.advance_seconds(700);
    world.sweep().await;
    assert!(!world.engine.entries().iter().any(|(key, _)| key.space().0 == 7));
}

#[tokio::test]
async fn what_comes_of_itself_is_told_too() {
    let world = World::plain();
    world.create("box", 7).await;
    set(&world.store, &[("change-feed", "on")]).await;
    for name in ["back", "gone", "ends"] {
        world.put(name, b"1").await.unwrap();
    }
    for name in ["back", "gone"] {
        world.store.set_blob_tier(&blob(name), tier(Tier::Archive)).await.unwrap();
        world.store.set_blob_tier(&blob(name), tier(Tier::Cool)).await.unwrap();
    }
    world.delete("gone", None).await.unwrap();
    let expiry = SetBlobExpiry { expiry: Expiry::RelativeToNow(10_000), lease: None };
    world.store.set_blob_expiry(&blob("ends"), expiry).await.unwrap();
    publish(&world.store).await;
    assert_eq!(told(&world.store).await.len(), 3 + 4 + 1, "when it expires is not told");
    world.advance_seconds(60);
    world.sweep().await;
    publish(&world.store).await;
    let all = told(&world.store).await;
    let of = |name: &str| all.iter().filter(|event| event.blob == name).collect::<Vec<_>>();
    let kinds = |name: &str| of(name).iter().map(|event| event.kind.as_str()).collect::<Vec<_>>().join(" ");
    let (archived, asked) = ("BlobCreated BlobTierChanged", "BlobAsyncOperationInitiated");
    assert_eq!(kinds("back"), format!("{archived} {asked} BlobTierChanged"));
    assert_eq!(kinds("gone"), format!("{archived} {asked} BlobDeleted"));
    assert_eq!(kinds("ends"), "BlobCreated BlobDeleted");
    let back = of("back").pop().unwrap();
    assert_eq!(back.previous, [("PreviousTier".to_owned(), "Archive".to_owned())]);
    assert_eq!(back.pending[0], ("DestinationTier".to_owned(), "Cool".to_owned()));
}

#[tokio::test]
async fn it_goes_with_its_account() {
    let world = World::plain();
    set(&world.store, &[("change-feed", "on")]).await;
    publish(&world.store).await;
    world.store.delete_account(&container("box").account).await.unwrap();
    world.sweep().await;
    world.advance_seconds(700);
    world.sweep().await;
    publish(&world.store).await;
    assert_eq!(world.rows(), "");
}
