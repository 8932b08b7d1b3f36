//! A hostile neighbour (C2, C3, H4, H5, H6, M5): while four clients send the worst inputs there are, everybody else is served, and memory stays
//! within its bound. How fast is for `benches/run neighbour` to say.

use std::time::Duration;

use lazuli_testkit::chance::number;
use lazuli_testkit::hostile::{ATTACKS, Attack, Latencies, Place, beside, honest, prepare};
use lazuli_testkit::process::{Directory, Server};

/// No request of an honest client may stall as long.
const STALL: Duration = Duration::from_secs(10);
const RESIDENT_MAX_KIB: u64 = 1 << 20;

#[test]
fn everybody_is_served_beside_a_hostile_neighbour() {
    let directory = Directory::new(env!("CARGO_TARGET_TMPDIR"), "neighbour");
    let server = Server::start(env!("CARGO_BIN_EXE_lazuli"), &directory.0, &[]).expect("the server starts");
    let place = Place::of(&server);
    prepare(place).expect("it takes what the attacks are about");
    let period = Duration::from_secs(number("LAZULI_SECONDS", 10));
    let all: Vec<&Attack> = ATTACKS.iter().collect();
    let (seen, attacks) = beside(place, 4, &all, || honest(place, period));
    let seen = seen.expect("an honest client is served");
    let slowest = |sorted: &[Duration]| Latencies::at(sorted, 1.0);
    println!("{attacks} attacks; GET {:?} at most, PUT {:?}", slowest(&seen.gets), slowest(&seen.puts));
    assert!(attacks > 0 && seen.gets.len() > 10, "{attacks} attacks, {} gets", seen.gets.len());
    assert!(slowest(&seen.gets) < STALL && slowest(&seen.puts) < STALL);
    let peak = server.peak_kib();
    assert!(peak < RESIDENT_MAX_KIB, "{peak} KiB resident");
    assert!(server.stop().expect("it stops").success(), "nothing keeps it from stopping");
}
