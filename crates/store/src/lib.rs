//! What can be done: each operation once, for every protocol. It joins the rules (`model`) with what is durable
//! (`engine`), and knows no HTTP.
//!
//! Every operation has one shape: stage bytes if there are any, look at what lies outside the partition, then one
//! transaction whose decision is `model`'s. Nothing is done after the transaction that a crash could lose.

pub mod listing;
pub mod upload;

mod account;
mod analytics;
mod audit;
mod blob;
mod claims;
mod container;
mod crypt;
mod detach_on_drop;
mod feed;
mod file;
mod import;
mod inventory;
mod keys;
mod lake;
mod layout;
mod lifecycle;
mod manifest;
mod md5;
mod pins;
mod queue;
mod readers;
mod records;
mod replication;
mod secrets;
mod service;
mod shared_pieces;
mod sparse;
mod sweep;
mod table;
mod tags;
mod transact;
mod witness;

pub use account::{AccountTrouble, Changes, Emptied, KnownAccount, SealedAccounts, SecretsTrouble};
pub use analytics::{AnalyticsRounds, Log};
pub use audit::Audit;
pub use blob::{BlockLists, Copying, Digested, ListPages, PageRanges, Reader, Unfinished};
pub use claims::claimed;
pub use crypt::{CustomerKey, Lock};
pub use detach_on_drop::detach_on_drop;
pub use file::{
    Alarm, Change, Children, ClosedHandles, DeletedShare, EntryItem, EntryPage, FileAt, FileReader, Filter, Gone,
    Granted, HEARTBEAT_SECONDS, HandleAct, HandleAt, HandleCall, HandleItem, HandleObserver, HandlePage, Happened,
    LOOK_SECONDS, ListEntries, ListHandles, ListShares, Locked, NewEntry, Notice, OpenFile, Opened, Patience,
    RangeList, RightsClaim, STALE_SECONDS, ShareAt, ShareItem, SharePage, Through, Waiting, Wanted, Watch,
    permission_of,
};
pub use import::{ImportJournal, Imported};
pub use inventory::Reports as InventoryReports;
pub use lake::{
    AccessFailure, AccessWalk, AccessWalked, DeletePath, DeletedPath, ListPaths, PathAccess, PathAt, PathItem,
    PathPage, UndeletedPath,
};
pub use layout::layout;
pub use lifecycle::Rounds as LifecycleRounds;
pub use listing::{BlobItem, BlobPage, ContainerItem, ContainerPage, Entry, Include, ListBlobs, ListContainers};
pub use queue::{Delivery, FoundQueue, ListQueues, QueueAt, QueueItem, QueuePage};
pub use records::{Fetch, KINDS as RECORD_KINDS, Kind as RecordKind};
pub use replication::ReplicationRounds;
pub use secrets::{Random, SecretsKey};
pub use sparse::{Difference, Range};
pub use table::{EntityPage, Found, OpenTable, QueryEntities, QueryTables, TableAt, TablePage};
pub use tags::{FindBlobs, FindInclude, FoundBlob, FoundPage};
pub use upload::{Broken, Received, Source};
pub use witness::{Found as Sighted, Sight, Witness};

use std::sync::Arc;

use lazuli_engine::Engine;
pub use lazuli_engine::Fault;
use lazuli_engine::content::Content;
use lazuli_model::blob::Rehydration;
use lazuli_model::feed::Cause;
use lazuli_model::lake::Caller;
use lazuli_model::{AccountName, BlobName, ContainerName, Refusal, Timestamp};

/// The protocol said no, or the machine broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    Refused(Refusal),
    Broken(Fault),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Failure::Refused(refusal)
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Failure::Broken(fault)
    }
}

/// Where a container is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ContainerAt {
    pub account: AccountName,
    pub container: ContainerName,
}

/// Where a blob is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BlobAt {
    pub account: AccountName,
    pub container: ContainerName,
    pub blob: BlobName,
}

impl BlobAt {
    pub fn container_at(&self) -> ContainerAt {
        ContainerAt { account: self.account.clone(), container: self.container.clone() }
    }
}

/// The one door to everything stored.
#[derive(Clone)]
pub struct Store {
    engine: Arc<dyn Engine>,
    content: Arc<dyn Content>,
    readers: Arc<readers::Readers>,
    /// Which of several gateways this is. `None`: it has the engine and the content to itself.
    sharing: Option<Arc<pins::Sharing>>,
    sweep: Arc<sweep::Sweep>,
    digests: Arc<md5::Digests>,
    tag_names: Arc<tags::Announced>,
    rehydration: Rehydration,
    accounts: Arc<account::Cache>,
    vault: secrets::Vault,
    breaks: Arc<file::Breaks>,
    /// Windows of a sparse content that one transaction of a copy takes.
    copied_at_once: usize,
    feeds: Arc<feed::Feeds>,
    /// The request that this store acts for, if somebody is told of it.
    cause: Option<Arc<Cause>>,
    /// Who wants to know what the decisions of this request saw.
    witness: Option<Arc<Witness>>,
    /// Who acts by this store. Lists of a file system are asked for them.
    caller: Arc<Caller>,
    /// How long a call of REST waits for SMB clients to give up what they cache.
    patience_seconds: u64,
}

impl Store {
    pub fn new(engine: Arc<dyn Engine>, content: Arc<dyn Content>) -> Self {
        let sweep = Arc::new(sweep::Sweep::new());
        let readers = Arc::new(readers::Readers::new(sweep.clone()));
        Self {
            engine,
            content,
            readers,
            sharing: None,
            sweep,
            digests: Arc::new(md5::Digests::new()),
            accounts: Arc::default(),
            vault: secrets::Vault::default(),
            breaks: Arc::default(),
            rehydration: Rehydration::DEFAULT,
            tag_names: Arc::default(),
            copied_at_once: 1 << 16,
            feeds: Arc::default(),
            cause: None,
            witness: None,
            caller: Arc::default(),
            patience_seconds: lazuli_model::file::arbiter::BREAK_SECONDS,
        }
    }

    /// How long the way back from the archive takes.
    pub fn rehydrating_in(self, rehydration: Rehydration) -> Self {
        Self { rehydration, ..self }
    }

    /// How many MiB of pages one transaction of a copy takes; more of them take several.
    pub fn copying_at_once(self, copied_at_once: usize) -> Self {
        Self { copied_at_once, ..self }
    }

    /// Digests where the caller is, instead of in threads: a simulated world has one thread, or is not the same twice.
    pub fn digesting_here(self) -> Self {
        Self { digests: Arc::new(md5::Digests::here()), ..self }
    }

    /// Whose decisions `witness` follows.
    pub fn witnessed(self, witness: Arc<Witness>) -> Self {
        Self { witness: Some(witness), ..self }
    }

    /// The same store, for what `caller` asks.
    pub fn acting_for(&self, caller: Caller) -> Self {
        Self { caller: Arc::new(caller), ..self.clone() }
    }

    /// The same store, for a request whose client does not wait longer than so.
    pub fn waiting_at_most(&self, seconds: u64) -> Self {
        Self { patience_seconds: self.patience_seconds.min(seconds), ..self.clone() }
    }

    /// The engine's clock, which never goes back; what is stored is judged by it, and nothing else is.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_ticks(self.engine.now().0)
    }
}
