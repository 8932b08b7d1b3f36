//! `lazuli-benches cluster --fill 1000,1000000`: one container of so many blobs, level after level, and what a page of its listing costs at each.
//! Costs are also counted in operators that read from the cluster, which a busy machine does not change.

use super::{Gateways, Options, spread};
use crate::load::Tally;
use crate::report;
use crate::request::{Site, noise};
use crate::server::ask;
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const CONTAINER: &str = "filled";
/// Over all gateways: what meets at a shard leaves together.
const FILLERS: usize = 240;
const BYTES: usize = 16;
const PAGE: u64 = 1000;
/// A level is filled in parts of this many, so that there is something to see.
const PART: u64 = 100_000;

/// What a level has brought.
struct Level {
    blobs: u64,
    /// Blobs a second, while it was filled from the level below.
    fill_rate: f64,
    objects: u64,
    health: String,
    works: Vec<(&'static str, Tally, f64)>,
}

pub fn run(options: &Options, gateways: &Gateways, levels: &[u64]) -> io::Result<String> {
    ask(gateways.servers[0].at, &Site::Azure.create_container(CONTAINER))?;
    let (filled, mut reached) = (AtomicU64::new(0), Vec::new());
    for &blobs in levels {
        let fill_rate = fill(gateways, &filled, blobs)?;
        let works = vec![
            ("first page of 1000", work(options, gateways, &Site::Azure.list(CONTAINER, PAGE, blobs))?),
            ("any page of 1000", work(options, gateways, &Site::Azure.list_thousand(CONTAINER, blobs).scattered())?),
            ("GET any of them", work(options, gateways, &Site::Azure.get(CONTAINER, blobs, BYTES).scattered())?),
        ];
        let works = works.into_iter().map(|(title, (tally, reads))| (title, tally, reads)).collect();
        let (objects, health) = (objects(&options.ceph_conf, &options.pool), health(&options.ceph_conf));
        let level = Level { blobs, fill_rate, objects, health, works };
        println!("{}", level.markdown());
        reached.push(level);
    }
    let mut text = String::from(
        "| blobs | filled, blobs/s | shard objects | `ceph health` | work | per second | p50 ms | p99 ms | reads of the cluster for each |\n\
         |--:|--:|--:|---|---|--:|--:|--:|--:|\n",
    );
    reached.iter().for_each(|level| text += &level.markdown());
    Ok(text)
}

impl Level {
    fn markdown(&self) -> String {
        let mut text = String::new();
        for (title, tally, reads) in &self.works {
            let _ = writeln!(
                text,
                "| {} | {:.0} | {} | {} | {title} | {:.1} | {:.2} | {:.2} | {reads:.2} |",
                self.blobs,
                self.fill_rate,
                self.objects,
                self.health,
                tally.rate(),
                tally.percentile(0.5),
                tally.percentile(0.99),
            );
        }
        text
    }
}

fn fill(gateways: &Gateways, filled: &AtomicU64, level: u64) -> io::Result<f64> {
    let (request, before, began) =
        (Site::Azure.put(CONTAINER, noise(BYTES)), filled.load(Ordering::Relaxed), crate::clock::now());
    let mut to = before;
    while to < level {
        to = (to + PART).min(level);
        let (count, hour) = (gateways.servers.len(), Duration::from_secs(3600));
        let tally = spread(gateways, count, "blob", &request, filled, FILLERS, hour, to)?;
        println!("{to} blobs, the last at {:.0}/s", tally.rate());
        // Clients that found nothing left to do have counted on.
        filled.store(to, Ordering::Relaxed);
    }
    Ok((level - before) as f64 / (crate::clock::now() - began).as_secs_f64())
}

/// One client at each gateway; and how many operators that read each request took.
fn work(options: &Options, gateways: &Gateways, request: &crate::request::Request) -> io::Result<(Tally, f64)> {
    ask(gateways.servers[0].at, request)?;
    let (numbers, before) = (AtomicU64::new(0), gateways.reads()?);
    let (count, period) = (gateways.servers.len(), Duration::from_secs_f64(options.seconds));
    let tally = spread(gateways, count, "blob", request, &numbers, count, period, u64::MAX)?;
    let reads = (gateways.reads()? - before) / tally.requests() as f64;
    Ok((tally, reads))
}

/// Objects that hold rows. Those of content, and the few that gateways keep for themselves, have other names.
fn objects(configuration: &Path, pool: &str) -> u64 {
    let configuration = configuration.display().to_string();
    let listed = report::run("rados", &["--conf", &configuration, "--pool", pool, "ls"]);
    listed.lines().filter(|name| name.starts_with("k.")).count() as u64
}

fn health(configuration: &Path) -> String {
    report::run("ceph", &["--conf", &configuration.display().to_string(), "health"])
}
