//! Secrets are sealed, for their row alone; rows from before that are read, and sealed at the start.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lazuli_engine::{Memory, content};
use lazuli_model::account::WhichKey;

use super::*;
use crate::AccountTrouble;

const KEY1: &str = "Zmlyc3Qta2V5LW9mLXRoZS1hY2NvdW50";
const KEY2: &str = "c2Vjb25kLWtleS1vZi10aGUtYWNjb3VudA==";

struct World {
    engine: Arc<Memory>,
    store: Store,
}

fn name(text: &str) -> AccountName {
    AccountName::parse(text).unwrap()
}

impl World {
    fn new() -> Self {
        let engine = Arc::new(Memory::new());
        let store = Store::new(engine.clone(), Arc::new(content::Memory::new()));
        Self { engine, store }
    }

    /// Another process over the same rows, with this key.
    fn with_key(&self, key: u8) -> Store {
        let drawn = AtomicU64::new(0);
        let random: Random = Arc::new(move || u128::from(drawn.fetch_add(1, Ordering::Relaxed)));
        let store = Store::new(self.engine.clone(), Arc::new(content::Memory::new()));
        store.sealing_under(SecretsKey([key; 32]), random)
    }

    fn holds(&self, text: &[u8]) -> bool {
        self.engine.entries().iter().any(|(_, value)| value.windows(text.len()).any(|part| part == text))
    }
}

fn both() -> Keys {
    Keys { key1: KEY1.into(), key2: KEY2.into() }
}

/// H7: every secret of an account, through every operation that writes one.
#[tokio::test]
async fn secrets_are_in_no_row_as_they_are() {
    let world = World::new();
    let store = world.with_key(1);
    let at = name("account1");
    let (delegation, scopes) =
        (Secret(*b"what delegation keys come from.."), Secret(*b"what keys of scopes come from..."));
    store.create_account(&at, both(), vec![]).await.unwrap();
    store.delegation_secret(&at, delegation).await.unwrap();
    store.scope_secret(&at, scopes).await.unwrap();
    store.set_account(&at, vec![("versioning".into(), "on".into())]).await.unwrap();
    let rotated = "cm90YXRlZC1rZXktb2YtdGhlLWFjY291bnQ=";
    store.rotate_account_key(&at, WhichKey::Key2, rotated.into()).await.unwrap();
    for secret in [KEY1.as_bytes(), KEY2.as_bytes(), rotated.as_bytes(), &delegation.0, &scopes.0] {
        assert!(!world.holds(secret), "{}", String::from_utf8_lossy(secret));
    }
    let account = world.with_key(1).known_account(&at).await.unwrap().account.unwrap();
    let keys = account.keys.as_ref().unwrap();
    assert_eq!((keys.key1.as_str(), keys.key2.as_str()), (KEY1, rotated));
    assert_eq!((account.delegation, account.scopes), (Some(delegation), Some(scopes)));
    assert!(account.settings.versioning);
    store.revoke_delegation_keys(&at).await.unwrap();
    assert_eq!(store.accounts().await.unwrap()[0].1.scopes, Some(scopes));
}

#[tokio::test]
async fn rows_from_before_are_read_and_sealed_at_the_start() {
    let world = World::new();
    let clear = world.store.create_account(&name("account1"), both(), vec![]).await.unwrap();
    world.store.set_account(&name("account2"), vec![("versioning".into(), "on".into())]).await.unwrap();
    // As version 1 wrote it.
    let Account { created, keys, delegation, scopes, .. } = clear.clone();
    let settings = before::PlacedSettings { public_access: true, ..Default::default() };
    let old = encode(&FirstAccount { created, keys, delegation, scopes, settings });
    let put = world.store.transact(keys::account_partition(&name("account1")), move |txn| {
        txn.put(keys::account(&name("account1")), old.clone());
        Ok(())
    });
    put.await.unwrap();
    assert!(world.holds(KEY1.as_bytes()) && world.store.sealed_account().await.unwrap().is_none());

    let store = world.with_key(1);
    assert_eq!(store.known_account(&name("account1")).await.unwrap().account.as_deref(), Some(&clear));
    let sealed = SealedAccounts { sealed: vec![name("account1")], left: vec![] };
    assert_eq!(store.seal_secrets().await.unwrap(), sealed);
    assert!(!world.holds(KEY1.as_bytes()) && !world.holds(KEY2.as_bytes()));
    assert_eq!(store.sealed_account().await.unwrap(), Some(name("account1")), "the other has no secrets");
    assert_eq!(store.seal_secrets().await.unwrap(), SealedAccounts::default());
    assert_eq!(store.accounts().await.unwrap()[0].1, clear);
}

#[tokio::test]
async fn another_key_opens_nothing() {
    let world = World::new();
    world.with_key(1).create_account(&name("account1"), both(), vec![]).await.unwrap();
    let other = world.with_key(2);
    assert_eq!(other.seal_secrets().await, Err(SecretsTrouble::OtherKey(name("account1"))));
    assert!(matches!(other.known_account(&name("account1")).await, Err(Failure::Broken(Fault::Corrupt(_)))));
    assert!(matches!(world.store.known_account(&name("account1")).await, Err(Failure::Broken(Fault::Corrupt(_)))));
    let changed = other.rotate_account_key(&name("account1"), WhichKey::Key1, "bmV3".into()).await;
    assert!(matches!(changed, Err(AccountTrouble::Failed(_))));
    assert_eq!(world.with_key(1).accounts().await.unwrap()[0].1.keys, Some(both()), "and changes nothing");
}

/// Somebody who writes to the disk cannot give one account the keys of another.
#[tokio::test]
async fn sealed_secrets_open_in_their_own_row_alone() {
    let world = World::new();
    let store = world.with_key(1);
    for account in ["account1", "account2"] {
        store.create_account(&name(account), both(), vec![]).await.unwrap();
    }
    let moved = store.transact(keys::account_partition(&name("account2")), |txn| {
        let row = txn.get(&keys::account(&name("account1")))?.expect("a row");
        txn.put(keys::account(&name("account2")), row);
        Ok(())
    });
    moved.await.unwrap();
    assert_eq!(world.with_key(1).seal_secrets().await, Err(SecretsTrouble::Damaged(name("account2"))));
}

/// The same secrets, sealed twice, look different: no derived key is used for two values.
#[tokio::test]
async fn no_two_rows_are_sealed_alike() {
    let world = World::new();
    let store = world.with_key(1);
    let mut seen = Vec::new();
    for _ in 0..3 {
        store.create_account(&name("account1"), both(), vec![]).await.unwrap();
        let row = store
            .look(&keys::account_partition(&name("account1")), |txn| {
                get::<AccountRow>(txn, &keys::account(&name("account1")))
            })
            .await
            .unwrap()
            .unwrap();
        let Secrets::Sealed(sealed) = row.secrets else { panic!("not sealed") };
        assert!(!seen.contains(&sealed));
        seen.push(sealed);
        store.delete_account(&name("account1")).await.unwrap();
    }
}

/// Settings that had places come to have names, and keep their values.
#[tokio::test]
async fn rows_with_settings_by_place_are_read() {
    let world = World::new();
    let settings = before::PlacedSettings {
        versioning: true,
        blob_soft_delete: lazuli_model::service::Retention { days: Some(9), allow_permanent_delete: Some(true) },
        container_soft_delete_days: Some(3),
        default_tier: before::PlacedTier::Cool,
        encryption_scopes: vec![before::PlacedScope { name: "scope1".into(), enabled: false }],
        copy_sources: vec!["*.example.com".into()],
        ..before::PlacedSettings::default()
    };
    let expected = AccountSettings::from(settings.clone());
    assert!(!expected.public_access, "off as it was stored, though a fresh account has it on");
    let none = AccountSecrets { keys: None, delegation: None, scopes: None };
    let row = SecondAccountRow { created: Timestamp::from_ticks(7), secrets: Secrets::Clear(none), settings };
    let old = encode(&row);
    let put = world.store.transact(keys::account_partition(&name("account1")), move |txn| {
        txn.put(keys::account(&name("account1")), old.clone());
        Ok(())
    });
    put.await.unwrap();
    assert_eq!(*world.store.known_account(&name("account1")).await.unwrap().settings, expected);
}

/// A program that does not know a setting does not go on as if it were not there.
#[tokio::test]
async fn settings_of_a_newer_program_are_not_forgotten() {
    let world = World::new();
    let none = AccountSecrets { keys: None, delegation: None, scopes: None };
    let settings = vec![("from-the-future".into(), "on".into())];
    let row = encode(&AccountRow { created: Timestamp::from_ticks(7), secrets: Secrets::Clear(none), settings });
    let put = world.store.transact(keys::account_partition(&name("account1")), move |txn| {
        txn.put(keys::account(&name("account1")), row.clone());
        Ok(())
    });
    put.await.unwrap();
    let known = world.store.known_account(&name("account1")).await;
    assert!(matches!(known, Err(Failure::Broken(Fault::Corrupt(_)))));
}
