//! Worlds of `sim`: a bounded number of seeds on every run; `./simulate --seeds N` lives as many as one likes.

use std::path::Path;

use lazuli_testkit::chance::{number, seed};
use lazuli_testkit::sim::disk::watched;
use lazuli_testkit::sim::{Report, doors, gateways, lake, run};

#[test]
fn every_history_of_every_world_has_an_order() {
    let (first, count) = (seed(1), number("LAZULI_WORLDS", 120));
    let mut total = Report::default();
    for seed in first..first + count {
        match run(seed) {
            Ok(report) => total.add(report),
            Err(what) => panic!("{what}\nreplay with: ./simulate {seed}"),
        }
    }
    // A world in which nothing happens proves nothing.
    assert!(total.calls > 100 * count as usize && total.refused > total.calls / 20, "{total:?}");
}

/// Several stores over one engine and one content, which stall and die: nothing is lost, and nothing is left over.
#[test]
fn worlds_with_several_gateways_come_to_a_good_end() {
    let (first, count) = (seed(1), number("LAZULI_GATEWAYS", 40));
    let mut total = Report::default();
    for seed in first..first + count {
        match gateways::run(seed) {
            Ok(report) => total.add(report),
            Err(what) => panic!("{what}\nreplay with: ./simulate --gateways {seed}"),
        }
    }
    assert!(total.calls > 20 * count as usize && total.untold > 0, "{total:?}");
}

/// SMB clients that cache, lose their connections and never answer, beside REST calls, over gateways that die.
#[test]
fn both_doors_of_a_share_tell_one_story() {
    let (first, count) = (seed(1), number("LAZULI_DOORS", 60));
    let mut total = Report::default();
    for seed in first..first + count {
        match doors::run(seed) {
            Ok(report) => total.add(report),
            Err(what) => panic!("{what}\nreplay with: ./simulate --doors {seed}"),
        }
    }
    assert!(total.calls > 20 * count as usize && total.refused > total.calls / 20, "{total:?}");
    assert!(total.undecided * 20 < count as usize, "{total:?}");
}

/// A file system by both of its doors, under access control lists, over gateways that stall and die; and moves between file systems.
#[test]
fn both_doors_of_a_lake_tell_one_story() {
    let (first, count) = (seed(1), number("LAZULI_LAKES", 60));
    let mut total = Report::default();
    for seed in first..first + count {
        match lake::run(seed) {
            Ok(report) => total.add(report),
            Err(what) => panic!("{what}\nreplay with: ./simulate --lake {seed}"),
        }
    }
    assert!(total.calls > 30 * count as usize && total.refused > total.calls / 20 && total.untold > 0, "{total:?}");
    assert!(total.undecided * 20 < count as usize, "{total:?}");
}

#[test]
fn a_seed_is_the_same_world_each_time() {
    for seed in [1, 2, 3, 4] {
        assert_eq!(run(seed), run(seed), "seed {seed}");
    }
}

/// Each in a process of its own, because the recorder is preloaded.
#[test]
fn worlds_on_disks_survive_power_cuts() {
    let (first, count) = (seed(1), number("LAZULI_DISKS", 2));
    for seed in first..first + count {
        let survived = watched(Path::new(env!("CARGO_BIN_EXE_simulate")), seed).expect("a recorder");
        assert!(survived, "seed {seed}; again, if not the same: ./simulate --disk {seed}");
    }
}
