//! Power cuts at thousands of moments of a busy engine: nothing that anybody was told may be taken back.
//!
//! `LAZULI_POWER_CUTS=5000 LAZULI_SEED=7 cargo test -p lazuli-testkit --test power_cut` looks longer.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lazuli_testkit::chance::{Chance, number, seed};
use lazuli_testkit::power::{Change, DATA, End, Lies, Marks, Order, Trace, World, check, run_workload, save};

const CUTS: u64 = 300;
const WORKLOAD: &str = "LAZULI_POWERCUT_WORKLOAD";

/// Not a test by itself: the process that loses its power, when the variable says so.
#[test]
fn workload() {
    let Ok(text) = std::env::var(WORKLOAD) else { return };
    let words: Vec<&str> = text.split(',').collect();
    let number = |at: usize| words[at].parse::<u64>().expect("a number");
    let end = if words[4] == "killed" { End::Killed } else { End::Closed };
    run_workload(Path::new(words[0]), number(1), number(2), number(3), end);
}

struct Recorded {
    trace: Trace,
    ever: Marks,
    seed: u64,
}

/// A directory that goes when it is no longer needed. In memory if there is such a place: the disks are many, and none
/// has to last.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        // Tests of one process run side by side and draw the same names.
        static MADE: AtomicU64 = AtomicU64::new(0);
        let number = MADE.fetch_add(1, Relaxed);
        let path = base.join(format!("lazuli-power-cut-{}-{number}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a scratch directory");
        Self(path.canonicalize().expect("an absolute path"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn recorded() -> &'static Recorded {
    static RECORDED: OnceLock<Recorded> = OnceLock::new();
    RECORDED.get_or_init(record)
}

fn record() -> Recorded {
    let seed = seed(1);
    println!("seed {seed} (LAZULI_SEED), {} cuts (LAZULI_POWER_CUTS)", number("LAZULI_POWER_CUTS", CUTS));
    let around = Scratch::new("record");
    let (dir, trace, shim) = (around.0.join("watched"), around.0.join("trace"), around.0.join("shim.so"));
    std::fs::create_dir_all(&dir).expect("a directory");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("powercut/shim.c");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let built = Command::new(compiler).args(["-shared", "-fPIC", "-O2", "-o"]).arg(&shim).arg(&source).status();
    assert!(built.is_ok_and(|status| status.success()), "a C compiler is needed to build {}", source.display());

    // Killed; started again, filled until its close writes tables, closed; started again and killed.
    for (run, (actions, bulk, end)) in [(600, 0, "killed"), (240, 600, "closed"), (480, 0, "killed")].iter().enumerate()
    {
        let words = [dir.display().to_string(), (seed * 10 + run as u64).to_string(), actions.to_string()];
        let words = format!("{},{bulk},{end}", words.join(","));
        let status = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "workload", "--nocapture", "--test-threads", "1"])
            .env(WORKLOAD, words)
            .env("LD_PRELOAD", &shim)
            .env("LAZULI_POWERCUT_DIR", &dir)
            .env("LAZULI_POWERCUT_TRACE", &trace)
            .status()
            .expect("the workload starts");
        assert!(status.success(), "the workload failed: {status}");
    }

    let trace = Trace::read(&trace).expect("a trace");
    let mut world = World::new(Lies::None);
    trace.0.iter().for_each(|change| world.apply(change));
    assert_nothing_missed(&world, &dir);
    world.uncertain_names().iter().for_each(|name| println!("never certain: {name}"));
    let ever = Marks::read(&world.marks);
    assert!(
        ever.acknowledged.len() > 500 && ever.refused.len() > 50 && ever.seen.len() > 50,
        "a workload worth the name"
    );
    Recorded { trace, ever, seed }
}

/// The record is complete: replayed to its end, it gives the very files that are there.
fn assert_nothing_missed(world: &World, dir: &Path) {
    let mut rebuilt = world.complete();
    let mut left = vec![dir.to_owned()];
    while let Some(at) = left.pop() {
        for entry in std::fs::read_dir(&at).expect("a directory") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(dir).expect("below").display().to_string();
            let known = rebuilt.remove(&name).unwrap_or_else(|| panic!("{name} came to be unseen"));
            match known {
                None => left.push(path),
                Some(pages) => {
                    assert!(pages.to_vec() == std::fs::read(&path).expect("a file"), "{name} was changed unseen");
                }
            }
        }
    }
    assert!(rebuilt.is_empty(), "gone unseen: {:?}", rebuilt.keys());
}

/// Moments to cut at: half of them around the ends of syncs and marks, where promises are made, half anywhere.
fn moments(trace: &Trace, cuts: u64, chance: &mut Chance) -> Vec<usize> {
    let promises: Vec<usize> = (0..trace.0.len())
        .filter(|at| matches!(trace.0[*at], Change::SyncEnd { .. } | Change::SyncBegin { .. }))
        .flat_map(|at| [at, at + 1])
        .collect();
    let mut moments: Vec<usize> = (0..cuts)
        .map(|cut| match cut % 2 {
            0 => promises[(cut as usize / 2 * promises.len() / (cuts as usize / 2 + 1)).min(promises.len() - 1)],
            _ => chance.below(trace.0.len() + 1),
        })
        .collect();
    moments.sort_unstable();
    moments
}

/// What was found wrong, over all cuts.
fn cut_and_check(lies: Lies, order: Order, cuts: u64, stop_at_first: bool) -> Vec<String> {
    let Recorded { trace, ever, seed } = recorded();
    let mut chance = Chance::new(seed ^ 0x5EED);
    let moments = moments(trace, cuts, &mut chance);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("tokio");
    let mut world = World::new(lies.clone());
    let mut done = 0;
    let mut wrong = Vec::new();
    for (number, moment) in moments.into_iter().enumerate() {
        trace.0[done..moment].iter().for_each(|change| world.apply(change));
        done = moment;
        let disk = world.image(order, &mut Chance::new(seed * 1_000_003 + number as u64));
        let at = Scratch::new(&format!("{order:?}-{number}"));
        save(&disk, DATA, &at.0).expect("an image");
        let before = Marks::read(&world.marks);
        if let Err(what) = runtime.block_on(check(&at.0, &before, ever)) {
            wrong.push(format!("seed {seed}, {order:?}, cut {number} after change {moment}: {what}"));
            if let Ok(kept) = std::env::var("LAZULI_POWER_CUT_KEEP") {
                save(&disk, DATA, &Path::new(&kept).join(format!("cut-{number}"))).expect("a kept image");
            }
        }
        if stop_at_first && !wrong.is_empty() {
            break;
        }
    }
    wrong
}

#[test]
fn a_power_cut_takes_nothing_that_was_promised() {
    let cuts = number("LAZULI_POWER_CUTS", CUTS);
    for order in [Order::Ordered, Order::Loose] {
        let wrong = cut_and_check(Lies::None, order, cuts / 2, false);
        assert!(wrong.is_empty(), "{} of {} cuts:\n{}", wrong.len(), cuts / 2, wrong.join("\n"));
    }
}

/// A check that cannot fail proves nothing: on a disk that lies about its syncs, losses must be found.
#[test]
fn a_disk_that_lies_is_found_out() {
    let lies = [
        Lies::Files(".log"),
        Lies::Files("inventory.new"),
        Lies::Files(".open"),
        Lies::Directories("data"),
        Lies::Directories("extents"),
        Lies::Directories("keys"),
        Lies::Directories("log"),
        Lies::Directories("tables"),
    ];
    for lie in lies {
        let order = if matches!(lie, Lies::Files(_)) { Order::Ordered } else { Order::Loose };
        let wrong = cut_and_check(lie.clone(), order, 200, true);
        println!("{lie:?}: {wrong:?}");
        // A loss, or a start refused because of one, and not some other mishap that would let this test pass for the
        // wrong reason.
        let signs = ["is lost", "Corrupt", "is missing", "do not open", "is damaged"];
        let found = wrong.iter().any(|what| signs.iter().any(|sign| what.contains(sign)));
        assert!(found, "{lie:?} was not noticed: {wrong:?}");
    }
}
