//! `lazuli cp`, `ls`, `rm`, `sync` and `bench`: between directories and any endpoint that speaks the Blob service's language.

mod bench;
mod client;
mod copy;
mod listing;
mod place;
mod progress;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::api::encoded;
use crate::cli::TransferCommand;
use client::{Ask, Client};
use copy::{End, Work};
use listing::Item;
use place::Place;
use progress::Progress;

pub fn run(command: &TransferCommand) -> Result<String, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start threads: {error}"))?;
    runtime.block_on(async {
        match command {
            TransferCommand::Cp { from, to, recursive, parallel } => {
                transfer(open(from)?, open(to)?, *recursive, *parallel, None).await
            }
            TransferCommand::Sync { from, to, delete, parallel } => {
                transfer(open(from)?, open(to)?, true, *parallel, Some(*delete)).await
            }
            TransferCommand::Ls { url, recursive } => list(open(url)?, *recursive).await,
            TransferCommand::Rm { url, recursive } => remove(open(url)?, *recursive).await,
            TransferCommand::Bench { url, seconds, parallel } => match open(url)? {
                Side::Remote { client, .. } => bench::run(client, *seconds, *parallel).await,
                Side::Local(path) => Err(format!("{}: give the URL of an account", path.display())),
            },
        }
    })
}

/// One side of a copy.
enum Side {
    Local(PathBuf),
    Remote { client: Arc<Client>, container: String, name: String },
}

fn open(text: &str) -> Result<Side, String> {
    match Place::parse(text, |name| std::env::var(name).ok())? {
        Place::Local(path) => Ok(Side::Local(path)),
        Place::Remote(remote) => {
            let (container, name) = (remote.container.clone(), remote.name.clone());
            Ok(Side::Remote { client: Arc::new(Client::new(remote)?), container, name })
        }
    }
}

/// The beginning of the names below a place: with a slash at its end, if it is not the whole container.
fn below(name: &str) -> String {
    if name.is_empty() || name.ends_with('/') { name.to_owned() } else { format!("{name}/") }
}

impl Side {
    /// What is there, by names below it; and whether that is one thing alone.
    async fn items(&self, recursive: bool) -> Result<(Vec<Item>, bool), String> {
        match self {
            Side::Local(path) => {
                let found = std::fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
                match found.is_dir() {
                    true if recursive => Ok((listing::files(path)?, false)),
                    true => Err(format!("{} is a directory: copy it with --recursive", path.display())),
                    false => Ok((vec![listing::file(path.parent().unwrap_or(path), path, &found)?], true)),
                }
            }
            Side::Remote { client, container, name } => {
                if container.is_empty() {
                    return Err("name a container, as in http://HOST/ACCOUNT/CONTAINER".into());
                }
                if recursive {
                    let prefix = below(name);
                    let mut items = listing::blobs(client, container, &prefix, true).await?;
                    items.iter_mut().for_each(|item| item.name = item.name[prefix.len()..].to_owned());
                    items.retain(|item| !item.name.is_empty() && !item.name.ends_with('/'));
                    return Ok((items, false));
                }
                let all = listing::blobs(client, container, name, false).await?;
                let one = all.into_iter().find(|item| item.name == *name && !item.is_prefix);
                let mut one = one
                    .ok_or_else(|| format!("{container}/{name} is no blob; copy what is below it with --recursive"))?;
                one.name = name.rsplit('/').next().unwrap_or(name).to_owned();
                Ok((vec![one], true))
            }
        }
    }

    /// Where `item` of this side is. `alone`: this side names the item itself.
    fn end(&self, item: &str, alone: bool) -> Result<End, String> {
        if item.split('/').any(|part| part == "..") || item.starts_with('/') {
            return Err(format!("{item}: a name that leads elsewhere is not copied to a directory"));
        }
        Ok(match self {
            Side::Local(path) if alone => End::File(path.clone()),
            Side::Local(path) => match link_on_the_way(path, item) {
                Some(link) => return Err(format!("{item}: {} is a link, which leads elsewhere", link.display())),
                None => End::File(path.join(item)),
            },
            Side::Remote { client, container, name } => {
                let name = if alone { name.clone() } else { format!("{}{item}", below(name)) };
                End::Blob { client: client.clone(), container: container.clone(), name }
            }
        })
    }

    /// Whether a single item is to be put into this, under its own name.
    fn is_directory(&self) -> bool {
        match self {
            Side::Local(path) => path.is_dir() || path.as_os_str().to_str().is_some_and(|text| text.ends_with('/')),
            Side::Remote { name, .. } => name.is_empty() || name.ends_with('/'),
        }
    }
}

/// `sync`: only what is new or different; with `Some(true)`, what is not there is deleted from the target.
async fn transfer(
    from: Side,
    to: Side,
    recursive: bool,
    parallel: usize,
    sync: Option<bool>,
) -> Result<String, String> {
    let (mut items, alone) = from.items(recursive).await?;
    let into = alone && to.is_directory();
    let mut gone = Vec::new();
    if let Some(delete) = sync {
        let there = match &to {
            Side::Local(path) if !path.exists() => Vec::new(),
            Side::Local(_) | Side::Remote { .. } => to.items(true).await?.0,
        };
        let by_name: HashMap<&str, &Item> = there.iter().map(|item| (item.name.as_str(), item)).collect();
        if delete {
            let wanted: std::collections::HashSet<&str> = items.iter().map(|item| item.name.as_str()).collect();
            gone = there
                .iter()
                .filter(|item| !wanted.contains(item.name.as_str()))
                .map(|item| item.name.clone())
                .collect();
        }
        // The same length, and not older than the source: copied before.
        let is_there = |item: &Item| {
            by_name.get(item.name.as_str()).is_some_and(|other| {
                other.length == item.length && other.modified.map(seconds) >= item.modified.map(seconds)
            })
        };
        items.retain(|item| !is_there(item));
    }
    let progress = Arc::new(Progress::new(items.len() as u64, items.iter().map(|item| item.length).sum()));
    let blocks = Arc::new(Semaphore::new(parallel.clamp(1, 256)));
    let objects = Arc::new(Semaphore::new(parallel.clamp(1, 256)));
    let (mut running, mut troubles) = (JoinSet::new(), Vec::new());
    for item in items {
        let slot = objects.clone().acquire_owned().await.map_err(|error| error.to_string())?;
        let work = Work { blocks: blocks.clone(), progress: progress.clone() };
        let (source, target) = (from.end(&item.name, alone)?, to.end(&item.name, alone && !into)?);
        running.spawn(async move {
            let name = item.name.clone();
            let copied = copy::copy(work, source, item, target).await;
            drop(slot);
            copied.map_err(|why| format!("{name}: {why}"))
        });
    }
    while let Some(done) = running.join_next().await {
        troubles.extend(done.map_err(|error| error.to_string())?.err());
    }
    progress.show(true);
    // Nothing is deleted for a copy that did not succeed.
    if troubles.is_empty() {
        for name in &gone {
            delete(&to.end(name, false)?).await?;
        }
    }
    match troubles.is_empty() {
        true => Ok(progress.summary()),
        false => {
            Err(format!("{} objects were not copied; run it again to go on:\n{}", troubles.len(), troubles.join("\n")))
        }
    }
}

/// Blobs show whole seconds.
fn seconds(time: lazuli_model::Timestamp) -> u64 {
    time.whole_seconds().ticks()
}

async fn delete(end: &End) -> Result<(), String> {
    match end {
        End::File(path) => std::fs::remove_file(path).map_err(|error| format!("{}: {error}", path.display())),
        End::Blob { client, container, name } => {
            let path = format!("{}/{}", encoded(container), encoded(name));
            let headers = vec![("x-ms-delete-snapshots", "include".to_owned())];
            client.ask(&Ask { method: "DELETE", path, headers, ..Ask::default() }, &[404]).await.map(drop)
        }
    }
}

async fn list(side: Side, recursive: bool) -> Result<String, String> {
    let line = |item: &Item| match item.is_prefix {
        true => format!("{:>14}  {:20}  {}\n", "", "", item.name),
        false => {
            let time = item.modified.map(|time| time.to_iso_seconds()).unwrap_or_default();
            format!("{:>14}  {time:20}  {}\n", item.length, item.name)
        }
    };
    match side {
        Side::Local(path) => Ok(listing::files(Path::new(&path))?.iter().map(line).collect()),
        Side::Remote { client, container, .. } if container.is_empty() => {
            let ask = Ask { method: "GET", query: "comp=list".into(), ..Ask::default() };
            let answer = client.ask(&ask, &[]).await?;
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            Ok(text
                .split("<Name>")
                .skip(1)
                .filter_map(|rest| rest.split('<').next())
                .map(|name| format!("{name}\n"))
                .collect())
        }
        Side::Remote { client, container, name } => {
            Ok(listing::blobs(&client, &container, &name, recursive).await?.iter().map(line).collect())
        }
    }
}

async fn remove(side: Side, recursive: bool) -> Result<String, String> {
    let Side::Remote { .. } = &side else { return Err("rm deletes blobs: give a URL".into()) };
    let (items, alone) = side.items(recursive).await?;
    for item in &items {
        delete(&side.end(&item.name, alone)?).await?;
    }
    Ok(format!("{} objects deleted\n", items.len()))
}

/// The first link among what is below `base` and above or at `item`.
fn link_on_the_way(base: &Path, item: &str) -> Option<PathBuf> {
    let mut path = base.to_owned();
    item.split('/').find_map(|part| {
        path.push(part);
        path.symlink_metadata().is_ok_and(|found| found.is_symlink()).then(|| path.clone())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A blob may be called anything; a file is only made below the directory that was named.
    #[test]
    fn no_name_leads_out_of_the_directory() {
        let side = Side::Local(PathBuf::from("/target"));
        let file = |name: &str| match side.end(name, false) {
            Ok(End::File(path)) => Some(path),
            Ok(End::Blob { .. }) | Err(_) => None,
        };
        assert_eq!(file("a/b.txt"), Some(PathBuf::from("/target/a/b.txt")));
        assert_eq!(file("a..b"), Some(PathBuf::from("/target/a..b")));
        for name in ["../evil", "a/../../evil", "/evil", "..", "a/.."] {
            assert_eq!(file(name), None, "{name}");
        }
    }

    /// Nor below it through a link.
    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        let base = std::env::temp_dir().join(format!("lazuli-links-{}", std::process::id()));
        std::fs::create_dir_all(base.join("real")).unwrap();
        std::os::unix::fs::symlink("/elsewhere", base.join("link")).unwrap();
        let side = Side::Local(base.clone());
        let goes = |name: &str| side.end(name, false).is_ok();
        let found = [goes("real/x"), goes("new/x"), goes("link/x"), goes("link"), goes("real/link")];
        std::fs::remove_dir_all(&base).unwrap();
        assert_eq!(found, [true, true, false, false, true]);
    }

    #[test]
    fn a_prefix_ends_with_a_slash() {
        assert_eq!([below(""), below("cats"), below("cats/")], ["", "cats/", "cats/"]);
    }
}
