//! The fuzzers' targets over their kept corpora and seeded mutations of them: the part of `./fuzz` that every test run can afford.
//! `LAZULI_SEED` sets where to begin, `LAZULI_MUTATIONS` how many inputs each target gets.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use lazuli_testkit::chance::{Chance, number, seed};
use lazuli_testkit::fuzz::cost::FAMILIES;
use lazuli_testkit::fuzz::mutate::{mutate, noise};
use lazuli_testkit::fuzz::{TARGETS, Target};

fn corpora() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzzing/corpus")
}

/// By name, so that a seed means the same everywhere.
fn corpus(target: &Target) -> Vec<(String, Vec<u8>)> {
    let directory = corpora().join(target.name);
    let files = std::fs::read_dir(&directory).unwrap_or_else(|_| panic!("{} has a corpus", target.name));
    let paths: BTreeSet<PathBuf> = files.map(|file| file.expect("an entry").path()).collect();
    let named = |path: PathBuf| (path.display().to_string(), std::fs::read(&path).expect("an input"));
    let inputs: Vec<_> = paths.into_iter().map(named).collect();
    assert!(!inputs.is_empty(), "{} has a corpus", target.name);
    inputs
}

fn feed(target: &Target, input: &[u8], whence: &str) {
    let fed = catch_unwind(AssertUnwindSafe(|| target.feed(input)));
    if fed.is_err() {
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{}", target.name));
        let _ = std::fs::write(&kept, input);
        panic!("{} fails on {whence}, kept in {}: {:?}", target.name, kept.display(), String::from_utf8_lossy(input));
    }
}

fn run(name: &str) {
    let target = Target::named(name);
    let (seed, count) = (seed(1), number("LAZULI_MUTATIONS", 4_000));
    println!("LAZULI_SEED={seed} LAZULI_MUTATIONS={count}");
    let corpus = corpus(target);
    corpus.iter().for_each(|(path, input)| feed(target, input, path));
    let mut chance = Chance::new(seed);
    for at in 0..count {
        let (input, other) = (chance.pick(&corpus).1.clone(), chance.pick(&corpus).1.clone());
        let input =
            if chance.one_in(20) { noise(&mut chance) } else { mutate(&input, &other, target.words, &mut chance) };
        feed(target, &input, &format!("mutation {at} of seed {seed}"));
    }
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test] fn $name() { run(stringify!($name)) })*

        #[test]
        fn every_target_is_run_here_and_by_cargo_fuzz() {
            let run = [$(stringify!($name)),*];
            let manifest = std::fs::read_to_string(corpora().join("../Cargo.toml")).expect("the manifest of the targets");
            for target in TARGETS {
                assert!(run.contains(&target.name), "{}", target.name);
                assert!(manifest.contains(&format!("path = \"targets/{}.rs\"", target.name)), "{}", target.name);
            }
        }
    };
}

targets! {
    batch delimited entities filter http json parquet permissions query records signatures smb smb_connection smb_logon smb_rpc structured
    tags thrift values xml
}

/// Families of inputs that grow, of every parser: eight times as long may cost some more than eight times as much, and far less than sixty-four
/// times. `LAZULI_FAMILY_BYTES` makes them longer; `--nocapture` shows what each costs.
#[test]
fn no_parser_is_slower_than_its_input_is_long() {
    const GROWTH: usize = 8;
    const MUCH: f64 = 3.0;
    let long = number("LAZULI_FAMILY_BYTES", 256 << 10) as usize;
    let mut wrong = Vec::new();
    for family in FAMILIES {
        let short =
            family.cost(long / GROWTH).seconds_per_mebibyte().min(family.cost(long / GROWTH).seconds_per_mebibyte());
        let cost = family.cost(long);
        println!("{}: {cost}", family.name);
        // What costs next to nothing is lost in noise.
        let is_noticeable = cost.time.as_millis() > 100;
        let is_linear = cost.seconds_per_mebibyte() <= MUCH * short;
        let is_cheap = cost.seconds_per_mebibyte() <= 20.0;
        let is_small = cost.memory_kib <= (160 << 10) + 64 * (cost.bytes as u64 >> 10);
        if (is_noticeable && !is_linear) || !is_cheap || !is_small {
            wrong.push(format!("{}: {cost}, but {short:.3} s/MiB when it is short", family.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
