//! `kill -9` under load, again and again: nothing acknowledged may be missing, nothing refused may be there, nothing half done.
//! `LAZULI_KILLS` sets how often, `LAZULI_SEED` where to begin.

use lazuli_testkit::chance::{Chance, number, seed};
use lazuli_testkit::ledger::{self, Worker, pause, under_load};
use lazuli_testkit::process::{Directory, Server};

const WORKERS: usize = 8;

#[test]
fn acknowledged_writes_survive_kill_9() {
    let seed = seed(1);
    let kills = number("LAZULI_KILLS", 25);
    println!("LAZULI_SEED={seed} LAZULI_KILLS={kills}");
    let directory = Directory::new(env!("CARGO_TARGET_TMPDIR"), "kill");
    let start = || Server::start(env!("CARGO_BIN_EXE_lazuli"), &directory.0, &[]).expect("it starts after every kill");
    let mut chance = Chance::new(seed);
    let mut workers = Worker::several(WORKERS, chance.draw());
    for round in 0..kills {
        let server = start();
        let address = server.address;
        if round == 0 {
            ledger::create(address);
        }
        under_load(&mut workers, address, || {
            pause(&mut chance);
            server.kill().expect("it ran until it was killed");
        });
    }
    let server = start();
    ledger::verify(&mut workers, server.address);
}
