//! librados itself, doing what a gateway does for a request, one operator at a time: the limit.

use crate::clock::now;
use crate::load::Tally;
use crate::request::noise;
use bytes::Bytes;
use lazuli_engine::rados::{Pool, ReadStep, Trouble, WriteStep};
use lazuli_rados::{Cluster, Options};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::runtime::Runtime;

pub struct Raw {
    pool: Cluster,
    runtime: Runtime,
    numbers: Arc<AtomicU64>,
}

/// What one client does again and again.
#[derive(Clone, Copy, PartialEq)]
pub enum Deed {
    /// Compares and sets some rows of a shard: `shards` of them take turns.
    Change {
        shards: u64,
        bytes: usize,
    },
    /// Reads the rows of a small blob.
    Rows,
    /// A page of a listing.
    Page,
    Write {
        bytes: usize,
    },
    Read {
        bytes: usize,
    },
}

/// Objects that are read, and rows of the one that is listed.
const READ: u64 = 16;
pub const LISTED: u64 = 100_000;

impl Raw {
    pub fn connect(configuration: PathBuf, pool: &str) -> io::Result<Self> {
        let options =
            Options { configuration, user: "lazuli".into(), pool: pool.into(), patience: Duration::from_secs(30) };
        let pool = Cluster::connect(&options).map_err(io::Error::other)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        Ok(Self { pool, runtime, numbers: Arc::default() })
    }

    pub fn prepare(&self, large: usize) -> io::Result<()> {
        self.runtime.block_on(async {
            let body = Bytes::from(noise(large));
            for number in 0..READ {
                failed(self.pool.write(&format!("raw.r.{number}"), vec![WriteStep::Write(body.clone())]).await)?;
            }
            let row = |number: u64| (key(number), Bytes::from(vec![7; 400]));
            for first in (0..LISTED).step_by(1000) {
                let rows = (first..first + 1000).map(row).collect();
                failed(self.pool.write("raw.list", vec![WriteStep::Set(rows)]).await)?;
            }
            Ok(())
        })
    }

    pub fn run(&self, deed: Deed, clients: usize, period: Duration) -> io::Result<Tally> {
        let body = Bytes::from(noise(match deed {
            Deed::Change { bytes, .. } | Deed::Write { bytes } => bytes,
            Deed::Rows | Deed::Page | Deed::Read { .. } => 0,
        }));
        let (began, first) = (now(), self.numbers.load(Ordering::Relaxed));
        let times = self.runtime.block_on(async {
            let clients: Vec<_> = (0..clients)
                .map(|_| tokio::spawn(client(self.pool.clone(), self.numbers.clone(), deed, body.clone(), period)))
                .collect();
            let mut times = Vec::new();
            for client in clients {
                times.extend(client.await.map_err(io::Error::other)??);
            }
            Ok::<_, io::Error>(times)
        })?;
        let moved = match deed {
            Deed::Write { bytes } | Deed::Read { bytes } => bytes as u64,
            Deed::Change { .. } | Deed::Rows | Deed::Page => 0,
        };
        let tally = Tally::of(&times, now() - began, moved * times.len() as u64);
        if matches!(deed, Deed::Write { .. }) {
            self.runtime.block_on(async {
                for number in first..self.numbers.load(Ordering::Relaxed) {
                    let _ = self.pool.write(&written(number), vec![WriteStep::Delete]).await;
                }
            });
        }
        Ok(tally)
    }
}

async fn client(
    pool: Cluster,
    numbers: Arc<AtomicU64>,
    deed: Deed,
    body: Bytes,
    period: Duration,
) -> io::Result<Vec<Duration>> {
    let (began, mut times) = (now(), Vec::new());
    while now() - began < period {
        let before = now();
        let number = numbers.fetch_add(1, Ordering::Relaxed);
        match deed {
            Deed::Change { shards, .. } => change(&pool, number % shards, number, &body).await?,
            Deed::Rows => {
                let rows = (0..3).map(|row| key(number.wrapping_mul(0x9E37_79B9) % (LISTED - 3) + row)).collect();
                failed(pool.read("raw.list", vec![ReadStep::Rows(rows)]).await)?;
            }
            Deed::Page => {
                let after = key(number.wrapping_mul(0x9E37_79B9) % (LISTED - 1000));
                failed(
                    pool.read("raw.list", vec![ReadStep::Range { after, prefix: Bytes::new(), limit: 1000 }]).await,
                )?;
            }
            Deed::Write { .. } => {
                failed(pool.write(&written(number), vec![WriteStep::Write(body.clone())]).await)?;
            }
            Deed::Read { bytes } => {
                let step = ReadStep::Bytes { offset: 0, length: bytes };
                failed(pool.read(&format!("raw.r.{}", number % READ), vec![step]).await)?;
            }
        }
        times.push(now() - before);
    }
    Ok(times)
}

/// Reads the version, then compares it and writes, until nobody was faster: what a gateway without a queue of its own would do.
async fn change(pool: &Cluster, shard: u64, number: u64, body: &Bytes) -> io::Result<()> {
    let (object, version) = (format!("raw.k.{shard}"), Bytes::from_static(b"v"));
    loop {
        let found = match pool.read(&object, vec![ReadStep::Rows(vec![version.clone()])]).await {
            Ok(mut reading) => match reading.found.pop() {
                Some(lazuli_engine::rados::Found::Rows { rows, .. }) => rows.into_iter().next().map(|(_, value)| value),
                Some(lazuli_engine::rados::Found::Bytes(_)) | None => None,
            },
            Err(Trouble::Missing) => None,
            Err(trouble) => return failed(Err(trouble)),
        };
        let rows = vec![(version.clone(), Bytes::from(number.to_be_bytes().to_vec())), (key(number), body.clone())];
        let steps =
            vec![WriteStep::Compare { key: version.clone(), value: found.unwrap_or_default() }, WriteStep::Set(rows)];
        match pool.write(&object, steps).await {
            Ok(()) => return Ok(()),
            Err(Trouble::Changed) => {}
            Err(trouble) => return failed(Err(trouble)),
        }
    }
}

fn written(number: u64) -> String {
    format!("raw.w.{number}")
}

fn key(number: u64) -> Bytes {
    format!("n{number:010}").into()
}

fn failed<T>(result: Result<T, Trouble>) -> io::Result<T> {
    result.map_err(|trouble| io::Error::other(format!("librados: {trouble:?}")))
}
