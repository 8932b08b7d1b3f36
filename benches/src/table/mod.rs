//! `lazuli-benches table`: what a table does, against Azurite and PostgreSQL, all in one run.
//!
//! An entity has five properties and about 200 bytes. PostgreSQL has the same columns with a primary key over both keys, prepared
//! statements and its default synchronous commit. Windows of all sides take turns, and the median is reported. The scan reads a
//! whole table through a filter on a property, which no index helps; its rate is entities looked at.

mod azure;
mod postgres;

use crate::contest::{Contest, Measure, Pace, Side};
use crate::databases::{self, Database};
use crate::peers::{self, Scratch, Stage};
use crate::process::Process;
use crate::report;
use crate::request::Request;
use crate::server::{Launch, Server};
use crate::turns::{Turn, Turns};
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Entities of a partition that is read, and of a batch.
pub const PARTITION: u64 = 1000;
pub const BATCH: u64 = 100;
/// Of the entities that are read, one in so many fits the scan's filter.
pub const WANTED: u64 = 10_000;
const WANTED_NUMBER: u64 = 7;

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    stage: Stage,
    /// Entities in the table that is read and scanned
    #[arg(long, default_value_t = 1_000_000)]
    entities: u64,
    /// Without Azurite and PostgreSQL
    #[arg(long)]
    alone: bool,
    /// Azurite's table has no more than so many: the more there are, the longer each batch takes it
    #[arg(long, default_value_t = 100_000)]
    azurite_entities: u64,
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
    /// Where the load generator can send its requests for a work, among so many entities.
    fn requests(&self, work: Work, entities: u64) -> Option<(SocketAddr, Request)>;
    /// Adds these entities in whatever way is fastest. Both ends are whole batches.
    fn fill(&self, numbers: Range<u64>) -> io::Result<()>;
}

pub trait Connection: Send {
    /// A new entity, in one of a hundred partitions of its own. Only of a peer that has no requests for it.
    fn insert(&mut self, _number: u64) -> io::Result<()> {
        Err(io::Error::other("the load generator inserts"))
    }
    /// An entity by its keys. Only of a peer that has no requests for it.
    fn get(&mut self, _number: u64) -> io::Result<()> {
        Err(io::Error::other("the load generator gets"))
    }
    /// A hundred new entities of one partition, all or none.
    fn batch(&mut self, number: u64) -> io::Result<()>;
    /// All thousand entities of a partition. Says how many there were.
    fn partition(&mut self, number: u64) -> io::Result<u64>;
    /// The whole table through a filter on a number that counts up with the keys. Says how many fit.
    fn scan(&mut self) -> io::Result<u64>;
    /// The whole table through a filter that nothing fits, on a text: nothing that is noted of it helps, each has to be looked at.
    fn search(&mut self) -> io::Result<u64>;
}

#[derive(Clone, Copy, PartialEq)]
pub enum Work {
    Insert,
    Get,
    Batch,
    Partition,
    Scan,
    Search,
}

impl Work {
    const ALL: [(Work, &'static [usize]); 6] = [
        (Work::Get, &[1, 32]),
        (Work::Partition, &[1, 8]),
        (Work::Scan, &[1]),
        (Work::Search, &[1]),
        (Work::Insert, &[1, 32]),
        (Work::Batch, &[1, 32]),
    ];

    pub fn title(self) -> &'static str {
        match self {
            Work::Insert => "insert",
            Work::Get => "get by both keys",
            Work::Batch => "batch of 100",
            Work::Partition => "query of 1,000 in a partition",
            Work::Scan => "filtered scan, entities",
            Work::Search => "the same by a text, each looked at",
        }
    }

    /// How many of what is counted one turn does.
    fn counts(self, entities: u64) -> f64 {
        match self {
            Work::Insert | Work::Get | Work::Batch | Work::Partition => 1.0,
            Work::Scan | Work::Search => entities as f64,
        }
    }
}

/// One who takes part, with how much is in its table.
struct Party {
    peer: Box<dyn Peer>,
    process: Process,
    entities: u64,
    /// Where new names go on.
    numbers: AtomicU64,
}

/// Everybody who takes part, and the processes behind them.
pub struct Field {
    parties: Vec<Party>,
    _servers: Vec<Server>,
    _postgres: Option<Database>,
}

impl Field {
    /// `azurite` is where it was installed; without it Lazuli is alone.
    pub fn start(lazuli: &Path, azurite: Option<&Path>, scratch: &Path) -> io::Result<Self> {
        let start = |launch: Launch| launch.start(&crate::request::list_tables());
        let mut field = Self { parties: Vec::new(), _servers: Vec::new(), _postgres: None };
        let mut launches = vec![peers::lazuli_table(lazuli, scratch)?];
        if let Some(clients) = azurite {
            launches.push(peers::azurite_table(clients, scratch)?);
        }
        for launch in launches {
            let server = start(launch)?;
            field.enter(Box::new(azure::Azure::new(server.name, server.at)?), server.process);
            field._servers.push(server);
        }
        if azurite.is_some() {
            let postgres = databases::postgres(scratch)?;
            field.enter(Box::new(postgres::Postgres::new(postgres.port)?), postgres.process);
            field._postgres = Some(postgres);
        }
        Ok(field)
    }

    fn enter(&mut self, peer: Box<dyn Peer>, process: Process) {
        self.parties.push(Party { peer, process, entities: 0, numbers: AtomicU64::new(0) });
    }

    /// Everybody's table gets so many entities, Azurite's not more than its limit.
    pub fn fill(&mut self, entities: u64, azurite_most: u64) -> io::Result<()> {
        for party in &mut self.parties {
            let wanted = if party.peer.name() == "Azurite" { entities.min(azurite_most) } else { entities };
            if wanted > party.entities {
                party.peer.fill(party.entities..wanted)?;
                party.entities = wanted;
            }
        }
        Ok(())
    }

    /// Who has fewer entities than `least` takes no part.
    pub fn line(
        &self,
        work: Work,
        clients: usize,
        least: u64,
        scratch: &Scratch,
        pace: Pace,
    ) -> io::Result<Vec<Measure>> {
        let everyone: Vec<Process> = self.parties.iter().map(|party| party.process).collect();
        let parties = || self.parties.iter().filter(|party| party.entities >= least);
        let sides = parties().map(|party| party.side(work)).collect();
        let measures = Contest { title: work.title().into(), clients, sides }.run(&everyone, &scratch.0, pace)?;
        Ok(measures.into_iter().zip(parties()).map(|(measure, party)| measure.beside(party.entities)).collect())
    }
}

pub fn run(options: &Options) -> io::Result<()> {
    let load_before = report::load_average();
    let scratch = Scratch::new(&options.stage.scratch)?;
    let azurite = (!options.alone).then_some(options.stage.clients.as_path());
    let mut field = Field::start(&options.stage.lazuli, azurite, &scratch.0)?;
    field.fill(options.entities, options.azurite_entities.min(options.entities))?;
    let mut rows = Vec::new();
    for (work, clients) in Work::ALL {
        for &clients in clients {
            rows.extend(field.line(work, clients, 0, &scratch, Pace::new(options.seconds, options.rounds))?);
        }
    }
    drop(field);
    write(&rows, &load_before, &scratch, options)
}

impl Party {
    fn side(&self, work: Work) -> Side<'_> {
        let (who, process) = (self.peer.name(), self.process);
        if let Some((at, request)) = self.peer.requests(work, self.entities) {
            return Side::Served { who, at, process, request: Box::new(request), numbers: &self.numbers };
        }
        let connect = move || -> io::Result<Turn<'_>> {
            let mut connection = self.peer.connect()?;
            Ok(Box::new(move || self.turn(connection.as_mut(), work)))
        };
        let counts = work.counts(self.entities);
        Side::Turns(Turns { who, process, counts, bytes: 0, connect: Box::new(connect) })
    }

    fn turn(&self, connection: &mut dyn Connection, work: Work) -> io::Result<()> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        // Far apart, so that no read is of what the one before has read.
        let scattered = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) % self.entities;
        match work {
            Work::Insert => connection.insert(number),
            Work::Get => connection.get(scattered),
            Work::Batch => connection.batch(number),
            Work::Partition => {
                let first = scattered / PARTITION * PARTITION;
                whole(connection.partition(scattered / PARTITION)?, PARTITION.min(self.entities - first))
            }
            Work::Scan => whole(connection.scan()?, (self.entities + WANTED - 1 - WANTED_NUMBER) / WANTED),
            Work::Search => whole(connection.search()?, 0),
        }
    }
}

fn whole(seen: u64, wanted: u64) -> io::Result<()> {
    if seen == wanted { Ok(()) } else { Err(io::Error::other(format!("{seen} entities instead of {wanted}"))) }
}

fn write(rows: &[Measure], load_before: &str, scratch: &Scratch, options: &Options) -> io::Result<()> {
    let machine = report::machine(&scratch.0);
    let azurite = peers::versions(&options.stage.clients)[0].clone();
    let mut text = format!("{machine} Load average before the run: {load_before}. {azurite}, PostgreSQL.\n\n");
    text += &report::race(rows, Some("entities there"));
    println!("\n{text}");
    report::replace(options.report.as_deref(), "tables", &text)
}
