//! Containers and service properties: each operation, its refusals, and that a name used again is another container.

mod world;

use lazuli_model::access::{PublicAccess, StoredPolicy};
use lazuli_model::container::*;
use lazuli_model::lease::{Action, Length};
use lazuli_model::service::{Of, Retention, ServiceProperties, ServicePropertiesChange};
use lazuli_model::{AccountName, Conditions, LeaseId, Metadata, Refusal};
use lazuli_store::Failure;
use world::*;

fn refused<T>(refusal: Refusal) -> Result<T, Failure> {
    Err(Failure::Refused(refusal))
}

fn create(id: u128) -> CreateContainer {
    CreateContainer { id, scope: None, metadata: Metadata::default(), public: PublicAccess::Off }
}

#[tokio::test]
async fn a_container_lives_and_dies() {
    for seed in 0..10 {
        let world = if seed == 0 { World::plain() } else { World::distributed(seed) };
        let (store, at) = (&world.store, container("box"));
        assert_eq!(store.container(&at, ReadContainer::default()).await, refused(Refusal::ContainerNotFound));
        assert_eq!(store.container_for_access(&at).await, Ok(None));
        let created = store.create_container(&at, create(1)).await.unwrap();
        assert_eq!(store.create_container(&at, create(2)).await, refused(Refusal::ContainerAlreadyExists));
        assert_eq!(store.container(&at, ReadContainer::default()).await, Ok(created.clone()));

        let metadata = Metadata::new(vec![("k".into(), "v".into())]).unwrap();
        let set = SetContainerMetadata { metadata: metadata.clone(), conditions: Conditions::default(), lease: None };
        let changed = store.set_container_metadata(&at, set).await.unwrap();
        assert!(changed.metadata == metadata && changed.etag != created.etag && changed.id == 1);

        let policies = vec![StoredPolicy { id: "p".into(), start: None, expiry: None, permissions: Some("r".into()) }];
        let set =
            SetContainerAcl { public: PublicAccess::Blob, policies, conditions: Conditions::default(), lease: None };
        let changed = store.set_container_acl(&at, set).await.unwrap();
        assert_eq!(store.container_for_access(&at).await, Ok(Some(changed)));

        let action = Action::Acquire { proposed: LeaseId(5), length: Length::Infinite };
        let lease = LeaseContainer { action, conditions: Conditions::default() };
        store.lease_container(&at, lease).await.unwrap();
        let delete = |lease| DeleteContainer { conditions: Conditions::default(), lease };
        assert_eq!(store.delete_container(&at, delete(None)).await, refused(Refusal::LeaseIdMissing));
        store.delete_container(&at, delete(Some(LeaseId(5)))).await.unwrap();
        assert_eq!(store.delete_container(&at, delete(None)).await, refused(Refusal::ContainerNotFound));
    }
}

#[tokio::test]
async fn a_name_used_again_is_another_container() {
    let world = World::plain();
    world.create("box", 1).await;
    world.put("b", b"old").await.unwrap();
    world.drop_container("box").await;
    let absent = world.put("b", b"lost").await;
    assert_eq!(absent, refused(Refusal::ContainerNotFound));
    world.create("box", 2).await;
    assert_eq!(world.get("b", None).await, refused(Refusal::BlobNotFound));
}

/// A write that looked the container up before it was deleted lands in the dead space: seen by nobody, and swept.
#[tokio::test]
async fn late_writes_are_seen_by_nobody() {
    for seed in 0..60 {
        let world = World::distributed(seed);
        world.create("box", 1).await;
        let bytes = pattern(1, 50_000);
        let (late, ()) = tokio::join!(world.put("b", &bytes), world.drop_container("box"));
        world.create("box", 2).await;
        assert_eq!(world.get("b", None).await, refused(Refusal::BlobNotFound), "{late:?}");
        world.sweep().await;
        world.advance_seconds(3600);
        world.sweep().await;
        assert_eq!((world.rows().as_str(), world.content.size()), ("c1", 0), "seed {seed}");
    }
}

#[tokio::test]
async fn service_properties_keep_what_a_change_leaves_out() {
    let world = World::plain();
    let account = AccountName::parse("account").unwrap();
    assert_eq!(world.store.service_properties(&account, Of::Blob).await, Ok(ServiceProperties::default()));
    let retention = Retention { days: Some(3), allow_permanent_delete: None };
    let change = ServicePropertiesChange { delete_retention: Some(retention.clone()), ..Default::default() };
    world.store.set_service_properties(&account, Of::Blob, change).await.unwrap();
    let change = ServicePropertiesChange { default_service_version: Some("2021-12-02".into()), ..Default::default() };
    world.store.set_service_properties(&account, Of::Blob, change).await.unwrap();
    let want = ServiceProperties {
        delete_retention: retention,
        default_service_version: Some("2021-12-02".into()),
        ..ServiceProperties::default()
    };
    assert_eq!(world.store.service_properties(&account, Of::Blob).await, Ok(want));
    assert_eq!(world.store.service_properties(&account, Of::Queue).await, Ok(ServiceProperties::default()));
    let other = AccountName::parse("other").unwrap();
    assert_eq!(world.store.service_properties(&other, Of::Blob).await, Ok(ServiceProperties::default()));
}
