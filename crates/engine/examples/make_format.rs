//! Makes what `tests/formats/N` has, N being the format of today: a table, and batches that are in the log alone.
//!
//! `cargo run -p lazuli-engine --example make_format -- DIRECTORY`
//!
//! Each format was made by the Lazuli of its time, and stays as it is.

use lazuli_engine::embedded::{Embedded, Options};
use lazuli_engine::{Clock, Column, EngineExt, Key, Partition, Space, Stamp, Stop};

fn main() {
    let directory = std::env::args().nth(1).expect("a directory");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let engine = open(&directory);
        // Enough that a stop writes a table; what is long does not stay.
        for row in 0..40 {
            write(&engine, row, Some(vec![row as u8; 120_000])).await;
        }
        for n in 0..400 {
            write(&engine, 1_000 + n, Some(format!("first {n}").into_bytes())).await;
        }
        for row in 0..40 {
            write(&engine, row, None).await;
        }
        drop(engine);
        let engine = open(&directory);
        for n in 0..200 {
            write(&engine, 1_000 + n * 2, Some(format!("second {n}").into_bytes())).await;
        }
        for n in 0..50 {
            write(&engine, 1_001 + n * 2, None).await;
        }
        write(&engine, 5_000, Some((0..9_000_u32).map(|n| (n * n) as u8).collect())).await;
    });
}

fn open(directory: &str) -> Embedded {
    let clock = Clock::new(|| Stamp(638_000_000_000_000_000));
    Embedded::open(directory, Options { clock, ..Options::default() }).expect("opens")
}

async fn write(engine: &Embedded, row: u32, value: Option<Vec<u8>>) {
    let key = Key::new(Space(1), Column(1), &[&row.to_be_bytes()]);
    let written = engine.transact(Partition::new(Space(1), "p"), move |txn| {
        match &value {
            Some(value) => txn.put(key.clone(), value.clone()),
            None => txn.delete(key.clone()),
        }
        Ok::<_, Stop<()>>(())
    });
    written.await.expect("no fault").expect("no refusal");
}
