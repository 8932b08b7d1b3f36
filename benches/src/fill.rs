//! `lazuli-benches fill`: the same requests beside a thousand blobs and beside millions of them, then the same of entities in a table.
//! At each level a server is also restarted, after it was asked to end and after `kill -9`.
//!
//! Azurite and PostgreSQL take part in the same windows; Azurite only up to the levels it can be filled to in minutes, and it is never
//! killed, because what it has not saved by then is lost.

use crate::clock::pause;
use crate::contest::{Contest, Measure, Pace, Side};
use crate::load::Load;
use crate::peers::{self, Scratch, Stage};
use crate::plot::{Chart, Line};
use crate::process::Process;
use crate::report;
use crate::request::{Request, Site, noise};
use crate::restart::{self, End, Restarts};
use crate::server::{Launch, Server, ask};
use crate::table::{Field, Work};
use crate::work::SMALL;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    stage: Stage,
    /// How many blobs there are, one level after the other, ascending
    #[arg(long, value_delimiter = ',', default_value = "1000,100000,1000000,10000000")]
    levels: Vec<u64>,
    /// How many entities there are: whole partitions of a thousand
    #[arg(long, value_delimiter = ',', default_value = "1000,10000,100000,1000000,10000000")]
    entities: Vec<u64>,
    /// Azurite takes part up to so many blobs
    #[arg(long, default_value_t = 100_000)]
    azurite_blobs: u64,
    /// Azurite reads all of a table for each page: it takes part up to so many entities
    #[arg(long, default_value_t = 10_000)]
    azurite_entities: u64,
    /// How often a server is restarted in each way
    #[arg(long, default_value_t = 3)]
    restarts: usize,
    /// Without Azurite and PostgreSQL
    #[arg(long)]
    alone: bool,
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Replace the measured part of this Markdown file, and draw into plots/ beside it
    #[arg(long)]
    report: Option<PathBuf>,
}

const CONTAINER: &str = "filled";
const FILLERS: usize = 64;
const CLIENTS: usize = 32;
const PAGE: u64 = 100;

pub fn run(options: &Options) -> io::Result<()> {
    let load_before = report::load_average();
    let (machine, states, blobs) = {
        let scratch = Scratch::new(&options.stage.scratch)?;
        let (states, blobs) = fill_blobs(options, &scratch)?;
        (report::machine(&scratch.0), states, blobs)
    };
    let entities = fill_entities(options, &Scratch::new(&options.stage.scratch)?)?;
    draw(&blobs, &entities, options.report.as_deref())?;
    let azurite = peers::versions(&options.stage.clients)[0].clone();
    let text = format!(
        "{machine} Load average before the run: {load_before}. {azurite}, PostgreSQL.\n\n{}\n{}\n{}",
        states_table(&states),
        report::race(&blobs, Some("blobs there")),
        report::race(&entities, Some("entities there"))
    );
    println!("\n{text}");
    report::replace(options.report.as_deref(), "fill", &text)
}

/// What a level has brought a server to.
struct State {
    level: u64,
    who: &'static str,
    /// Blobs a second, while it was filled from the level below.
    fill_rate: Option<f64>,
    stopped: Restarts,
    /// Lazuli only.
    killed: Option<Restarts>,
    /// After a restart.
    memory: f64,
    /// Bytes of it for each blob, those included that were written while it was killed.
    disk: f64,
}

/// A server that is filled.
struct Party {
    launch: Launch,
    server: Server,
    data: PathBuf,
    /// Names up to here are blobs.
    filled: AtomicU64,
    /// Where reads go on.
    numbers: AtomicU64,
    /// How many were written beside them while it was killed.
    others: AtomicU64,
}

fn fill_blobs(options: &Options, scratch: &Scratch) -> io::Result<(Vec<State>, Vec<Measure>)> {
    let mut parties = vec![Party::start(peers::lazuli(&options.stage.lazuli, &scratch.0)?, scratch.0.join("lazuli"))?];
    if !options.alone {
        parties.push(Party::start(peers::azurite(&options.stage.clients, &scratch.0)?, scratch.0.join("azurite"))?);
    }
    let (mut states, mut measures) = (Vec::new(), Vec::new());
    for &level in &options.levels {
        // Azurite goes when it has done its part.
        parties.retain(|party| party.launch.name != "Azurite" || level <= options.azurite_blobs);
        let mut reached = Vec::new();
        for party in parties {
            let (party, state) = party.reach(level, options.restarts)?;
            reached.push(party);
            states.push(state);
        }
        let lines = lines(level, &reached, options, scratch)?;
        measures.extend(lines.into_iter().map(|measure| measure.beside(level)));
        parties = Vec::new();
        for party in reached {
            let (party, killed) = party.kill(options.restarts)?;
            if let Some(state) = states.iter_mut().rev().find(|state| state.who == party.launch.name) {
                state.killed = killed;
            }
            parties.push(party);
        }
    }
    parties.into_iter().try_for_each(|party| party.server.stop())?;
    Ok((states, measures))
}

/// Puts come last: they go into the same container, and leave it fuller.
fn lines(level: u64, parties: &[Party], options: &Options, scratch: &Scratch) -> io::Result<Vec<Measure>> {
    let works: [(&str, usize, Request); 4] = [
        ("GET 1 KiB, any of them", CLIENTS, Site::Azure.get(CONTAINER, level, SMALL).scattered()),
        ("HEAD, any of them", CLIENTS, Site::Azure.head(CONTAINER, level).scattered()),
        ("first page of 100", 1, Site::Azure.list(CONTAINER, PAGE, level)),
        ("PUT 1 KiB", CLIENTS, Site::Azure.put(CONTAINER, noise(SMALL))),
    ];
    let everyone: Vec<Process> = parties.iter().map(|party| party.server.process).collect();
    let mut measures = Vec::new();
    for (title, clients, request) in works {
        let sides = parties.iter().map(|party| {
            let numbers = if title.starts_with("PUT") { &party.filled } else { &party.numbers };
            Side::served(&party.server, party.launch.name, request.clone(), numbers)
        });
        let contest = Contest { title: title.into(), clients, sides: sides.collect() };
        measures.extend(contest.run(&everyone, &scratch.0, Pace::new(options.seconds, options.rounds))?);
    }
    Ok(measures)
}

impl Party {
    fn start(launch: Launch, data: PathBuf) -> io::Result<Party> {
        let server = launch.start(&peers::probe(&launch))?;
        for container in [CONTAINER, "puts"] {
            ask(server.at, &Site::Azure.create_container(container))?;
        }
        let [filled, numbers, others] = [const { AtomicU64::new(0) }; 3];
        Ok(Party { launch, server, data, filled, numbers, others })
    }

    /// Fills it up to `level`, and restarts it.
    fn reach(self, level: u64, restarts: usize) -> io::Result<(Party, State)> {
        let from = self.filled.load(Ordering::Relaxed);
        let fill_rate = if from < level { Some(self.fill(level)?) } else { None };
        let (party, stopped) = self.restart(End::Stopped, restarts)?;
        pause(Duration::from_secs(1));
        let (who, memory, disk) =
            (party.launch.name, party.server.process.resident_megabytes()?, bytes_on_disk(&party.data)?);
        let level = level.max(from);
        let disk = disk as f64 / (level + party.others.load(Ordering::Relaxed)) as f64;
        let state = State { level, who, fill_rate, stopped, killed: None, memory, disk };
        println!("{}", state.markdown());
        Ok((party, state))
    }

    fn fill(&self, level: u64) -> io::Result<f64> {
        let (request, numbers, period) =
            (Site::Azure.put(CONTAINER, noise(SMALL)), &self.filled, Duration::from_secs(3600));
        let load =
            Load { at: self.server.at, request: &request, numbers, clients: FILLERS, threads: 2, period, limit: level };
        let rate = load.run()?.rate();
        // Clients that found nothing left to do have counted on.
        self.filled.store(level, Ordering::Relaxed);
        Ok(rate)
    }

    /// Only who promises that nothing is lost.
    fn kill(self, restarts: usize) -> io::Result<(Party, Option<Restarts>)> {
        if self.launch.name == "Azurite" {
            return Ok((self, None));
        }
        let (party, killed) = self.restart(End::Killed, restarts)?;
        Ok((party, Some(killed)))
    }

    fn restart(self, end: End, times: usize) -> io::Result<(Party, Restarts)> {
        let Party { launch, server, data, filled, numbers, others } = self;
        let probe = Site::Azure.get(CONTAINER, 1, SMALL);
        let (server, restarts) = restart::measure(&launch, server, end, &probe, &others, times)?;
        Ok((Party { launch, server, data, filled, numbers, others }, restarts))
    }
}

/// What the file system has given out below `path`.
fn bytes_on_disk(path: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        // Files come and go while a server works.
        let Ok(metadata) = entry.metadata() else { continue };
        bytes += if metadata.is_dir() { bytes_on_disk(&entry.path())? } else { metadata.blocks() * 512 };
    }
    Ok(bytes)
}

impl State {
    fn markdown(&self) -> String {
        let State { level, who, fill_rate, stopped, killed, memory, disk } = self;
        let whole = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.0}"));
        format!(
            "| {level} | {who} | {} | {} | {} | {memory:.0} | {disk:.0} |",
            whole(*fill_rate),
            whole(stopped.worst()),
            whole(killed.as_ref().and_then(Restarts::worst))
        )
    }
}

fn states_table(states: &[State]) -> String {
    let mut text = "| blobs | server | filled, per second | first answer after a clean stop, ms | after kill -9, ms \
                    | memory after a restart, MB | bytes of disk for each |\n|--:|---|--:|--:|--:|--:|--:|\n"
        .to_owned();
    states.iter().for_each(|state| writeln!(text, "{}", state.markdown()).expect("text grows"));
    text
}

fn fill_entities(options: &Options, scratch: &Scratch) -> io::Result<Vec<Measure>> {
    let azurite = (!options.alone).then_some(options.stage.clients.as_path());
    let mut field = Field::start(&options.stage.lazuli, azurite, &scratch.0)?;
    let mut measures = Vec::new();
    for &level in &options.entities {
        field.fill(level, options.azurite_entities)?;
        for (work, clients) in [(Work::Get, CLIENTS), (Work::Partition, 1), (Work::Insert, CLIENTS)] {
            let pace = Pace::new(options.seconds, options.rounds);
            measures.extend(field.line(work, clients, level, scratch, pace)?);
        }
    }
    Ok(measures)
}

fn draw(blobs: &[Measure], entities: &[Measure], document: Option<&Path>) -> io::Result<()> {
    let lines = |measures: &[Measure], wanted: &[(&'static str, &str, &str)]| {
        let line = |(who, title, name): &(&'static str, &str, &str)| {
            let own = measures.iter().filter(|measure| measure.who == *who && measure.title == *title);
            let points = own.filter_map(|measure| Some((measure.beside? as f64, measure.rate))).collect();
            Line { name: (*name).to_owned(), points }
        };
        wanted.iter().map(line).filter(|line| !line.points.is_empty()).collect()
    };
    let wanted = [
        ("Lazuli", "GET 1 KiB, any of them", "GET"),
        ("Lazuli", "HEAD, any of them", "HEAD"),
        ("Lazuli", "PUT 1 KiB", "PUT"),
        ("Lazuli", "first page of 100", "list 100"),
        ("Azurite", "GET 1 KiB, any of them", "Azurite GET"),
        ("Azurite", "PUT 1 KiB", "Azurite PUT"),
    ];
    let (title, across, up) = ("Beside so many blobs, 32 clients", "blobs in the container", "requests per second");
    Chart { title, across, up, lines: lines(blobs, &wanted) }.write(document, "fill")?;
    let wanted = [
        ("Lazuli", Work::Get.title(), "get"),
        ("Lazuli", Work::Insert.title(), "insert"),
        ("PostgreSQL", Work::Get.title(), "PostgreSQL get"),
        ("PostgreSQL", Work::Insert.title(), "PostgreSQL insert"),
        ("Azurite", Work::Get.title(), "Azurite get"),
        ("Azurite", Work::Insert.title(), "Azurite insert"),
    ];
    let (title, across, up) = ("Beside so many entities, 32 clients", "entities in the table", "requests per second");
    Chart { title, across, up, lines: lines(entities, &wanted) }.write(document, "fill-entities")
}
