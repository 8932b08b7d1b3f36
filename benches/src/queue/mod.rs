//! `lazuli-benches queue`: what a queue does at every depth, against Azurite, Redis and PostgreSQL, all in one run.
//!
//! A *turn* is get, delete, put, so that the depth stays as it is. Windows of all sides take turns, and the median is reported.
//! Redis keeps a second list of what was handed out (LMOVE, then LREM), PostgreSQL hides a row for 30 s by an update under
//! `FOR UPDATE SKIP LOCKED`, then deletes it: the usual ways to make a queue with one holder of each.

mod azure;
mod postgres;
mod redis;

use crate::contest::{Contest, Measure, Pace, Side};
use crate::databases;
use crate::peers::{self, Scratch, Stage};
use crate::plot::{Chart, Line};
use crate::process::Process;
use crate::report;
use crate::server::Server;
use crate::turns::{Turn, Turns};
use std::io;
use std::path::PathBuf;

const TEXT: usize = 256;
/// With one client a window is as fast as the cores that the kernel has put both ends on allow, on one or apart: a fifth up or down. So
/// it gets this many times as many windows, of half the length.
const LONE: usize = 5;

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    stage: Stage,
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

pub trait Connection: Send {
    fn put(&mut self) -> io::Result<()>;
    /// One message is got and deleted.
    fn pair(&mut self) -> io::Result<()>;
}

#[derive(Clone, Copy)]
enum Work {
    Put,
    Turn,
}

impl Work {
    fn title(self) -> &'static str {
        match self {
            Work::Put => "put",
            Work::Turn => "get, delete, put",
        }
    }
}

type Party = (Box<dyn Peer>, Process);

pub fn run(options: &Options) -> io::Result<()> {
    let load_before = report::load_average();
    let scratch = Scratch::new(&options.stage.scratch)?;
    let lazuli = start(peers::lazuli_queue(&options.stage.lazuli, &scratch.0)?)?;
    let mut parties: Vec<Party> = vec![(Box::new(azure::Azure::new("Lazuli", lazuli.at)?), lazuli.process)];
    let mut others = None;
    if !options.alone {
        let azurite = start(peers::azurite_queue(&options.stage.clients, &scratch.0)?)?;
        let (redis, postgres) = (databases::redis(&scratch.0)?, databases::postgres(&scratch.0)?);
        parties.push((Box::new(azure::Azure::new("Azurite", azurite.at)?), azurite.process));
        parties.push((Box::new(redis::Redis { port: redis.port }), redis.process));
        parties.push((Box::new(postgres::Postgres::new(postgres.port)?), postgres.process));
        others = Some((azurite, redis, postgres));
    }
    let everyone: Vec<Process> = parties.iter().map(|party| party.1).collect();
    let pace = Pace::new(options.seconds, options.rounds);
    let lone = Pace::new(options.seconds / 2.0, options.rounds * LONE);
    let mut rows = Vec::new();
    for &depth in &options.depths {
        let sides = || parties.iter().filter(|(peer, _)| peer.name() != "Azurite" || depth <= options.azurite_depth);
        for (peer, _) in sides() {
            peer.empty()?;
            // Each of the 32 clients holds one, and some are on their way back.
            peer.fill(depth + 96)?;
        }
        // Puts come last: they leave the queue deeper.
        for work in [Work::Turn, Work::Put] {
            for clients in [1, 32] {
                let sides = sides().map(|party| side(party, work)).collect();
                let contest = Contest { title: work.title().into(), clients, sides };
                let measures = contest.run(&everyone, &scratch.0, if clients == 1 { lone } else { pace })?;
                rows.extend(measures.into_iter().map(|measure| measure.beside(depth)));
            }
        }
    }
    drop(others);
    write(&rows, &load_before, &scratch, options)
}

fn start(launch: crate::server::Launch) -> io::Result<Server> {
    launch.start(&crate::request::list_queues())
}

fn side((peer, process): &Party, work: Work) -> Side<'_> {
    let connect = move || -> io::Result<Turn<'_>> {
        let mut connection = peer.connect()?;
        Ok(match work {
            Work::Put => Box::new(move || connection.put()),
            Work::Turn => Box::new(move || {
                connection.pair()?;
                connection.put()
            }),
        })
    };
    Side::Turns(Turns { who: peer.name(), process: *process, counts: 1.0, bytes: 0, connect: Box::new(connect) })
}

fn write(rows: &[Measure], load_before: &str, scratch: &Scratch, options: &Options) -> io::Result<()> {
    let machine = report::machine(&scratch.0);
    let versions = [report::run("redis-server", &["--version"]), peers::versions(&options.stage.clients)[0].clone()];
    let mut text = format!("{machine} Load average before the run: {load_before}. {}.\n\n", versions.join(". "));
    text += &report::race(rows, Some("depth"));
    println!("\n{text}");
    draw(rows, options)?;
    report::replace(options.report.as_deref(), "queues", &text)
}

/// Turns of 32 clients over the depth.
fn draw(rows: &[Measure], options: &Options) -> io::Result<()> {
    let turns = |who: &str| {
        let own = rows.iter().filter(|row| row.who == who && row.clients == 32 && row.title == Work::Turn.title());
        Line { name: who.into(), points: own.filter_map(|row| Some((row.beside? as f64, row.rate))).collect() }
    };
    let lines = ["Lazuli", "Azurite", "Redis", "PostgreSQL"].map(turns).into();
    let title = "Get, delete, put: 32 clients";
    let chart = Chart { title, across: "messages in the queue", up: "turns per second", lines };
    chart.write(options.report.as_deref(), "queue")
}
