//! `kill -9` under load, again and again: nothing acknowledged may be missing, nothing refused may be there, nothing half done.
//! `LAZULI_KILLS` sets how often, `LAZULI_SEED` where to begin.

use lazuli_testkit::chance::{number, seed};
use lazuli_testkit::killing::Killing;
use lazuli_testkit::ledger::{self, Worker};
use lazuli_testkit::process::Directory;

const WORKERS: usize = 8;

#[test]
fn acknowledged_writes_survive_kill_9() {
    let (seed, kills) = (seed(1), number("LAZULI_KILLS", 25));
    println!("LAZULI_SEED={seed} LAZULI_KILLS={kills}");
    let directory = Directory::new(env!("CARGO_TARGET_TMPDIR"), "kill");
    let binary = env!("CARGO_BIN_EXE_lazuli");
    let mut workers = Worker::several(WORKERS, seed);
    let killing = Killing { binary, directory: &directory.0, service: "Blob", kills, seed };
    let server = killing.run(&mut workers, ledger::create, |worker, _, client, stop| {
        worker.verify(client)?;
        worker.work(client, stop);
        Ok(())
    });
    ledger::verify(&mut workers, server.address);
}
