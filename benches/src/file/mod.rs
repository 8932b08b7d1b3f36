//! `lazuli-benches file`: what the File service does with ranges, with a directory of many files, and with snapshots, beside what the
//! file system below it does without a server.
//!
//! No emulator serves files over REST, so the limit is raced instead: the same bytes written with `O_DSYNC`, the same names made and
//! moved with `fsync` of file and directory, by as many threads as there are clients. Windows take turns; the median is reported.

mod local;

use crate::clock::{now, pause};
use crate::load::Load;
use crate::peers::{self, Scratch};
use crate::report;
use crate::request::{Request, Right, Share};
use crate::server::{Server, ask};
use local::Local;
use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

pub const SMALL: u64 = 4 << 10;
pub const LARGE: u64 = 1 << 20;
pub const PAGE: u64 = 1000;
const MANY: &str = "/many";
/// There and back.
const RENAMES: usize = 10;
const BETWEEN_SNAPSHOTS: Duration = Duration::from_millis(250);
/// A share has at most 200.
const SNAPSHOTS_MAX: usize = 150;
/// Long enough for anything that ends by itself.
const FOR_EVER: Duration = Duration::from_secs(3600);

#[derive(clap::Args)]
pub struct Options {
    /// The binary that is measured
    #[arg(long, default_value = "target/release/lazuli")]
    lazuli: PathBuf,
    /// Data goes below here, and is removed at the end. Must be on a disk
    #[arg(long, default_value = "target")]
    scratch: PathBuf,
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
}

impl Work {
    const RANGES: [(Work, &'static [usize]); 4] = [
        (Work::WriteSmall, &[1, 32]),
        (Work::ReadSmall, &[1, 32]),
        (Work::WriteLarge, &[1, 8]),
        (Work::ReadLarge, &[1, 8]),
    ];

    fn title(self) -> &'static str {
        match self {
            Work::WriteSmall => "write 4 KiB, random",
            Work::ReadSmall => "read 4 KiB, random",
            Work::WriteLarge => "write 1 MiB, sequential",
            Work::ReadLarge => "read 1 MiB, sequential",
            Work::Create => "create a file",
            Work::List => "list a page of 1,000",
            Work::Stat => "stat a file",
        }
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
        }
    }
}

/// Rate, megabytes a second, p50 and p99 in milliseconds.
type Window = (f64, f64, f64, f64);

struct Row {
    title: String,
    clients: usize,
    who: &'static str,
    window: Window,
}

struct Race<'a> {
    options: &'a Options,
    share: Share<'a>,
    server: Server,
    local: Local,
    rows: Vec<Row>,
}

pub fn run(options: &Options) -> io::Result<()> {
    let load_before = report::load_average();
    let scratch = Scratch::new(&options.scratch)?;
    let server = peers::lazuli_file(&options.lazuli, &scratch.0)?.start(&crate::request::list_queues())?;
    let local = Local::new(&scratch.0.join("local"), options.mebibytes, options.files)?;
    let mut race = Race { options, share: Share("bench"), server, local, rows: Vec::new() };
    race.prepare()?;
    for (work, clients) in Work::RANGES {
        for &clients in clients {
            race.line(work, clients)?;
        }
    }
    race.many_files()?;
    race.renames()?;
    race.snapshots()?;
    write(&race.rows, &load_before, &scratch, options)
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
    ) -> io::Result<Window> {
        let tally = Load { at: self.server.at, request, numbers, clients, threads: 2, period, limit }.run()?;
        Ok((tally.rate(), tally.megabytes(), tally.percentile(0.5), tally.percentile(0.99)))
    }

    /// The median window of both, which take turns; the first round only warms.
    fn line(&mut self, work: Work, clients: usize) -> io::Result<()> {
        let request = work.request(&self.share, self.options);
        if request.right != Right::Anything {
            ask(self.server.at, &request)?;
        }
        let numbers = [AtomicU64::new(0), AtomicU64::new(0)];
        let period = Duration::from_secs_f64(self.options.seconds);
        let (mut own, mut limit) = (Vec::new(), Vec::new());
        for round in 0..=self.options.rounds {
            let served = self.load(&request, &numbers[0], clients, period, u64::MAX)?;
            let direct = self.local.window(work, &numbers[1], clients, period, u64::MAX)?;
            if round > 0 {
                own.push(served);
                limit.push(direct);
            }
        }
        self.found(work.title(), clients, "Lazuli", median(own));
        self.found(work.title(), clients, "file system", median(limit));
        Ok(())
    }

    fn many_files(&mut self) -> io::Result<()> {
        ask(self.server.at, &self.share.create_directory(MANY))?;
        let (create, count) = (Work::Create.request(&self.share, self.options), self.options.files);
        let served = self.load(&create, &AtomicU64::new(0), 32, FOR_EVER, count)?;
        self.found(Work::Create.title(), 32, "Lazuli", served);
        let direct = self.local.window(Work::Create, &AtomicU64::new(0), 32, FOR_EVER, count)?;
        self.found(Work::Create.title(), 32, "file system", direct);
        self.line(Work::List, 1)?;
        self.line(Work::Stat, 1)?;
        self.line(Work::Stat, 32)
    }

    /// One at a time: what a rename costs must not depend on what is inside.
    fn renames(&mut self) -> io::Result<()> {
        let title = format!("rename a directory of {} files", self.options.files);
        let there = self.share.rename_directory(MANY, "/moved");
        let back = self.share.rename_directory("/moved", MANY);
        let served = timed(RENAMES, |turn| ask(self.server.at, if turn.is_multiple_of(2) { &there } else { &back }))?;
        self.found(&title, 1, "Lazuli", served);
        let direct = timed(RENAMES, |turn| self.local.rename(turn))?;
        self.found(&title, 1, "file system", direct);
        Ok(())
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
            let written = self.load(&write, &AtomicU64::new(0), 32, period, u64::MAX);
            done.store(true, Ordering::Relaxed);
            (written, taking.join().expect("the thread that takes snapshots panicked"))
        });
        let taken = taken?;
        let elapsed = taken.iter().sum();
        self.found("write 4 KiB, random, while snapshots are taken", 32, "Lazuli", written?);
        self.found("snapshot of the share, while it is written", 1, "Lazuli", summary(taken, elapsed, 0));
        Ok(())
    }

    fn found(&mut self, title: &str, clients: usize, who: &'static str, window: Window) {
        let row = Row { title: title.to_owned(), clients, who, window };
        println!("{}", row.markdown());
        self.rows.push(row);
    }
}

fn timed(turns: usize, mut act: impl FnMut(usize) -> io::Result<()>) -> io::Result<Window> {
    let began = now();
    let mut times = Vec::new();
    for turn in 0..2 * turns {
        let before = now();
        act(turn)?;
        times.push(now() - before);
    }
    Ok(summary(times, now() - began, 0))
}

pub fn summary(mut times: Vec<Duration>, elapsed: Duration, bytes: u64) -> Window {
    times.sort_unstable();
    let last = times.len().saturating_sub(1);
    let at = |share: f64| times.get((last as f64 * share) as usize).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3);
    let rate = times.len() as f64 / elapsed.as_secs_f64();
    (rate, rate * bytes as f64 / 1e6, at(0.5), at(0.99))
}

fn median(mut windows: Vec<Window>) -> Window {
    windows.sort_by(|a, b| a.0.total_cmp(&b.0));
    windows[windows.len() / 2]
}

impl Row {
    fn markdown(&self) -> String {
        let Row { title, clients, who, window: (rate, megabytes, p50, p99) } = self;
        format!("| {title} | {clients} | {who} | {rate:.0} | {megabytes:.0} | {p50:.2} | {p99:.2} |")
    }
}

fn write(rows: &[Row], load_before: &str, scratch: &Scratch, options: &Options) -> io::Result<()> {
    let machine = report::machine(&scratch.0);
    let mut text = format!(
        "{machine} Load average before the run: {load_before}. Files of {} MiB, {} files in the directory.\n\n",
        options.mebibytes, options.files
    );
    text += "| work | clients | by | per second | MB/s | p50 ms | p99 ms |\n|---|--:|---|--:|--:|--:|--:|\n";
    rows.iter().for_each(|row| writeln!(text, "{}", row.markdown()).expect("text grows"));
    println!("\n{text}");
    report::replace(options.report.as_deref(), "files", &text)
}
