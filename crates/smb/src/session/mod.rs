//! The rules of connections and sessions, as values and pure functions.
//!
//! * `negotiation`: what a client offers, and what it gets.
//! * `credits`: how many requests may be under way, and which message ids they may have.
//! * `protection`: what has to be signed or sealed. From a session that has a key, nothing weaker than signing is accepted.
//! * `setup`: what a SESSION_SETUP wants, and what becomes of its session.
//! * `answers`: answers, signed or sealed, as a frame.
//! * `connection`: all of this together, from a frame to its requests and from answers to a frame.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::crypt::{Cipher, Keys, Opener, Preauth, Sealer, SigningAlgorithm, SigningKey};
use crate::time::FileTime;

pub mod answers;
pub mod connection;
pub mod credits;
pub mod negotiation;
pub mod protection;
pub mod setup;

pub use answers::Answers;
pub use connection::{Close, Connection, Received, Reply};
pub use credits::Window;
pub use negotiation::{Agreed, Policy};

/// Who a connection is, among those of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// A session that somebody has logged on to.
#[derive(Debug)]
pub struct Session {
    pub id: u64,
    pub account: String,
    pub agreed: Agreed,
    /// Everything in both directions is sealed.
    pub encrypted: bool,
    /// The client has said that it is nobody: what it has open goes on, and it opens nothing.
    pub nobody: bool,
    /// When the client has to log on again.
    pub expires: Option<FileTime>,
    /// One for all channels, so that no nonce is used twice.
    pub sealer: Option<Arc<Sealer>>,
    pub opener: Option<Opener>,
    /// What a connection signs with that is about to become a channel: the key of the first one.
    first: Arc<SigningKey>,
    channels: BTreeMap<ConnectionId, Arc<SigningKey>>,
    trees: BTreeMap<u32, Tree>,
    next_tree: u32,
}

/// Where a share is connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    pub share: String,
    /// IPC$, with its pipes, and not a share of files.
    pub pipes: bool,
    /// Everything that concerns it is sealed.
    pub encrypted: bool,
    /// Security descriptors say what its client may do.
    pub bound: bool,
}

/// Ended sessions that are remembered.
const ENDED_MAX: usize = 256;

/// No session has more trees at a time.
pub const TREES_MAX: usize = 1024;

impl Session {
    /// `key` is what the logon left; `preauth` is the hash over all messages up to the client's last.
    pub fn new(
        id: u64,
        account: String,
        agreed: Agreed,
        encrypted: bool,
        key: [u8; 16],
        preauth: &Preauth,
        connection: ConnectionId,
    ) -> Self {
        let keys = Keys::new(agreed.dialect, key, preauth, agreed.cipher);
        let sealed = agreed.cipher.map(|cipher| (cipher, &keys));
        let sealer = sealed.map(|(cipher, keys): (Cipher, &Keys)| Arc::new(Sealer::new(cipher, &keys.server, id)));
        let opener = sealed.map(|(cipher, keys)| Opener::new(cipher, &keys.client));
        let signing = || Arc::new(SigningKey::new(agreed.signing, &keys.signing));
        let (first, channels) = (signing(), BTreeMap::from([(connection, signing())]));
        Self {
            id,
            account,
            agreed,
            encrypted,
            nobody: false,
            expires: None,
            sealer,
            opener,
            first,
            channels,
            trees: BTreeMap::new(),
            next_tree: 1,
        }
    }

    /// Another connection becomes a channel of the session: only its signing key is its own ([MS-SMB2] 3.3.5.5.3).
    pub fn bind(&mut self, connection: ConnectionId, signing: SigningAlgorithm, key: [u8; 16], preauth: &Preauth) {
        let keys = Keys::new(self.agreed.dialect, key, preauth, self.agreed.cipher);
        self.channels.insert(connection, Arc::new(SigningKey::new(signing, &keys.signing)));
    }

    /// The key that signs what goes over a connection; `None` if it is no channel of the session.
    pub fn signing(&self, connection: ConnectionId) -> Option<&Arc<SigningKey>> {
        self.channels.get(&connection)
    }

    /// The key for a request to become a channel, which is none yet.
    pub fn binding(&self) -> &Arc<SigningKey> {
        &self.first
    }

    /// The connection is gone. Returns whether the session has any left.
    pub fn unbind(&mut self, connection: ConnectionId) -> bool {
        self.channels.remove(&connection);
        !self.channels.is_empty()
    }

    /// Its channels.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionId> + '_ {
        self.channels.keys().copied()
    }

    pub fn is_expired(&self, now: FileTime) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// An id that no other tree of the session has or has had.
    pub fn connect(&mut self, tree: Tree) -> Option<u32> {
        if self.trees.len() == TREES_MAX {
            return None;
        }
        let id = self.next_tree;
        self.next_tree = self.next_tree.checked_add(1)?;
        self.trees.insert(id, tree);
        Some(id)
    }

    pub fn tree(&self, id: u32) -> Option<&Tree> {
        self.trees.get(&id)
    }

    pub fn disconnect(&mut self, id: u32) -> Option<Tree> {
        self.trees.remove(&id)
    }
}

/// All sessions of a gateway, whatever the connection.
#[derive(Debug, Default)]
pub struct Sessions {
    by_id: BTreeMap<u64, Session>,
    last: u64,
    /// Those that ended last: their clients hear of it in answers that are signed.
    ended: VecDeque<Session>,
}

impl Sessions {
    /// An id that no session has or has had.
    pub fn new_id(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub fn get(&self, id: u64) -> Option<&Session> {
        self.by_id.get(&id)
    }

    /// One that has ended lately.
    pub fn ended(&self, id: u64) -> Option<&Session> {
        self.ended.iter().find(|session| session.id == id)
    }

    /// A session ends, and its connection does not. False if there is none.
    pub fn end(&mut self, id: u64) -> bool {
        let Some(session) = self.by_id.remove(&id) else { return false };
        if self.ended.len() == ENDED_MAX {
            self.ended.pop_front();
        }
        self.ended.push_back(session);
        true
    }

    /// One that is there, or has ended lately: it seals what its client is told of that.
    pub fn still(&self, id: u64) -> Option<&Session> {
        self.get(id).or_else(|| self.ended(id))
    }

    pub fn get_mut(&mut self, id: u64) -> Option<&mut Session> {
        self.by_id.get_mut(&id)
    }

    /// Whether an account is logged on over a connection.
    pub fn is_on(&self, connection: ConnectionId, account: &str) -> bool {
        self.by_id.values().any(|session| session.account == account && session.signing(connection).is_some())
    }

    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    pub fn insert(&mut self, session: Session) {
        self.by_id.insert(session.id, session);
    }

    /// A connection is gone, and with it the sessions that had no other.
    pub fn disconnect(&mut self, connection: ConnectionId) -> Vec<Session> {
        let over = |session: &mut Session| session.signing(connection).is_some() && !session.unbind(connection);
        self.by_id.extract_if(.., |_, session| over(session)).map(|(_, session)| session).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::negotiation::tests::agreed;
    use super::*;
    use crate::packet::negotiate::Dialect;

    fn session() -> Session {
        let agreed = agreed(Dialect::Smb311);
        Session::new(7, "account".into(), agreed, false, [1; 16], &Preauth::default(), ConnectionId(1))
    }

    #[test]
    fn a_second_channel_signs_with_a_key_of_its_own() {
        let mut session = session();
        assert!(session.signing(ConnectionId(2)).is_none());
        session.bind(ConnectionId(2), session.agreed.signing, [2; 16], &Preauth::default().then(b"second"));
        let sign = |session: &Session, connection| {
            let mut message = vec![0; 80];
            session.signing(ConnectionId(connection)).expect("a channel").sign(&mut message, &[]);
            message
        };
        assert_ne!(sign(&session, 1), sign(&session, 2));
        assert!(session.unbind(ConnectionId(1)), "one is left");
        assert!(!session.unbind(ConnectionId(2)));
    }

    #[test]
    fn trees_have_ids_that_do_not_come_back() {
        let mut session = session();
        let tree = Tree { share: "share".into(), pipes: false, encrypted: false, bound: false };
        let first = session.connect(tree.clone()).expect("room");
        assert_eq!(session.disconnect(first), Some(tree.clone()));
        assert_eq!(session.disconnect(first), None);
        assert_ne!(session.connect(tree.clone()), Some(first));
        while session.connect(tree.clone()).is_some() {}
        assert_eq!(session.trees.len(), TREES_MAX);
    }

    #[test]
    fn a_session_expires_at_its_time() {
        let mut session = session();
        assert!(!session.is_expired(FileTime(u64::MAX)));
        session.expires = Some(FileTime(5));
        assert!(!session.is_expired(FileTime(4)));
        assert!(session.is_expired(FileTime(5)));
    }
}
