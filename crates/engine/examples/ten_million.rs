//! Measures the embedded engine at size: durable inserts, read-modify-writes, point reads, scans, reopening after a kill.
//!
//! `cargo run --release -p lazuli-engine --example ten_million -- [keys] [clients] [directory]`
//!
//! Keys of 65 bytes, values of 300, in random order. The inserting half runs in a child process that is killed (-9) at
//! the end, in the middle of its writes, so that reopening is measured, and what was acknowledged can be counted.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use lazuli_engine::embedded::{Embedded, Options};
use lazuli_engine::{Column, EngineExt, Key, Partition, Space, Stop};

const SPACE: Space = Space(7);
const VALUE_BYTES: usize = 300;
/// Written while waiting to be killed.
const TAIL: u64 = 20_000;

fn main() {
    let mut args = std::env::args().skip(1);
    let keys: u64 = args.next().map_or(1_000_000, |text| text.parse().expect("keys is a number"));
    let clients: u64 = args.next().map_or(32, |text| text.parse().expect("clients is a number"));
    let directory: PathBuf = args.next().map_or_else(|| std::env::temp_dir().join("lazuli-ten-million"), Into::into);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    match args.next().as_deref() {
        Some("insert") => runtime.block_on(insert(keys, clients, &directory)),
        _ => {
            let _ = std::fs::remove_dir_all(&directory);
            let acknowledged = insert_in_a_child_and_kill_it(keys, clients, &directory);
            runtime.block_on(measure(keys, clients, &directory, acknowledged));
            let _ = std::fs::remove_dir_all(&directory);
        }
    }
}

/// Gives the number of tail writes that were acknowledged before the kill.
fn insert_in_a_child_and_kill_it(keys: u64, clients: u64, directory: &Path) -> u64 {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args([keys.to_string(), clients.to_string()])
        .arg(directory)
        .arg("insert")
        .stdout(Stdio::piped())
        .spawn()
        .expect("a child");
    let mut acknowledged = 0;
    for line in BufReader::new(child.stdout.take().expect("a pipe")).lines() {
        let line = line.expect("text");
        match line.strip_prefix("acknowledged ") {
            Some(count) => acknowledged = count.parse().expect("a number"),
            None => println!("{line}"),
        }
        if acknowledged >= TAIL / 2 {
            child.kill().expect("it can be killed");
            break;
        }
    }
    child.wait().expect("it ends");
    acknowledged
}

async fn insert(keys: u64, clients: u64, directory: &Path) {
    let engine = Arc::new(Embedded::open(directory, Options::default()).expect("opens"));
    println!("idle after opening: {} MiB resident", resident_mib());
    let report = run("durable inserts", keys, clients, &engine, |engine, n| async move {
        put(&engine, n).await;
    });
    report.await;
    println!("{:?}", engine.metrics());
    println!("after inserts: {} MiB resident", resident_mib());
    for n in keys..keys + TAIL {
        put(&engine, n).await;
        println!("acknowledged {}", n - keys + 1);
        std::io::stdout().flush().expect("a pipe");
    }
}

async fn measure(keys: u64, clients: u64, directory: &Path, acknowledged: u64) {
    let start = now();
    let engine = Arc::new(Embedded::open(directory, Options::default()).expect("opens"));
    get(&engine, 0).await.expect("the first key");
    println!("reopened after kill -9, first read: {:?}", start.elapsed());
    for n in keys..keys + acknowledged {
        assert!(get(&engine, n).await.is_some(), "an acknowledged write is missing");
    }
    println!("acknowledged writes missing: 0 of {acknowledged}");

    let some = (keys / 10).clamp(1_000, 1_000_000);
    let reads = keys.clamp(1_000, 1_000_000);
    run("read-modify-writes", some, clients, &engine, move |engine, n| async move {
        let key = key(spread(n) % keys);
        let done = engine.transact(at(n), move |txn| {
            let mut value = txn.get(&key)?.map_or_else(|| vec![0; VALUE_BYTES], |value| value.to_vec());
            value[0] = value[0].wrapping_add(1);
            txn.put(key.clone(), value);
            Ok::<_, Stop<()>>(())
        });
        done.await.expect("no fault").expect("no refusal");
    })
    .await;
    for (name, hot) in [("point reads, any key", keys), ("point reads, 1,000 hot keys", 1_000)] {
        for readers in [1, 2] {
            let name = format!("{name}, x{readers}");
            run(&name, reads, readers, &engine, move |engine, n| async move {
                get(&engine, spread(n) % hot).await.expect("it is there");
            })
            .await;
        }
    }
    looks(&engine, "").await;
    run("1000-key scans", 2_000, 1, &engine, move |engine, n| async move {
        let from = key(spread(n) % keys);
        let to = Key::new(Space(SPACE.0 + 1), Column(0), &[]);
        let seen = engine.survey(SPACE, |txn| Ok::<_, Stop<()>>(txn.scan(&from, &to, 1_000)?.len()));
        assert!(seen.await.expect("no fault").expect("no refusal") > 0);
    })
    .await;
    println!("{:?}", engine.metrics());
    println!("at the end: {} MiB resident", resident_mib());
    let start = now();
    drop(engine);
    println!("clean stop: {:?}", start.elapsed());
    let start = now();
    let engine = Embedded::open(directory, Options::default()).expect("opens");
    get(&engine, 0).await.expect("the first key");
    println!("reopened after a clean stop, first read: {:?}", start.elapsed());
    drop(engine);
    let bare = Options { point_cache_bytes: 0, range_cache_bytes: 0, ..Options::default() };
    looks(&Arc::new(Embedded::open(directory, bare).expect("opens")), " without hot entries").await;
}

/// What a GET of a small object asks for.
async fn looks(engine: &Arc<Embedded>, how: &str) {
    for readers in [1, 2] {
        run(
            &format!("looks of 3 hot gets{how}, x{readers}"),
            1_000_000,
            readers,
            engine,
            move |engine, n| async move {
                let keys = [0, 1, 2].map(|more| key((spread(n) + more) % 1_000));
                let seen = engine.survey(SPACE, |txn| {
                    let [one, two, three] = [txn.get(&keys[0])?, txn.get(&keys[1])?, txn.get(&keys[2])?];
                    Ok::<_, Stop<()>>(one.is_some() && two.is_some() && three.is_some())
                });
                assert!(seen.await.expect("no fault").expect("no refusal"));
            },
        )
        .await;
    }
}

/// Runs `work` for 0..count, shared by `clients` tasks, and prints what it cost.
async fn run<W, F>(name: &str, count: u64, clients: u64, engine: &Arc<Embedded>, work: W)
where
    W: Fn(Arc<Embedded>, u64) -> F + Clone + Send + 'static,
    F: Future<Output = ()> + Send,
{
    let next = Arc::new(AtomicU64::new(0));
    let start = now();
    let tasks: Vec<_> = (0..clients)
        .map(|_| {
            let (next, engine, work) = (next.clone(), engine.clone(), work.clone());
            tokio::spawn(async move {
                let mut taken = Vec::new();
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= count {
                        return taken;
                    }
                    let start = now();
                    work(engine.clone(), n).await;
                    taken.push(start.elapsed().as_nanos() as u32);
                }
            })
        })
        .collect();
    let mut taken = Vec::new();
    for task in tasks {
        taken.extend(task.await.expect("no panic"));
    }
    let rate = count as f64 / start.elapsed().as_secs_f64();
    taken.sort_unstable();
    let at = |part: f64| Duration::from_nanos(u64::from(taken[((taken.len() - 1) as f64 * part) as usize]));
    let [p50, p99, p999, max] = [0.5, 0.99, 0.999, 1.0].map(at);
    println!("{name}: {rate:.0}/s; p50 {p50:?}, p99 {p99:?}, p99.9 {p999:?}, max {max:?}");
}

async fn put(engine: &Embedded, n: u64) {
    let (key, value) = (key(n), value(n));
    let done = engine.transact(at(n), move |txn| {
        txn.put(key.clone(), value.clone());
        Ok::<_, Stop<()>>(())
    });
    done.await.expect("no fault").expect("no refusal");
}

async fn get(engine: &Embedded, n: u64) -> Option<Bytes> {
    let key = key(n);
    engine.survey(SPACE, |txn| Ok::<_, Stop<()>>(txn.get(&key)?)).await.expect("no fault").expect("no refusal")
}

fn at(n: u64) -> Partition {
    Partition::new(SPACE, n.to_be_bytes().to_vec())
}

/// 65 bytes, in an order that has nothing to do with `n`.
fn key(n: u64) -> Key {
    Key::new(SPACE, Column(1), &[format!("{:016x}/{n:031}", spread(n)).as_bytes()])
}

fn value(n: u64) -> Bytes {
    (0..VALUE_BYTES as u64 / 10)
        .flat_map(|part| format!("{:010}", spread(n + part) % 10_000_000_000).into_bytes())
        .collect()
}

fn spread(n: u64) -> u64 {
    let mixed = (n ^ (n >> 30)).wrapping_add(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
fn now() -> Instant {
    Instant::now()
}
