//! Connections that nobody has logged on to. There is room for so many, and one more takes the place of the oldest: connections that say nothing
//! keep nobody from logging on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::session::ConnectionId;

#[derive(Debug)]
pub(super) struct Strangers {
    most: usize,
    /// From the oldest to the newest.
    waiting: Mutex<BTreeMap<ConnectionId, Arc<Notify>>>,
}

/// A connection's place among them, until it is dropped.
#[derive(Debug)]
pub(super) struct Stranger {
    of: Arc<Strangers>,
    id: ConnectionId,
    replaced: Arc<Notify>,
}

impl Strangers {
    pub fn new(most: usize) -> Self {
        Self { most, waiting: Mutex::default() }
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<ConnectionId, Arc<Notify>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn enter(self: &Arc<Self>, id: ConnectionId) -> Stranger {
        let replaced = Arc::new(Notify::new());
        let mut waiting = self.waiting();
        waiting.insert(id, replaced.clone());
        if waiting.len() > self.most
            && let Some((_, oldest)) = waiting.pop_first()
        {
            oldest.notify_one();
        }
        Stranger { of: self.clone(), id, replaced }
    }
}

impl Stranger {
    /// Ends if a newer one has taken the place.
    pub async fn left_out(&self) {
        self.replaced.notified().await;
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.of.waiting().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_oldest_makes_room() {
        let strangers = Arc::new(Strangers::new(2));
        let enter = |id| strangers.enter(ConnectionId(id));
        let (first, second, third) = (enter(1), enter(2), enter(3));
        first.left_out().await;
        drop(third);
        let fourth = enter(4);
        assert_eq!(strangers.waiting().len(), 2);
        drop((first, second, fourth));
        assert!(strangers.waiting().is_empty());
    }
}
