//! `lazuli-benches file`: what the File service does with ranges, with a directory of many files, and with snapshots, beside what the
//! file system below it does without a server.
//!
//! No emulator serves files over REST, so the limit is raced instead: the same bytes written with `O_DSYNC`, the same names made and
//! moved with `fsync` of file and directory, by as many threads as there are clients. Windows take turns; the median is reported.

mod local;

use crate::clock::{now, pause};
use crate::contest::{Contest, Measure, Pace, Side, print};
use crate::load::{Load, Tally};
use crate::peers::{self, Scratch, Stage};
use crate::report;
use crate::request::{Request, Share};
use crate::server::{Server, ask};
use crate::turns::Turns;
use local::Local;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

pub const SMALL: u64 = 4 << 10;
pub const LARGE: u64 = 1 << 20;
pub const PAGE: u64 = 1000;
const MANY: &str = "/many";
const MOVED: &str = "/moved";
/// There and back.
const RENAMES: u64 = 20;
const BETWEEN_SNAPSHOTS: Duration = Duration::from_millis(250);
/// A share has at most 200.
const SNAPSHOTS_MAX: usize = 150;
/// Long enough for anything that ends by itself.
const FOR_EVER: Duration = Duration::from_secs(3600);

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    stage: Stage,
    /// Files in the one directory
    #[arg(long, default_value_t = 100_000)]
    files: u64,
    /// Length of the files whose ranges are read and written
    #[arg(long, default_value_t = 1024)]
    mebibytes: u64,
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Replace the measured part of this Markdown file
    #[arg(long)]
    report: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    WriteSmall,
    ReadSmall,
    WriteLarge,
    ReadLarge,
    Create,
    List,
    Stat,
    Rename,
}

impl Work {
    const RANGES: [(Work, &'static [usize]); 4] = [
        (Work::WriteSmall, &[1, 32]),
        (Work::ReadSmall, &[1, 32]),
        (Work::WriteLarge, &[1, 8]),
        (Work::ReadLarge, &[1, 8]),
    ];

    fn title(self, options: &Options) -> String {
        match self {
            Work::WriteSmall => "write 4 KiB, random",
            Work::ReadSmall => "read 4 KiB, random",
            Work::WriteLarge => "write 1 MiB, sequential",
            Work::ReadLarge => "read 1 MiB, sequential",
            Work::Create => "create a file",
            Work::List => "list a page of 1,000",
            Work::Stat => "stat a file",
            Work::Rename => return format!("rename a directory of {} files", options.files),
        }
        .to_owned()
    }

    fn request(self, share: &Share<'_>, options: &Options) -> Request {
        let length = options.mebibytes << 20;
        let (small, large) = ((SMALL as usize, length / SMALL), (LARGE as usize, length / LARGE));
        match self {
            Work::WriteSmall => share.write("/random", small.0, small.1, true),
            Work::ReadSmall => share.read("/random", small.0, small.1, true),
            Work::WriteLarge => share.write("/sequential", large.0, large.1, false),
            Work::ReadLarge => share.read("/sequential", large.0, large.1, false),
            Work::Create => share.create_files(MANY),
            Work::List => share.list(MANY, PAGE, options.files),
            Work::Stat => share.stat(MANY, options.files),
            Work::Rename => share.rename_directory(MANY, MOVED),
        }
    }
}

struct Race<'a> {
    options: &'a Options,
    share: Share<'a>,
    server: Server,
    local: Local,
    scratch: &'a Scratch,
    rows: Vec<Measure>,
}

pub fn run(options: &Options) -> io::Result<()> {
    let load_before = report::load_average();
    let scratch = Scratch::new(&options.stage.scratch)?;
    let server = peers::lazuli_file(&options.stage.lazuli, &scratch.0)?.start(&crate::request::list_queues())?;
    let local = Local::new(&scratch.0.join("local"), options.mebibytes, options.files)?;
    let mut race = Race { options, share: Share("bench"), server, local, scratch: &scratch, rows: Vec::new() };
    race.prepare()?;
    for (work, clients) in Work::RANGES {
        for &clients in clients {
            race.line(work, clients)?;
        }
    }
    race.many_files()?;
    race.renames()?;
    race.snapshots()?;
    let Race { server, rows, .. } = race;
    server.stop()?;
    write(&rows, &load_before, &scratch, options)
}

impl Race<'_> {
    /// The files, full: nobody reads holes.
    fn prepare(&self) -> io::Result<()> {
        ask(self.server.at, &self.share.create())?;
        let length = self.options.mebibytes << 20;
        for path in ["/random", "/sequential"] {
            ask(self.server.at, &self.share.create_file(path, length))?;
            let fill = self.share.write(path, LARGE as usize, length / LARGE, false);
            self.load(&fill, &AtomicU64::new(0), 8, FOR_EVER, length / LARGE)?;
        }
        Ok(())
    }

    fn load(
        &self,
        request: &Request,
        numbers: &AtomicU64,
        clients: usize,
        period: Duration,
        limit: u64,
    ) -> io::Result<Tally> {
        Load { at: self.server.at, request, numbers, clients, threads: 2, period, limit }.run()
    }

    fn line(&mut self, work: Work, clients: usize) -> io::Result<()> {
        let numbers = [const { AtomicU64::new(0) }; 2];
        let request = work.request(&self.share, self.options);
        let served = Side::served(&self.server, "Lazuli", request, &numbers[0]);
        let direct = Side::Turns(self.local.turns(work, &numbers[1]));
        let contest = Contest { title: work.title(self.options), clients, sides: vec![served, direct] };
        let pace = Pace::new(self.options.seconds, self.options.rounds);
        let measures = contest.run(&[self.server.process], &self.scratch.0, pace)?;
        self.rows.extend(measures);
        Ok(())
    }

    fn many_files(&mut self) -> io::Result<()> {
        ask(self.server.at, &self.share.create_directory(MANY))?;
        let (create, count) = (Work::Create.request(&self.share, self.options), self.options.files);
        let served = || self.load(&create, &AtomicU64::new(0), 32, FOR_EVER, count);
        let served = Measure::costed(&Work::Create.title(self.options), 32, "Lazuli", self.server.process, served)?;
        self.found(served);
        let direct = self.counted(&self.local.turns(Work::Create, &AtomicU64::new(0)), Work::Create, 32, count)?;
        self.found(direct);
        self.line(Work::List, 1)?;
        self.line(Work::Stat, 1)?;
        self.line(Work::Stat, 32)
    }

    /// So many turns, however long they take.
    fn counted(&self, turns: &Turns, work: Work, clients: usize, count: u64) -> io::Result<Measure> {
        let mut connected = turns.clients(clients)?;
        let run = || turns.run(&mut connected, FOR_EVER, count);
        Measure::costed(&work.title(self.options), clients, turns.who, turns.process, run)
    }

    /// One at a time: what a rename costs must not depend on what is inside.
    fn renames(&mut self) -> io::Result<()> {
        let (there, back) = (&self.share.rename_directory(MANY, MOVED), &self.share.rename_directory(MOVED, MANY));
        let (numbers, at) = (&AtomicU64::new(0), self.server.at);
        let turn = move || {
            let is_there = numbers.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
            ask(at, if is_there { there } else { back })
        };
        let connect = Box::new(move || -> io::Result<crate::turns::Turn> { Ok(Box::new(turn)) });
        let served = Turns { who: "Lazuli", process: self.server.process, counts: 1.0, bytes: 0, connect };
        let own_numbers = AtomicU64::new(0);
        let direct = self.local.turns(Work::Rename, &own_numbers);
        let measures = [served, direct].map(|turns| self.counted(&turns, Work::Rename, 1, RENAMES));
        measures.into_iter().try_for_each(|measure| measure.map(|measure| self.found(measure)))
    }

    /// Random writes, with a snapshot of the whole share every quarter of a second.
    fn snapshots(&mut self) -> io::Result<()> {
        let done = AtomicBool::new(false);
        let (write, snapshot) = (Work::WriteSmall.request(&self.share, self.options), self.share.snapshot());
        let period = Duration::from_secs_f64(self.options.seconds * self.options.rounds as f64);
        let (written, taken) = std::thread::scope(|scope| {
            let taking = scope.spawn(|| {
                let mut times = Vec::new();
                while !done.load(Ordering::Relaxed) && times.len() < SNAPSHOTS_MAX {
                    let began = now();
                    ask(self.server.at, &snapshot)?;
                    times.push(now() - began);
                    pause(BETWEEN_SNAPSHOTS);
                }
                Ok::<_, io::Error>(times)
            });
            let title = "write 4 KiB, random, while snapshots are taken";
            let writing = || self.load(&write, &AtomicU64::new(0), 32, period, u64::MAX);
            let written = Measure::costed(title, 32, "Lazuli", self.server.process, writing);
            done.store(true, Ordering::Relaxed);
            (written, taking.join().expect("the thread that takes snapshots panicked"))
        });
        let taken = taken?;
        let tally = Tally::of(&taken, taken.iter().sum(), 0);
        self.found(written?);
        self.found(Measure::of("snapshot of the share, while it is written", 1, "Lazuli", &tally));
        Ok(())
    }

    fn found(&mut self, measure: Measure) {
        print(&measure);
        self.rows.push(measure);
    }
}

fn write(rows: &[Measure], load_before: &str, scratch: &Scratch, options: &Options) -> io::Result<()> {
    let machine = report::machine(&scratch.0);
    let mut text = format!(
        "{machine} Load average before the run: {load_before}. Files of {} MiB, {} files in the directory.\n\n",
        options.mebibytes, options.files
    );
    text += &report::race(rows, None);
    println!("\n{text}");
    report::replace(options.report.as_deref(), "files", &text)
}
