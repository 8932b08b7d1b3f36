//! Inventory reports, over a clock that is moved by hand.

mod world;

use lazuli_model::blob::ReadBlob;
use lazuli_store::{BlobAt, Entry, InventoryReports, ListBlobs};
use world::{World, blob, container};

const DAY: u64 = 24 * 60 * 60;

const POLICY: &str = r#"{"type":"Inventory","rules":[{"name":"all","destination":"reports","definition":{
    "filters":{"blobTypes":["blockBlob"],"prefixMatch":["box/"]},
    "format":"Csv","objectType":"Blob","schedule":"Daily","schemaFields":["Name","Content-Length","BlobType"]}}]}"#;

async fn run(world: &World, reports: &mut InventoryReports) -> u64 {
    let before = reports.written;
    while world.store.inventory_step(reports).await.unwrap() {}
    reports.written - before
}

async fn names(world: &World) -> Vec<String> {
    let page = world.store.list_blobs(&container("reports"), ListBlobs { most: 100, ..ListBlobs::default() }).await;
    let name = |entry: Entry| match entry {
        Entry::Blob(item) => item.name.as_str().to_owned(),
        Entry::Prefix(prefix) => prefix,
        Entry::Directory(item) => item.name.as_str().to_owned(),
    };
    page.unwrap().entries.into_iter().map(name).collect()
}

async fn text(world: &World, name: &str) -> String {
    let at = BlobAt { container: container("reports").container, ..blob(name) };
    let mut reader = world.store.open_blob(&at, ReadBlob::default()).await.unwrap();
    reader.seek(0, u64::MAX);
    let mut bytes = Vec::new();
    while let Some(part) = reader.next().await.unwrap() {
        bytes.extend_from_slice(&part);
    }
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn a_report_a_day() {
    let world = World::plain();
    for (name, id) in [("box", 1), ("other", 2), ("reports", 3)] {
        world.create(name, id).await;
    }
    for (name, bytes) in [("b", &b"22"[..]), ("a", b"1")] {
        world.put(name, bytes).await.unwrap();
    }
    world.store.set_account(&blob("x").account, vec![("inventory".into(), POLICY.into())]).await.unwrap();
    let mut reports = InventoryReports::default();
    assert_eq!(run(&world, &mut reports).await, 1);
    assert_eq!(run(&world, &mut reports).await, 0, "once a day");
    let written = names(&world).await;
    let [manifest_sum, manifest, report] = &written[..] else { panic!("{written:?}") };
    assert!(manifest_sum.ends_with("/all/all-manifest.checksum") && manifest.ends_with("/all/all-manifest.json"));
    assert!(report.ends_with("/all/all.csv"), "{report}");
    assert_eq!(text(&world, report).await, "Name,Content-Length,BlobType\nbox/a,1,BlockBlob\nbox/b,2,BlockBlob\n");
    let told = text(&world, manifest).await;
    assert!(told.contains("\"objectCount\":2") && told.contains("\"totalObjectSize\":3"), "{told}");
    world.advance_seconds(DAY + 1);
    assert_eq!(run(&world, &mut reports).await, 1);
    assert_eq!(names(&world).await.len(), 6);
}

/// A report for a container that is not there is left out, and tried again the next day.
#[tokio::test]
async fn a_destination_that_is_not_there() {
    let world = World::plain();
    world.create("box", 1).await;
    world.store.set_account(&blob("x").account, vec![("inventory".into(), POLICY.into())]).await.unwrap();
    let mut reports = InventoryReports::default();
    assert_eq!(run(&world, &mut reports).await, 0);
    world.create("reports", 2).await;
    world.advance_seconds(DAY + 1);
    assert_eq!(run(&world, &mut reports).await, 1);
}

/// As a Parquet file, whose two ends show what it is; `query` reads such files in its own tests.
#[tokio::test]
async fn a_report_in_parquet() {
    let world = World::plain();
    for (name, id) in [("box", 1), ("reports", 2)] {
        world.create(name, id).await;
    }
    world.put("a", b"1").await.unwrap();
    let policy = POLICY.replace("Csv", "Parquet");
    world.store.set_account(&blob("x").account, vec![("inventory".into(), policy)]).await.unwrap();
    assert_eq!(run(&world, &mut InventoryReports::default()).await, 1);
    let written = names(&world).await;
    let report = written.iter().find(|name| name.ends_with("/all/all.parquet")).expect("a report");
    let at = BlobAt { container: container("reports").container, ..blob(report) };
    let mut reader = world.store.open_blob(&at, ReadBlob::default()).await.unwrap();
    reader.seek(0, u64::MAX);
    let mut bytes = Vec::new();
    while let Some(part) = reader.next().await.unwrap() {
        bytes.extend_from_slice(&part);
    }
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    assert!(bytes.windows(5).any(|part| part == b"box/a"));
}
