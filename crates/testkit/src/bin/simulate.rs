//! `simulate SEED` lives one world and says what came of it; `simulate --seeds N [--from SEED]` lives many. With `--disk` in
//! front, over the embedded engine on a disk that loses its power; with `--gateways`, several stores over one engine, which stall and die;
//! with `--doors`, clients of SMB and of REST on one file; with `--lake`, clients of a file system by Data Lake's door and Blob's.

use std::path::Path;
use std::process::ExitCode;

use lazuli_testkit::sim::{Report, disk, doors, gateways, lake, run};

const USAGE: &str = "simulate [--disk | --gateways | --doors | --lake] [SEED | --seeds N [--from SEED]]";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().ok();
    if let ["--inside", seed, around] = words.as_slice() {
        return inside(number(seed).expect("a seed"), Path::new(around));
    }
    let (on_disk, live, words): (_, Live, _) = match words.as_slice() {
        ["--disk", rest @ ..] => (true, run, rest),
        ["--gateways", rest @ ..] => (false, gateways::run, rest),
        ["--doors", rest @ ..] => (false, doors::run, rest),
        ["--lake", rest @ ..] => (false, lake::run, rest),
        rest => (false, run, rest),
    };
    let (from, count) = match words {
        [] => (Some(1), Some(if on_disk { 10 } else { 200 })),
        ["--seeds", count] => (Some(1), number(count)),
        ["--seeds", count, "--from", from] => (number(from), number(count)),
        [seed] => (number(seed), Some(1)),
        _ => (None, None),
    };
    let (Some(from), Some(count)) = (from, count) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    if on_disk { on_disks(from, count) } else { in_memory(from, count, live) }
}

type Live = fn(u64) -> Result<Report, String>;

fn in_memory(from: u64, count: u64, live: Live) -> ExitCode {
    let mut total = Report::default();
    for seed in from..from + count {
        match live(seed) {
            Ok(report) => total.add(report),
            Err(what) => {
                println!("{what}\nreplay with the same words, and {seed} as the seed");
                return ExitCode::FAILURE;
            }
        }
    }
    println!("seeds {from}..{}: {}; digest {:016x}", from + count - 1, told(&total), total.digest);
    ExitCode::SUCCESS
}

fn told(report: &Report) -> String {
    let Report { histories, calls, refused, untold, undecided, .. } = report;
    format!(
        "{histories} histories of {calls} calls ({refused} refused, {untold} untold), {undecided} undecided, no violation"
    )
}

/// Each in a process of its own, under the recorder.
fn on_disks(from: u64, count: u64) -> ExitCode {
    let program = std::env::current_exe().expect("this program");
    for seed in from..from + count {
        match disk::watched(&program, seed) {
            Ok(true) => {}
            Ok(false) => {
                println!("again, if not the same: ./simulate --disk {seed}");
                return ExitCode::FAILURE;
            }
            Err(what) => {
                println!("{what}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn inside(seed: u64, around: &Path) -> ExitCode {
    match disk::inside(seed, around) {
        Ok(survived) => {
            let disk::Survived { lived, cuts, flips, refused, looked } = survived;
            println!(
                "seed {seed} on a disk: {} calls; {cuts} power cuts, {flips} flipped bits, {refused} starts refused, then {} calls; \
                 {} undecided, no violation",
                lived.calls,
                looked.calls,
                lived.undecided + looked.undecided
            );
            ExitCode::SUCCESS
        }
        Err(what) => {
            println!("{what}");
            ExitCode::FAILURE
        }
    }
}
