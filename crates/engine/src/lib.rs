//! What is durable, and nothing else: keys, values and bytes. This crate knows no blobs and no protocol.
//!
//! Held true by every engine:
//! * a transaction is atomic, and its unit is the partition;
//! * visible means durable: no read, no answer and no refusal rests on a state that a power cut could take back;
//! * stamps strictly increase within a partition, across restarts and across machines.

pub mod clock;
pub mod content;
pub mod embedded;
pub mod extents;
mod key;
pub mod memory;
pub mod suite;
mod txn;

pub use clock::Clock;
pub use embedded::Embedded;
pub use key::{Column, Key, Partition, Space};
pub use memory::Memory;
pub use txn::{Entry, Halt, Note, Stop, Stretched, Txn, View, Walker};

use std::future::Future;
use std::pin::Pin;

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// When a transaction took its place in the order of its partition: 100 ns ticks since 0001-01-01 UTC.
/// Never equal for two transactions of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

/// The machine broke, as opposed to the protocol saying no. The text is for the log, not for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is no room to write. Reads go on; writes work again when space returns.
    Full,
    /// The engine cannot serve this for now (a stall, a reopening, a lost node). Trying again may work.
    Unavailable(String),
    /// What was stored does not agree with its checksum or its format.
    Corrupt(String),
}

/// What a run of a decision came to. The engine commits, drops or repeats accordingly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Commit what was written.
    Commit,
    /// The protocol said no: write nothing. Still answered only when what was read is durable.
    Refuse,
    /// A read missed or broke: the engine loads it and runs the decision again, or gives up with a `Fault`.
    Again,
}

/// One submitted decision: may be run several times, then learns its fate exactly once.
pub trait Job: Send {
    fn run(&mut self, txn: &mut Txn<'_>) -> Verdict;
    /// `Ok` when the last run's verdict is durable. On `Err` nothing was applied, unless the engine
    /// was lost in the middle of a commit, in which case nobody can know.
    fn settle(self: Box<Self>, fate: Result<(), Fault>);
}

/// A place that keeps keys and values. Use it through [`EngineExt`].
pub trait Engine: Send + Sync + 'static {
    /// Runs `job` as one transaction on `at`, and settles it, even if nobody waits any more.
    fn submit(&self, at: Partition, job: Box<dyn Job>);

    /// Runs `look` over one durable snapshot. `look` may be run again when it answers `Verdict::Again`;
    /// what it writes is ignored.
    fn look<'a>(
        &'a self,
        look: &'a mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
    ) -> BoxFuture<'a, Result<(), Fault>>;

    /// The clock of this engine: not before any stamp it has given out.
    fn now(&self) -> Stamp;
}

/// Typed forms of [`Engine`]'s methods.
pub trait EngineExt: Engine {
    /// One transaction. `decide` owns what it needs, has no side effect, and may be run more than once.
    fn transact<T, R>(
        &self,
        at: Partition,
        decide: impl Fn(&mut Txn<'_>) -> Result<T, Stop<R>> + Send + 'static,
    ) -> impl Future<Output = Result<Result<T, R>, Fault>> + Send
    where
        T: Send + 'static,
        R: Send + 'static,
    {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.submit(at, Box::new(txn::Decision { decide, result: None, sender }));
        async move {
            receiver.await.unwrap_or_else(|_| Err(Fault::Unavailable("the engine stopped before it answered".into())))
        }
    }

    /// One consistent look at durable state.
    fn read<T, R>(
        &self,
        look: impl Fn(&mut Txn<'_>) -> Result<T, Stop<R>> + Send + Sync,
    ) -> impl Future<Output = Result<Result<T, R>, Fault>> + Send
    where
        T: Send,
        R: Send,
    {
        async move {
            let mut result = None;
            let mut run = |txn: &mut Txn<'_>| txn::run(&look, txn, &mut result);
            self.look(&mut run).await?;
            Ok(result.expect("a look that ended has a result"))
        }
    }
}

impl<E: Engine + ?Sized> EngineExt for E {}
