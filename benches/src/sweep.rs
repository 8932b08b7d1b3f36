//! `lazuli-benches sweep`: gets and puts from 1 KiB to 1 GiB, with 1 to 256 clients, of Lazuli, Azurite and the limits, drawn.
//!
//! The limit of reading is nginx, that of writing a *file copy*: as many threads as clients, each of which writes the same bytes from
//! memory to new files, with fdatasync behind each. What large puts leave is deleted after each line, so that the disk does not fill.

use crate::contest::{Contest, Measure, Pace, Side};
use crate::peers::{self, Scratch, Stage};
use crate::plot::{Chart, Line};
use crate::process::Process;
use crate::report;
use crate::request::{Site, file_name, noise};
use crate::server::{Launch, Server, ask};
use crate::turns::{Turn, Turns};
use crate::work::fill;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    stage: Stage,
    /// Seconds of one window; it lasts until every client has its answer
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Windows of each server per line up to 1 MiB, of which the median counts, of two the faster. Larger ones have one
    #[arg(long, default_value_t = 2)]
    rounds: usize,
    /// Without Azurite and the limits
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
    name: &'static str,
    container: &'static str,
    bytes: usize,
    /// How many are read, round robin.
    count: u64,
    /// How many clients read, and how many write.
    gets: &'static [usize],
    puts: &'static [usize],
    /// Azurite takes part with so many at most: with more it takes minutes for a line.
    azurite_most: usize,
}

const ALL: &[usize] = &[1, 8, 32, 256];
#[rustfmt::skip]
const SIZES: [Size; 6] = [
    Size { name: "1 KiB", container: "size-1k", bytes: 1 << 10, count: 1000, gets: ALL, puts: ALL, azurite_most: 256 },
    Size { name: "32 KiB", container: "size-32k", bytes: 32 << 10, count: 100, gets: ALL, puts: ALL, azurite_most: 256 },
    Size { name: "1 MiB", container: "size-1m", bytes: 1 << 20, count: 16, gets: ALL, puts: ALL, azurite_most: 256 },
    Size { name: "16 MiB", container: "size-16m", bytes: 16 << 20, count: 4, gets: ALL, puts: &[1, 8, 32], azurite_most: 32 },
    Size { name: "128 MiB", container: "size-128m", bytes: 128 << 20, count: 2, gets: &[1, 8, 32], puts: &[1, 8], azurite_most: 8 },
    Size { name: "1 GiB", container: "size-1g", bytes: 1 << 30, count: 1, gets: &[1, 8], puts: &[1, 8], azurite_most: 1 },
];
/// What the charts over sizes have.
const CLIENTS: usize = 8;
/// Puts of this size and more are deleted after each line.
const LARGE: usize = 1 << 20;
/// Requests of this size and more take as long as a window: nothing is warmed, and one window has to do.
const LONG: usize = 16 << 20;

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Get,
    Put,
}

impl Way {
    fn title(self, size: &Size) -> String {
        let verb = match self {
            Way::Get => "GET",
            Way::Put => "PUT",
        };
        format!("{verb} {}", size.name)
    }
}

struct Party {
    launch: Launch,
    server: Server,
    numbers: AtomicU64,
}

pub fn run(options: &Options) -> io::Result<()> {
    let load_before = report::load_average();
    let scratch = Scratch::new(&options.stage.scratch)?;
    // The first is what a server is asked for to see that it is there.
    let mut files = vec![("small", 1 << 10, 1)];
    let sizes = || SIZES.iter().filter(|size| size.bytes <= options.largest);
    files.extend(sizes().map(|size| (size.container, size.bytes, size.count)));
    let mut launches = vec![peers::lazuli(&options.stage.lazuli, &scratch.0)?];
    if !options.alone {
        launches.push(peers::azurite(&options.stage.clients, &scratch.0)?);
        launches.push(peers::nginx_with(&scratch.0, &files)?);
    }
    let mut parties = Vec::new();
    for launch in launches {
        let server = launch.start(&peers::probe(&launch))?;
        parties.push(Party { launch, server, numbers: AtomicU64::new(0) });
    }
    let mut measures = Vec::new();
    for size in sizes() {
        for party in parties.iter().filter(|party| !is_files(party)) {
            ask(party.server.at, &Site::Azure.create_container(size.container))?;
            fill(party.server.at, size.container, size.bytes, size.count, 2)?;
        }
        for &clients in size.gets {
            measures.extend(gets(size, clients, &parties, options, &scratch.0)?);
        }
        for &clients in size.puts {
            measures.extend(puts(size, clients, &parties, options, &scratch.0)?);
        }
    }
    draw(&measures, options.report.as_deref())?;
    write(&measures, &load_before, &scratch, options)
}

fn is_files(party: &Party) -> bool {
    party.launch.name == "nginx"
}

fn takes_part(party: &Party, size: &Size, clients: usize) -> bool {
    party.launch.name != "Azurite" || clients <= size.azurite_most
}

fn gets(size: &Size, clients: usize, parties: &[Party], options: &Options, scratch: &Path) -> io::Result<Vec<Measure>> {
    let sides = parties.iter().filter(|party| takes_part(party, size, clients)).map(|party| {
        let site = if is_files(party) { Site::Files } else { Site::Azure };
        let request = site.get(size.container, size.count, size.bytes);
        Side::served(&party.server, party.launch.name, request, &party.numbers)
    });
    let contest = Contest { title: Way::Get.title(size), clients, sides: sides.collect() };
    contest.run(&everyone(parties), scratch, pace(size, options))
}

/// Into a container of their own, which is gone afterwards if it would fill the disk.
fn puts(size: &Size, clients: usize, parties: &[Party], options: &Options, scratch: &Path) -> io::Result<Vec<Measure>> {
    let container = format!("puts-{}-{clients}", size.container);
    let writers = || parties.iter().filter(|party| !is_files(party) && takes_part(party, size, clients));
    let (directory, numbers, bytes) = (scratch.join("copies"), AtomicU64::new(0), noise(size.bytes));
    let mut sides = Vec::new();
    for party in writers() {
        ask(party.server.at, &Site::Azure.create_container(&container))?;
        let request = Site::Azure.put(&container, bytes.clone());
        sides.push(Side::served(&party.server, party.launch.name, request, &party.numbers));
    }
    if !options.alone {
        sides.push(Side::Turns(file_copies(&directory, &numbers, &bytes)?));
    }
    let contest = Contest { title: Way::Put.title(size), clients, sides };
    let measures = contest.run(&everyone(parties), scratch, pace(size, options))?;
    if size.bytes >= LARGE {
        writers().try_for_each(|party| ask(party.server.at, &Site::Azure.delete_container(&container)))?;
    }
    if !options.alone {
        fs::remove_dir_all(&directory)?;
    }
    Ok(measures)
}

/// The same bytes to new files, each of which is on disk before the next.
fn file_copies<'a>(directory: &'a Path, numbers: &'a AtomicU64, bytes: &'a [u8]) -> io::Result<Turns<'a>> {
    fs::create_dir_all(directory)?;
    let turn = move || {
        let path = directory.join(file_name(numbers.fetch_add(1, Ordering::Relaxed)));
        let mut file = File::create_new(path)?;
        file.write_all(bytes)?;
        file.sync_data()
    };
    let connect = Box::new(move || -> io::Result<Turn> { Ok(Box::new(turn)) });
    Ok(Turns { who: "file copy", process: Process::own(), counts: 1.0, bytes: bytes.len() as u64, connect })
}

fn everyone(parties: &[Party]) -> Vec<Process> {
    parties.iter().map(|party| party.server.process).collect()
}

fn pace(size: &Size, options: &Options) -> Pace {
    let is_long = size.bytes >= LONG;
    Pace { warms: !is_long, ..Pace::new(options.seconds, if is_long { 1 } else { options.rounds }) }
}

fn draw(measures: &[Measure], document: Option<&Path>) -> io::Result<()> {
    let over_sizes = |way: Way| {
        lines(measures, |measure| {
            let size = SIZES.iter().find(|size| way.title(size) == measure.title && measure.clients == CLIENTS)?;
            Some((size.bytes as f64, measure.megabytes))
        })
    };
    let (across, up) = ("bytes of a blob", "MB/s");
    let title = "Reading blobs, 8 clients";
    Chart { title, across, up, lines: over_sizes(Way::Get) }.write(document, "get")?;
    let title = "Writing blobs, 8 clients";
    Chart { title, across, up, lines: over_sizes(Way::Put) }.write(document, "put")?;
    let over_clients = |title| {
        lines(measures, move |measure| (measure.title == title).then_some((measure.clients as f64, measure.rate)))
    };
    let (across, up) = ("clients", "requests per second");
    for (title, line, name) in [
        ("Reading 1 KiB", "GET 1 KiB", "get-clients"),
        ("Writing 1 KiB", "PUT 1 KiB", "put-clients"),
        ("Reading 1 MiB", "GET 1 MiB", "get-clients-1m"),
        ("Writing 1 MiB", "PUT 1 MiB", "put-clients-1m"),
    ] {
        Chart { title, across, up, lines: over_clients(line) }.write(document, name)?;
    }
    Ok(())
}

/// One line of each side, of the points that `point` makes.
fn lines(measures: &[Measure], point: impl Fn(&Measure) -> Option<(f64, f64)>) -> Vec<Line> {
    ["Lazuli", "Azurite", "nginx", "file copy"]
        .into_iter()
        .map(|who| {
            let own = measures.iter().filter(|measure| measure.who == who);
            Line { name: who.into(), points: own.filter_map(&point).collect() }
        })
        .filter(|line| !line.points.is_empty())
        .collect()
}

fn write(measures: &[Measure], load_before: &str, scratch: &Scratch, options: &Options) -> io::Result<()> {
    let machine = report::machine(&scratch.0);
    let peers = peers::versions(&options.stage.clients).join(", ");
    let mut text = format!("{machine} Load average before the run: {load_before}. Peers: {peers}.\n\n");
    text += &report::race(measures, None);
    println!("\n{text}");
    report::replace(options.report.as_deref(), "sizes", &text)
}
