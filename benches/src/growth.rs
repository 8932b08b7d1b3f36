//! `lazuli-benches growth`: the same operation beside little and beside much, at one server. If cost follows the work,
//! both go at the same rate.

use crate::contest::{Contest, Measure, Pace, Side};
use crate::load::Load;
use crate::peers::{self, Scratch, Stage};
use crate::report;
use crate::request::{Request, Site, noise};
use crate::server::{Server, ask};
use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    stage: Stage,
    /// What is many
    #[arg(long, default_value_t = 1_000_000)]
    many: u64,
    /// What is long: so many pieces of 4 MiB. The titles say what comes of 64
    #[arg(long, default_value_t = 64)]
    pieces: u64,
    #[command(flatten)]
    pace: Pace,
    /// Replace the measured part of this Markdown file
    #[arg(long)]
    report: Option<PathBuf>,
}

/// What is appended, and what is written in place.
const PART: usize = 4 << 10;
const PIECE: usize = 4 << 20;
const LOGS: u64 = 8;
const FEW: u64 = 1000;
const RARE: u64 = 100;

/// One operation, twice.
struct Pair {
    title: &'static str,
    clients: usize,
    little: (&'static str, Request),
    much: (&'static str, Request),
}

pub fn run(options: &Options) -> io::Result<()> {
    let load_before = report::load_average();
    let scratch = Scratch::new(&options.stage.scratch)?;
    let versions_on = ["--setting", "devstoreaccount1:versioning=on"];
    let launch = peers::lazuli_with(&options.stage.lazuli, &scratch.0, &versions_on)?;
    let server = launch.start(&peers::probe(&launch))?;
    let numbers = AtomicU64::new(0);
    let mut rows = Vec::new();
    for pair in [
        appends(&server, options.pieces)?,
        pages(&server)?,
        copies(&server, options.pieces)?,
        tags(&server, options.many)?,
    ]
    .into_iter()
    .chain(versions(&server, options.many)?)
    {
        let side = |(who, request): &(&'static str, Request)| Side::served(&server, who, request.clone(), &numbers);
        let contest = Contest {
            title: pair.title.into(),
            clients: pair.clients,
            sides: vec![side(&pair.little), side(&pair.much)],
        };
        rows.push(contest.run(&[server.process], &scratch.0, options.pace)?);
    }
    server.stop()?;
    write(&rows, &load_before, &scratch, options)
}

fn make(at: SocketAddr, containers: &[&str]) -> io::Result<()> {
    containers.iter().try_for_each(|container| ask(at, &Site::Azure.create_container(container)).map(drop))
}

fn repeat(at: SocketAddr, request: &Request, count: u64, clients: usize) -> io::Result<()> {
    let (numbers, period) = (AtomicU64::new(0), Duration::from_secs(3600));
    Load { at, request, numbers: &numbers, clients, threads: 2, period, limit: count }.run().map(drop)
}

fn appends(server: &Server, pieces: u64) -> io::Result<Pair> {
    let at = server.at;
    make(at, &["logs-short", "logs-long"])?;
    for container in ["logs-short", "logs-long"] {
        repeat(at, &Site::Azure.create(container, None), LOGS, 1)?;
    }
    repeat(at, &Site::Azure.append("logs-long", LOGS, noise(PIECE)), LOGS * pieces, 4)?;
    let append = |container| Site::Azure.append(container, LOGS, noise(PART));
    let (little, much) = (("empty ones", append("logs-short")), ("ones of 256 MiB", append("logs-long")));
    Ok(Pair { title: "append 4 KiB to one of 8 blobs:", clients: 8, little, much })
}

fn pages(server: &Server) -> io::Result<Pair> {
    let (small, large) = (64 << 20, 8 << 30);
    make(server.at, &["disks-small", "disks-large"])?;
    for (container, length) in [("disks-small", small), ("disks-large", large)] {
        repeat(server.at, &Site::Azure.create(container, Some(length)), LOGS, 1)?;
    }
    let write = |container, length| Site::Azure.put_page(container, LOGS, length, noise(PART));
    let little = ("ones of 64 MiB", write("disks-small", small));
    let much = ("ones of 8 GiB", write("disks-large", large));
    Ok(Pair { title: "write 4 KiB anywhere in one of 8 page blobs:", clients: 8, little, much })
}

fn copies(server: &Server, pieces: u64) -> io::Result<Pair> {
    make(server.at, &["small-original", "large-original", "copies"])?;
    repeat(server.at, &Site::Azure.put("small-original", noise(1 << 20)), 1, 1)?;
    repeat(server.at, &Site::Azure.put("large-original", noise(4 * pieces as usize * PIECE)), 1, 1)?;
    let copy = |from| Site::Azure.copy(from, 0, "copies");
    let (little, much) = (("of 1 MiB", copy("small-original")), ("of 1 GiB", copy("large-original")));
    Ok(Pair { title: "copy inside the server:", clients: 1, little, much })
}

fn tags(server: &Server, many: u64) -> io::Result<Pair> {
    make(server.at, &["tags-few", "tags-many"])?;
    for (container, count) in [("tags-few", FEW), ("tags-many", many)] {
        repeat(server.at, &Site::Azure.put_tagged(container, "kind=common"), count, 64)?;
        // The first names again, with another tag.
        repeat(server.at, &Site::Azure.put_tagged(container, "kind=rare"), RARE, 8)?;
    }
    let find = |container| Site::Azure.find(container, "kind='rare'", RARE);
    let (little, much) = (("of 1 k", find("tags-few")), ("of many", find("tags-many")));
    Ok(Pair { title: "find 100 by tag:", clients: 1, little, much })
}

/// Lists with versions: two of each name, whichever the container.
fn versions(server: &Server, many: u64) -> io::Result<Vec<Pair>> {
    make(server.at, &["versions-few", "versions-many"])?;
    for (container, count) in [("versions-few", FEW), ("versions-many", many / 4)] {
        for _ in 0..2 {
            repeat(server.at, &Site::Azure.put(container, noise(64)), count, 64)?;
        }
    }
    let pair = |title, page| {
        let list = |container| Site::Azure.list_versions(container, page);
        let (little, much) = (("of 2 k", list("versions-few")), ("of many", list("versions-many")));
        Pair { title, clients: 1, little, much }
    };
    Ok(vec![pair("first 100 versions:", 100), pair("first 1000 versions:", 1000)])
}

fn write(rows: &[Vec<Measure>], load_before: &str, scratch: &Scratch, options: &Options) -> io::Result<()> {
    let mut text = format!(
        "{} Load average before the run: {load_before}. Many: {}.\n\n\
         | operation | clients | beside | per second | p50 ms | p99 | p99.9 | server CPU µs each | rate beside much |\n\
         |---|--:|---|--:|--:|--:|--:|--:|--:|\n",
        report::machine(&scratch.0),
        options.many
    );
    for pair in rows {
        let share = pair[1].rate / pair[0].rate * 100.0;
        for (at, Measure { title, clients, who, rate, latency, cpu, .. }) in pair.iter().enumerate() {
            let [p50, p99, p999, _] = latency.unwrap_or([f64::NAN; 4]);
            let cpu = cpu.unwrap_or(f64::NAN);
            let share = if at == 1 { format!("{share:.0} %") } else { String::new() };
            let _ = writeln!(
                text,
                "| {title} | {clients} | {who} | {rate:.0} | {p50:.2} | {p99:.2} | {p999:.2} | {cpu:.0} | {share} |"
            );
        }
    }
    println!("\n{text}");
    report::replace(options.report.as_deref(), "growth", &text)
}
