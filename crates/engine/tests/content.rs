//! The suite of contents over memory, memory that several gateways share, and extents; and what is said of a gateway that dies.

use std::path::PathBuf;

use bytes::Bytes;
use lazuli_engine::content::{Content, Memory, Recovery, suite};
use lazuli_engine::extents::{Extents, Options};

struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn memory() {
    for seed in 0..4 {
        let memory = Memory::new();
        suite::all(&[&memory], seed).await;
        assert!(memory.extents().is_empty() || memory.size() > 0);
        assert!(memory.recovery().is_none(), "it knows the fate of every piece");
    }
}

#[tokio::test]
async fn memory_that_gateways_share() {
    for seed in 0..4 {
        let memory = Memory::new();
        let gateways = [1, 2, 3].map(|id| memory.gateway(id));
        suite::all(&[&gateways[0], &gateways[1], &gateways[2]], seed).await;
    }
}

#[tokio::test]
async fn extents() {
    for (seed, options) in
        [Options::default(), Options { lanes: 1, capacity: 4 << 20, ..Options::default() }].into_iter().enumerate()
    {
        let scratch = Scratch(std::env::temp_dir().join(format!("lazuli-content-{}-{seed}", std::process::id())));
        let extents = Extents::open(&scratch.0, options).expect("opens");
        suite::all(&[&extents], seed as u64).await;
    }
}

/// What a gateway staged when it died is the others' to settle: what a record names stays, the rest goes. What it had adopted,
/// and what others staged, is in no doubt.
#[tokio::test]
async fn a_gateway_that_dies_leaves_what_it_staged() {
    let memory = Memory::new();
    let (dying, other) = (memory.gateway(1), memory.gateway(2));
    let stage = async |content: &Memory| {
        let mut stage = content.stage(None);
        stage.write(Bytes::from_static(b"bytes")).await.expect("there is room");
        stage.finish().await.expect("there is room")
    };
    let extent = |staged: &lazuli_engine::content::Staged| staged.pieces()[0].extent;
    let [adopted, dropped, left, named, under_way, beside] = [
        stage(&dying).await,
        stage(&dying).await,
        stage(&dying).await,
        stage(&dying).await,
        stage(&dying).await,
        stage(&other).await,
    ];
    let [kept, gone, lost, live, late, theirs] = [&adopted, &dropped, &left, &named, &under_way, &beside].map(extent);
    adopted.adopted();
    drop(dropped);
    left.leave();
    dying.kill();
    // A process that is gone gives nothing back any more.
    named.leave();
    drop(under_way);
    assert_eq!(other.unsettled(), [0; 0]);
    other.ended(1);
    let mut doubtful = [lost, live, late];
    doubtful.sort_unstable();
    assert_eq!(other.unsettled(), doubtful);
    for extent in doubtful {
        let said = if extent == live { vec![(0, 5)] } else { Vec::new() };
        other.settle(extent, said).await.expect("settles");
        other.settle(extent, Vec::new()).await.expect("another was faster");
    }
    let mut expected = vec![kept, live, theirs];
    expected.sort_unstable();
    assert_eq!(other.extents(), expected);
    assert!(!other.extents().contains(&gone));
    // It only slept, and does not know yet.
    let slept = memory.gateway(3);
    other.ended(3);
    let late = stage(&slept).await;
    assert_eq!(other.unsettled(), [extent(&late)]);
    late.leave();
    drop(beside);
}
