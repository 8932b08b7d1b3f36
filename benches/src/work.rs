//! The kinds of requests that are measured, and the blobs they need to be there.

use crate::contest::{Measure, Pace, print};
use crate::load::Load;
use crate::request::{Request, Site, noise};
use crate::server::ask;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

pub const SMALL: usize = 1 << 10;
pub const UPLOAD: usize = 4 << 20;
pub const LARGE: usize = 64 << 20;
/// Reads go round robin over so many blobs, so that no server answers from one remembered reply.
pub const SMALL_COUNT: u64 = 1000;
pub const LARGE_COUNT: u64 = 4;
/// What is appended, and what is written in place.
const PART: usize = 4 << 10;
const LOG_COUNT: u64 = 1000;
const DISK_COUNT: u64 = 8;
const DISK: u64 = 1 << 30;
/// What is copied inside the server.
const COPIED: usize = 1 << 30;

#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Work {
    PutSmall,
    GetSmall,
    Head,
    List100,
    List1000,
    PutUpload,
    GetLarge,
    Append,
    PutPage,
    Copy,
}

impl Work {
    pub fn title(self) -> &'static str {
        match self {
            Work::PutSmall => "PUT 1 KiB",
            Work::GetSmall => "GET 1 KiB",
            Work::Head => "HEAD",
            Work::List100 => "list 100 of 1 k",
            Work::List1000 => "list 1000 of 1 k",
            Work::PutUpload => "PUT 4 MiB",
            Work::GetLarge => "GET 64 MiB",
            Work::Append => "append 4 KiB to 1 k logs",
            Work::PutPage => "write 4 KiB in 8 disks of 1 GiB",
            Work::Copy => "copy 1 GiB inside the server",
        }
    }

    pub fn request(self, site: &Site) -> Request {
        match self {
            Work::PutSmall => site.put("puts", noise(SMALL)),
            Work::GetSmall => site.get("small", SMALL_COUNT, SMALL),
            Work::Head => site.head("small", SMALL_COUNT),
            Work::List100 => site.list("small", 100, SMALL_COUNT),
            Work::List1000 => site.list("small", 1000, SMALL_COUNT),
            Work::PutUpload => site.put("uploads", noise(UPLOAD)),
            Work::GetLarge => site.get("large", LARGE_COUNT, LARGE),
            Work::Append => site.append("logs", LOG_COUNT, noise(PART)),
            Work::PutPage => site.put_page("disks", DISK_COUNT, DISK, noise(PART)),
            Work::Copy => site.copy("originals", 0, "copies"),
        }
    }
}

/// Creates the containers and the blobs that are read.
pub fn prepare(at: SocketAddr) -> io::Result<()> {
    for container in ["small", "large", "puts", "uploads", "filled"] {
        ask(at, &Site::Azure.create_container(container))?;
    }
    fill(at, "small", SMALL, SMALL_COUNT, 8)?;
    fill(at, "large", LARGE, LARGE_COUNT, 1)?;
    Ok(())
}

/// Creates the blobs that are appended to, or written in place.
fn prepare_sparse(at: SocketAddr) -> io::Result<()> {
    for (container, pages, count) in [("logs", None, LOG_COUNT), ("disks", Some(DISK), DISK_COUNT)] {
        ask(at, &Site::Azure.create_container(container))?;
        let (request, numbers) = (Site::Azure.create(container, pages), AtomicU64::new(0));
        let period = Duration::from_secs(3600);
        let (clients, threads) = (8, 2);
        Load { at, request: &request, numbers: &numbers, clients, threads, period, limit: count }.run()?;
    }
    Ok(())
}

/// Creates the blob that is copied.
fn prepare_copies(at: SocketAddr) -> io::Result<()> {
    for container in ["originals", "copies"] {
        ask(at, &Site::Azure.create_container(container))?;
    }
    fill(at, "originals", COPIED, 1, 1)?;
    Ok(())
}

/// Puts `count` blobs of `size` bytes through the API; the rate.
pub fn fill(at: SocketAddr, container: &str, size: usize, count: u64, clients: usize) -> io::Result<f64> {
    let request = Site::Azure.put(container, noise(size));
    let numbers = AtomicU64::new(0);
    let period = Duration::from_secs(3600);
    let load = Load { at, request: &request, numbers: &numbers, clients, threads: 2, period, limit: count };
    Ok(load.run()?.rate())
}

#[derive(clap::Args)]
pub struct Options {
    #[arg(value_enum)]
    work: Work,
    #[arg(long, default_value_t = 10000)]
    port: u16,
    #[arg(long, default_value_t = 32)]
    clients: usize,
    #[command(flatten)]
    pace: Pace,
    /// The blobs are there already, from an earlier run
    #[arg(long)]
    prepared: bool,
    /// First number of new names, so that a second run does not overwrite the first one's blobs
    #[arg(long, default_value_t = 0)]
    from: u64,
}

pub fn run(options: &Options) -> io::Result<()> {
    let at = (Ipv4Addr::LOCALHOST, options.port).into();
    if !options.prepared {
        match options.work {
            Work::Append | Work::PutPage => prepare_sparse(at)?,
            Work::Copy => prepare_copies(at)?,
            Work::PutSmall | Work::GetSmall | Work::Head | Work::List100 => prepare(at)?,
            Work::List1000 | Work::PutUpload | Work::GetLarge => prepare(at)?,
        }
    }
    let request = options.work.request(&Site::Azure);
    let numbers = AtomicU64::new(options.from);
    for _ in 0..options.pace.rounds {
        let period = Duration::from_secs_f64(options.pace.seconds);
        let (clients, threads) = (options.clients, options.pace.threads);
        let load = Load { at, request: &request, numbers: &numbers, clients, threads, period, limit: u64::MAX };
        print(&Measure::of(options.work.title(), clients, "server", &load.run()?));
    }
    Ok(())
}
