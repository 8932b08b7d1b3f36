//! `lazuli-benches lake`: a hierarchical namespace beside few and beside many files, written through both doors, and read by callers that
//! access control lists bind; beside the same in a directory of the file system.
//!
//! Cost should follow the work: a rename moves one name, a page costs what is on it, and a recursive delete answers when the name is gone.
//! The file system is used as durably as the server must be: files and directories are synced before they count.

mod local;
mod served;

use crate::contest::{Contest, Measure, Pace, Side, print};
use crate::load::{Load, Tally};
use crate::peers::{self, Scratch, Stage};
use crate::report;
use crate::request::{By, FileSystem, Request};
use crate::server::{Server, ask};
use crate::turns::{Turn, Turns};
use local::Local;
use served::Door;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const FEW: &str = "/few";
const MANY: &str = "/many";
const NEW: &str = "/new";
/// As full as the small one, and deleted at once.
const GONE: &str = "/gone";
const MOVED: &str = "/moved";
/// Of a list that is read in part, and of one that is read to its end.
const PAGE: u64 = 1000;
const ALL_PAGE: u64 = 5000;
/// There and back.
const RENAMES: u64 = 100;
const SMALL: u64 = 4 << 10;
const LARGE: u64 = 4 << 20;
const DEPTHS: [usize; 2] = [1, 30];
/// One whom lists bind, and one whose role passes them by.
const BOUND: &str = "11111111-1111-1111-1111-111111111111";
const OWNER: &str = "22222222-2222-2222-2222-222222222222";
/// Long enough for anything that ends by itself.
const FOR_EVER: Duration = Duration::from_secs(3600);

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    stage: Stage,
    /// Files in the large directory
    #[arg(long, default_value_t = 1_000_000)]
    files: u64,
    /// Files in the small directory
    #[arg(long, default_value_t = 10_000)]
    few: u64,
    /// Only one part of it
    #[arg(long, value_enum)]
    part: Option<Part>,
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Replace the measured part of this Markdown file
    #[arg(long)]
    report: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Part {
    /// Few and many files: stats, lists, renames, creates, deletes
    Directories,
    /// Writes through both doors, and access control lists
    Files,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    Create,
    List,
    ListFrom,
    ListAll,
    Stat,
    /// Of a file below so many directories.
    Deep(usize),
    Rename,
    Delete,
    WriteSmall,
    WriteLarge,
    Append,
}

impl Work {
    fn title(self) -> String {
        match self {
            Work::Create => "create a file",
            Work::List => "list the first 1,000",
            Work::ListFrom => "list any 1,000",
            Work::ListAll => "list all, 5,000 on a page; paths",
            Work::Stat => "stat a file",
            Work::Deep(depth) => return format!("stat a file at depth {depth}, by lists"),
            Work::Rename => "rename the directory",
            Work::Delete => "delete the directory, recursively",
            Work::WriteSmall => "write a file of 4 KiB: create, append, flush",
            Work::WriteLarge => "write a file of 64 MiB: create, 16 appends, flush",
            Work::Append => "append 4 KiB to one's own file, and flush",
        }
        .to_owned()
    }

    /// So many parts of so many bytes.
    fn parts(self) -> (u64, u64) {
        match self {
            Work::WriteSmall | Work::Append => (1, SMALL),
            Work::WriteLarge => (16, LARGE),
            Work::Create
            | Work::List
            | Work::ListFrom
            | Work::ListAll
            | Work::Stat
            | Work::Deep(_)
            | Work::Rename
            | Work::Delete => (0, 0),
        }
    }

    fn bytes(self) -> u64 {
        let (parts, size) = self.parts();
        parts * size
    }

    /// What one turn does of what is counted.
    fn counts(self, files: u64) -> f64 {
        if self == Work::ListAll { files as f64 } else { 1.0 }
    }
}

/// A directory, and how many files are in it.
#[derive(Clone, Copy)]
pub struct Size<'a> {
    directory: &'a str,
    files: u64,
}

struct Race<'a> {
    options: &'a Options,
    lake: FileSystem<'a>,
    server: Server,
    blob_at: SocketAddr,
    local: Local,
    scratch: &'a Scratch,
    rows: Vec<Measure>,
}

pub fn run(options: &Options) -> io::Result<()> {
    let load_before = report::load_average();
    let scratch = Scratch::new(&options.stage.scratch)?;
    // With somebody who has a role, others are bound by lists.
    let role = format!("{OWNER}=Storage Blob Data Owner");
    let flags = ["--setting", "devstoreaccount1:hierarchical-namespace=on", "--oauth", "basic", "--oauth-insecure"];
    let flags = [&flags[..], &["--role", &role]].concat();
    let (launch, blob_at) = peers::lazuli_lake(&options.stage.lazuli, &scratch.0, &flags)?;
    let server = launch.start(&crate::request::Site::Azure.list_containers())?;
    let has = |part| options.part.is_none_or(|only| only == part);
    let [few, many] = if has(Part::Directories) { [options.few, options.files] } else { [0, 0] };
    let local = Local::new(&scratch.0.join("local"), few, many)?;
    let (lake, rows) = (FileSystem("lake"), Vec::new());
    let mut race = Race { options, lake, server, blob_at, local, scratch: &scratch, rows };
    ask(race.server.at, &race.lake.create())?;
    let intro = format!("{} Load average before the run: {load_before}.", report::machine(&scratch.0));
    let publish = |name: &str, rows: &[Measure], beside| {
        let text = format!("{intro}\n\n{}", report::race(rows, beside));
        println!("\n{text}");
        report::replace(options.report.as_deref(), name, &text)
    };
    if has(Part::Files) {
        race.writes()?;
        race.depths()?;
        publish("lake files", &std::mem::take(&mut race.rows), None)?;
    }
    if has(Part::Directories) {
        race.fill()?;
        race.directories()?;
        let [_, many] = race.sizes();
        let (deleted, swept) = (race.delete(many)?, race.beside_sweeper(many.files)?);
        race.rows.extend([deleted, race.delete_local(many)?, swept]);
        publish("lake directories", &std::mem::take(&mut race.rows), Some("files there"))?;
    }
    race.server.stop()
}

impl Race<'_> {
    fn sizes(&self) -> [Size<'static>; 2] {
        [Size { directory: FEW, files: self.options.few }, Size { directory: MANY, files: self.options.files }]
    }

    fn fill(&mut self) -> io::Result<()> {
        for directory in [GONE, FEW, MANY, NEW] {
            ask(self.server.at, &self.lake.create_directory(directory, ""))?;
        }
        let [few, many] = self.sizes();
        let gone = Size { directory: GONE, ..few };
        for Size { directory, files } in [gone, few, many] {
            let create = self.lake.create_files(directory);
            let (at, numbers) = (self.server.at, &AtomicU64::new(0));
            let load = Load { at, request: &create, numbers, clients: 64, threads: 2, period: FOR_EVER, limit: files };
            let filled = Measure::costed("fill the directory", 64, "Lazuli", self.server.process, || load.run())?;
            if directory == GONE {
                // Long swept when the next is deleted.
                self.rows.extend([self.delete(gone)?, self.delete_local(gone)?]);
            } else {
                print(&filled);
                self.rows.push(filled.beside(files));
            }
        }
        Ok(())
    }

    fn directories(&mut self) -> io::Result<()> {
        for size in self.sizes() {
            for clients in [1, 32] {
                let request = self.lake.stat(size.directory, size.files);
                self.line(Work::Stat, size, clients, vec![("Lazuli", request)])?;
            }
        }
        for size in self.sizes() {
            self.line(Work::List, size, 1, vec![("Lazuli", self.lake.list(size.directory, PAGE, size.files))])?;
        }
        for size in self.sizes() {
            self.line(
                Work::ListFrom,
                size,
                1,
                vec![("Lazuli", self.lake.list_from(size.directory, PAGE, size.files))],
            )?;
        }
        for size in self.sizes() {
            self.list_all(size)?;
        }
        for size in self.sizes() {
            let renamed = self.renames(size)?;
            self.rows.extend(renamed);
        }
        let empty = Size { directory: NEW, files: 0 };
        for clients in [1, 32] {
            for size in [empty, self.sizes()[1]] {
                self.line(Work::Create, size, clients, vec![("Lazuli", self.lake.create_files(size.directory))])?;
            }
        }
        Ok(())
    }

    /// Requests that the generator can send, beside the file system where that can do the same.
    fn line(
        &mut self,
        work: Work,
        size: Size,
        clients: usize,
        requests: Vec<(&'static str, Request)>,
    ) -> io::Result<()> {
        let numbers: Vec<AtomicU64> = (0..=requests.len()).map(|_| AtomicU64::new(self.first_number(work))).collect();
        let served = requests.into_iter().zip(&numbers[1..]);
        let mut sides: Vec<Side> =
            served.map(|((who, request), numbers)| Side::served(&self.server, who, request, numbers)).collect();
        if work != Work::ListFrom {
            sides.push(Side::Turns(self.local.turns(work, size, &numbers[0])));
        }
        let measures = self.contest(work, clients, sides, self.pace())?;
        self.rows.extend(measures.into_iter().map(|measure| measure.beside(size.files)));
        Ok(())
    }

    /// New names go on behind those that were made before.
    fn first_number(&self, work: Work) -> u64 {
        static MADE: AtomicU64 = AtomicU64::new(0);
        if work == Work::Create { MADE.fetch_add(1, Ordering::Relaxed) * 100_000_000 + self.options.files } else { 0 }
    }

    fn contest(&self, work: Work, clients: usize, sides: Vec<Side>, pace: Pace) -> io::Result<Vec<Measure>> {
        Contest { title: work.title(), clients, sides }.run(&[self.server.process], &self.scratch.0, pace)
    }

    fn pace(&self) -> Pace {
        Pace::new(self.options.seconds, self.options.rounds)
    }

    fn list_all(&mut self, size: Size) -> io::Result<()> {
        let (at, counts) = (self.server.at, Work::ListAll.counts(size.files));
        let connect = Box::new(move || served::lister(at, size.directory, size.files));
        let served = Turns { who: "Lazuli", process: self.server.process, counts, bytes: 0, connect };
        let numbers = AtomicU64::new(0);
        let sides = vec![Side::Turns(served), Side::Turns(self.local.turns(Work::ListAll, size, &numbers))];
        let measures = self.contest(Work::ListAll, 1, sides, Pace { warms: false, ..self.pace() })?;
        self.rows.extend(measures.into_iter().map(|measure| measure.beside(size.files)));
        Ok(())
    }

    /// One at a time: what a rename costs must not depend on what is inside.
    fn renames(&self, size: Size) -> io::Result<Vec<Measure>> {
        let (there, back) = (&self.lake.rename(size.directory, MOVED), &self.lake.rename(MOVED, size.directory));
        let ([numbers, own_numbers], at) = (&[const { AtomicU64::new(0) }; 2], self.server.at);
        let turn = move || {
            let is_there = numbers.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
            ask(at, if is_there { there } else { back })
        };
        let connect = Box::new(move || -> io::Result<Turn> { Ok(Box::new(turn)) });
        let served = Turns { who: "Lazuli", process: self.server.process, counts: 1.0, bytes: 0, connect };
        let direct = self.local.turns(Work::Rename, size, own_numbers);
        let measures = [&served, &direct].map(|turns| counted(turns, Work::Rename, RENAMES));
        measures.into_iter().map(|measure| Ok(measure?.beside(size.files))).collect()
    }

    fn writes(&mut self) -> io::Result<()> {
        for (work, clients) in [
            (Work::WriteSmall, 1),
            (Work::WriteSmall, 32),
            (Work::Append, 1),
            (Work::Append, 32),
            (Work::WriteLarge, 1),
            (Work::WriteLarge, 8),
        ] {
            let numbers = [const { AtomicU64::new(0) }; 3].map(|_| AtomicU64::new(self.first_write()));
            let doors = [
                ("Lazuli", self.server.at, Door::Lake, &numbers[0]),
                (
                    if work == Work::Append { "Append Block" } else { "Put Block" },
                    self.blob_at,
                    Door::Blob,
                    &numbers[1],
                ),
            ];
            let mut sides: Vec<Side> = doors
                .into_iter()
                .map(|(who, at, door, numbers)| {
                    let connect = Box::new(move || served::writer(at, door, work, work.parts(), numbers));
                    Side::Turns(Turns { who, process: self.server.process, counts: 1.0, bytes: work.bytes(), connect })
                })
                .collect();
            let size = Size { directory: NEW, files: 0 };
            sides.push(Side::Turns(self.local.turns(work, size, &numbers[2])));
            let measures = self.contest(work, clients, sides, self.pace())?;
            self.rows.extend(measures);
        }
        Ok(())
    }

    fn first_write(&self) -> u64 {
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        WRITTEN.fetch_add(1, Ordering::Relaxed) * 10_000_000
    }

    /// A caller that lists bind is judged at every directory on the way; one with a role, or with the key, at none.
    fn depths(&mut self) -> io::Result<()> {
        let through = format!("user::rwx,user:{BOUND}:--x,group::r-x,mask::r-x,other::---");
        ask(self.server.at, &self.lake.set_access_control(&through))?;
        let headers = format!("x-ms-acl: {through}\r\n");
        for depth in DEPTHS {
            let path = deep(depth);
            for (end, _) in path.match_indices('/').skip(1) {
                ask(self.server.at, &self.lake.create_directory(&path[..end], &headers))?;
            }
            ask(self.server.at, &self.lake.create_file(&path, &headers))?;
            let by = |by| self.lake.stat_one(&path, by);
            let requests =
                vec![("Lazuli", by(By::Token(BOUND))), ("by a role", by(By::Token(OWNER))), ("by SAS", by(By::Sas))];
            let size = Size { directory: &path, files: 0 };
            self.line(Work::Deep(depth), size, 32, requests)?;
        }
        Ok(())
    }

    /// Once each: what is deleted is gone. The answer is timed.
    fn delete(&self, size: Size) -> io::Result<Measure> {
        let (at, request) = (self.server.at, &self.lake.delete_directory(size.directory));
        let connect = Box::new(move || -> io::Result<Turn> { Ok(Box::new(move || ask(at, request))) });
        let served = Turns { who: "Lazuli", process: self.server.process, counts: 1.0, bytes: 0, connect };
        Ok(counted(&served, Work::Delete, 1)?.beside(size.files))
    }

    fn delete_local(&self, size: Size) -> io::Result<Measure> {
        let numbers = AtomicU64::new(0);
        let direct = self.local.turns(Work::Delete, size, &numbers);
        Ok(counted(&direct, Work::Delete, 1)?.beside(size.files))
    }

    /// What others notice of the sweeper, which takes apart what was deleted.
    fn beside_sweeper(&self, deleted: u64) -> io::Result<Measure> {
        let (request, numbers) = (&self.lake.stat(FEW, self.options.few), &AtomicU64::new(0));
        let period = Duration::from_secs_f64(self.options.seconds * self.options.rounds as f64);
        let load = Load { at: self.server.at, request, numbers, clients: 1, threads: 1, period, limit: u64::MAX };
        let title = "stat a file, while the deleted directory is swept";
        let beside = Measure::costed(title, 1, "Lazuli", self.server.process, || load.run()).inspect(print)?;
        Ok(beside.beside(deleted))
    }
}

/// So many turns of one client, however long they take.
fn counted(turns: &Turns, work: Work, count: u64) -> io::Result<Measure> {
    let mut connected = turns.clients(1)?;
    let run = || -> io::Result<Tally> { turns.run(&mut connected, FOR_EVER, count) };
    Measure::costed(&work.title(), 1, turns.who, turns.process, run).inspect(print)
}

/// A file below so many directories.
fn deep(depth: usize) -> String {
    (0..depth).fold(String::new(), |path, level| format!("{path}/d{depth}-{level}")) + "/file"
}
