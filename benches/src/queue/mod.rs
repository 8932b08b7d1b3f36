//! `lazuli-benches queue`: what a queue does at every depth, against Azurite, Redis and PostgreSQL, all in one run.
//!
//! A *turn* is get, delete, put, so that the depth stays as it is. Windows of all sides take turns, and the median is reported.
//! Redis keeps a second list of what was handed out (LMOVE, then LREM), PostgreSQL hides a row for 30 s by an update under
//! `FOR UPDATE SKIP LOCKED`, then deletes it: the usual ways to make a queue with one holder of each.

mod azure;
mod postgres;
mod redis;

use crate::clock::now;
use crate::databases;
use crate::peers::{self, Scratch};
use crate::plot::{Chart, Line};
use crate::report;
use crate::server::Server;
use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

const TEXT: usize = 256;

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
    /// Messages in the queue while it is measured
    #[arg(long, value_delimiter = ',', default_value = "10,1000,100000,1000000")]
    depths: Vec<u64>,
    /// Without Azurite, Redis and PostgreSQL
    #[arg(long)]
    alone: bool,
    /// Azurite slows down with the square of the depth: it takes part up to this one
    #[arg(long, default_value_t = 1000)]
    azurite_depth: u64,
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Replace the measured part of this Markdown file
    #[arg(long)]
    report: Option<PathBuf>,
}

/// A queue somewhere, that holds `depth` messages before it is measured.
pub trait Peer: Sync {
    fn name(&self) -> &'static str;
    fn connect(&self) -> io::Result<Box<dyn Connection>>;
    fn empty(&self) -> io::Result<()>;
    /// Adds messages in whatever way is fastest.
    fn fill(&self, count: u64) -> io::Result<()>;
}

pub trait Connection {
    fn put(&mut self) -> io::Result<()>;
    /// One message is got and deleted.
    fn pair(&mut self) -> io::Result<()>;
}

#[derive(Clone, Copy)]
enum Work {
    Put,
    Turn,
}

struct Row {
    depth: u64,
    clients: usize,
    work: Work,
    who: &'static str,
    rate: f64,
    p50: f64,
    p99: f64,
}

pub fn run(options: &Options) -> io::Result<()> {
    let load_before = report::load_average();
    let scratch = Scratch::new(&options.scratch)?;
    let lazuli = start(peers::lazuli_queue(&options.lazuli, &scratch.0)?)?;
    let mut peers: Vec<Box<dyn Peer>> = vec![Box::new(azure::Azure::new("Lazuli", lazuli.at)?)];
    let mut others = None;
    if !options.alone {
        let azurite = start(peers::azurite_queue(&options.clients, &scratch.0)?)?;
        let (redis, postgres) = (databases::redis(&scratch.0)?, databases::postgres(&scratch.0)?);
        peers.push(Box::new(azure::Azure::new("Azurite", azurite.at)?));
        peers.push(Box::new(redis::Redis { port: redis.port }));
        peers.push(Box::new(postgres::Postgres::new(postgres.port)?));
        others = Some((azurite, redis, postgres));
    }
    let mut rows = Vec::new();
    for &depth in &options.depths {
        for peer in peers.iter().filter(|peer| takes_part(peer.as_ref(), depth, options)) {
            peer.empty()?;
            // Each of the 32 clients holds one, and some are on their way back.
            peer.fill(depth + 96)?;
        }
        // Puts come last: they leave the queue deeper.
        for work in [Work::Turn, Work::Put] {
            for clients in [1, 32] {
                rows.extend(line(&peers, depth, clients, work, options)?);
            }
        }
    }
    drop(others);
    write(&rows, &load_before, &scratch, options)
}

fn start(launch: crate::server::Launch) -> io::Result<Server> {
    launch.start(&crate::request::list_queues())
}

fn takes_part(peer: &dyn Peer, depth: u64, options: &Options) -> bool {
    peer.name() != "Azurite" || depth <= options.azurite_depth
}

/// The median window of each side.
fn line(peers: &[Box<dyn Peer>], depth: u64, clients: usize, work: Work, options: &Options) -> io::Result<Vec<Row>> {
    let sides: Vec<&dyn Peer> =
        peers.iter().map(Box::as_ref).filter(|peer| takes_part(*peer, depth, options)).collect();
    let mut windows: Vec<Vec<(f64, f64, f64)>> = sides.iter().map(|_| Vec::new()).collect();
    for round in 0..=options.rounds {
        for (peer, windows) in sides.iter().zip(&mut windows) {
            let window = window(*peer, clients, work, options.seconds)?;
            if round > 0 {
                windows.push(window);
            }
        }
    }
    let row = |(peer, mut windows): (&&dyn Peer, Vec<(f64, f64, f64)>)| {
        windows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (rate, p50, p99) = windows[windows.len() / 2];
        let row = Row { depth, clients, work, who: peer.name(), rate, p50, p99 };
        println!("{}", row.markdown());
        row
    };
    Ok(sides.iter().zip(windows).map(row).collect())
}

/// Rate, p50 and p99 in milliseconds.
fn window(peer: &dyn Peer, clients: usize, work: Work, seconds: f64) -> io::Result<(f64, f64, f64)> {
    let period = Duration::from_secs_f64(seconds);
    let mut times: Vec<Duration> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..clients).map(|_| scope.spawn(|| client(peer, work, period))).collect();
        let times: io::Result<Vec<_>> = clients.into_iter().map(|one| one.join().expect("no client panics")).collect();
        times.map(|times| times.concat())
    })
    .map_err(|error| io::Error::other(format!("{}: {error}", peer.name())))?;
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    Ok((times.len() as f64 / seconds, at(0.5), at(0.99)))
}

fn client(peer: &dyn Peer, work: Work, period: Duration) -> io::Result<Vec<Duration>> {
    let mut connection = peer.connect()?;
    let (began, mut times) = (now(), Vec::new());
    loop {
        let before = now();
        match work {
            Work::Put => connection.put()?,
            Work::Turn => {
                connection.pair()?;
                connection.put()?;
            }
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
        let work = match self.work {
            Work::Put => "put",
            Work::Turn => "get, delete, put",
        };
        let Row { depth, clients, who, rate, p50, p99, .. } = self;
        format!("| {work} | {depth} | {clients} | {who} | {rate:.0} | {p50:.2} | {p99:.2} |")
    }
}

fn write(rows: &[Row], load_before: &str, scratch: &Scratch, options: &Options) -> io::Result<()> {
    let machine = report::machine(&scratch.0);
    let versions = [report::run("redis-server", &["--version"]), peers::versions(&options.clients)[0].clone()];
    let mut text = format!("{machine} Load average before the run: {load_before}. {}.\n\n", versions.join(". "));
    text += "| work | depth | clients | server | per second | p50 ms | p99 ms |\n|---|--:|--:|---|--:|--:|--:|\n";
    rows.iter().for_each(|row| writeln!(text, "{}", row.markdown()).expect("text grows"));
    println!("\n{text}");
    draw(rows, options)?;
    report::replace(options.report.as_deref(), "queues", &text)
}

/// Turns of 32 clients over the depth.
fn draw(rows: &[Row], options: &Options) -> io::Result<()> {
    let turns = |who: &str| {
        let own = rows.iter().filter(|row| row.who == who && row.clients == 32 && matches!(row.work, Work::Turn));
        Line { name: who.into(), points: own.map(|row| (row.depth as f64, row.rate)).collect() }
    };
    let lines = ["Lazuli", "Azurite", "Redis", "PostgreSQL"].map(turns).into();
    let title = "Get, delete, put: 32 clients";
    let chart = Chart { title, across: "messages in the queue", up: "turns per second", lines };
    chart.write(options.report.as_deref(), "queue")
}
