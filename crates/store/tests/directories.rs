//! A directory of each time opens, with all that is in it: records of blobs, queues, tables, shares and file systems as they were written
//! then. `directories/DATE` was written by a Lazuli of that day over its REST API; it is never changed. A change of a record's form adds one.

mod disk;

use std::path::Path;
use std::sync::Arc;

use lazuli_engine::Embedded;
use lazuli_engine::extents::Extents;
use lazuli_model::blob::{GetBlockList, Kind, ReadBlob, Tier, Which};
use lazuli_model::file::{FilePath, ReadFile, ShareName};
use lazuli_model::lake::LakePath;
use lazuli_model::table::{Key, TableName};
use lazuli_model::{AccountName, BlobName, Conditions, ContainerName, QueueName};
use lazuli_store::{BlobAt, ContainerAt, Entry, FileAt, Include, ListBlobs, PathAt, QueueAt, ShareAt, Store, TableAt};

const TIMES: [&str; 1] = ["2026-11-18"];

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("creates");
    for entry in std::fs::read_dir(from).expect("is there") {
        let entry = entry.expect("reads");
        let to = to.join(entry.file_name());
        if entry.file_type().expect("is known").is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).expect("copies");
        }
    }
}

fn open(path: &Path) -> Store {
    let engine = Embedded::open(path, Default::default()).expect("the keys open");
    let content = Extents::open(&path.join("extents"), Default::default()).expect("the content opens");
    Store::new(Arc::new(engine), Arc::new(content))
}

fn account(name: &str) -> AccountName {
    AccountName::parse(name).expect("a name")
}

fn blob(account_name: &str, container: &str, name: &str) -> BlobAt {
    let container = ContainerName::parse(container).expect("a name");
    BlobAt { account: account(account_name), container, blob: BlobName::parse(name).expect("a name") }
}

async fn read(store: &Store, at: &BlobAt, which: Which) -> Vec<u8> {
    let mut reader = store.open_blob(at, ReadBlob { which, ..ReadBlob::default() }).await.expect("it is there");
    reader.seek(0, u64::MAX);
    let mut bytes = Vec::new();
    while let Some(part) = reader.next().await.expect("it can be read") {
        bytes.extend_from_slice(&part);
    }
    bytes
}

fn big() -> Vec<u8> {
    (0..40_000_u64).map(|n| (n * n % 251) as u8).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_then_is_there_now() {
    for time in TIMES {
        let directory = disk::Directory::new(time);
        let path = directory.path().join("then");
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/directories").join(time), &path);
        // It is empty, and such are not kept.
        std::fs::create_dir_all(path.join("keys/tree/tables")).expect("creates");
        let store = open(&path);
        blobs(&store).await;
        messages_and_entities(&store).await;
        files(&store).await;
        paths(&store).await;
        let audit = store.audit(&mut |_| {}).await.expect("it can be read");
        assert_eq!(audit.damage, [""; 0], "{time}");
    }
}

async fn blobs(store: &Store) {
    let kept = |name: &str| blob("devstoreaccount1", "kept", name);
    let at = ContainerAt { account: account("devstoreaccount1"), container: kept("x").container };
    let include = Include { snapshots: true, uncommitted: true, ..Include::default() };
    let page = store.list_blobs(&at, ListBlobs { most: 100, include, ..ListBlobs::default() }).await.expect("a list");
    let mut names = Vec::new();
    for entry in page.entries {
        let Entry::Blob(item) = entry else { panic!("no delimiter was given") };
        names.push((item.name.as_str().to_owned(), item.snapshot.is_some()));
        if let Some(time) = item.snapshot {
            assert_eq!(read(store, &kept(item.name.as_str()), Which::Snapshot(time)).await, big());
        }
    }
    let plain = |name: &str| (name.to_owned(), false);
    let expected = [
        ("big.bin".to_owned(), true),
        plain("big.bin"),
        plain("blocks"),
        plain("cool"),
        plain("copy"),
        plain("log"),
        plain("pages"),
        plain("small.txt"),
    ];
    assert_eq!(names, expected);
    let mut pages = vec![0; 4096];
    pages[1024..1536].fill(b'p');
    for (name, content) in [
        ("big.bin", big()),
        ("blocks", b"first second".to_vec()),
        ("cool", b"cool".to_vec()),
        ("copy", big()),
        ("log", b"onetwo".to_vec()),
        ("pages", pages),
        ("small.txt", b"small".to_vec()),
    ] {
        assert_eq!(read(store, &kept(name), Which::Current).await, content, "{name}");
    }
    let seen =
        async |name: &str| store.open_blob(&kept(name), ReadBlob::default()).await.expect("it is there").blob.clone();
    let small = seen("small.txt").await;
    assert_eq!(small.metadata.iter().collect::<Vec<_>>(), [("a", "1")]);
    assert_eq!(small.tags.iter().collect::<Vec<_>>(), [("colour", "blue")]);
    assert_eq!(small.lease.shown(store.now()).state, "leased");
    assert_eq!(seen("cool").await.tier, Some(Tier::Cool));
    assert!(matches!(seen("log").await.kind, Kind::Append { .. }));
    let list = GetBlockList {
        which: Which::Current,
        committed: true,
        uncommitted: true,
        conditions: Conditions::default(),
        lease: None,
    };
    let lists = store.block_list(&kept("blocks"), list).await.expect("it is there");
    assert_eq!((lists.committed.len(), lists.uncommitted.len()), (2, 1));
}

async fn messages_and_entities(store: &Store) {
    let at = QueueAt { account: account("devstoreaccount1"), queue: QueueName::parse("tasks").expect("a name") };
    let texts: Vec<String> =
        store.peek_messages(&at, 32).await.expect("it is there").into_iter().map(|one| one.text).collect();
    assert_eq!(texts, ["message 0", "message 1", "message 2"]);
    let at = TableAt { account: account("devstoreaccount1"), table: TableName::parse("people").expect("a name") };
    let table = store.open_table(&at).await.expect("it is there");
    for row in 0..5 {
        let found = store.entity(&table, &Key::new("p", row.to_string())).await.expect("it is there");
        let entity = format!("{:?}", found.entity().expect("it can be read"));
        assert!(entity.contains(&format!("name {row}")) && entity.contains(&(30 + row).to_string()), "{entity}");
    }
}

async fn files(store: &Store) {
    let (account, share) = (account("devstoreaccount1"), ShareName::parse("docs").expect("a name"));
    let at = |path: &str| FileAt {
        account: account.clone(),
        share: share.clone(),
        path: FilePath::parse(path, false).expect("a path"),
    };
    let snapshots = store.snapshots(&ShareAt { account: account.clone(), share: share.clone() }).await.expect("one");
    let then = *snapshots.first().expect("one");
    for (path, snapshot, content) in [
        ("dir/file.txt", None, b"in a file".to_vec()),
        ("dir/file.txt", Some(then), b"in a file".to_vec()),
        ("dir/later.txt", None, big()[..20_000].to_vec()),
    ] {
        let mut reader = store.open_file(&at(path), ReadFile { snapshot, lease: None }).await.expect("it is there");
        reader.seek(0, u64::MAX);
        let mut bytes = Vec::new();
        while let Some(part) = reader.next().await.expect("it can be read") {
            bytes.extend_from_slice(&part);
        }
        assert_eq!(bytes, content, "{path}");
    }
    assert!(store.open_file(&at("dir/later.txt"), ReadFile { snapshot: Some(then), lease: None }).await.is_err());
}

async fn paths(store: &Store) {
    let on = vec![("hierarchical-namespace".to_owned(), "on".to_owned())];
    store.set_account(&account("devstorelake1"), on).await.expect("a setting");
    assert_eq!(read(store, &blob("devstorelake1", "lake", "a/b/c.txt"), Which::Current).await, b"in a lake");
    let at = |path: &str| PathAt {
        account: account("devstorelake1"),
        container: ContainerName::parse("lake").expect("a name"),
        path: LakePath::parse(path).expect("a path"),
    };
    let node = store.path_node(&at("a/b/c.txt")).await.expect("it can be read").expect("it is there");
    assert!(!node.is_directory);
    assert!(store.path_node(&at("new")).await.expect("it can be read").expect("it is there").is_directory);
    assert!(store.path_node(&at("old")).await.expect("it can be read").is_none());
}
