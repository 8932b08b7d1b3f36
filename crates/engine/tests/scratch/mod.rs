//! Directories for tests, and what is put into them.

#![allow(dead_code, reason = "each test uses some of it")]

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use lazuli_engine::embedded::{Embedded, Options};
use lazuli_engine::{Column, EngineExt, Fault, Key, Partition, Space, Stop};

/// A directory of its own for each test, gone with it.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// In memory, where tests that open a directory thousands of times are quicker.
    pub fn in_memory(name: &str) -> Self {
        let path = Path::new("/dev/shm").join(format!("lazuli-engine-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl AsRef<Path> for Scratch {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("creates");
    for entry in fs::read_dir(from).expect("lists") {
        let from = entry.expect("an entry").path();
        let to = to.join(from.file_name().expect("a name"));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).expect("copies");
        }
    }
}

/// All files below `path`, sorted.
pub fn files(path: &Path) -> Vec<PathBuf> {
    let (mut files, mut left) = (Vec::new(), vec![path.to_owned()]);
    while let Some(at) = left.pop() {
        for entry in fs::read_dir(at).expect("lists") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { left.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

/// Everything below `path`, to tell whether it was changed.
pub fn contents(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    files(path).into_iter().map(|file| (file.clone(), fs::read(&file).expect("reads"))).collect()
}

pub fn key(row: u32) -> Key {
    Key::new(Space(1), Column(1), &[&row.to_be_bytes()])
}

pub async fn write(engine: &Embedded, row: u32, value: Option<Vec<u8>>) -> Result<(), Fault> {
    let key = key(row);
    let answer = engine.transact(Partition::new(Space(1), "p"), move |txn| {
        match &value {
            Some(value) => txn.put(key.clone(), value.clone()),
            None => txn.delete(key.clone()),
        }
        Ok::<_, Stop<()>>(())
    });
    answer.await.map(|done| done.expect("no refusal"))
}

pub async fn read(engine: &Embedded, row: u32) -> Result<Option<Bytes>, Fault> {
    let key = key(row);
    engine.survey(key.space(), |txn| Ok::<_, Stop<()>>(txn.get(&key)?)).await.map(|got| got.expect("no refusal"))
}

/// All rows there are.
pub async fn all(engine: &Embedded) -> Result<Vec<(Key, Bytes)>, Fault> {
    let (from, to) = (key(0), Key::new(Space(2), Column(0), &[]));
    engine
        .survey(from.space(), |txn| Ok::<_, Stop<()>>(txn.scan(&from, &to, usize::MAX)?))
        .await
        .map(|got| got.expect("no refusal"))
}

pub fn refusal(path: impl AsRef<Path>) -> String {
    Embedded::open(path, Options::default()).err().expect("is refused").to_string()
}
