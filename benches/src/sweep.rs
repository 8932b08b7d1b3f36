//! `lazuli-benches sweep`: gets and puts from 1 KiB to 1 GiB, with 1 to 256 clients, of Lazuli, Azurite and nginx, drawn.

use crate::contest::{Contest, Measure, Pace, Side};
use crate::peers::{self, Scratch};
use crate::plot::{Chart, Line};
use crate::report;
use crate::request::{Site, noise};
use crate::server::{Launch, Server, ask};
use crate::work::fill;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

#[derive(clap::Args)]
pub struct Options {
    /// The binary that is measured
    #[arg(long, default_value = "target/release/lazuli")]
    lazuli: PathBuf,
    /// Where conformance/install put Azurite and Node
    #[arg(long, env = "LAZULI_CLIENTS")]
    clients: PathBuf,
    /// Data of all servers goes below here, and is removed at the end. Must be on a disk
    #[arg(long, default_value = "target")]
    scratch: PathBuf,
    #[command(flatten)]
    pace: Pace,
    /// Without Azurite and nginx
    #[arg(long)]
    alone: bool,
    /// Leaves out what is larger, in bytes
    #[arg(long, default_value_t = usize::MAX)]
    largest: usize,
    /// Replace the measured part of this Markdown file, and draw into plots/ beside it
    #[arg(long)]
    report: Option<PathBuf>,
}

struct Size {
    get: &'static str,
    put: &'static str,
    container: &'static str,
    bytes: usize,
    /// How many are read, round robin.
    count: u64,
    clients: &'static [usize],
}

const SIZES: [Size; 6] = [
    Size {
        get: "GET 1 KiB",
        put: "PUT 1 KiB",
        container: "size-1k",
        bytes: 1 << 10,
        count: 1000,
        clients: &[1, 8, 32, 256],
    },
    Size { get: "GET 32 KiB", put: "PUT 32 KiB", container: "size-32k", bytes: 32 << 10, count: 100, clients: &[8] },
    Size { get: "GET 1 MiB", put: "PUT 1 MiB", container: "size-1m", bytes: 1 << 20, count: 16, clients: &[1, 8, 256] },
    Size { get: "GET 16 MiB", put: "PUT 16 MiB", container: "size-16m", bytes: 16 << 20, count: 4, clients: &[8] },
    Size { get: "GET 128 MiB", put: "PUT 128 MiB", container: "size-128m", bytes: 128 << 20, count: 2, clients: &[8] },
    Size { get: "GET 1 GiB", put: "PUT 1 GiB", container: "size-1g", bytes: 1 << 30, count: 1, clients: &[1, 8] },
];
/// What the charts over sizes have.
const CLIENTS: usize = 8;

struct Party {
    launch: Launch,
    server: Server,
    numbers: AtomicU64,
}

pub fn run(options: &Options) -> io::Result<()> {
    let load_before = report::load_average();
    let scratch = Scratch::new(&options.scratch)?;
    // The first is what a server is asked for to see that it is there.
    let mut files = vec![("small", 1 << 10, 1)];
    let sizes = || SIZES.iter().filter(|size| size.bytes <= options.largest);
    files.extend(sizes().map(|size| (size.container, size.bytes, size.count)));
    let mut launches = vec![peers::lazuli(&options.lazuli, &scratch.0)?];
    if !options.alone {
        launches.push(peers::azurite(&options.clients, &scratch.0)?);
        launches.push(peers::nginx_with(&scratch.0, &files)?);
    }
    let mut parties = Vec::new();
    for launch in launches {
        let server = launch.start(&peers::probe(&launch))?;
        parties.push(Party { launch, server, numbers: AtomicU64::new(0) });
    }
    for party in parties.iter().filter(|party| !is_files(party)) {
        ask(party.server.at, &Site::Azure.create_container("puts"))?;
    }
    let mut measures = Vec::new();
    for size in sizes() {
        for party in parties.iter().filter(|party| !is_files(party)) {
            ask(party.server.at, &Site::Azure.create_container(size.container))?;
            fill(party.server.at, size.container, size.bytes, size.count, 2)?;
        }
        for &clients in size.clients {
            measures.extend(line(size.get, size, clients, &parties, options, &scratch.0)?);
            measures.extend(line(size.put, size, clients, &parties, options, &scratch.0)?);
        }
    }
    draw(&measures, options.report.as_deref())?;
    write(&measures, &load_before, &scratch, options)
}

fn is_files(party: &Party) -> bool {
    party.launch.name == "nginx"
}

fn line(
    title: &'static str,
    size: &Size,
    clients: usize,
    parties: &[Party],
    options: &Options,
    scratch: &Path,
) -> io::Result<Vec<Measure>> {
    let is_get = title == size.get;
    let sides = parties.iter().filter(|party| is_get || !is_files(party)).map(|party| {
        let site = if is_files(party) { Site::Files } else { Site::Azure };
        let request =
            if is_get { site.get(size.container, size.count, size.bytes) } else { site.put("puts", noise(size.bytes)) };
        Side::Served { who: party.launch.name, by: &party.server, request, numbers: &party.numbers }
    });
    let contest = Contest { title, clients, sides: sides.collect() };
    let servers: Vec<&Server> = parties.iter().map(|party| &party.server).collect();
    contest.run(&servers, scratch, options.pace)
}

fn draw(measures: &[Measure], document: Option<&Path>) -> io::Result<()> {
    let over_sizes = |title_of: fn(&Size) -> &'static str| {
        lines(measures, |measure| {
            let size = SIZES.iter().find(|size| title_of(size) == measure.title && measure.clients == CLIENTS)?;
            Some((size.bytes as f64, measure.megabytes))
        })
    };
    let (across, up) = ("bytes of a blob", "MB/s");
    let title = "Reading blobs, 8 clients";
    Chart { title, across, up, lines: over_sizes(|size| size.get) }.write(document, "get")?;
    let title = "Writing blobs, 8 clients";
    Chart { title, across, up, lines: over_sizes(|size| size.put) }.write(document, "put")?;
    let over_clients = |title| {
        lines(measures, move |measure| (measure.title == title).then_some((measure.clients as f64, measure.rate)))
    };
    let (across, up) = ("clients", "requests per second");
    let title = "Reading 1 KiB";
    Chart { title, across, up, lines: over_clients("GET 1 KiB") }.write(document, "get-clients")?;
    let title = "Writing 1 KiB";
    Chart { title, across, up, lines: over_clients("PUT 1 KiB") }.write(document, "put-clients")
}

/// One line of each server, of the points that `point` makes.
fn lines(measures: &[Measure], point: impl Fn(&Measure) -> Option<(f64, f64)>) -> Vec<Line> {
    ["Lazuli", "Azurite", "nginx"]
        .into_iter()
        .map(|who| {
            let own = measures.iter().filter(|measure| measure.who == who);
            Line { name: who.into(), points: own.filter_map(&point).collect() }
        })
        .filter(|line| !line.points.is_empty())
        .collect()
}

fn write(measures: &[Measure], load_before: &str, scratch: &Scratch, options: &Options) -> io::Result<()> {
    let mut text = format!(
        "{} Load average before the run: {load_before}. Peers: {}.\n\n",
        report::machine(&scratch.0),
        peers::versions(&options.clients).join(", ")
    );
    text += "| operation | clients | server | per second | MB/s | p50 ms | p99 | p99.9 | server CPU µs each | against Azurite |\n";
    text += "|---|--:|---|--:|--:|--:|--:|--:|--:|--:|\n";
    for measure in measures {
        let Measure { title, clients, who, rate, megabytes, latency, cpu } = measure;
        let [p50, p99, p999, _] = latency.unwrap_or([f64::NAN; 4]);
        let cpu = cpu.unwrap_or(f64::NAN);
        let azurite = measures.iter().find(|m| (m.title, m.clients, m.who) == (title, *clients, "Azurite"));
        let times = azurite.map_or(String::new(), |azurite| format!("{:.1}×", rate / azurite.rate));
        let _ = writeln!(
            text,
            "| {title} | {clients} | {who} | {rate:.1} | {megabytes:.0} | {p50:.2} | {p99:.2} | {p999:.2} | {cpu:.0} | {times} |"
        );
    }
    println!("\n{text}");
    report::replace(options.report.as_deref(), "sizes", &text)
}
