//! The File service, at a server that is already running: ranges all over a file and one after the other, a directory of many
//! files, its rename, and snapshots of a share while it is written.

use crate::clock::{now, pause};
use crate::contest::{Measure, Pace, print};
use crate::load::Load;
use crate::request::{Request, Share};
use crate::server::ask;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const SMALL: usize = 4 << 10;
const LARGE: usize = 1 << 20;
/// Of 4 KiB: a file of 1 GiB.
const SMALL_SLOTS: u64 = 1 << 18;
const LARGE_SLOTS: u64 = 1 << 10;
const FILE_LENGTH: u64 = 1 << 30;
const RENAMES: u32 = 10;
const BETWEEN_SNAPSHOTS: Duration = Duration::from_millis(250);
/// A share has at most 200.
const SNAPSHOTS_MAX: u32 = 150;

#[derive(clap::Args)]
pub struct Options {
    #[arg(long, default_value_t = 10003)]
    port: u16,
    #[arg(long, default_value_t = 32)]
    clients: usize,
    #[command(flatten)]
    pace: Pace,
    /// Files in the one directory
    #[arg(long, default_value_t = 100_000)]
    files: u64,
    /// A share that does not exist yet
    #[arg(long, default_value = "bench")]
    share: String,
}

pub fn run(options: &Options) -> io::Result<()> {
    let share = Share(&options.share);
    let bench = Bench { at: (Ipv4Addr::LOCALHOST, options.port).into(), options };
    ask(bench.at, &share.create())?;
    for path in ["/random", "/sequential"] {
        ask(bench.at, &share.create_file(path, FILE_LENGTH))?;
    }
    bench.window("write 4 KiB, random", &share.write("/random", SMALL, SMALL_SLOTS, true))?;
    bench.window("read 4 KiB, random", &share.read("/random", SMALL, SMALL_SLOTS, true))?;
    bench.window("write 1 MiB, sequential", &share.write("/sequential", LARGE, LARGE_SLOTS, false))?;
    bench.window("read 1 MiB, sequential", &share.read("/sequential", LARGE, LARGE_SLOTS, false))?;
    bench.many_files(&share)?;
    bench.renames(&share)?;
    bench.snapshots(&share)
}

struct Bench<'a> {
    at: SocketAddr,
    options: &'a Options,
}

impl Bench<'_> {
    fn load<'a>(&self, request: &'a Request, numbers: &'a AtomicU64, limit: u64) -> Load<'a> {
        let Options { clients, pace, .. } = self.options;
        let period = if limit == u64::MAX { Duration::from_secs_f64(pace.seconds) } else { Duration::from_secs(3600) };
        Load { at: self.at, request, numbers, clients: *clients, threads: pace.threads, period, limit }
    }

    fn window(&self, title: &'static str, request: &Request) -> io::Result<()> {
        let numbers = AtomicU64::new(0);
        for _ in 0..self.options.pace.rounds {
            let tally = self.load(request, &numbers, u64::MAX).run()?;
            print(&Measure::of(title, self.options.clients, "server", &tally));
        }
        Ok(())
    }

    fn many_files(&self, share: &Share<'_>) -> io::Result<()> {
        ask(self.at, &share.create_directory("/many"))?;
        let numbers = AtomicU64::new(0);
        let tally = self.load(&share.create_files("/many"), &numbers, self.options.files).run()?;
        print(&Measure::of("create a file", self.options.clients, "server", &tally));
        self.window("list 1000 of many", &share.list("/many", 1000))?;
        self.window("stat one of many", &share.stat("/many", self.options.files))
    }

    /// There and back, one at a time: what a rename costs must not depend on what is inside.
    fn renames(&self, share: &Share<'_>) -> io::Result<()> {
        let began = now();
        for _ in 0..RENAMES {
            ask(self.at, &share.rename_directory("/many", "/moved"))?;
            ask(self.at, &share.rename_directory("/moved", "/many"))?;
        }
        let each = (now() - began) / (2 * RENAMES);
        println!("rename a directory of {} files: {:.2} ms", self.options.files, each.as_secs_f64() * 1e3);
        Ok(())
    }

    /// Random writes, with a snapshot of the whole share every quarter of a second.
    fn snapshots(&self, share: &Share<'_>) -> io::Result<()> {
        let done = AtomicBool::new(false);
        let (write, snapshot) = (share.write("/random", SMALL, SMALL_SLOTS, true), share.snapshot());
        std::thread::scope(|scope| {
            let taking = scope.spawn(|| self.take_snapshots(&snapshot, &done));
            let written = self.window("write 4 KiB under snapshots", &write);
            done.store(true, Ordering::Relaxed);
            let taken = taking.join().expect("the thread that takes snapshots panicked")?;
            let slowest = taken.iter().max().copied().unwrap_or_default();
            println!("{} snapshots, the slowest {:.2} ms", taken.len(), slowest.as_secs_f64() * 1e3);
            written
        })
    }

    fn take_snapshots(&self, snapshot: &Request, done: &AtomicBool) -> io::Result<Vec<Duration>> {
        let mut taken = Vec::new();
        while !done.load(Ordering::Relaxed) && taken.len() < SNAPSHOTS_MAX as usize {
            let began = now();
            ask(self.at, snapshot)?;
            taken.push(now() - began);
            pause(BETWEEN_SNAPSHOTS);
        }
        Ok(taken)
    }
}
