//! Accounts and their settings: one truth, seen at once.

mod world;

use lazuli_model::account::{Keys, WhichKey};
use lazuli_model::service::{Of, Retention, ServicePropertiesChange};
use lazuli_model::{AccountName, AccountSettings};
use lazuli_store::{AccountTrouble, Store};
use world::World;

fn name() -> AccountName {
    AccountName::parse("account1").unwrap()
}

fn keys() -> Keys {
    Keys { key1: "b25l".into(), key2: "dHdv".into() }
}

fn changes(text: &str) -> Vec<(String, String)> {
    let pair = |one: &str| one.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    text.split_whitespace().filter_map(pair).collect()
}

async fn retention(store: &Store) -> Retention {
    store.service_properties(&name(), Of::Blob).await.unwrap().delete_retention
}

#[tokio::test]
async fn soft_delete_has_one_truth() {
    for mut world in [World::plain(), World::distributed(1), World::distributed(2)] {
        assert_eq!(*world.store.account_settings(&name()).await.unwrap(), AccountSettings::default());
        let kept = Retention { days: Some(5), allow_permanent_delete: Some(true) };
        let change =
            ServicePropertiesChange { delete_retention: Some(kept.clone()), ..ServicePropertiesChange::default() };
        world.store.set_service_properties(&name(), Of::Blob, change).await.unwrap();
        assert_eq!(world.store.account_settings(&name()).await.unwrap().blob_soft_delete, kept);
        assert_eq!(retention(&world.store).await, kept);

        world.store.set_account(&name(), changes("blob-soft-delete=7 versioning=on")).await.unwrap();
        assert_eq!(retention(&world.store).await.days, Some(7));
        // What says nothing of it leaves it alone, and so do the other services.
        world.store.set_service_properties(&name(), Of::Blob, ServicePropertiesChange::default()).await.unwrap();
        let off = ServicePropertiesChange {
            delete_retention: Some(Retention::default()),
            ..ServicePropertiesChange::default()
        };
        world.store.set_service_properties(&name(), Of::Queue, off).await.unwrap();
        world.restart();
        assert_eq!(retention(&world.store).await.days, Some(7));
        assert!(world.store.account_settings(&name()).await.unwrap().versioning);
    }
}

#[tokio::test]
async fn another_process_is_seen_after_a_second() {
    let mut world = World::plain();
    let other = world.store.clone();
    assert!(!other.account_settings(&name()).await.unwrap().versioning);
    world.restart();
    world.store.set_account(&name(), changes("versioning=on")).await.unwrap();
    assert!(world.store.account_settings(&name()).await.unwrap().versioning);
    world.advance_seconds(2);
    assert!(other.account_settings(&name()).await.unwrap().versioning);
}

#[tokio::test]
async fn accounts_come_and_go() {
    let world = World::plain();
    let store = &world.store;
    store.create_account(&name(), keys(), changes("change-feed=on")).await.unwrap();
    assert_eq!(store.create_account(&name(), keys(), Vec::new()).await, Err(AccountTrouble::Exists));
    let rotated = store.rotate_account_key(&name(), WhichKey::Key1, "bmV3".into()).await.unwrap();
    assert_eq!(rotated.keys, Some(Keys { key1: "bmV3".into(), ..keys() }));
    assert!(rotated.settings.change_feed);
    let bad = store.set_account(&name(), changes("versioning=on immutability=perhaps")).await;
    assert!(matches!(bad, Err(AccountTrouble::Bad(_))));
    assert!(!store.account_settings(&name()).await.unwrap().versioning, "all or none");

    let at = lazuli_store::ContainerAt {
        account: name(),
        container: lazuli_model::ContainerName::parse("container").unwrap(),
    };
    let create = lazuli_model::container::CreateContainer {
        id: 9,
        scope: None,
        metadata: Default::default(),
        public: Default::default(),
    };
    store.create_container(&at, create).await.unwrap();
    assert_eq!(store.delete_account(&name()).await, Err(AccountTrouble::NotEmpty("containers")));
    let hierarchical = store.set_account(&name(), changes("change-feed=off hierarchical-namespace=on")).await;
    assert_eq!(hierarchical, Err(AccountTrouble::NotEmpty("containers")));
    let delete = lazuli_model::container::DeleteContainer { conditions: Default::default(), lease: None };
    store.delete_container(&at, delete).await.unwrap();
    let at = lazuli_store::TableAt { account: name(), table: lazuli_model::TableName::parse("table").unwrap() };
    store.create_table(&at, lazuli_model::table::CreateTable { id: 10, name: at.table.clone() }).await.unwrap();
    assert_eq!(store.delete_account(&name()).await, Err(AccountTrouble::NotEmpty("tables")));
    store.delete_table(&at).await.unwrap();
    store.delete_account(&name()).await.unwrap();
    assert_eq!(store.delete_account(&name()).await, Err(AccountTrouble::NotFound));
    assert_eq!(store.accounts().await.unwrap(), []);
}
