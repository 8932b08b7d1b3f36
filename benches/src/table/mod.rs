//! `lazuli-benches table`: what a table does, against Azurite and PostgreSQL, all in one run.
//!
//! An entity has five properties and about 200 bytes. PostgreSQL has the same columns with a primary key over both keys, prepared
//! statements and its default synchronous commit. Windows of all sides take turns, and the median is reported. The scan reads a
//! whole table through a filter on a property, which no index helps; its rate is entities looked at.

mod azure;
mod postgres;

use crate::clock::now;
use crate::databases;
use crate::peers::{self, Scratch};
use crate::report;
use crate::server::Launch;
use std::fmt::Write as _;
use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Entities of a partition that is read, and of a batch.
pub const PARTITION: u64 = 1000;
pub const BATCH: u64 = 100;
/// Of the entities that are read, one in so many fits the scan's filter.
pub const WANTED: u64 = 10_000;
const WANTED_NUMBER: u64 = 7;

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
    /// Entities in the table that is read and scanned
    #[arg(long, default_value_t = 1_000_000)]
    entities: u64,
    /// Without Azurite and PostgreSQL
    #[arg(long)]
    alone: bool,
    /// Azurite's table has so many instead
    #[arg(long)]
    azurite_entities: Option<u64>,
    /// A Lazuli that runs already, and nobody beside it: for use with a profiler. It is filled if it has no table yet
    #[arg(long)]
    port: Option<u16>,
    /// Only this work
    #[arg(long)]
    only: Vec<Work>,
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Replace the measured part of this Markdown file
    #[arg(long)]
    report: Option<PathBuf>,
}

/// A table somewhere, with entities `0..count`, a thousand to a partition.
pub trait Peer: Sync {
    fn name(&self) -> &'static str;
    fn connect(&self) -> io::Result<Box<dyn Connection>>;
    /// Fills the table in whatever way is fastest.
    fn fill(&self, count: u64) -> io::Result<()>;
}

pub trait Connection {
    /// A new entity, in one of a hundred partitions of its own.
    fn insert(&mut self, number: u64) -> io::Result<()>;
    /// An entity by its keys.
    fn get(&mut self, number: u64) -> io::Result<()>;
    /// A hundred new entities of one partition, all or none.
    fn batch(&mut self, number: u64) -> io::Result<()>;
    /// All thousand entities of a partition. Says how many there were.
    fn partition(&mut self, number: u64) -> io::Result<u64>;
    /// The whole table through a filter on a property. Says how many fit.
    fn scan(&mut self) -> io::Result<u64>;
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Work {
    Insert,
    Get,
    Batch,
    Partition,
    Scan,
}

impl Work {
    const ALL: [(Work, &'static [usize]); 5] = [
        (Work::Get, &[1, 32]),
        (Work::Partition, &[1, 8]),
        (Work::Scan, &[1]),
        (Work::Insert, &[1, 32]),
        (Work::Batch, &[1, 32]),
    ];

    fn title(self) -> &'static str {
        match self {
            Work::Insert => "insert",
            Work::Get => "get by both keys",
            Work::Batch => "batch of 100",
            Work::Partition => "query of 1,000 in a partition",
            Work::Scan => "filtered scan, entities",
        }
    }

    /// How many of what is counted one turn does.
    fn counts(self, entities: u64) -> f64 {
        match self {
            Work::Insert | Work::Get | Work::Batch | Work::Partition => 1.0,
            Work::Scan => entities as f64,
        }
    }
}

struct Row {
    work: Work,
    entities: u64,
    clients: usize,
    who: &'static str,
    rate: f64,
    p50: f64,
    p99: f64,
}

struct Side {
    peer: Box<dyn Peer>,
    entities: u64,
    /// Where new names go on.
    numbers: AtomicU64,
}

pub fn run(options: &Options) -> io::Result<()> {
    let load_before = report::load_average();
    let scratch = Scratch::new(&options.scratch)?;
    let start = |launch: Launch| launch.start(&crate::request::list_tables());
    let side = |peer: Box<dyn Peer>, entities| Side { peer, entities, numbers: AtomicU64::new(0) };
    if let Some(port) = options.port {
        let peer = azure::Azure::new("Lazuli", (Ipv4Addr::LOCALHOST, port).into())?;
        return drive(&side(Box::new(peer), options.entities), options);
    }
    let lazuli = start(peers::lazuli_table(&options.lazuli, &scratch.0)?)?;
    let mut sides = vec![side(Box::new(azure::Azure::new("Lazuli", lazuli.at)?), options.entities)];
    let mut others = None;
    if !options.alone {
        let azurite = start(peers::azurite_table(&options.clients, &scratch.0)?)?;
        let postgres = databases::postgres(&scratch.0)?;
        let azurite_entities = options.azurite_entities.unwrap_or(options.entities);
        sides.push(side(Box::new(azure::Azure::new("Azurite", azurite.at)?), azurite_entities));
        sides.push(side(Box::new(postgres::Postgres::new(postgres.port)?), options.entities));
        others = Some((azurite, postgres));
    }
    for side in &sides {
        let began = now();
        side.peer.fill(side.entities)?;
        let rate = side.entities as f64 / (now() - began).as_secs_f64();
        println!("{} was filled with {} entities at {rate:.0} a second.", side.peer.name(), side.entities);
    }
    let mut rows = Vec::new();
    for (work, clients) in Work::ALL.into_iter().filter(|(work, _)| wanted(*work, options)) {
        for &clients in clients {
            rows.extend(line(&sides, clients, work, options)?);
        }
    }
    drop(others);
    write(&rows, &load_before, &scratch, options)
}

fn wanted(work: Work, options: &Options) -> bool {
    options.only.is_empty() || options.only.contains(&work)
}

/// One server that somebody else watches.
fn drive(side: &Side, options: &Options) -> io::Result<()> {
    // It may have what an earlier run wrote.
    side.numbers.store(u64::from(std::process::id()) * 1_000_000, Ordering::Relaxed);
    side.peer.fill(side.entities)?;
    for (work, clients) in Work::ALL.into_iter().filter(|(work, _)| wanted(*work, options)) {
        for &clients in clients {
            line(std::slice::from_ref(side), clients, work, options)?;
        }
    }
    Ok(())
}

/// The median window of each side.
fn line(sides: &[Side], clients: usize, work: Work, options: &Options) -> io::Result<Vec<Row>> {
    let mut windows: Vec<Vec<(f64, f64, f64)>> = sides.iter().map(|_| Vec::new()).collect();
    for round in 0..=options.rounds {
        for (side, windows) in sides.iter().zip(&mut windows) {
            let window = window(side, clients, work, options.seconds)?;
            if round > 0 {
                windows.push(window);
            }
        }
    }
    let row = |(side, mut windows): (&Side, Vec<(f64, f64, f64)>)| {
        windows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (rate, p50, p99) = windows[windows.len() / 2];
        let row = Row { work, entities: side.entities, clients, who: side.peer.name(), rate, p50, p99 };
        println!("{}", row.markdown());
        row
    };
    Ok(sides.iter().zip(windows).map(row).collect())
}

/// Rate, p50 and p99 in milliseconds.
fn window(side: &Side, clients: usize, work: Work, seconds: f64) -> io::Result<(f64, f64, f64)> {
    let period = Duration::from_secs_f64(seconds);
    let began = now();
    let mut times: Vec<Duration> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..clients).map(|_| scope.spawn(|| client(side, work, period))).collect();
        let times: io::Result<Vec<_>> = clients.into_iter().map(|one| one.join().expect("no client panics")).collect();
        times.map(|times| times.concat())
    })
    .map_err(|error| io::Error::other(format!("{}: {error}", side.peer.name())))?;
    let elapsed = (now() - began).as_secs_f64();
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    Ok((times.len() as f64 * work.counts(side.entities) / elapsed, at(0.5), at(0.99)))
}

fn whole(seen: u64, wanted: u64) -> io::Result<()> {
    if seen == wanted { Ok(()) } else { Err(io::Error::other(format!("{seen} entities instead of {wanted}"))) }
}

fn client(side: &Side, work: Work, period: Duration) -> io::Result<Vec<Duration>> {
    let mut connection = side.peer.connect()?;
    let (began, mut times) = (now(), Vec::new());
    loop {
        let number = side.numbers.fetch_add(1, Ordering::Relaxed);
        // Far apart, so that no read is of what the one before has read.
        let scattered = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) % side.entities;
        let before = now();
        match work {
            Work::Insert => connection.insert(number)?,
            Work::Get => connection.get(scattered)?,
            Work::Batch => connection.batch(number)?,
            Work::Partition => {
                let first = scattered / PARTITION * PARTITION;
                whole(connection.partition(scattered / PARTITION)?, PARTITION.min(side.entities - first))?;
            }
            Work::Scan => whole(connection.scan()?, (side.entities + WANTED - 1 - WANTED_NUMBER) / WANTED)?,
        }
        let after = now();
        times.push(after - before);
        if after - began >= period {
            return Ok(times);
        }
    }
}

impl Row {
    fn markdown(&self) -> String {
        let Row { work, entities, clients, who, rate, p50, p99 } = self;
        format!("| {} | {entities} | {clients} | {who} | {rate:.0} | {p50:.2} | {p99:.2} |", work.title())
    }
}

fn write(rows: &[Row], load_before: &str, scratch: &Scratch, options: &Options) -> io::Result<()> {
    let machine = report::machine(&scratch.0);
    let azurite = peers::versions(&options.clients)[0].clone();
    let mut text = format!("{machine} Load average before the run: {load_before}. {azurite}, PostgreSQL.\n\n");
    text +=
        "| work | entities there | clients | server | per second | p50 ms | p99 ms |\n|---|--:|--:|---|--:|--:|--:|\n";
    rows.iter().for_each(|row| writeln!(text, "{}", row.markdown()).expect("text grows"));
    println!("\n{text}");
    report::replace(options.report.as_deref(), "tables", &text)
}
