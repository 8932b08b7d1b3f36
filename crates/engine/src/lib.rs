//! What is durable, and nothing else: keys, values and bytes. This crate knows no blobs and no protocol.
//!
//! Held true by every engine:
//! * a transaction is atomic, and its unit is the partition;
//! * a look at one partition sees one moment of it; a scan of a space sees committed rows in key order, a moment per partition;
//! * visible means durable: no read, no answer and no refusal rests on a state that a power cut could take back;
//! * stamps strictly increase within a partition, across restarts and across machines.

pub mod clock;
pub mod content;
pub mod embedded;
pub mod extents;
mod key;
pub mod memory;
mod private;
pub mod rados;
pub mod range_cache;
pub mod suite;
mod txn;

pub use clock::{Clock, ClockState};
pub use embedded::Embedded;
pub use key::{Column, Key, Layout, Partition, Space};
pub use memory::Memory;
pub use rados::Rados;
pub use txn::{Entry, Halt, Stop, Txn, View, Walker, Want};

use std::future::Future;
use std::pin::Pin;

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// When a transaction took its place in the order of its partition: 100 ns ticks since 0001-01-01 UTC.
/// Never equal for two transactions of one partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

/// The machine broke, as opposed to the protocol saying no. The text is for the log, not for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is no room to write. Reads go on; writes work again when space returns.
    Full,
    /// The engine cannot serve this for now (a stall, a reopening, a lost node). Trying again may work.
    Unavailable(String),
    /// Others were faster for as long as the engine tries. Nothing was applied; trying again may work.
    Busy,
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
    /// What the decision is going to read, as far as its caller said. A hint: it may read more, or less.
    fn wants(&self) -> Vec<Want> {
        Vec::new()
    }
    fn run(&mut self, txn: &mut Txn<'_>) -> Verdict;
    /// `Ok` when the last run's verdict is durable. On `Err` nothing was applied, unless the engine
    /// was lost in the middle of a commit, in which case nobody can know.
    fn settle(self: Box<Self>, fate: Result<(), Fault>);
}

/// A place that keeps keys and values. Use it through [`EngineExt`].
///
/// What an implementation may rely on, so that a key-value service without snapshots across keys, reached over a network
/// and shared by several gateways, can be one:
/// * a transaction reads and writes keys of its own partition only, and so does a look;
/// * a decision has no side effect: it may be run on part of the state, again after a conflict, and again after a miss;
/// * a decision that reads the same thing twice in one run is content with the same answer.
///
/// What it must do:
/// * apply all writes of a transaction or none, if nothing that its last run read has changed since it was read;
/// * give each committed transaction a stamp greater than that of the one before it in the partition, whichever gateway
///   made that one: a gateway whose clock is behind moves it on and runs the decision again;
/// * settle each job once, and truly: a commit whose outcome was lost is looked up by an id that it wrote;
/// * bound its retries. A job that does not get through is settled with [`Fault::Busy`], and nothing was applied.
///
/// **Volatile rows** (docs/decisions/0011) are those of a column whose high bit is set ([`Column::volatile`]): open handles, byte
/// locks, heartbeats, and whatever else means nothing once the gateway that it is for is gone. They are rows of their
/// partition like all others: a transaction reads and writes them together with durable rows, all or nothing, and every
/// gateway sees them. Two things differ:
/// * a transaction that changes volatile rows only pays for no sync of its own. What it *read* is durable before it is
///   answered, as ever. Its stamp may be given again after a restart;
/// * an engine that has one gateway, which is its process, keeps them in memory: after a restart there are none, of any
///   partition. An engine that several gateways share keeps them as it keeps all rows, because they must outlive the gateway
///   that wrote them: it may have died in the middle, and another one has to end what it held, in transactions, as its clients
///   would have (a closed handle lowers counts, and may delete a file). So a row says which gateway it is for, and the
///   user of the engine keeps heartbeats and ends what belongs to a silent gateway.
pub trait Engine: Send + Sync + 'static {
    /// Runs `job` as one transaction on `at`, and settles it, even if nobody waits any more.
    fn submit(&self, at: Partition, job: Box<dyn Job>);

    /// Runs `look` over one moment of the partition `at`, which is durable. It may read keys of that partition only. `look`
    /// may be run again when it answers `Verdict::Again`; what it writes is ignored.
    fn look<'a>(
        &'a self,
        at: &'a Partition,
        look: &'a mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
    ) -> BoxFuture<'a, Result<(), Fault>>;

    /// Runs `scan` over a whole space. Every row that it is shown is durable, and rows come in key order. All that it is shown
    /// of one partition, in however many ranges, is of one moment; two partitions may be of two moments.
    fn scan<'a>(
        &'a self,
        space: Space,
        scan: &'a mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
    ) -> BoxFuture<'a, Result<(), Fault>>;

    /// The clock of this engine: not before any stamp it has given out.
    fn now(&self) -> Stamp;

    /// `space` has no rows any more, and nobody can reach it: what the engine keeps of it besides rows may go, in the background.
    fn forget(&self, _space: Space) {}

    /// Takes no transaction of the gateway `gateway` any more, not even one that it sent before this call and that was late. For
    /// whoever declares it dead: only then may another end what it held, and give back what it staged. Such a gateway has to
    /// start anew, under another name. An engine that has one gateway does nothing.
    fn fence(&self, _gateway: u128) -> BoxFuture<'_, Result<(), Fault>> {
        Box::pin(std::future::ready(Ok(())))
    }
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
        self.transact_wanting(at, Vec::new, decide)
    }

    /// The same, with what `decide` is going to read. An engine that has to fetch rows fetches these at once; one that has them
    /// at hand does not ask.
    fn transact_wanting<T, R>(
        &self,
        at: Partition,
        wants: impl Fn() -> Vec<Want> + Send + 'static,
        decide: impl Fn(&mut Txn<'_>) -> Result<T, Stop<R>> + Send + 'static,
    ) -> impl Future<Output = Result<Result<T, R>, Fault>> + Send
    where
        T: Send + 'static,
        R: Send + 'static,
    {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.submit(at, Box::new(txn::Decision { decide, wants, result: None, sender }));
        async move {
            receiver.await.unwrap_or_else(|_| Err(Fault::Unavailable("the engine stopped before it answered".into())))
        }
    }

    /// One moment of one partition.
    fn read<T, R>(
        &self,
        at: &Partition,
        look: impl Fn(&mut Txn<'_>) -> Result<T, Stop<R>> + Send + Sync,
    ) -> impl Future<Output = Result<Result<T, R>, Fault>> + Send
    where
        T: Send,
        R: Send,
    {
        async move {
            let mut result = None;
            let mut run = |txn: &mut Txn<'_>| txn::run(&look, txn, &mut result);
            self.look(at, &mut run).await?;
            Ok(result.expect("a look that ended has a result"))
        }
    }

    /// Committed rows of a whole space: see [`Engine::scan`].
    fn survey<T, R>(
        &self,
        space: Space,
        scan: impl Fn(&mut Txn<'_>) -> Result<T, Stop<R>> + Send + Sync,
    ) -> impl Future<Output = Result<Result<T, R>, Fault>> + Send
    where
        T: Send,
        R: Send,
    {
        async move {
            let mut result = None;
            let mut run = |txn: &mut Txn<'_>| txn::run(&scan, txn, &mut result);
            self.scan(space, &mut run).await?;
            Ok(result.expect("a scan that ended has a result"))
        }
    }
}

impl<E: Engine + ?Sized> EngineExt for E {}
