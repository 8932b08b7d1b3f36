//! How operations reach the engine: typed reads, one look, one transaction.
//!
//! Held true: a transaction that began settles whether or not its caller waits, and so do the bytes staged for it:
//! adopted when it committed, given back when it was refused, left for the next start when nobody knows.

use bytes::Bytes;
use lazuli_engine::content::Staged;
use lazuli_engine::{EngineExt, Fault, Halt, Key, Partition, Space, Stop, Txn, Want};
use lazuli_model::lake::{LakePath, Right};
use lazuli_model::{Refusal, Timestamp};

use crate::keys::{self, BlobKeys, TreeKeys};
use crate::lake::{Address, PathAddress};
use crate::records::{self, Home, Record};
use crate::{BlobAt, ContainerAt, Failure, Store, Witness, detach_on_drop};

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

/// Runs `decide`, and lets `witness` know what it saw. The number is the decision's; `submitted` says whether it is a transaction's.
fn watched<T>(
    witness: Option<(&Witness, u32)>,
    submitted: bool,
    txn: &mut Txn<'_>,
    decide: &impl Fn(&mut Txn<'_>) -> Decided<T>,
) -> Decided<T> {
    let Some((witness, decision)) = witness else { return decide(txn) };
    witness.begin();
    let decided = decide(txn);
    witness.end(decision, txn.stamp(), submitted, matches!(decided, Err(Trouble::Refused(_))));
    decided
}

/// Where a transaction happens, and what it is going to read there. An engine that has to fetch rows then fetches them at
/// once; one that has them at hand does not ask.
pub(crate) struct Target {
    at: Partition,
    wants: Option<Wants>,
}

type Wants = Box<dyn Fn() -> Vec<Want> + Send>;

impl Target {
    pub fn wanting(at: Partition, wants: impl Fn() -> Vec<Want> + Send + 'static) -> Self {
        Self { at, wants: Some(Box::new(wants)) }
    }
}

impl From<Partition> for Target {
    fn from(at: Partition) -> Self {
        Self { at, wants: None }
    }
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
    /// One moment of one partition.
    pub(crate) async fn look<T: Send>(
        &self,
        at: &Partition,
        look: impl Fn(&mut Txn<'_>) -> Decided<T> + Send + Sync,
    ) -> Result<T, Failure> {
        let witness = self.request.witness.as_deref().map(|witness| (witness, witness.decision()));
        self.engine.read(at, |txn| watched(witness, false, txn, &look).map_err(Stop::from)).await?
    }

    /// Rows of many partitions of a space, each partition at some moment.
    pub(crate) async fn scan<T: Send>(
        &self,
        space: Space,
        scan: impl Fn(&mut Txn<'_>) -> Decided<T> + Send + Sync,
    ) -> Result<T, Failure> {
        self.engine.survey(space, |txn| scan(txn).map_err(Stop::from)).await?
    }

    /// Up to `limit` rows of a space with `from <= key < end`.
    pub(crate) async fn rows(&self, from: &Key, end: &Key, limit: usize) -> Result<Vec<(Key, Bytes)>, Failure> {
        self.scan(from.space(), |txn| Ok(txn.scan(from, end, limit)?)).await
    }

    /// The id of a container that exists right now.
    pub(crate) async fn container_id(&self, at: &ContainerAt) -> Result<u128, Failure> {
        Ok(self.home(at).await?.id)
    }

    pub(crate) async fn container_id_if_any(&self, at: &ContainerAt) -> Result<Option<u128>, Failure> {
        Ok(self.home_if_any(at).await?.map(|home| home.id))
    }

    /// Where the blobs of a container are that exists right now.
    pub(crate) async fn home(&self, at: &ContainerAt) -> Result<Home, Failure> {
        self.home_if_any(at).await?.ok_or_else(|| Refusal::ContainerNotFound.into())
    }

    pub(crate) async fn home_if_any(&self, at: &ContainerAt) -> Result<Option<Home>, Failure> {
        let key = keys::container(at.account.as_str(), at.container.as_str());
        let bytes = self.look(&keys::container_partition(at), |txn| Ok(txn.get(&key)?)).await?;
        Ok(bytes.map(|bytes| records::decode_container_home(&bytes)).transpose()?)
    }

    /// A blob in a container that is there: by its name, or by the path to it.
    pub(crate) fn address_in(&self, home: Home, at: &BlobAt) -> Result<Address, Refusal> {
        if !home.hierarchical {
            return Ok(Address::Flat(BlobKeys::new(home.id, at.blob.as_str()).into()));
        }
        Ok(Address::Path(self.path_in(home, LakePath::parse(at.blob.as_str())?)))
    }

    pub(crate) fn path_in(&self, home: Home, path: LakePath) -> PathAddress {
        PathAddress { keys: TreeKeys::new(home.id), path, caller: self.request.caller.clone() }
    }

    /// Looks at a blob. What is refused in a container that has gone meanwhile, whose rows go one by one, is looked at afresh: then
    /// there is no such container, or there is another.
    pub(crate) async fn look_blob<T: Send>(
        &self,
        at: &BlobAt,
        look: impl Fn(&mut Txn<'_>, &BlobKeys) -> Decided<T> + Send + Sync,
    ) -> Result<(BlobKeys, T), Failure> {
        self.look_blob_by(at, Right::Read, look).await
    }

    /// The same, where another right than to read is needed.
    pub(crate) async fn look_blob_by<T: Send>(
        &self,
        at: &BlobAt,
        right: Right,
        look: impl Fn(&mut Txn<'_>, &BlobKeys) -> Decided<T> + Send + Sync,
    ) -> Result<(BlobKeys, T), Failure> {
        let container = at.container_at();
        loop {
            let home = self.home(&container).await?;
            let address = self.address_in(home, at)?;
            let partition = address.partition();
            let looked = self.look(&partition, |txn| {
                let keys = address.find(txn, right)?;
                let seen = look(txn, &keys)?;
                Ok((keys.into_owned().into(), seen))
            });
            match looked.await {
                Ok(seen) => return Ok(seen),
                Err(Failure::Refused(_)) if self.container_id(&container).await? != home.id => {}
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Submitted at the call, so that several can be under way before the first is waited for.
    pub(crate) fn transact<T: Send + 'static>(
        &self,
        target: impl Into<Target>,
        decide: impl Fn(&mut Txn<'_>) -> Decided<T> + Send + 'static,
    ) -> impl Future<Output = Result<T, Failure>> + Send {
        let Target { at, wants } = target.into();
        let wants = move || wants.as_ref().map(|wants| wants()).unwrap_or_default();
        let witness = self.request.witness.clone().map(|witness| (witness.decision(), witness));
        let decide = move |txn: &mut Txn<'_>| {
            let witness = witness.as_ref().map(|(decision, witness)| (&**witness, *decision));
            watched(witness, true, txn, &decide).map_err(Stop::from)
        };
        let answer = self.engine.transact_wanting(at, wants, decide);
        async move { answer.await? }
    }

    /// A transaction whose records name the pieces of `staged`.
    pub(crate) async fn transact_staged<T: Send + 'static>(
        &self,
        target: impl Into<Target>,
        staged: Option<Staged>,
        decide: impl Fn(&mut Txn<'_>) -> Decided<T> + Send + 'static,
    ) -> Result<T, Failure> {
        let target = target.into();
        let Some(staged) = staged else {
            return self.transact(target, decide).await;
        };
        let store = self.clone();
        let mut undecided = Undecided(Some(staged));
        // If the caller goes away, the pieces must not be dropped while a record comes to name them.
        detach_on_drop(async move {
            let answer = store.transact(target, decide).await;
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
