//! What a probe of the engine sees, without a transaction and without waiting for one.

use std::sync::TryLockError;

use super::Embedded;
use super::free_space::Allowance;
use super::keys::Keys;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Health {
    /// False after [`Embedded::close`], and between a failure and the reopening that ends it.
    pub is_open: bool,
    /// Whether writes are taken. When not, those that free something still are.
    pub has_room: bool,
}

impl Embedded {
    pub fn health(&self) -> Health {
        match self.shared.keys.try_read() {
            Ok(keys) => self.health_of(keys.as_ref()),
            Err(TryLockError::Poisoned(keys)) => self.health_of(keys.into_inner().as_ref()),
            // Held only by a reopening and by the close.
            Err(TryLockError::WouldBlock) => self.health_of(None),
        }
    }

    fn health_of(&self, keys: Option<&Keys>) -> Health {
        let buffered = keys.map_or(0, Keys::buffered_bytes);
        let room = self.shared.probe.ask(self.shared.directory.path());
        // Not knowing is no reason to refuse: the writer does not either.
        let has_room = room.map_or(true, |room| Allowance::new(room, buffered).take(1, false));
        Health { is_open: keys.is_some(), has_room }
    }
}
