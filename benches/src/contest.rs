//! One line of the comparison: the same work done by several servers, in windows that take turns, so that a noisy
//! minute of the machine hits all of them. While one is measured the others are stopped and the disk is quiet.

use crate::load::{Load, Tally};
use crate::process::Process;
use crate::request::{Request, Right};
use crate::server::{Server, ask};
use crate::turns::Turns;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// How long and how often.
#[derive(Clone, Copy, clap::Args)]
pub struct Pace {
    /// Seconds of one window
    #[arg(long, default_value_t = 3.0)]
    pub seconds: f64,
    /// Windows of each server per line; the median one is reported
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
    /// Threads of the load generator
    #[arg(long, default_value_t = 2)]
    pub threads: usize,
    /// Without it the first window counts: for requests that take as long as a window does.
    #[arg(skip = true)]
    pub warms: bool,
}

impl Pace {
    /// Of a race with defaults of its own.
    pub fn new(seconds: f64, rounds: usize) -> Pace {
        Pace { seconds, rounds, threads: 2, warms: true }
    }
}

pub struct Contest<'a> {
    pub title: String,
    pub clients: usize,
    pub sides: Vec<Side<'a>>,
}

pub enum Side<'a> {
    Served {
        who: &'static str,
        at: SocketAddr,
        process: Process,
        request: Box<Request>,
        numbers: &'a AtomicU64,
    },
    /// By threads, at a server or without one.
    Turns(Turns<'a>),
    /// 4 MiB buffered writes, each followed by fdatasync, one file per job: what the disk gives without a server.
    Fio,
}

/// The median window of one side.
#[derive(Clone)]
pub struct Measure {
    pub title: String,
    /// How much of its kind was there, where that is told apart.
    pub beside: Option<u64>,
    pub clients: usize,
    pub who: &'static str,
    pub rate: f64,
    pub megabytes: f64,
    /// p50, p99, p99.9 and max, in milliseconds.
    pub latency: Option<[f64; 4]>,
    /// Of the server, in microseconds for one request.
    pub cpu: Option<f64>,
    /// Of the server after the window, resident megabytes.
    pub memory: Option<f64>,
}

impl<'a> Side<'a> {
    pub fn served(by: &Server, who: &'static str, request: Request, numbers: &'a AtomicU64) -> Side<'a> {
        Side::Served { who, at: by.at, process: by.process, request: Box::new(request), numbers }
    }
}

impl Contest<'_> {
    /// `everyone` is stopped while another's window lasts.
    pub fn run(&self, everyone: &[Process], scratch: &Path, pace: Pace) -> io::Result<Vec<Measure>> {
        let mut windows: Vec<Vec<Measure>> = self.sides.iter().map(|_| Vec::new()).collect();
        self.sides.iter().try_for_each(|side| self.look(side))?;
        // The first round only warms: just-in-time compilers, caches, connections.
        let warming = usize::from(pace.warms);
        for round in 0..pace.rounds + warming {
            for (side, windows) in self.sides.iter().zip(&mut windows) {
                let seconds = if round < warming { pace.seconds.min(1.0) } else { pace.seconds };
                everyone.iter().try_for_each(|process| process.hold())?;
                rustix::fs::syncfs(std::fs::File::open(scratch)?)?;
                let measure = self.window(side, scratch, seconds, pace.threads)?;
                if round >= warming {
                    windows.push(measure);
                }
            }
        }
        everyone.iter().try_for_each(|process| process.release())?;
        Ok(windows.into_iter().map(median).inspect(print).collect())
    }

    /// A server that answers wrongly takes no part, however fast it is.
    fn look(&self, side: &Side) -> io::Result<()> {
        match side {
            Side::Served { who, at, process, request, .. } if request.right != Right::Anything => {
                process.release()?;
                ask(*at, request).map_err(|error| self.failed(who, &error))
            }
            Side::Served { .. } | Side::Turns(_) | Side::Fio => Ok(()),
        }
    }

    fn window(&self, side: &Side, scratch: &Path, seconds: f64, threads: usize) -> io::Result<Measure> {
        let (clients, period) = (self.clients, Duration::from_secs_f64(seconds));
        match side {
            Side::Fio => {
                let megabytes = fio(scratch, clients, seconds)?;
                let rate = megabytes * 1e6 / f64::from(4 << 20);
                let title = self.title.clone();
                let (beside, latency, cpu, memory) = (None, None, None, None);
                Ok(Measure { title, beside, clients, who: "fio", rate, megabytes, latency, cpu, memory })
            }
            Side::Served { who, at, process, request, numbers } => {
                process.release()?;
                let load = Load { at: *at, request, numbers, clients, threads, period, limit: u64::MAX };
                self.costed(who, *process, 1.0, || load.run())
            }
            Side::Turns(turns) => {
                turns.process.release()?;
                let mut connected = turns.clients(clients).map_err(|error| self.failed(turns.who, &error))?;
                self.costed(turns.who, turns.process, turns.counts, || turns.run(&mut connected, period, u64::MAX))
            }
        }
    }

    fn costed(
        &self,
        who: &'static str,
        process: Process,
        counts: f64,
        work: impl FnOnce() -> io::Result<Tally>,
    ) -> io::Result<Measure> {
        let measure = Measure::costed(&self.title, self.clients, who, process, work);
        let Measure { rate, cpu, .. } = measure.as_ref().map_err(|error| self.failed(who, error))?;
        let (rate, cpu) = (rate * counts, cpu.map(|cpu| cpu / counts));
        Ok(Measure { rate, cpu, ..measure? })
    }

    fn failed(&self, who: &str, error: &io::Error) -> io::Error {
        io::Error::other(format!("{who}, {}: {error}", self.title))
    }
}

impl Measure {
    pub fn of(title: &str, clients: usize, who: &'static str, tally: &Tally) -> Measure {
        let latency = Some([0.5, 0.99, 0.999, 1.0].map(|share| tally.percentile(share)));
        let (title, rate, megabytes) = (title.to_owned(), tally.rate(), tally.megabytes());
        Measure { title, beside: None, clients, who, rate, megabytes, latency, cpu: None, memory: None }
    }

    /// What some work gave, and what it cost `process`.
    pub fn costed(
        title: &str,
        clients: usize,
        who: &'static str,
        process: Process,
        work: impl FnOnce() -> io::Result<Tally>,
    ) -> io::Result<Measure> {
        let before = process.cpu_seconds()?;
        let tally = work()?;
        let cpu = Some((process.cpu_seconds()? - before) * 1e6 / tally.requests() as f64);
        let memory = if process == Process::own() { None } else { Some(process.resident_megabytes()?) };
        Ok(Measure { cpu, memory, ..Measure::of(title, clients, who, &tally) })
    }

    pub fn beside(self, count: u64) -> Measure {
        Measure { beside: Some(count), ..self }
    }

    /// Is it of another side of the same line?
    pub fn rivals(&self, other: &Measure) -> bool {
        (&self.title, self.clients) == (&other.title, other.clients)
    }
}

fn median(mut windows: Vec<Measure>) -> Measure {
    windows.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    windows.swap_remove(windows.len() / 2)
}

pub fn print(measure: &Measure) {
    let Measure { title, beside: _, clients, who, rate, megabytes, latency, cpu, memory } = measure;
    let [p50, p99, p999, max] = latency.unwrap_or([f64::NAN; 4]);
    let (cpu, memory) = (cpu.unwrap_or(f64::NAN), memory.unwrap_or(f64::NAN));
    println!(
        "{title:24} {clients:3} {who:14} {rate:9.1}/s {megabytes:7.0} MB/s  \
         ms {p50:.2} {p99:.2} {p999:.2} {max:.2}  cpu {cpu:.1} us  {memory:.0} MB"
    );
}

/// Megabytes per second of `jobs` writers. Files grow, as ours do: nothing is overwritten or allocated before.
fn fio(scratch: &Path, jobs: usize, seconds: f64) -> io::Result<f64> {
    let directory = scratch.join("fio");
    std::fs::create_dir_all(&directory)?;
    let output = Command::new("fio")
        .args(["--name=write", "--rw=write", "--bs=4M", "--ioengine=psync", "--fdatasync=1", "--fallocate=none"])
        .args(["--size=4G", "--thread", "--group_reporting", "--output-format=json", "--randrepeat=0"])
        .arg(format!("--directory={}", directory.display()))
        .arg(format!("--numjobs={jobs}"))
        .arg(format!("--runtime={}", seconds.ceil()))
        .output()?;
    std::fs::remove_dir_all(&directory)?;
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| io::Error::other(format!("fio: {}", String::from_utf8_lossy(&output.stderr))))?;
    let bytes = report["jobs"][0]["write"]["bw_bytes"].as_f64();
    bytes.map(|bytes| bytes / 1e6).ok_or_else(|| io::Error::other("fio reported no bandwidth"))
}
