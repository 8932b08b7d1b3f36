//! Shares, directories and files: what is created, moved, written and deleted; snapshots; and that all is collected in the end.

mod share;
mod world;

use lazuli_model::file::*;
use lazuli_model::lease::{Action, Length};
use lazuli_model::{LeaseId, Refusal};
use lazuli_store::{Failure, ListEntries, ListShares};
use share::*;
use world::*;

async fn both(test: impl AsyncFn(World)) {
    test(World::plain()).await;
    for seed in 1..6 {
        test(World::distributed(seed)).await;
    }
}

#[tokio::test]
async fn a_file_lives_and_dies() {
    both(async |world| {
        world.create_share(1).await;
        assert_eq!(world.make_file("dir/a", 10).await.err(), refused(Refusal::ParentNotFound));
        world.make_directory("Dir").await.unwrap();
        assert_eq!(world.make_directory("dIR").await.err(), refused(Refusal::ResourceAlreadyExists));
        let file = world.make_file("dir/A.txt", 100_000).await.unwrap();
        assert!(file.node.id != file.parent && file.parent != FileId::ROOT);
        assert_eq!(file.node.length, 100_000);
        assert_eq!(world.read("DIR/a.TXT").await.unwrap(), vec![0; 100_000]);
        let bytes = pattern(1, 40_000);
        world.write("dir/a.txt", 5, &bytes).await.unwrap();
        let mut want = vec![0; 100_000];
        want[5..40_005].copy_from_slice(&bytes);
        assert_eq!(world.read("dir/a.txt").await.unwrap(), want);
        assert_eq!(world.list("dir").await, ["A.txt"]);
        assert_eq!(world.write("dir/a.txt", 99_999, b"xx").await.err(), refused(Refusal::InvalidRange));
        assert_eq!(world.store.delete_directory(&at("dir")).await.err(), refused(Refusal::DirectoryNotEmpty));
        // The same file under another content.
        let again = world.make_file("dir/a.txt", 5).await.unwrap();
        assert_eq!(again.node.id, file.node.id);
        assert_eq!(world.read("dir/a.txt").await.unwrap(), [0; 5]);
        world.store.delete_file(&at("dir/a.txt"), None).await.unwrap();
        assert_eq!(world.read("dir/a.txt").await.err(), refused(Refusal::ResourceNotFound));
        world.store.delete_directory(&at("dir")).await.unwrap();
        assert!(world.list("").await.is_empty());
        world.sweep().await;
        // The share, what it knows of itself, and the permissions.
        assert_eq!(world.rows(), "F1 P2 U1");
        assert_eq!(world.usage().await, 0);
    })
    .await;
}

#[tokio::test]
async fn what_a_snapshot_sees_stays_until_it_goes() {
    both(async |world| {
        world.create_share(1).await;
        world.make_directory("d").await.unwrap();
        world.make_file("d/old", 50_000).await.unwrap();
        world.write("d/old", 0, &pattern(1, 50_000)).await.unwrap();
        world.make_file("d/gone", 20_000).await.unwrap();
        world.write("d/gone", 0, &pattern(2, 20_000)).await.unwrap();
        let first = world.snapshot_share().await;
        world.write("d/old", 10, &pattern(3, 30_000)).await.unwrap();
        world.store.delete_file(&at("d/gone"), None).await.unwrap();
        world.make_file("d/new", 3).await.unwrap();
        world.rename("d/old", "moved", false).await.unwrap();
        let second = world.snapshot_share().await;
        assert!(first < second);
        world.make_file("d/gone", 1).await.unwrap();
        world.store.delete_file(&at("moved"), None).await.unwrap();

        let mut changed = pattern(1, 50_000);
        changed[10..30_010].copy_from_slice(&pattern(3, 30_000));
        for _ in 0..2 {
            assert_eq!(world.list_at("d", Some(first)).await, ["gone", "old"]);
            assert_eq!(world.list_at("", Some(first)).await, ["d"]);
            assert_eq!(world.list_at("d", Some(second)).await, ["new"]);
            assert_eq!(world.list_at("", Some(second)).await, ["d", "moved"]);
            assert_eq!(world.list("d").await, ["gone", "new"]);
            assert_eq!(world.read_at("d/old", Some(first)).await.unwrap(), pattern(1, 50_000));
            assert_eq!(world.read_at("d/gone", Some(first)).await.unwrap(), pattern(2, 20_000));
            assert_eq!(world.read_at("moved", Some(second)).await.unwrap(), changed);
            assert_eq!(world.read_at("moved", Some(first)).await.err(), refused(Refusal::ResourceNotFound));
            world.sweep().await;
        }
        world.delete_share_snapshot(first).await.unwrap();
        world.sweep().await;
        assert_eq!(world.read_at("d/old", Some(first)).await.err(), refused(Refusal::ShareNotFound));
        assert_eq!(world.read_at("moved", Some(second)).await.unwrap(), changed);
        assert_eq!(world.list_at("d", Some(second)).await, ["new"]);
        world.delete_share_snapshot(second).await.unwrap();
        world.sweep().await;
        assert_eq!(world.list("d").await, ["gone", "new"]);
        for path in ["d/gone", "d/new"] {
            world.store.delete_file(&at(path), None).await.unwrap();
        }
        world.store.delete_directory(&at("d")).await.unwrap();
        world.sweep().await;
        assert_eq!(world.rows(), "F1 H1 P2 U1");
    })
    .await;
}

#[tokio::test]
async fn snapshots_that_go_in_any_order_leave_nothing() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let world = World::plain();
        world.create_share(1).await;
        world.make_file("f", 3 << 20).await.unwrap();
        world.make_file("g", 10).await.unwrap();
        let mut times = Vec::new();
        let mut states = Vec::new();
        for round in 0..3 {
            world.write("f", round << 20, &pattern(round, 70_000)).await.unwrap();
            world.write("f", 100, &pattern(round, 500)).await.unwrap();
            world.rename("g", "h", false).await.unwrap();
            world.rename("h", "g", false).await.unwrap();
            times.push(world.snapshot_share().await);
            states.push(world.read("f").await.unwrap());
        }
        world.write("f", 0, &pattern(9, 4096)).await.unwrap();
        world.store.delete_file(&at("g"), None).await.unwrap();
        let last = world.read("f").await.unwrap();
        let mut left: Vec<usize> = vec![0, 1, 2];
        for gone in order {
            world.delete_share_snapshot(times[gone]).await.unwrap();
            left.retain(|kept| *kept != gone);
            world.sweep().await;
            for kept in &left {
                assert!(world.read_at("f", Some(times[*kept])).await.unwrap() == states[*kept], "{order:?} {kept}");
                assert_eq!(world.list_at("", Some(times[*kept])).await, ["f", "g"]);
            }
            assert!(world.read("f").await.unwrap() == last);
        }
        world.store.delete_file(&at("f"), None).await.unwrap();
        world.sweep().await;
        assert_eq!(world.rows(), "F1 H1 P1 U1", "{order:?}");
    }
}

#[tokio::test]
async fn shares_come_and_go() {
    both(async |world| {
        world.create_share(1).await;
        assert_eq!(world.try_create_share(2).await.err(), refused(Refusal::ShareAlreadyExists));
        world.make_file("f", 100_000).await.unwrap();
        world.write("f", 0, &pattern(1, 100_000)).await.unwrap();
        let snapshot = world.snapshot_share().await;
        assert_eq!(world.delete_share(None, None).await.err(), refused(Refusal::ShareHasSnapshots));
        // Kept for a while, and brought back.
        world.delete_share(Some(DeleteShareSnapshots::Include), Some(3)).await.unwrap();
        assert_eq!(world.make_file("g", 1).await.err(), refused(Refusal::ShareNotFound));
        let list = ListShares { most: 10, deleted: true, snapshots: true, ..ListShares::default() };
        let page = world.store.list_shares(&share_at().account, list.clone()).await.unwrap();
        let deleted = page.items[0].deleted.clone().unwrap();
        assert_eq!((page.items.len(), deleted.remaining_days), (1, 3));
        world.store.restore_share(&share_at(), u64::from_str_radix(&deleted.version, 16).unwrap()).await.unwrap();
        assert_eq!(world.read_at("f", Some(snapshot)).await.unwrap(), pattern(1, 100_000));
        let page = world.store.list_shares(&share_at().account, list.clone()).await.unwrap();
        let shown: Vec<_> = page.items.iter().map(|item| (item.snapshot, item.deleted.is_some())).collect();
        assert_eq!(shown, [(Some(snapshot), false), (None, false)]);
        // Kept until its time is over.
        world.delete_share(Some(DeleteShareSnapshots::Include), Some(1)).await.unwrap();
        world.sweep().await;
        world.create_share(2).await;
        assert_eq!(world.read("f").await.err(), refused(Refusal::ResourceNotFound));
        // It stands before the new one, also from page to page. At 22:13 it had a day; after midnight it has less than one.
        let (mut shown, mut marker) = (Vec::new(), None);
        loop {
            let page = ListShares { most: 1, marker, ..list.clone() };
            let page = world.store.list_shares(&share_at().account, page).await.unwrap();
            shown.extend(page.items.iter().map(|item| item.deleted.as_ref().map(|deleted| deleted.remaining_days)));
            marker = page.next;
            if marker.is_none() {
                break;
            }
        }
        assert_eq!(shown, [Some(1), None]);
        world.advance_seconds(2 * 60 * 60);
        let page = world.store.list_shares(&share_at().account, list.clone()).await.unwrap();
        assert_eq!(page.items[0].deleted.as_ref().map(|deleted| deleted.remaining_days), Some(0));
        world.advance_seconds(2 * 24 * 60 * 60);
        world.sweep().await;
        // Deleted for good.
        world.delete_share(None, None).await.unwrap();
        world.sweep().await;
        world.advance_seconds(11 * 60);
        world.sweep().await;
        world.advance_seconds(11 * 60);
        world.sweep().await;
        assert_eq!(world.rows(), "");
    })
    .await;
}

#[tokio::test]
async fn leases_read_only_and_quota() {
    let world = World::plain();
    world.create_share(1).await;
    world.make_file("f", 10).await.unwrap();
    let id = LeaseId(7);
    let acquire = |length| Action::Acquire { proposed: id, length };
    let timed = world.store.lease_file(&at("f"), acquire(Length::Seconds(15))).await;
    assert_eq!(timed.err(), refused(Refusal::InfiniteLeaseDurationRequired));
    world.store.lease_file(&at("f"), acquire(Length::Infinite)).await.unwrap();
    assert_eq!(world.write("f", 0, b"x").await.err(), refused(Refusal::LeaseIdMissing));
    assert_eq!(
        world.store.delete_file(&at("f"), Some(LeaseId(8))).await.err(),
        refused(Refusal::LeaseIdMismatchWithFileOperation)
    );
    let moved = world.rename("f", "g", false).await;
    assert_eq!(moved.err(), refused(Refusal::LeaseIdMissing));
    world.store.lease_file(&at("f"), Action::Break { period_seconds: None }).await.unwrap();
    world.write("f", 0, b"x").await.unwrap();

    assert_eq!(world.make_file("big", 2 << 30).await.err(), refused(Refusal::ShareSizeLimitReached));
    world.make_file("most", (1 << 30) - 10).await.unwrap();
    let grow = SetFileProperties { length: Some(11), ..SetFileProperties::default() };
    assert_eq!(world.store.set_file_properties(&at("f"), grow).await.err(), refused(Refusal::ShareSizeLimitReached));
    let shrink = SetFileProperties { length: Some(1), ..SetFileProperties::default() };
    assert_eq!(world.store.set_file_properties(&at("f"), shrink).await.unwrap().node.length, 1);
    assert_eq!(world.usage().await, (1 << 30) - 9);
    assert_eq!(world.read("f").await.unwrap(), b"x");
}

/// What is broken ends with the next write, and a rename is one. A lease that holds goes with the file.
#[tokio::test]
async fn a_rename_ends_a_broken_lease() {
    let world = World::plain();
    world.create_share(1).await;
    world.make_file("f", 10).await.unwrap();
    let lease = async |path, action| world.store.lease_file(&at(path), action).await;
    let (acquire, broken) =
        (Action::Acquire { proposed: LeaseId(7), length: Length::Infinite }, Action::Break { period_seconds: None });
    lease("f", acquire).await.unwrap();
    lease("f", broken).await.unwrap();
    world.rename("f", "g", false).await.unwrap();
    assert_eq!(lease("g", broken).await.err(), refused(Refusal::LeaseNotPresentWithLeaseOperation));
    lease("g", acquire).await.unwrap();
    let held = Rename { source_lease: Some(LeaseId(7)), ..rename(path("g")) };
    world.store.rename(&at("h"), held).await.unwrap();
    assert_eq!(world.write("h", 0, b"x").await.err(), refused(Refusal::LeaseIdMissing));
}

#[tokio::test]
async fn renames_links_and_names() {
    let world = World::plain();
    world.create_share(1).await;
    for path in ["a", "a/b", "a/b/c"] {
        world.make_directory(path).await.unwrap();
    }
    world.make_file("a/b/c/f", 3).await.unwrap();
    world.write("a/b/c/f", 0, b"xyz").await.unwrap();
    // One entry moves; what is below comes with it.
    world.rename("a/b", "B", true).await.unwrap();
    assert_eq!(world.read("b/C/F").await.unwrap(), b"xyz");
    assert_eq!(world.list("a").await, [""; 0]);
    let into_itself = world.rename("b", "b/c/d", true).await;
    assert!(matches!(into_itself, Err(Failure::Refused(Refusal::InvalidInput { .. }))), "{into_itself:?}");
    // Another case is another spelling, not another file.
    world.rename("b/c/f", "b/c/F", false).await.unwrap();
    assert_eq!(world.list("b/c").await, ["F"]);
    let link = CreateHardLink { target: path("b/c/f"), lease: None };
    let linked = world.store.create_hard_link(&at("link"), link).await.unwrap();
    assert_eq!(linked.node.links, 2);
    world.write("link", 0, b"X").await.unwrap();
    assert_eq!(world.store.delete_file(&at("b/c/f"), None).await, Ok(1));
    assert_eq!(world.read("link").await.unwrap(), b"Xyz");
    assert_eq!(world.store.delete_file(&at("link"), None).await, Ok(0));
    assert_eq!(world.usage().await, 0);
    // Pages.
    for name in ["x1", "X2", "x3", "y"] {
        world.make_file(name, 0).await.unwrap();
    }
    let mut list = ListEntries { prefix: "x".into(), most: 2, ..ListEntries::default() };
    let page = world.store.list_entries(&at(""), list.clone()).await.unwrap();
    assert_eq!(page.items.iter().map(|item| item.name.as_str()).collect::<Vec<_>>(), ["x1", "X2"]);
    list.marker = page.next;
    let page = world.store.list_entries(&at(""), list).await.unwrap();
    assert_eq!(page.items.iter().map(|item| item.name.as_str()).collect::<Vec<_>>(), ["x3"]);
    assert_eq!(page.next, None);
}

#[tokio::test]
async fn ranges_and_what_changed_since() {
    let world = World::plain();
    world.create_share(1).await;
    world.make_file("f", 4 << 20).await.unwrap();
    world.write("f", 0, &pattern(1, 1536)).await.unwrap();
    let first = world.snapshot_share().await;
    world.clear("f", 512, 1024).await.unwrap();
    world.write("f", 3 << 20, &pattern(2, 512)).await.unwrap();
    let written = |from, to| (from, to, false);
    let far = 3 << 20;
    assert_eq!(world.ranges("f", None).await.unwrap(), [written(0, 512), written(1024, 1536), written(far, far + 512)]);
    assert_eq!(world.ranges("f", Some(first)).await.unwrap(), [(512, 1024, true), written(far, far + 512)]);
    // What does not fill a sector is zeros, and written.
    world.clear("f", 100, 1400).await.unwrap();
    assert_eq!(world.ranges("f", None).await.unwrap()[..2], [written(0, 512), written(1024, 1536)]);
    assert_eq!(world.read("f").await.unwrap()[100..1400], [0; 1300]);
    // Another file under the same name.
    world.make_file("f", 2048).await.unwrap();
    world.write("f", 512, &pattern(3, 512)).await.unwrap();
    assert_eq!(world.ranges("f", Some(first)).await.unwrap(), [(0, 512, true), written(512, 1024), (1024, 1536, true)]);
}

#[tokio::test]
async fn copies_are_whole() {
    both(async |world| {
        world.create_share(1).await;
        world.make_file("from", 40 << 20).await.unwrap();
        world.write("from", 0, &pattern(1, 100_000)).await.unwrap();
        world.write("from", 33 << 20, &pattern(2, 100_000)).await.unwrap();
        let mut source = world.store.open_file(&at("from"), ReadFile::default()).await.unwrap();
        let copied = world.store.copy_file(&at("to"), copy(), &mut source, 40 << 20).await.unwrap();
        assert_eq!(copied.node.copied.as_ref().map(|copied| copied.length), Some(40 << 20));
        assert!(world.read("to").await.unwrap() == world.read("from").await.unwrap());
        // A source that ends early leaves nothing behind.
        let mut short = Parts::of(&pattern(3, 20 << 20), 1 << 20);
        assert!(world.store.copy_file(&at("to"), copy(), &mut short, 30 << 20).await.is_err());
        drop(source);
        for path in ["from", "to"] {
            world.store.delete_file(&at(path), None).await.unwrap();
        }
        world.sweep().await;
        assert_eq!(world.rows(), "F1 P1 U1");
    })
    .await;
}
