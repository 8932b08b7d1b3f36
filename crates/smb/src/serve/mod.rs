//! The gateway: sockets on one side, the store on the other.
//!
//! * `connection`: a task that reads frames, one that writes them, and a task for each compound, so that no request waits for another.
//! * `dispatch`: the messages of a compound, one after the other, each to its command.
//! * `opens`: what clients hold open here. Share modes, locks and caches are in the store's rows; this is what only the protocol knows.
//! * `pending`: answers that are announced, and come later.
//! * `notices`: what the store has to tell clients.
//! * `observed`: what a recorder is told.
//! * `strangers`: connections that nobody has logged on to.
//!
//! Held true: nothing is done for a request before `session` has let it in; what is under way is bounded for each connection and for all of
//! them together, and before a logon by a small number; a client that does not take its answers is read no further, and then left.

mod connection;
pub(crate) mod dispatch;
mod durable;
mod notices;
pub(crate) mod observed;
pub(crate) mod opens;
pub(crate) mod pending;
mod strangers;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use lazuli_model::AccountName;
use lazuli_store::{Alarm, HandleObserver, Store};
use tokio::sync::OwnedSemaphorePermit;

use crate::logon::Passwords;
use crate::session::negotiation::Encryption;
use crate::session::{Close, ConnectionId, Policy, Sessions};
use crate::status::Status;
use crate::time::FileTime;
pub(crate) use connection::Client;
pub use connection::Ends;
pub(crate) use notices::end_watch;
use opens::Opens;
use strangers::Strangers;

/// Who may log on, and how. Asked with a name that somebody has made up, and with where they are.
pub type Accounts =
    Arc<dyn Fn(AccountName, IpAddr) -> std::pin::Pin<Box<dyn Future<Output = Admission> + Send>> + Send + Sync>;

/// What an account says to somebody who wants to log on to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Nobody is called so, or nobody logs on so.
    Unknown,
    /// It is not served to that address.
    NotFromThere,
    Known {
        keys: Passwords,
        encryption: Encryption,
        /// Whether security descriptors bind who logs on.
        bound: bool,
    },
}

/// What is handed in.
pub struct Settings {
    pub store: Store,
    /// Who this process is, among those that share the store.
    pub gateway: u128,
    pub accounts: Accounts,
    pub random: lazuli_store::Random,
    pub alarm: Alarm,
    pub encryption: Encryption,
    /// What the server calls itself.
    pub name: String,
    /// Who is told of changes and refusals.
    pub observer: Option<Arc<dyn HandleObserver>>,
}

/// What is bounded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Handles of one process.
    pub opens: usize,
    /// Requests of one connection that are under way.
    pub requests: usize,
    /// Bytes of one connection that are under way, on either side.
    pub bytes: usize,
    /// Answers of one connection that are not written yet. More than requests: so many may wait for others, and the rest is answered still.
    pub answers: usize,
    /// Bytes of all connections that are under way.
    pub pool: usize,
    /// Connections that nobody has logged on to.
    pub strangers: usize,
    pub logon: std::time::Duration,
    /// How long a client may stand still in the middle of a frame, in either direction: a number of looks. If the pool is nearly empty, one.
    pub look: std::time::Duration,
    pub looks: u32,
}

pub(crate) const LIMITS: Limits = Limits {
    opens: 65_536,
    requests: 1024,
    bytes: 64 << 20,
    answers: 2048,
    pool: 128 << 20,
    strangers: 1024,
    logon: std::time::Duration::from_secs(20),
    look: std::time::Duration::from_secs(5),
    looks: 12,
};

/// The longest READ, WRITE or other answer.
const TRANSFER_MAX: u32 = 8 << 20;

/// What was counted, by command and by whether it was done.
#[derive(Debug, Default)]
pub struct Counts {
    done: [AtomicU64; 19],
    refused: [AtomicU64; 19],
    pub bytes_in: AtomicU64,
    pub bytes_out: AtomicU64,
    pub connections: AtomicU64,
    pub breaks: AtomicU64,
}

impl Counts {
    pub(crate) fn count(&self, command: u16, status: Status) {
        let row = if status.is_error() { &self.refused } else { &self.done };
        if let Some(count) = row.get(usize::from(command)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Of each command, how often it was done and how often refused.
    pub fn read(&self) -> impl Iterator<Item = (crate::packet::Command, u64, u64)> + '_ {
        let load = |counts: &[AtomicU64; 19], at: usize| counts[at].load(Ordering::Relaxed);
        let rows = crate::packet::Command::KNOWN.iter().enumerate();
        rows.map(move |(at, command)| (*command, load(&self.done, at), load(&self.refused, at)))
    }
}

pub struct Gateway {
    pub(crate) store: Store,
    pub(crate) id: u128,
    pub(crate) policy: Policy,
    pub(crate) name: String,
    accounts: Accounts,
    random: lazuli_store::Random,
    pub(crate) alarm: Alarm,
    /// Read by all that signs, seals and verifies, at the same time.
    sessions: RwLock<Sessions>,
    /// Held by who tells notices.
    telling: tokio::sync::Mutex<()>,
    opens: Mutex<Opens>,
    clients: Mutex<HashMap<ConnectionId, Weak<Client>>>,
    next: AtomicU64,
    strangers: Arc<Strangers>,
    pool: Arc<tokio::sync::Semaphore>,
    pub(crate) observer: Option<Arc<dyn HandleObserver>>,
    pub counts: Counts,
}

impl Gateway {
    pub fn new(settings: Settings) -> Arc<Self> {
        let now = FileTime::from(settings.store.now());
        let policy = Policy {
            server: (settings.random)().to_le_bytes(),
            started: now,
            encryption: settings.encryption,
            transfer_max: TRANSFER_MAX,
        };
        Arc::new(Self {
            store: settings.store,
            id: settings.gateway,
            policy,
            name: settings.name,
            accounts: settings.accounts,
            random: settings.random,
            alarm: settings.alarm,
            sessions: RwLock::default(),
            telling: tokio::sync::Mutex::default(),
            opens: Mutex::default(),
            clients: Mutex::default(),
            next: AtomicU64::new(1),
            strangers: Arc::new(Strangers::new(LIMITS.strangers)),
            pool: Arc::new(tokio::sync::Semaphore::new(LIMITS.pool)),
            observer: settings.observer,
            counts: Counts::default(),
        })
    }

    /// A share of the memory for what is under way.
    async fn room(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Close> {
        let bytes = u32::try_from(bytes.min(LIMITS.pool)).unwrap_or(u32::MAX);
        self.pool.clone().acquire_many_owned(bytes).await.map_err(|_| Close::Exhausted)
    }

    /// The time between two looks at a client that stands still.
    async fn pause(&self) {
        (self.alarm)(LIMITS.look).await;
    }

    /// Whether a client that stood still at so many looks is to be left: sooner if others wait for the memory that it holds.
    fn is_too_long(&self, looks: u32) -> bool {
        looks >= LIMITS.looks || self.pool.available_permits() < LIMITS.pool / 8
    }

    pub(crate) fn now(&self) -> FileTime {
        self.store.now().into()
    }

    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn sessions(&self) -> RwLockReadGuard<'_, Sessions> {
        self.sessions.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn sessions_mut(&self) -> RwLockWriteGuard<'_, Sessions> {
        self.sessions.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn opens(&self) -> MutexGuard<'_, Opens> {
        self.opens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<ConnectionId, Weak<Client>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection of a session, if it has one.
    pub(crate) fn client_of(&self, session: u64) -> Option<Arc<Client>> {
        let connections: Vec<ConnectionId> = self.sessions().get(session)?.connections().collect();
        let clients = self.clients();
        connections.iter().find_map(|id| clients.get(id).and_then(Weak::upgrade))
    }

    /// The first connection of a client, among those on which the account is logged on.
    pub(crate) fn first_client(&self, guid: u128, account: &str) -> Option<Arc<Client>> {
        let clients: Vec<Arc<Client>> = self.clients().values().filter_map(Weak::upgrade).collect();
        let is_its = |client: &&Arc<Client>| {
            client.with_connection(|connection| {
                connection.agreed().is_some_and(|agreed| u128::from_le_bytes(agreed.client) == guid)
            })
        };
        let mut its: Vec<&Arc<Client>> = clients.iter().filter(is_its).collect();
        its.sort_by_key(|client| client.id);
        let sessions = self.sessions();
        its.into_iter().find(|client| sessions.is_on(client.id, account)).cloned()
    }

    pub(crate) async fn admission(&self, name: &str, peer: IpAddr) -> Admission {
        match AccountName::parse(name) {
            Ok(name) => (self.accounts)(name, peer).await,
            Err(_) => Admission::Unknown,
        }
    }

    /// Random bytes for a negotiation.
    pub(crate) fn salt(&self) -> [u8; 32] {
        let (one, two) = ((self.random)().to_le_bytes(), (self.random)().to_le_bytes());
        std::array::from_fn(|at| if at < 16 { one[at] } else { two[at - 16] })
    }

    /// Random bytes for a logon.
    pub(crate) fn challenge(&self) -> [u8; 8] {
        ((self.random)() as u64).to_le_bytes()
    }

    /// How many handles are open.
    pub fn open_handles(&self) -> usize {
        self.opens().len()
    }
}

#[cfg(test)]
mod tests;
