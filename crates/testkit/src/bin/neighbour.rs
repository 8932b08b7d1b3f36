//! What a hostile neighbour costs others: `neighbour BINARY [SECONDS]`. Small puts and gets of one client, alone, and beside four that send the
//! worst inputs there are; then beside each kind of them by itself.

use std::time::Duration;

use lazuli_testkit::hostile::{ATTACKS, Attack, Latencies, Place, beside, honest, prepare};
use lazuli_testkit::process::{Directory, Server};

const CLIENTS: usize = 4;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let binary = arguments.next().unwrap_or_else(|| "target/release/lazuli".into());
    let seconds = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(10.0);
    let period = Duration::from_secs_f64(seconds);
    let directory = Directory::new("target", "neighbour");
    let server = Server::start(&binary, &directory.0, &[])?;
    let place = Place::of(&server);
    prepare(place)?;
    honest(place, Duration::from_secs(1))?;
    let quiet = honest(place, period)?;
    println!(
        "| | GET p50 | p99 | × quiet | PUT p50 | p99 | × quiet | attacks | resident |\n|---|---|---|---|---|---|---|---|---|"
    );
    report("quiet", &quiet, &quiet, 0, &server);
    let all: Vec<&Attack> = ATTACKS.iter().collect();
    let (seen, acts) = beside(place, CLIENTS, &all, || honest(place, period));
    report("four clients, all of it", &seen?, &quiet, acts, &server);
    for attack in ATTACKS {
        let (seen, acts) = beside(place, CLIENTS, &[attack], || honest(place, period / 4));
        report(attack.name, &seen?, &quiet, acts, &server);
    }
    let after = honest(place, period)?;
    report("quiet again", &after, &quiet, 0, &server);
    Ok(())
}

fn report(name: &str, seen: &Latencies, quiet: &Latencies, acts: u64, server: &Server) {
    let side = |seen: &[Duration], quiet: &[Duration]| {
        let (half, most) = (Latencies::at(seen, 0.5), Latencies::at(seen, 0.99));
        let ratio = most.as_secs_f64() / Latencies::at(quiet, 0.99).as_secs_f64().max(1e-9);
        format!("{:.2} ms | {:.2} ms | {ratio:.1}", half.as_secs_f64() * 1e3, most.as_secs_f64() * 1e3)
    };
    let (gets, puts) = (side(&seen.gets, &quiet.gets), side(&seen.puts, &quiet.puts));
    println!("| {name} | {gets} | {puts} | {acts} | {} MiB |", server.resident_kib() >> 10);
}
