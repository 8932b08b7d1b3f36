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
    /// What it acts for.
    request: RequestContext,
}

/// What is known of the request that a store acts for. Background work acts for itself: [`RequestContext::default`].
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// The access control lists of a file system are asked for them.
    pub caller: Arc<Caller>,
    /// What the change feed says of the changes that it makes.
    pub cause: Option<Arc<Cause>>,
    /// Learns what its decisions saw.
    pub witness: Option<Arc<Witness>>,
    /// How long a call of REST waits for SMB clients to give up what they cache.
    pub patience_seconds: u64,
}

impl Default for RequestContext {
    fn default() -> Self {
        let patience_seconds = lazuli_model::file::arbiter::BREAK_SECONDS;
        Self { caller: Arc::default(), cause: None, witness: None, patience_seconds }
    }
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
            request: RequestContext::default(),
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

    /// The same store, with a witness of its decisions.
    pub fn witnessed(self, witness: Arc<Witness>) -> Self {
        let request = RequestContext { witness: Some(witness), ..self.request.clone() };
        Self { request, ..self }
    }

    /// What this store acts for, to be changed and handed to [`Store::acting_for`].
    pub fn request(&self) -> RequestContext {
        self.request.clone()
    }

    /// The same store, for what `request` asks.
    pub fn acting_for(&self, request: RequestContext) -> Self {
        Self { request, ..self.clone() }
    }

    /// The engine's clock, which never goes back; what is stored is judged by it, and nothing else is.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_ticks(self.engine.now().0)
    }
}
