//! Logs and metrics as they are stored, over a clock that is moved by hand.

mod world;

use lazuli_model::analytics::{Authentication, Class, LOGS, MetricsSpan, Tally};
use lazuli_model::blob::ReadBlob;
use lazuli_model::service::{Logging, Metrics, Of, Retention, ServicePropertiesChange};
use lazuli_model::table::{Key, Value};
use lazuli_model::{AccountName, BlobName, ContainerName, TableName, Timestamp};
use lazuli_store::{
    AnalyticsRounds, BlobAt, ContainerAt, Entry, ListBlobs, ListContainers, Log, QueryEntities, QueryTables, TableAt,
};
use world::{World, blob};

const DAY: u64 = 24 * 60 * 60;

fn account() -> AccountName {
    blob("x").account
}

fn logs() -> ContainerAt {
    ContainerAt { account: account(), container: ContainerName::parse(LOGS).unwrap() }
}

async fn ask_for(world: &World, days: Option<u32>) {
    let retention = Retention { days, ..Retention::default() };
    let logging = Logging { read: true, retention: retention.clone(), ..Logging::default() };
    let metrics = Metrics { enabled: true, retention, ..Metrics::default() };
    let change = ServicePropertiesChange {
        logging: Some(logging),
        hour_metrics: Some(metrics.clone()),
        minute_metrics: Some(metrics),
        ..ServicePropertiesChange::default()
    };
    world.store.set_service_properties(&account(), Of::Blob, change).await.unwrap();
}

fn log(world: &World, lines: &str) -> Log {
    let now = world.store.now();
    Log { of: Of::Blob, first: now, last: now, version: "1.0".into(), sorts: "read".into(), lines: lines.into() }
}

async fn names(world: &World) -> Vec<String> {
    let list = ListBlobs { most: 5000, ..ListBlobs::default() };
    let page = world.store.list_blobs(&logs(), list).await.unwrap();
    let names = page.entries.into_iter().filter_map(|entry| match entry {
        Entry::Blob(item) => Some(item.name.as_str().to_owned()),
        Entry::Prefix(_) | Entry::Directory(_) => None,
    });
    names.collect()
}

/// Each entity of a table, by its keys.
async fn rows(world: &World, table: &str) -> Vec<(Key, Vec<(String, Value)>)> {
    let at = TableAt { account: account(), table: TableName::parse(table).unwrap() };
    let table = world.store.open_table(&at).await.unwrap();
    let query = QueryEntities { most: 1000, ..QueryEntities::default() };
    let page = world.store.query_entities(&table, &query).await.unwrap();
    page.entities().unwrap().into_iter().map(|(key, entity)| (key, entity.properties)).collect()
}

#[tokio::test]
async fn logs_are_numbered_within_their_hour_and_go_after_their_days() {
    let world = World::plain();
    ask_for(&world, Some(2)).await;
    assert_eq!(world.store.analytics_switches().await.unwrap().len(), 1);
    for lines in ["one\n", "two\n"] {
        world.store.write_log(&account(), &log(&world, lines)).await.unwrap();
    }
    let written = names(&world).await;
    assert_eq!(written.len(), 2);
    assert!(written[0].starts_with("blob/2022/") && written[0].ends_with("00/000000.log"), "{written:?}");
    assert!(written[1].ends_with("00/000001.log"), "{written:?}");
    let at = BlobAt { account: account(), container: logs().container, blob: BlobName::parse(&written[1]).unwrap() };
    let blob = world.store.blob(&at, ReadBlob::default()).await.unwrap();
    let metadata: Vec<_> = blob.metadata.iter().map(|(name, _)| name).collect();
    assert_eq!(metadata, ["LogType", "StartTime", "EndTime", "LogVersion"]);
    let all = world.store.list_containers(&account(), ListContainers { most: 10, ..ListContainers::default() }).await;
    assert!(all.unwrap().items.is_empty(), "logs are not listed");
    let mut rounds = AnalyticsRounds::default();
    while world.store.analytics_step(&mut rounds).await.unwrap() {}
    assert_eq!(names(&world).await.len(), 2);
    world.advance_seconds(2 * DAY + 3600);
    world.store.write_log(&account(), &log(&world, "three\n")).await.unwrap();
    while world.store.analytics_step(&mut rounds).await.unwrap() {}
    assert_eq!(names(&world).await.len(), 1, "what is past its time goes");
}

#[tokio::test]
async fn rows_are_added_to_hidden_and_trimmed() {
    let world = World::plain();
    ask_for(&world, Some(1)).await;
    let mut tally = Tally::default();
    tally.count(Class::Success, Authentication::Key, 2.0, 1, 10);
    let hour = (MetricsSpan::Hour, MetricsSpan::Hour.begin(world.store.now()));
    for _ in 0..2 {
        world.store.add_metrics(&account(), Of::Blob, hour, vec![("user;All".into(), tally.clone())]).await.unwrap();
    }
    let found = rows(&world, "$MetricsHourPrimaryTransactionsBlob").await;
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].0.partition.len(), found[0].0.row.as_str()), (13, "user;All"));
    assert!(found[0].1.contains(&("TotalRequests".into(), Value::Int64(2))));
    assert!(found[0].1.contains(&("TotalEgress".into(), Value::Int64(20))));
    let query = QueryTables { most: 10, ..QueryTables::default() };
    assert!(world.store.query_tables(&account(), &query).await.unwrap().names.is_empty());
    world.advance_seconds(DAY + 2 * 3600);
    let mut rounds = AnalyticsRounds::default();
    while world.store.analytics_step(&mut rounds).await.unwrap() {}
    assert!(rows(&world, "$MetricsHourPrimaryTransactionsBlob").await.is_empty());
}

#[tokio::test]
async fn what_is_stored_is_measured_once_a_day() {
    let world = World::plain();
    world.create("box", 1).await;
    world.put("a", &[0; 100]).await.unwrap();
    world.put("b", &[0; 11]).await.unwrap();
    ask_for(&world, None).await;
    let mut rounds = AnalyticsRounds::default();
    while world.store.analytics_step(&mut rounds).await.unwrap() {}
    let found = rows(&world, "$MetricsCapacityBlob").await;
    assert_eq!(found.iter().map(|(key, _)| key.row.as_str()).collect::<Vec<_>>(), ["analytics", "data"]);
    assert!(found[0].0.partition.ends_with("T0000"));
    let expected = [("Capacity", 111), ("ContainerCount", 1), ("ObjectCount", 2)];
    assert_eq!(found[1].1, expected.map(|(name, value)| (name.to_owned(), Value::Int64(value))));
    world.put("c", &[0; 9]).await.unwrap();
    while world.store.analytics_step(&mut rounds).await.unwrap() {}
    assert_eq!(rows(&world, "$MetricsCapacityBlob").await.len(), 2, "once a day");
    world.advance_seconds(DAY);
    while world.store.analytics_step(&mut rounds).await.unwrap() {}
    let found = rows(&world, "$MetricsCapacityBlob").await;
    assert!(found.len() == 4 && found[3].1.contains(&("Capacity".into(), Value::Int64(120))));
}

/// What nobody but the service made does not keep an account from being deleted.
#[tokio::test]
async fn logs_and_metrics_go_with_their_account() {
    let world = World::plain();
    world.store.set_account(&account(), vec![("versioning".into(), "off".into())]).await.unwrap();
    world.store.write_log(&account(), &log(&world, "one\n")).await.unwrap();
    let hour = (MetricsSpan::Minute, MetricsSpan::Minute.begin(Timestamp::from_ticks(638_000_000_000_000_000)));
    world.store.add_metrics(&account(), Of::Queue, hour, vec![("user;All".into(), Tally::default())]).await.unwrap();
    world.store.delete_account(&account()).await.unwrap();
    assert!(world.store.list_blobs(&logs(), ListBlobs { most: 1, ..ListBlobs::default() }).await.is_err());
}
