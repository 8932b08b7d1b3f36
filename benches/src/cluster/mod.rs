//! `lazuli-benches cluster`: one, two and three gateways on a Ceph cluster, beside librados doing the same objects and rows, and beside
//! Ceph's own gateway for S3. All share the machine with the cluster.
//!
//! With `--fill`: one container of so many blobs, and what a page of its listing costs (`fill`).
//!
//! The bucket of the S3 gateway is open to everybody, so that its requests need no signature; Lazuli checks a SAS in each.

mod fill;
mod raw;

use crate::azure::{Call, Client};
use crate::contest::Measure;
use crate::load::{Load, Tally};
use crate::peers::{Scratch, Stage};
use crate::report;
use crate::request::{self, Bucket, Request, Site, Table, noise};
use crate::server::{Launch, Server, ask, free_port};
use crate::work::{SMALL, SMALL_COUNT, UPLOAD};
use raw::{Deed, Raw};
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

const GATEWAYS: usize = 3;
/// Blobs of 4 MiB that are read.
const LARGE_COUNT: u64 = 16;
/// What one client does to a queue: put, get, delete.
const QUEUE_CALLS: u32 = 3;

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    stage: Stage,
    /// The cluster's configuration file (conformance/ceph env)
    #[arg(long, env = "LAZULI_CEPH_CONF")]
    ceph_conf: PathBuf,
    #[arg(long, default_value = "lazuli")]
    pool: String,
    /// Where radosgw listens (conformance/ceph s3)
    #[arg(long)]
    s3_port: Option<u16>,
    /// Instead of the race: how many blobs there are in one container, one level after the other, ascending
    #[arg(long, value_delimiter = ',')]
    fill: Vec<u64>,
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Replace the measured part of this Markdown file
    #[arg(long)]
    report: Option<PathBuf>,
}

/// A line of the report.
struct Row {
    title: &'static str,
    clients: usize,
    deed: Deed,
    work: Work,
}

enum Work {
    /// At a service's port, and at a bucket if there is something like it.
    Requests(&'static str, Box<Request>, Option<Box<Request>>),
    /// Put, get, delete on one queue.
    Queue,
}

struct Gateways {
    servers: Vec<Server>,
    /// Of blobs, queues, tables and the console.
    ports: Vec<[u16; 4]>,
}

pub fn run(options: &Options) -> io::Result<()> {
    let load_before = report::load_average();
    let scratch = Scratch::new(&options.stage.scratch)?;
    let gateways = start(options, &scratch)?;
    if !options.fill.is_empty() {
        let table = fill::run(options, &gateways, &options.fill)?;
        let text = format!("{} Load average before the run: {load_before}.\n\n{table}", report::machine(&scratch.0));
        println!("\n{text}");
        return report::replace(options.report.as_deref(), "cluster-fill", &text);
    }
    let raw = Raw::connect(options.ceph_conf.clone(), &options.pool)?;
    let s3 = options.s3_port.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    prepare(&gateways, s3)?;
    raw.prepare(UPLOAD)?;
    let numbers = AtomicU64::new(1 << 20);
    let mut measures: Vec<Measure> = Vec::new();
    for row in rows() {
        // Windows of all sides take turns, so that a noisy minute hits all of them; the median is reported.
        let mut windows: Vec<Vec<Measure>> = Vec::new();
        for _ in 0..options.rounds {
            windows.push(round(&row, options, &gateways, s3, &raw, &numbers)?);
        }
        for side in 0..windows[0].len() {
            let mut own: Vec<Measure> = windows.iter().map(|round| round[side].clone()).collect();
            own.sort_by(|a, b| a.rate.total_cmp(&b.rate));
            let median = own.swap_remove(own.len() / 2);
            crate::contest::print(&median);
            measures.push(median);
        }
    }
    let text = write(&measures, &load_before, &scratch);
    println!("\n{text}");
    drop(gateways);
    report::replace(options.report.as_deref(), "cluster", &text)
}

fn round(
    row: &Row,
    options: &Options,
    gateways: &Gateways,
    s3: Option<SocketAddr>,
    raw: &Raw,
    numbers: &AtomicU64,
) -> io::Result<Vec<Measure>> {
    const NAMES: [&str; GATEWAYS] = ["1 gateway", "2 gateways", "3 gateways"];
    let period = Duration::from_secs_f64(options.seconds);
    let mut measures = vec![Measure::of(row.title, row.clients, "librados", &raw.run(row.deed, row.clients, period)?)];
    if let (Some(at), Work::Requests(_, _, Some(request))) = (s3, &row.work) {
        let tally = Load { at, request, numbers, clients: row.clients, threads: 2, period, limit: u64::MAX }.run()?;
        measures.push(Measure::of(row.title, row.clients, "radosgw", &tally));
    }
    for (count, name) in NAMES.into_iter().enumerate() {
        let tally = match &row.work {
            Work::Requests(service, request, _) => {
                spread(gateways, count + 1, service, request, numbers, row.clients, period, u64::MAX)?
            }
            Work::Queue => queue(gateways, count + 1, row.clients, period)?,
        };
        measures.push(Measure::of(row.title, row.clients, name, &tally));
    }
    Ok(measures)
}

fn rows() -> Vec<Row> {
    let blob = |request, s3| Work::Requests("blob", Box::new(request), Some(Box::new(s3)));
    let entity =
        "{\"PartitionKey\":\"i00\",\"RowKey\":\"0000000000\",\"Number\":1,\"Name\":\"some text of an entity\"}";
    vec![
        Row {
            title: "PUT 1 KiB",
            clients: 32,
            deed: Deed::Change { shards: 32, bytes: SMALL },
            work: blob(Site::Azure.put("puts", noise(SMALL)), Bucket.put(noise(SMALL))),
        },
        Row {
            title: "GET 1 KiB",
            clients: 32,
            deed: Deed::Rows,
            work: blob(Site::Azure.get("small", SMALL_COUNT, SMALL), Bucket.get("small", SMALL_COUNT, SMALL)),
        },
        Row {
            title: "GET 4 MiB",
            clients: 8,
            deed: Deed::Read { bytes: UPLOAD },
            work: blob(Site::Azure.get("large", LARGE_COUNT, UPLOAD), Bucket.get("large", LARGE_COUNT, UPLOAD)),
        },
        Row {
            title: "list 1000",
            clients: 8,
            deed: Deed::Page,
            work: blob(Site::Azure.list("small", 1000, SMALL_COUNT), Bucket.list("small", 1000)),
        },
        Row {
            title: "one queue: put, get, delete",
            clients: 32,
            deed: Deed::Change { shards: 1, bytes: 256 },
            work: Work::Queue,
        },
        Row {
            title: "insert an entity",
            clients: 32,
            deed: Deed::Change { shards: 32, bytes: 256 },
            work: Work::Requests("table", Box::new(Table("bench").insert(entity)), None),
        },
        // Last, because it leaves the most behind.
        Row {
            title: "PUT 4 MiB",
            clients: 8,
            deed: Deed::Write { bytes: UPLOAD },
            work: blob(Site::Azure.put("uploads", noise(UPLOAD)), Bucket.put(noise(UPLOAD))),
        },
    ]
}

fn start(options: &Options, scratch: &Scratch) -> io::Result<Gateways> {
    let (mut servers, mut ports) = (Vec::new(), Vec::new());
    for number in 0..GATEWAYS {
        let own = [free_port()?, free_port()?, free_port()?, free_port()?];
        let location = scratch.0.join(format!("gateway{number}"));
        std::fs::create_dir_all(&location)?;
        let flags = format!(
            "serve --silent --host 127.0.0.1 --engine rados --pool {} --ceph-conf {} --location {} --blob-port {} --queue-port {} \
             --table-port {} --file-port 0 --dfs-port 0 --web-port 0 --smb-port 0 --console-port {}",
            options.pool,
            options.ceph_conf.display(),
            location.display(),
            own[0],
            own[1],
            own[2],
            own[3]
        );
        let binary = options.stage.lazuli.display().to_string();
        let command: Vec<&str> = std::iter::once(binary.as_str()).chain(flags.split(' ')).collect();
        servers.push(Launch::new("Lazuli", own[0], &command).start(&Site::Azure.list_containers())?);
        ports.push(own);
    }
    Ok(Gateways { servers, ports })
}

impl Gateways {
    fn at(&self, gateway: usize, service: &str) -> SocketAddr {
        let [blob, queue, table, _] = self.ports[gateway];
        let port = match service {
            "queue" => queue,
            "table" => table,
            _ => blob,
        };
        (Ipv4Addr::LOCALHOST, port).into()
    }

    /// Operators that read from the cluster, by all gateways together since they started.
    fn reads(&self) -> io::Result<f64> {
        let mut reads = 0.0;
        for [.., console] in &self.ports {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, *console))?;
            stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
            let mut text = String::new();
            stream.read_to_string(&mut text)?;
            let line = text.lines().find_map(|line| line.strip_prefix("lazuli_cluster_reads_total "));
            reads += line
                .and_then(|count| count.trim().parse::<f64>().ok())
                .ok_or_else(|| io::Error::other("a gateway does not say how often it read"))?;
        }
        Ok(reads)
    }
}

fn prepare(gateways: &Gateways, s3: Option<SocketAddr>) -> io::Result<()> {
    let at = gateways.servers[0].at;
    for container in ["small", "large", "puts", "uploads"] {
        ask(at, &Site::Azure.create_container(container))?;
    }
    crate::work::fill(at, "small", SMALL, SMALL_COUNT, 8)?;
    crate::work::fill(at, "large", UPLOAD, LARGE_COUNT, 4)?;
    call(gateways.at(0, "queue"), "PUT", "bench", "", b"", 201)?;
    call(
        gateways.at(0, "table"),
        "POST",
        "Tables",
        "Content-Type: application/json\r\n",
        b"{\"TableName\":\"bench\"}",
        201,
    )?;
    if let Some(at) = s3 {
        for (prefix, size, count) in [("small", SMALL, SMALL_COUNT), ("large", UPLOAD, LARGE_COUNT)] {
            let (request, numbers, period) =
                (Bucket.put_to(prefix, noise(size)), AtomicU64::new(0), Duration::from_secs(600));
            Load { at, request: &request, numbers: &numbers, clients: 4, threads: 2, period, limit: count }.run()?;
        }
    }
    Ok(())
}

fn call(at: SocketAddr, method: &str, path: &str, headers: &str, body: &[u8], status: u16) -> io::Result<String> {
    Client::connect(at)?.ask(&Call { method, path, query: "", headers, body, statuses: &[status] }, |_, _| ())
}

/// The same load, with its clients spread over some gateways.
#[expect(clippy::too_many_arguments, reason = "a load, in parts")]
fn spread(
    gateways: &Gateways,
    count: usize,
    service: &str,
    request: &Request,
    numbers: &AtomicU64,
    clients: usize,
    period: Duration,
    limit: u64,
) -> io::Result<Tally> {
    let tallies: io::Result<Vec<Tally>> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..count)
            .map(|gateway| {
                let at = gateways.at(gateway, service);
                let clients = clients / count + usize::from(gateway < clients % count);
                let load = Load { at, request, numbers, clients, threads: 1, period, limit };
                scope.spawn(move || load.run())
            })
            .collect();
        running.into_iter().map(|thread| thread.join().expect("a load thread panicked")).collect()
    });
    Ok(Tally::together(tallies?))
}

/// Each client puts a message, gets one, and deletes it. All calls are counted.
fn queue(gateways: &Gateways, count: usize, clients: usize, period: Duration) -> io::Result<Tally> {
    let began = crate::clock::now();
    let times: io::Result<Vec<Vec<Duration>>> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..clients)
            .map(|client| {
                let at = gateways.at(client % count, "queue");
                scope.spawn(move || {
                    let (mut client, mut times) = (Client::connect(at)?, Vec::new());
                    while crate::clock::now() - began < period {
                        let before = crate::clock::now();
                        turn(&mut client)?;
                        let each = (crate::clock::now() - before) / QUEUE_CALLS;
                        times.extend([each; QUEUE_CALLS as usize]);
                    }
                    Ok(times)
                })
            })
            .collect();
        running.into_iter().map(|thread| thread.join().expect("no client panics")).collect()
    });
    Ok(Tally::of(&times?.concat(), crate::clock::now() - began, 0))
}

fn turn(client: &mut Client) -> io::Result<()> {
    let message = format!("<QueueMessage><MessageText>{}</MessageText></QueueMessage>", "x".repeat(256));
    let call = |method, path, query, body, status| Call { method, path, query, headers: "", body, statuses: status };
    client.ask(&call("POST", "bench/messages", "", message.as_bytes(), &[201]), |_, _| ())?;
    let answer = client.ask(&call("GET", "bench/messages", "visibilitytimeout=30&", b"", &[200]), |_, _| ())?;
    let value = |name: &str| {
        let rest = answer.split_once(&format!("<{name}>")).map(|(_, rest)| rest);
        rest.and_then(|rest| rest.split('<').next()).map(str::to_owned)
    };
    let (id, receipt) =
        value("MessageId").zip(value("PopReceipt")).ok_or_else(|| io::Error::other("the queue is empty"))?;
    let query = format!("popreceipt={}&", request::encode(&receipt));
    client.ask(&call("DELETE", &format!("bench/messages/{id}"), &query, b"", &[204]), |_, _| ()).map(drop)
}

fn write(measures: &[Measure], load_before: &str, scratch: &Scratch) -> String {
    let ceph = report::run("ceph", &["--version"]);
    let mut text = format!("{} Load average before the run: {load_before}. {ceph}.\n\n", report::machine(&scratch.0));
    text += "| work | clients | by | per second | MB/s | p50 ms | p99 ms | of librados | of radosgw |\n|---|--:|---|--:|--:|--:|--:|--:|--:|\n";
    for measure in measures {
        let Measure { title, clients, who, rate, megabytes, latency, .. } = measure;
        let against = |other: &str| {
            let other = measures.iter().find(|each| each.who == other && each.title == *title && *who != other);
            other.map_or(String::new(), |other| format!("{:.2}", rate / other.rate))
        };
        let [p50, p99, ..] = latency.unwrap_or([f64::NAN; 4]);
        let _ = writeln!(
            text,
            "| {title} | {clients} | {who} | {rate:.0} | {megabytes:.0} | {p50:.2} | {p99:.2} | {} | {} |",
            against("librados"),
            against("radosgw")
        );
    }
    text
}
