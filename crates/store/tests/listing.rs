//! Listings against a naive one: pages put together are the whole, whatever the page size, prefix and delimiter.

mod world;

use std::collections::BTreeSet;

use lazuli_model::blob::PutBlob;
use lazuli_model::{AccountName, Metadata, Refusal};
use lazuli_store::{Entry, Failure, Include, ListBlobs, ListContainers};
use world::*;

/// What a listing shows, in short: `name`, `name@` for a snapshot, `name?` for uncommitted, `prefix*`.
fn short(entry: &Entry) -> String {
    match entry {
        Entry::Prefix(prefix) => format!("{prefix}*"),
        Entry::Directory(item) => format!("{}/*", item.name.as_str()),
        Entry::Blob(item) if item.snapshot.is_some() => format!("{}@", item.name),
        Entry::Blob(item) if item.uncommitted => format!("{}?", item.name),
        Entry::Blob(item) => item.name.to_string(),
    }
}

async fn pages(world: &World, list: &ListBlobs) -> Vec<String> {
    let mut all = Vec::new();
    let mut list = list.clone();
    loop {
        let page = world.store.list_blobs(&container("box"), list.clone()).await.unwrap();
        assert!(page.entries.len() <= list.most as usize);
        assert!(page.next.is_none() || page.entries.len() == list.most as usize, "only the last page is short");
        all.extend(page.entries.iter().map(short));
        match page.next {
            None => return all,
            marker => list.marker = marker,
        }
    }
}

/// Everything there is, as (name, marks in order).
type Naive = Vec<(String, Vec<&'static str>)>;

fn naive(all: &Naive, list: &ListBlobs) -> Vec<String> {
    let mut shown = Vec::new();
    let mut prefixes = BTreeSet::new();
    for (name, marks) in all {
        let within = name.starts_with(&list.prefix)
            && list.start_from.as_ref().is_none_or(|start| name >= start)
            && list.end_before.as_ref().is_none_or(|end| name < end);
        for mark in marks {
            let included = match *mark {
                "@" => list.include.snapshots,
                "?" => list.include.uncommitted,
                _ => true,
            };
            if !within || !included {
                continue;
            }
            let rest = &name[list.prefix.len()..];
            let cut =
                list.delimiter.as_ref().and_then(|delimiter| Some(rest.find(delimiter.as_str())? + delimiter.len()));
            match cut {
                Some(cut) => {
                    let prefix = format!("{}{}*", list.prefix, &rest[..cut]);
                    if prefixes.insert(prefix.clone()) {
                        shown.push(prefix);
                    }
                }
                None => shown.push(format!("{name}{mark}")),
            }
        }
    }
    shown
}

async fn populate(world: &World, random: &mut Random, count: usize) -> Naive {
    let alphabet = ["a", "b", "/", "-", "ü", "//", "\u{ffff}", "é/"];
    let mut names = BTreeSet::new();
    for _ in 0..count {
        let length = 1 + random.below(5);
        names.insert((0..length).map(|_| *random.pick(&alphabet)).collect::<String>());
    }
    let mut all = Vec::new();
    for name in names {
        let mut marks = Vec::new();
        if random.chance(70) {
            world.put(&name, b"x").await.unwrap();
            for _ in 0..random.below(3) {
                world.snapshot(&name).await;
                marks.push("@");
            }
            marks.push("");
            if random.chance(20) {
                world.put_block(&name, "AAAA", b"x").await.unwrap(); // pending, but committed too: shown once
            }
        } else {
            world.put_block(&name, "AAAA", b"x").await.unwrap();
            marks.push("?");
        }
        all.push((name, marks));
    }
    all
}

#[tokio::test]
async fn pages_add_up_to_what_a_naive_listing_shows() {
    for seed in 0..40 {
        let mut random = Random(seed);
        let world = if seed % 4 == 3 { World::distributed(seed) } else { World::plain() };
        world.create("box", 1).await;
        let all = populate(&world, &mut random, 60).await;
        for _ in 0..30 {
            let text =
                |random: &mut Random| random.chance(30).then(|| random.pick(&["a", "a/", "b", "ü", "-"]).to_string());
            let list = ListBlobs {
                prefix: text(&mut random).unwrap_or_default(),
                delimiter: random.chance(60).then(|| random.pick(&["/", "//", "a", "é/", "-ü"]).to_string()),
                start_from: text(&mut random),
                end_before: text(&mut random),
                most: *random.pick(&[1, 2, 3, 7, 5000]),
                include: Include { snapshots: random.chance(50), uncommitted: random.chance(50), ..Include::default() },
                marker: None,
            };
            assert_eq!(pages(&world, &list).await, naive(&all, &list), "seed {seed}: {list:?}");
        }
    }
}

/// Counts are of rows that the engine would have to touch if a page cost more than itself; here, simply many.
#[tokio::test]
async fn a_prefix_with_many_blobs_is_one_entry() {
    let world = World::plain();
    world.create("box", 1).await;
    for number in 0..3_000 {
        world.put(&format!("dir/{number:05}"), b"").await.unwrap();
    }
    for name in ["a", "dir", "dir0", "z"] {
        world.put(name, b"").await.unwrap();
    }
    let list = ListBlobs { delimiter: Some("/".into()), most: 5000, ..ListBlobs::default() };
    assert_eq!(pages(&world, &list).await, ["a", "dir", "dir/*", "dir0", "z"]);
    assert_eq!(pages(&world, &ListBlobs { most: 1, ..list }).await, ["a", "dir", "dir/*", "dir0", "z"]);
}

#[tokio::test]
async fn markers_made_up_by_clients_do_no_harm() {
    let world = World::plain();
    world.create("box", 1).await;
    world.put("a", b"").await.unwrap();
    let mut random = Random(1);
    for _ in 0..200 {
        let bytes: String = (0..random.below(20) * 2).map(|_| *random.pick(&['0', '7', 'f', 'e'])).collect();
        let list = ListBlobs { most: 5, marker: Some(format!("1!{bytes}")), ..ListBlobs::default() };
        world.store.list_blobs(&container("box"), list).await.unwrap();
        let list = ListContainers { most: 5, marker: Some(format!("1!{bytes}")), ..ListContainers::default() };
        world.store.list_containers(&AccountName::parse("account").unwrap(), list).await.unwrap();
    }
    let list = ListBlobs { most: 5, marker: Some("garbage".into()), ..ListBlobs::default() };
    let refused = world.store.list_blobs(&container("box"), list).await.err();
    assert!(matches!(refused, Some(Failure::Refused(Refusal::InvalidMarker { .. }))));
    let absent = world.store.list_blobs(&container("none"), ListBlobs { most: 1, ..ListBlobs::default() }).await;
    assert_eq!(absent.err(), Some(Failure::Refused(Refusal::ContainerNotFound)));
}

#[tokio::test]
async fn containers_are_listed_by_account_prefix_and_page() {
    let world = World::plain();
    for (id, name) in ["$logs", "$root", "$web", "abc", "abd", "b-b", "zzz"].iter().enumerate() {
        world.create(name, id as u128 + 1).await;
    }
    let account = AccountName::parse("account").unwrap();
    //           prefix system  names
    let table = [
        ("", false, "$root $web abc abd b-b zzz"),
        ("", true, "$logs $root $web abc abd b-b zzz"),
        ("ab", true, "abc abd"),
        ("x", false, ""),
        ("$", false, "$root $web"),
    ];
    for (prefix, system, want) in table {
        for most in [1, 2, 5000] {
            let mut names: Vec<String> = Vec::new();
            let mut marker = None;
            loop {
                let list = ListContainers { prefix: prefix.into(), marker, most, system, deleted: false };
                let page = world.store.list_containers(&account, list).await.unwrap();
                names.extend(page.items.iter().map(|item| item.name.to_string()));
                marker = page.next;
                if marker.is_none() {
                    break;
                }
            }
            assert_eq!(names.join(" "), want, "{prefix} {system} {most}");
        }
    }
    let other = AccountName::parse("account2").unwrap();
    let list = ListContainers { most: 10, ..ListContainers::default() };
    assert!(world.store.list_containers(&other, list).await.unwrap().items.is_empty());
}

/// H6: a page is bounded by what it holds, not only by how many: 8 KiB of metadata for each of five thousand blobs would be 40 MB of answer.
#[tokio::test]
async fn a_page_ends_where_much_is_on_it() {
    let world = World::plain();
    world.create("box", 1).await;
    let long = || Metadata::new(vec![("long".into(), "x".repeat(8_000))]).unwrap();
    for number in 0..1_500 {
        let put = PutBlob { metadata: long(), ..put_blob() };
        let received = world.receive(b"").await;
        world.store.put_blob(&blob(&format!("{number:05}")), put, received).await.unwrap();
    }
    let mut list = ListBlobs { most: 5000, ..ListBlobs::default() };
    let mut counts = Vec::new();
    loop {
        let page = world.store.list_blobs(&container("box"), list.clone()).await.unwrap();
        counts.push(page.entries.len());
        list.marker = page.next;
        if list.marker.is_none() {
            break;
        }
    }
    assert_eq!(counts.iter().sum::<usize>(), 1_500);
    assert!(counts.len() == 2 && counts[0] * 8_000 < 9 << 20, "{counts:?}");
}
