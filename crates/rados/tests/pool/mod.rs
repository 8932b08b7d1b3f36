//! The pool of a real cluster, under names that no run before this one has used.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lazuli_engine::BoxFuture;
use lazuli_engine::rados::{Pool, ReadStep, Reading, Trouble, WriteStep};
use lazuli_rados::{Cluster, Options};

pub fn connect() -> Cluster {
    let configuration = std::env::var("LAZULI_CEPH_CONF").expect("LAZULI_CEPH_CONF: see conformance/ceph env");
    let pool = std::env::var("LAZULI_POOL").unwrap_or_else(|_| "lazuli".into());
    let options =
        Options { configuration: configuration.into(), user: "lazuli".into(), pool, patience: Duration::from_secs(30) };
    Cluster::connect(&options).expect("the cluster of conformance/ceph is up")
}

/// A name that no run before this one has used.
#[expect(clippy::disallowed_methods, reason = "runs of this test have to differ")]
pub fn unique() -> u128 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos();
    now << 16 | u128::from(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The pool under names of this run alone, so that the suite finds its spaces empty. Clones share the names, and each is a client of its own.
pub struct Apart {
    cluster: Cluster,
    run: u128,
    /// Objects with bytes that were written and not deleted, by all gateways of the run.
    content: Arc<Mutex<BTreeSet<String>>>,
}

impl Apart {
    pub fn new() -> Self {
        Self { cluster: connect(), run: unique(), content: Arc::default() }
    }

    /// Another gateway's way to the same objects.
    pub fn beside(&self) -> Self {
        Self { cluster: connect(), run: self.run, content: self.content.clone() }
    }

    /// The objects with bytes that are left.
    pub fn content(&self) -> BTreeSet<String> {
        self.content.lock().expect("nobody panics with it").clone()
    }

    fn name(&self, object: &str) -> String {
        format!("test.{:x}.{object}", self.run)
    }
}

impl Pool for Apart {
    fn write(&self, object: &str, steps: Vec<WriteStep>) -> BoxFuture<'static, Result<(), Trouble>> {
        let is_content = steps.iter().any(|step| matches!(step, WriteStep::Write(_)));
        let is_end = steps.contains(&WriteStep::Delete);
        let written = self.cluster.write(&self.name(object), steps);
        let (object, content) = (object.to_owned(), self.content.clone());
        Box::pin(async move {
            let answer = written.await;
            let mut content = content.lock().expect("nobody panics with it");
            match answer {
                Ok(()) if is_content => drop(content.insert(object)),
                Ok(()) if is_end => drop(content.remove(&object)),
                Ok(()) | Err(_) => {}
            }
            answer
        })
    }

    fn read(&self, object: &str, steps: Vec<ReadStep>) -> BoxFuture<'static, Result<Reading, Trouble>> {
        self.cluster.read(&self.name(object), steps)
    }

    fn client(&self) -> Result<String, Trouble> {
        self.cluster.client()
    }

    fn shut_out(&self, client: &str) -> BoxFuture<'static, Result<(), Trouble>> {
        self.cluster.shut_out(client)
    }
}
