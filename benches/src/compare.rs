//! The comparison from beginning to end: start everything, look at it idle, race it, fill it, restart it, report.

use crate::clock::pause;
use crate::contest::{Contest, Measure, Pace, Side};
use crate::peers::{self, Scratch, Stage};
use crate::process::Process;
use crate::report::{self, Findings};
use crate::request::Site;
use crate::restart::{self, End};
use crate::server::{Launch, Server};
use crate::work::{SMALL, SMALL_COUNT, Work, fill, prepare};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Who {
    Lazuli,
    Azurite,
    Nginx,
    Nothing,
    Fio,
}

impl Who {
    /// Not a peer: it has no blobs, only bytes.
    fn is_limit(self) -> bool {
        match self {
            Who::Lazuli | Who::Azurite => false,
            Who::Nginx | Who::Nothing | Who::Fio => true,
        }
    }
}

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    stage: Stage,
    /// Who takes part
    #[arg(long, value_delimiter = ',', default_value = "lazuli,azurite,nginx,nothing,fio")]
    sides: Vec<Who>,
    #[command(flatten)]
    pace: Pace,
    /// Fill Lazuli with so many blobs, then list and restart it again
    #[arg(long, default_value_t = 0)]
    fill: u64,
    /// How often it is restarted in each way
    #[arg(long, default_value_t = 5)]
    restarts: usize,
    /// Replace the measured part of this Markdown file
    #[arg(long)]
    report: Option<PathBuf>,
}

/// The lines of the comparison with the clients of each. Files are what nginx can do, uploads what fio can.
const LINES: [(Work, &[usize], &[Who]); 7] = [
    (Work::PutSmall, &[1, 32], &[Who::Azurite, Who::Lazuli]),
    (Work::GetSmall, &[1, 32], &[Who::Azurite, Who::Lazuli, Who::Nginx, Who::Nothing]),
    (Work::Head, &[1, 32], &[Who::Azurite, Who::Lazuli, Who::Nginx, Who::Nothing]),
    (Work::List100, &[1], &[Who::Azurite, Who::Lazuli]),
    (Work::List1000, &[1], &[Who::Azurite, Who::Lazuli]),
    (Work::PutUpload, &[8, 32], &[Who::Azurite, Who::Lazuli, Who::Fio]),
    (Work::GetLarge, &[8, 32], &[Who::Azurite, Who::Lazuli, Who::Nginx]),
];

/// A server that takes part, and where its new names go on.
struct Party {
    who: Who,
    launch: Launch,
    server: Server,
    numbers: AtomicU64,
}

pub fn run(options: &Options) -> io::Result<()> {
    let scratch = Scratch::new(&options.stage.scratch)?;
    let mut findings = Findings {
        load_before: report::load_average(),
        versions: peers::versions(&options.stage.clients),
        ..Findings::default()
    };
    let mut parties = start(options, &scratch, &mut findings)?;
    for party in parties.iter().filter(|party| !party.who.is_limit()) {
        prepare(party.server.at)?;
    }
    for (work, clients, sides) in LINES {
        for &clients in clients {
            let measures = line(work, clients, sides, &parties, options, &scratch)?;
            findings.measures.extend(measures);
        }
    }
    for party in &parties {
        let megabytes = party.server.process.resident_megabytes()?;
        findings.memory.push((party.launch.name, "after the runs", megabytes));
    }
    if let Some(index) = parties.iter().position(|party| party.who == Who::Lazuli) {
        let lazuli = parties.swap_remove(index);
        drop(parties);
        grown(lazuli, options, &scratch, &mut findings)?;
    }
    report::write(&findings, &scratch.0, options.report.as_deref())
}

fn start(options: &Options, scratch: &Scratch, findings: &mut Findings) -> io::Result<Vec<Party>> {
    let mut parties = Vec::new();
    for &who in &options.sides {
        let launch = match who {
            Who::Lazuli => peers::lazuli(&options.stage.lazuli, &scratch.0)?,
            Who::Azurite => peers::azurite(&options.stage.clients, &scratch.0)?,
            Who::Nginx => peers::nginx(&scratch.0)?,
            Who::Nothing => peers::nothing()?,
            Who::Fio => continue,
        };
        let server = launch.start(&peers::probe(&launch))?;
        findings.first_starts.push((launch.name, server.first_answer));
        pause(Duration::from_secs(1));
        findings.memory.push((launch.name, "idle, empty", server.process.resident_megabytes()?));
        parties.push(Party { who, launch, server, numbers: AtomicU64::new(0) });
    }
    Ok(parties)
}

fn line(
    work: Work,
    clients: usize,
    sides: &[Who],
    parties: &[Party],
    options: &Options,
    scratch: &Scratch,
) -> io::Result<Vec<Measure>> {
    let mut contest = Contest { title: work.title().into(), clients, sides: Vec::new() };
    for party in parties.iter().filter(|party| sides.contains(&party.who)) {
        let site = if party.who.is_limit() { Site::Files } else { Site::Azure };
        contest.sides.push(Side::served(&party.server, party.launch.name, work.request(&site), &party.numbers));
    }
    if sides.contains(&Who::Fio) && options.sides.contains(&Who::Fio) {
        contest.sides.push(Side::Fio);
    }
    let everyone: Vec<Process> = parties.iter().map(|party| party.server.process).collect();
    contest.run(&everyone, &scratch.0, options.pace)
}

/// Restarts, and what many blobs change: nothing, if the design holds.
fn grown(lazuli: Party, options: &Options, scratch: &Scratch, findings: &mut Findings) -> io::Result<()> {
    let Party { launch, mut server, numbers, .. } = lazuli;
    let probe = Site::Azure.get("small", SMALL_COUNT, SMALL);
    let mut restarts = |mut server: Server, with: &str| {
        for end in [End::Stopped, End::Killed] {
            let (next, measured) = restart::measure(&launch, server, end, &probe, &numbers, options.restarts)?;
            findings.restarts.push((with.to_owned(), measured));
            server = next;
        }
        io::Result::Ok(server)
    };
    server = restarts(server, "after the runs")?;
    if options.fill > 0 {
        let rate = fill(server.at, "filled", SMALL, options.fill, 64)?;
        println!("filled {} blobs at {rate:.0}/s", options.fill);
        let with = format!("with {} more blobs", options.fill);
        server = restarts(server, &with)?;
        findings.filled = Some((options.fill, rate));
        pause(Duration::from_secs(1));
        findings.memory.push((launch.name, "restarted, filled", server.process.resident_megabytes()?));
        for (title, page) in [("first page of 100", 100), ("first page of 1000", 1000), ("first page of 5000", 5000)] {
            let side =
                |who, container, count| Side::served(&server, who, Site::Azure.list(container, page, count), &numbers);
            let mut sides = vec![side("of all blobs", "filled", options.fill)];
            if page <= SMALL_COUNT {
                sides.push(side("of 1 k blobs", "small", SMALL_COUNT));
            }
            let contest = Contest { title: title.into(), clients: 1, sides };
            findings.measures.extend(contest.run(&[server.process], &scratch.0, options.pace)?);
        }
    }
    server.stop()
}
