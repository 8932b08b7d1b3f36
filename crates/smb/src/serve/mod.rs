//! The gateway: sockets on one side, the store on the other.
//!
//! * `connection`: a task that reads frames, one that writes them, and a task for each compound, so that no request waits for another.
//! * `dispatch`: the messages of a compound, one after the other, each to its command.
//! * `opens`: what clients hold open here. Share modes, locks and caches are in the store's rows; this is what only the protocol knows.
//! * `pending`: answers that are announced, and come later.
//! * `notices`: what the store has to tell clients.
//!
//! Held true: nothing is done for a request before `session` has let it in; what is under way is bounded for each connection, and before a
//! logon by a small number.

mod connection;
pub(crate) mod dispatch;
mod notices;
pub(crate) mod opens;
pub(crate) mod pending;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use lazuli_model::AccountName;
use lazuli_store::{Alarm, Store};

use crate::logon::Passwords;
use crate::session::negotiation::Encryption;
use crate::session::{ConnectionId, Policy, Sessions};
use crate::status::Status;
use crate::time::FileTime;
pub(crate) use connection::Client;
pub(crate) use notices::end_watch;
use opens::Opens;

/// Who may log on, and how. Asked with a name that somebody has made up.
pub type Accounts =
    Arc<dyn Fn(AccountName) -> std::pin::Pin<Box<dyn Future<Output = Option<Passwords>> + Send>> + Send + Sync>;

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
    /// Connections that nobody has logged on to.
    pub strangers: usize,
    pub logon: std::time::Duration,
}

pub(crate) const LIMITS: Limits = Limits {
    opens: 65_536,
    requests: 1024,
    bytes: 64 << 20,
    strangers: 1024,
    logon: std::time::Duration::from_secs(20),
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
    sessions: Mutex<Sessions>,
    opens: Mutex<Opens>,
    clients: Mutex<HashMap<ConnectionId, Weak<Client>>>,
    next: AtomicU64,
    strangers: Arc<tokio::sync::Semaphore>,
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
            sessions: Mutex::default(),
            opens: Mutex::default(),
            clients: Mutex::default(),
            next: AtomicU64::new(1),
            strangers: Arc::new(tokio::sync::Semaphore::new(LIMITS.strangers)),
            counts: Counts::default(),
        })
    }

    pub(crate) fn now(&self) -> FileTime {
        self.store.now().into()
    }

    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// The keys of an account, in either of which a client may log on.
    pub(crate) async fn passwords(&self, name: &str) -> Option<Passwords> {
        (self.accounts)(AccountName::parse(name).ok()?).await
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
