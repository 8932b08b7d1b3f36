//! How fast content goes in and comes out, as it is and under a customer's key: `cargo run --release -p lazuli-store --example encrypted_speed`.
//! In memory and in one thread, so that it is the encryption that is measured. docs/decisions/0006-customer-keys.md has the figures.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use lazuli_engine::{BoxFuture, Memory, content};
use lazuli_model::blob::{ContentHeaders, Encryption, PutBlob, ReadBlob};
use lazuli_model::container::CreateContainer;
use lazuli_model::{AccountName, BlobName, Conditions, ContainerName};
use lazuli_store::{BlobAt, Broken, CustomerKey, Source, Store};

/// Short enough for one turn of a busy core.
const LENGTH: usize = 1 << 20;
const CHUNK: usize = 64 << 10;
const ROUNDS: usize = 500;

/// Chunks that nobody else has, as they come from a socket.
struct Body(usize);

impl Source for Body {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Broken>> {
        let chunk = self.0.checked_sub(CHUNK).map(|left| {
            self.0 = left;
            Bytes::from(vec![7; CHUNK])
        });
        Box::pin(async { Ok(chunk) })
    }
}

#[expect(clippy::disallowed_methods, reason = "it measures")]
fn now() -> Instant {
    Instant::now()
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let store = Store::new(Arc::new(Memory::new()), Arc::new(content::Memory::new()));
    let at = BlobAt {
        account: AccountName::parse("account").expect("a name"),
        container: ContainerName::parse("box").expect("a name"),
        blob: BlobName::parse("blob").expect("a name"),
    };
    let create = CreateContainer { id: 1, scope: None, metadata: Default::default(), public: Default::default() };
    store.create_container(&at.container_at(), create).await.expect("a container");
    for key in [None, Some(CustomerKey::new([7; 32], [7; 32]))] {
        let (mut best_in, mut best_out) = (Duration::MAX, Duration::MAX);
        for round in 0..ROUNDS {
            let (up, down) = round_trip(&store, &at, key.as_ref(), round as u128).await;
            (best_in, best_out) = (best_in.min(up), best_out.min(down));
        }
        let rate = |time: Duration| LENGTH as f64 / time.as_secs_f64() / 1e6;
        let what = if key.is_some() { "under a key" } else { "as it is" };
        println!("{what}: {:.0} MB/s in, {:.0} MB/s out (best of {ROUNDS})", rate(best_in), rate(best_out));
    }
}

async fn round_trip(store: &Store, at: &BlobAt, key: Option<&CustomerKey>, random: u128) -> (Duration, Duration) {
    let encryption = key.map_or(Encryption::Service, |key| Encryption::Customer(key.hash()));
    let put = PutBlob {
        headers: ContentHeaders::default(),
        metadata: Default::default(),
        tags: Default::default(),
        tier: None,
        protection: Default::default(),
        encryption,
        conditions: Conditions::default(),
        lease: None,
        may_overwrite: true,
    };
    let begin = now();
    let (mut body, lock) = (Body(LENGTH), key.map(|key| key.lock(random << 64)));
    let received = store.receive_encrypted(&mut body, Some(LENGTH as u64), u64::MAX, false, lock).await;
    let up = begin.elapsed();
    store.put_blob(at, put, received.expect("it is taken")).await.expect("it is put");
    let read = ReadBlob { key: key.map(CustomerKey::hash), ..ReadBlob::default() };
    let mut reader = store.open_blob(at, read).await.expect("it is there");
    reader.unlock(key.cloned());
    reader.seek(0, u64::MAX);
    let begin = now();
    let mut length = 0;
    while let Some(bytes) = reader.next().await.expect("it is read") {
        length += bytes.len();
    }
    assert_eq!(length, LENGTH);
    let down = begin.elapsed();
    drop(reader);
    while store.sweep_step().await.expect("it is swept") {}
    (up, down)
}
