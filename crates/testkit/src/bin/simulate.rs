//! `simulate SEED` lives one world and says what came of it; `simulate --seeds N [--from SEED]` lives many.

use std::process::ExitCode;

use lazuli_testkit::sim::{Report, run};

const USAGE: &str = "simulate SEED | --seeds N [--from SEED]";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().ok();
    let (from, count) = match words.as_slice() {
        [] => (Some(1), Some(200)),
        ["--seeds", count] => (Some(1), number(count)),
        ["--seeds", count, "--from", from] => (number(from), number(count)),
        [seed] => (number(seed), Some(1)),
        _ => (None, None),
    };
    let (Some(from), Some(count)) = (from, count) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let mut total = Report::default();
    for seed in from..from + count {
        match run(seed) {
            Ok(report) => total.add(report),
            Err(what) => {
                println!("{what}\nreplay with: ./simulate {seed}");
                return ExitCode::FAILURE;
            }
        }
    }
    let Report { histories, calls, refused, untold, undecided, digest } = total;
    println!(
        "seeds {from}..{}: {histories} histories of {calls} calls ({refused} refused, {untold} untold) have an order, \
         {undecided} undecided; digest {digest:016x}",
        from + count - 1
    );
    ExitCode::SUCCESS
}
