//! Copies between places: block by block, several at a time, and from where it stopped. Held true:
//! * what is being copied is read under its ETag, or compared with what it was at the end: a copy is of one state, or fails;
//! * a target is there whole or not at all: blocks are committed at the end, and a file gets its name at the end;
//! * after a break, blocks that arrived are not sent again: a block is named by its place and its content, and a file's blocks are in a journal.

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::body::Bytes;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::client::{Ask, Client};
use super::listing::Item;
use super::progress::Progress;
use crate::api::encoded;
use crate::begin::kind;

pub const BLOCK_BYTES: u64 = 8 << 20;
const PART: &str = ".lazuli-part";
const JOURNAL: &str = ".lazuli-done";

/// Where the bytes of one item are.
#[derive(Clone)]
pub enum End {
    File(PathBuf),
    Blob { client: Arc<Client>, container: String, name: String },
}

/// Files that a copy leaves until it is done.
pub fn is_ours(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.ends_with(PART) || path.ends_with(JOURNAL))
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// How a copy is made.
#[derive(Clone)]
pub struct Work {
    /// Blocks that are under way, of all items together.
    pub blocks: Arc<Semaphore>,
    pub progress: Arc<Progress>,
}

pub async fn copy(work: Work, from: End, item: Item, to: End) -> Result<(), String> {
    let mut item = item;
    if let (End::Blob { .. }, true) = (&from, item.etag.is_empty()) {
        item.etag = etag(&from).await?;
    }
    let count = item.length.div_ceil(BLOCK_BYTES).max(1);
    let there = arrived(&to, &item, count).await?;
    let mut running = JoinSet::new();
    let mut written = Vec::new();
    for index in 0..count {
        let length = BLOCK_BYTES.min(item.length - index * BLOCK_BYTES);
        if let (Arrived::Blocks(done), End::File(_)) = (&there, &to)
            && done.contains(&index.to_string())
        {
            work.progress.add(length);
            continue;
        }
        let slot = work.blocks.clone().acquire_owned().await.map_err(|error| error.to_string())?;
        let (from, to, item, there, progress) =
            (from.clone(), to.clone(), item.clone(), there.clone(), work.progress.clone());
        running.spawn(async move {
            let bytes = read(&from, &item, index * BLOCK_BYTES, length).await?;
            let one = write(&to, &there, count, index, bytes).await?;
            progress.add(length);
            drop(slot);
            Ok::<_, String>((index, one))
        });
    }
    while let Some(done) = running.join_next().await {
        written.push(done.map_err(|error| error.to_string())??);
    }
    written.sort_by_key(|(index, _)| *index);
    unchanged(&from, &item)?;
    finish(&to, written.into_iter().map(|(_, one)| one).collect(), &from).await?;
    work.progress.done();
    Ok(())
}

/// What is left to do with a block at the end.
enum Written {
    /// It is in its file.
    InPlace,
    /// It waits under this id to be committed.
    Block(String),
    /// It is the whole, and goes in one piece.
    Whole(Bytes),
}

/// Blocks of an earlier try, by id or, in a file, by number.
#[derive(Clone)]
enum Arrived {
    Nothing,
    Blocks(Arc<HashSet<String>>),
}

async fn etag(from: &End) -> Result<String, String> {
    let End::Blob { client, container, name } = from else { return Ok(String::new()) };
    let path = format!("{}/{}", encoded(container), encoded(name));
    let answer = client.ask(&Ask { method: "HEAD", path, ..Ask::default() }, &[]).await?;
    Ok(answer.header("etag").unwrap_or_default().trim_matches('"').to_owned())
}

async fn arrived(to: &End, item: &Item, count: u64) -> Result<Arrived, String> {
    match to {
        End::Blob { client, container, name } if count > 1 => {
            let path = format!("{}/{}", encoded(container), encoded(name));
            let query = "comp=blocklist&blocklisttype=uncommitted".to_owned();
            let answer = client.ask(&Ask { method: "GET", path, query, ..Ask::default() }, &[404]).await?;
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            let names = text.split("<Name>").skip(1).filter_map(|rest| rest.split('<').next()).map(str::to_owned);
            Ok(Arrived::Blocks(Arc::new(names.collect())))
        }
        End::Blob { .. } => Ok(Arrived::Nothing),
        End::File(path) => {
            if let Some(directory) = path.parent() {
                std::fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
            }
            let state = format!("{} {} {:?}", item.length, item.etag, item.modified.map(|time| time.ticks()));
            let (part, journal) = (beside(path, PART), beside(path, JOURNAL));
            let before = std::fs::read_to_string(&journal).unwrap_or_default();
            let mut lines = before.lines();
            if part.exists() && lines.next() == Some(state.as_str()) {
                // A last line without its end was cut short.
                let whole = before.rfind('\n').map_or("", |end| &before[..end]);
                return Ok(Arrived::Blocks(Arc::new(whole.lines().skip(1).map(str::to_owned).collect())));
            }
            let begun = std::fs::File::create(&part).and_then(|file| file.set_len(item.length));
            begun
                .and_then(|()| std::fs::write(&journal, state + "\n"))
                .map_err(|error| format!("{}: {error}", part.display()))?;
            Ok(Arrived::Blocks(Arc::default()))
        }
    }
}

async fn read(from: &End, item: &Item, offset: u64, length: u64) -> Result<Bytes, String> {
    match from {
        End::File(path) => {
            let path = path.clone();
            blocking(move || {
                use std::os::unix::fs::FileExt;
                let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
                let file = std::fs::File::open(&path).and_then(|file| file.read_exact_at(&mut bytes, offset));
                file.map(|()| bytes.into()).map_err(|error| format!("{}: {error}", path.display()))
            })
            .await
        }
        End::Blob { client, container, name } => {
            let path = format!("{}/{}", encoded(container), encoded(name));
            let mut headers = vec![("if-match", format!("\"{}\"", item.etag))];
            if length > 0 {
                headers.push(("x-ms-range", format!("bytes={offset}-{}", offset + length - 1)));
            }
            let answer = client.ask(&Ask { method: "GET", path, headers, ..Ask::default() }, &[]).await?;
            match answer.body.len() as u64 == length {
                true => Ok(answer.body),
                false => Err(format!("{name}: {} bytes came instead of {length}", answer.body.len())),
            }
        }
    }
}

async fn write(to: &End, there: &Arrived, count: u64, index: u64, bytes: Bytes) -> Result<Written, String> {
    match to {
        End::File(path) => {
            let (part, journal) = (beside(path, PART), beside(path, JOURNAL));
            blocking(move || {
                use std::os::unix::fs::FileExt;
                let failed = |error: std::io::Error| format!("{}: {error}", part.display());
                let file = std::fs::File::options().write(true).open(&part).map_err(failed)?;
                file.write_all_at(&bytes, index * BLOCK_BYTES).and_then(|()| file.sync_data()).map_err(failed)?;
                let mut journal = std::fs::File::options().append(true).open(&journal).map_err(failed)?;
                journal.write_all(format!("{index}\n").as_bytes()).map_err(failed)?;
                Ok(Written::InPlace)
            })
            .await
        }
        End::Blob { .. } if count == 1 => Ok(Written::Whole(bytes)),
        End::Blob { client, container, name } => {
            let sum = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc64Nvme, &bytes);
            let id = STANDARD.encode(format!("{index:08}-{sum:016x}-{:08}", bytes.len()));
            if let Arrived::Blocks(done) = there
                && done.contains(&id)
            {
                return Ok(Written::Block(id));
            }
            let path = format!("{}/{}", encoded(container), encoded(name));
            let query =
                format!("comp=block&blockid={}", id.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D"));
            client.ask(&Ask { method: "PUT", path, query, body: bytes, ..Ask::default() }, &[]).await?;
            Ok(Written::Block(id))
        }
    }
}

/// A file that changed while it was read is two states.
fn unchanged(from: &End, item: &Item) -> Result<(), String> {
    let End::File(path) = from else { return Ok(()) };
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let found = std::fs::metadata(path).map_err(failed)?;
    let now = super::listing::file(path.parent().unwrap_or(path), path, &found)?;
    match (now.length, now.modified) == (item.length, item.modified) {
        true => Ok(()),
        false => Err(format!("{}: it was changed while it was copied; copy it again", path.display())),
    }
}

async fn finish(to: &End, written: Vec<Written>, from: &End) -> Result<(), String> {
    match to {
        End::File(path) => {
            let (part, journal) = (beside(path, PART), beside(path, JOURNAL));
            let failed = |error: std::io::Error| format!("{}: {error}", path.display());
            std::fs::rename(&part, path).map_err(failed)?;
            std::fs::remove_file(&journal).map_err(failed)
        }
        End::Blob { client, container, name } => {
            let path = format!("{}/{}", encoded(container), encoded(name));
            let content_type = match from {
                End::File(path) => kind(path),
                End::Blob { name, .. } => kind(Path::new(name)),
            };
            let mut headers = vec![("x-ms-blob-content-type", content_type.to_owned())];
            let (query, body) = match written.as_slice() {
                [Written::Whole(bytes)] => {
                    headers.push(("x-ms-blob-type", "BlockBlob".to_owned()));
                    (String::new(), bytes.clone())
                }
                blocks => {
                    let id = |one: &Written| match one {
                        Written::Block(id) => format!("<Latest>{id}</Latest>"),
                        Written::InPlace | Written::Whole(_) => String::new(),
                    };
                    let list: String = blocks.iter().map(id).collect();
                    let text = format!("<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>{list}</BlockList>");
                    ("comp=blocklist".to_owned(), Bytes::from(text))
                }
            };
            client.ask(&Ask { method: "PUT", path, query, headers, body }, &[]).await.map(drop)
        }
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?
}
