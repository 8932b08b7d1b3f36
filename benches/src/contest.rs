//! One line of the comparison: the same work done by several servers, in windows that take turns, so that a noisy
//! minute of the machine hits all of them. While one is measured the others are stopped and the disk is quiet.

use crate::load::{Load, Tally};
use crate::request::{Request, Right};
use crate::server::{Server, ask};
use std::io;
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
}

pub struct Contest<'a> {
    pub title: &'static str,
    pub clients: usize,
    pub sides: Vec<Side<'a>>,
}

pub enum Side<'a> {
    Served {
        who: &'static str,
        by: &'a Server,
        request: Request,
        numbers: &'a AtomicU64,
    },
    /// 4 MiB buffered writes, each followed by fdatasync, one file per job: what the disk gives without a server.
    Fio,
}

/// The median window of one side.
#[derive(Clone)]
pub struct Measure {
    pub title: &'static str,
    pub clients: usize,
    pub who: &'static str,
    pub rate: f64,
    pub megabytes: f64,
    /// p50, p99, p99.9 and max, in milliseconds.
    pub latency: Option<[f64; 4]>,
    /// Of the server, in microseconds for one request.
    pub cpu: Option<f64>,
}

impl Contest<'_> {
    pub fn run(&self, servers: &[&Server], scratch: &Path, pace: Pace) -> io::Result<Vec<Measure>> {
        let mut windows: Vec<Vec<Measure>> = self.sides.iter().map(|_| Vec::new()).collect();
        self.sides.iter().try_for_each(|side| self.look(side))?;
        // The first round only warms: just-in-time compilers, caches, connections.
        for round in 0..=pace.rounds {
            for (side, windows) in self.sides.iter().zip(&mut windows) {
                let seconds = if round == 0 { pace.seconds.min(1.0) } else { pace.seconds };
                servers.iter().try_for_each(|server| server.hold())?;
                rustix::fs::syncfs(std::fs::File::open(scratch)?)?;
                let measure = self.window(side, scratch, seconds, pace.threads)?;
                if round > 0 {
                    windows.push(measure);
                }
            }
        }
        servers.iter().try_for_each(|server| server.release())?;
        Ok(windows.into_iter().map(median).inspect(print).collect())
    }

    /// Whoever answers wrongly, however fast, takes no part.
    fn look(&self, side: &Side) -> io::Result<()> {
        match side {
            Side::Served { who, by, request, .. } if request.right != Right::Anything => {
                by.release()?;
                ask(by.at, request).map_err(|error| io::Error::other(format!("{who}, {}: {error}", self.title)))
            }
            Side::Served { .. } | Side::Fio => Ok(()),
        }
    }

    fn window(&self, side: &Side, scratch: &Path, seconds: f64, threads: usize) -> io::Result<Measure> {
        let (title, clients) = (self.title, self.clients);
        match side {
            Side::Fio => {
                let megabytes = fio(scratch, clients, seconds)?;
                let rate = megabytes * 1e6 / f64::from(4 << 20);
                Ok(Measure { title, clients, who: "fio", rate, megabytes, latency: None, cpu: None })
            }
            Side::Served { who, by, request, numbers } => {
                by.release()?;
                let period = Duration::from_secs_f64(seconds);
                let load = Load { at: by.at, request, numbers, clients, threads, period, limit: u64::MAX };
                let before = by.cpu_seconds()?;
                let tally = load.run().map_err(|error| io::Error::other(format!("{who}, {title}: {error}")))?;
                let cpu = (by.cpu_seconds()? - before) * 1e6 / tally.requests() as f64;
                Ok(Measure { cpu: Some(cpu), ..Measure::of(title, clients, who, &tally) })
            }
        }
    }
}

impl Measure {
    pub fn of(title: &'static str, clients: usize, who: &'static str, tally: &Tally) -> Measure {
        let latency = [0.5, 0.99, 0.999, 1.0].map(|share| tally.percentile(share));
        let (rate, megabytes) = (tally.rate(), tally.megabytes());
        Measure { title, clients, who, rate, megabytes, latency: Some(latency), cpu: None }
    }
}

fn median(mut windows: Vec<Measure>) -> Measure {
    windows.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    windows.swap_remove(windows.len() / 2)
}

pub fn print(measure: &Measure) {
    let Measure { title, clients, who, rate, megabytes, latency, cpu } = measure;
    let [p50, p99, p999, max] = latency.unwrap_or([f64::NAN; 4]);
    let cpu = cpu.unwrap_or(f64::NAN);
    println!(
        "{title:24} {clients:3} {who:14} {rate:9.0}/s {megabytes:7.0} MB/s  \
         ms {p50:.2} {p99:.2} {p999:.2} {max:.2}  cpu {cpu:.1} us"
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
