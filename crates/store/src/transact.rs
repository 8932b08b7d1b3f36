//! How operations reach the engine: typed reads, one look, one transaction.
//!
//! Held true: a transaction that began settles whether or not its caller waits, and so do the bytes staged for it:
//! adopted when it committed, given back when it was refused, left for the next start when nobody knows.

use lazuli_engine::content::Staged;
use lazuli_engine::{EngineExt, Fault, Halt, Key, Partition, Stop, Txn};
use lazuli_model::{Refusal, Timestamp};

use crate::records::{self, Record};
use crate::{BlobAt, Failure, Store, keys, onward};

/// Why a decision did not end well: the protocol said no, a stored value made no sense, or a read has to be repeated.
#[derive(Debug)]
pub(crate) enum Trouble {
    Refused(Refusal),
    Broken(Fault),
    Halted(Halt),
}

pub(crate) type Decided<T> = Result<T, Trouble>;

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        Trouble::Refused(refusal)
    }
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Trouble::Broken(fault)
    }
}

impl From<Halt> for Trouble {
    fn from(halt: Halt) -> Self {
        Trouble::Halted(halt)
    }
}

impl From<Trouble> for Stop<Failure> {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Refused(refusal) => Stop::Refused(Failure::Refused(refusal)),
            Trouble::Broken(fault) => Stop::Refused(Failure::Broken(fault)),
            Trouble::Halted(halt) => Stop::Halted(halt),
        }
    }
}

pub(crate) fn get<T: Record>(txn: &mut Txn<'_>, key: &Key) -> Decided<Option<T>> {
    txn.get(key)?.map(|bytes| records::decode(&bytes)).transpose().map_err(Trouble::Broken)
}

/// The time at which a transaction or a look happens.
pub(crate) fn now(txn: &Txn<'_>) -> Timestamp {
    Timestamp::from_ticks(txn.stamp().0)
}

/// The id of the container that `at` is in.
pub(crate) fn container_id(txn: &mut Txn<'_>, at: &BlobAt) -> Decided<u128> {
    let bytes = txn.get(&keys::container(at.account.as_str(), at.container.as_str()))?;
    Ok(records::decode_container_id(&bytes.ok_or(Refusal::ContainerNotFound)?)?)
}

/// Staged pieces of a transaction that is under way. If the runtime stops and takes the task with it, the engine may
/// still commit: the next start finds out.
struct Undecided(Option<Staged>);

impl Drop for Undecided {
    fn drop(&mut self) {
        if let Some(staged) = self.0.take() {
            staged.leave();
        }
    }
}

impl Store {
    pub(crate) async fn look<T: Send>(
        &self,
        look: impl Fn(&mut Txn<'_>) -> Decided<T> + Send + Sync,
    ) -> Result<T, Failure> {
        self.engine.read(|txn| look(txn).map_err(Stop::from)).await?
    }

    /// Submitted at the call, so that several can be under way before the first is waited for.
    pub(crate) fn transact<T: Send + 'static>(
        &self,
        at: Partition,
        decide: impl Fn(&mut Txn<'_>) -> Decided<T> + Send + 'static,
    ) -> impl Future<Output = Result<T, Failure>> + Send {
        let answer = self.engine.transact(at, move |txn| decide(txn).map_err(Stop::from));
        async move { answer.await? }
    }

    /// A transaction whose records name the pieces of `staged`.
    pub(crate) async fn transact_staged<T: Send + 'static>(
        &self,
        at: Partition,
        staged: Option<Staged>,
        decide: impl Fn(&mut Txn<'_>) -> Decided<T> + Send + 'static,
    ) -> Result<T, Failure> {
        let Some(staged) = staged else {
            return self.transact(at, decide).await;
        };
        let store = self.clone();
        let mut undecided = Undecided(Some(staged));
        // If the caller goes away, the pieces must not be dropped while a record comes to name them.
        onward(async move {
            let answer = store.transact(at, decide).await;
            match (&answer, undecided.0.take()) {
                (Ok(_), Some(staged)) => staged.adopted(),
                (Err(Failure::Refused(_)), staged) => drop(staged),
                (Err(Failure::Broken(_)), Some(staged)) => staged.leave(),
                (_, None) => {}
            }
            answer
        })
        .await
    }
}
