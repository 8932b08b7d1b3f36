//! How fast extents take and give content on this disk: `extents_speed DIR [CLIENTS] [KIB] [UPLOADS] [LANES] [buffered]`.
//! The limit to compare with is that of
//! `fio --rw=write --bs=4m --fdatasync=1 --numjobs=8 --size=512m --fallocate=none --name=x --group_reporting`.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use lazuli_engine::content::{Content, Piece};
use lazuli_engine::extents::{Extents, Options};

const UPLOADS: usize = 128;

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize, or: usize| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(or);
    let path = Path::new(arguments.get(1).expect("the directory to write to"));
    let (clients, kib) = (number(2, 8), number(3, 4096));
    let lanes = number(5, 4);
    let options = Options { lanes, direct: !arguments.iter().any(|word| word == "buffered"), ..Options::default() };
    let extents = Arc::new(Extents::open(path, options).expect("a directory of extents"));

    let uploads = number(4, UPLOADS);
    let bytes = Bytes::from((0..(64usize << 10).min(kib << 10)).map(|at| ((at * 7) >> 3) as u8).collect::<Vec<u8>>());
    let started = now();
    let tasks: Vec<_> = (0..clients)
        .map(|_| {
            let (extents, bytes) = (extents.clone(), bytes.clone());
            tokio::spawn(async move {
                let mut pieces = Vec::new();
                for _ in 0..uploads {
                    pieces.extend(upload(&extents, &bytes, kib).await);
                }
                pieces
            })
        })
        .collect();
    let mut pieces = Vec::new();
    for task in tasks {
        pieces.extend(task.await.expect("an upload"));
    }
    say("write", clients * uploads * kib, started);
    println!("{} syncs for {} uploads", extents.syncs(), clients * uploads);

    for round in ["first read", "read again"] {
        let started = now();
        for piece in &pieces {
            read(&extents, *piece).await;
        }
        say(round, clients * uploads * kib, started);
    }
    let started = now();
    let shares = pieces.len().div_ceil(clients);
    let tasks: Vec<_> = pieces
        .chunks(shares)
        .map(|share| {
            let (extents, share) = (extents.clone(), share.to_vec());
            tokio::spawn(async move {
                for piece in share {
                    read(&extents, piece).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("a read");
    }
    say("read, all clients", clients * uploads * kib, started);
    extents.free(pieces).await;
}

async fn upload(extents: &Extents, bytes: &Bytes, kib: usize) -> Vec<Piece> {
    let mut stage = extents.stage(Some((kib as u64) << 10));
    for _ in 0..(kib << 10) / bytes.len() {
        stage.write(bytes.clone()).await.expect("room");
    }
    let staged = stage.finish().await.expect("a sync");
    let pieces = staged.pieces().to_vec();
    staged.adopted();
    pieces
}

async fn read(extents: &Extents, piece: Piece) {
    let mut chunks = extents.read(piece, 0, piece.length);
    let mut length = 0;
    while let Some(chunk) = chunks.next().await.expect("sound content") {
        length += chunk.len() as u64;
    }
    assert_eq!(length, piece.length);
}

fn say(what: &str, kib: usize, started: Instant) {
    let seconds = started.elapsed().as_secs_f64();
    println!("{what}: {} MiB in {seconds:.2} s, {:.0} MiB/s", kib >> 10, (kib >> 10) as f64 / seconds);
}

#[expect(clippy::disallowed_methods, reason = "this measures")]
fn now() -> Instant {
    Instant::now()
}
