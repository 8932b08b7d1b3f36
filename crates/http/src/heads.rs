//! Memory for request heads that are long and not complete. A sender is not authenticated before its head is complete, so all that
//! unauthenticated senders can hold comes from one pool. A connection that finds the pool empty is not read until another head is
//! complete, refused, or has timed out.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A longer head is refused with 431.
pub const HEAD_MAX: usize = 64 << 10;
/// So much of a head each connection may have by itself.
const OWN_BYTES: usize = 8 << 10;
/// What the longer ones have together.
const POOL_BYTES: usize = 64 << 20;
/// What one of them may take: a buffer grows by doubling, and has room for the next read.
const ONE_BYTES: usize = 4 * HEAD_MAX;

#[derive(Clone)]
pub struct Heads(Arc<Semaphore>);

/// A place in the pool.
#[derive(Debug)]
pub struct Room(#[expect(dead_code, reason = "it is held")] OwnedSemaphorePermit);

/// On the way to one.
pub type Entering = Pin<Box<dyn Future<Output = Option<Room>> + Send>>;

impl Default for Heads {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(POOL_BYTES / ONE_BYTES)))
    }
}

impl Heads {
    /// Whether a head of which so much has come needs a place to go on.
    pub fn is_long(bytes: usize) -> bool {
        bytes >= OWN_BYTES
    }

    /// A place in the pool; `entering` is where it waits.
    pub fn poll_enter(&self, entering: &mut Option<Entering>, cx: &mut Context<'_>) -> Poll<Option<Room>> {
        if entering.is_none()
            && let Ok(permit) = self.0.clone().try_acquire_owned()
        {
            return Poll::Ready(Some(Room(permit)));
        }
        let pool = self.0.clone();
        let waiting = entering.get_or_insert_with(|| Box::pin(async { pool.acquire_owned().await.ok().map(Room) }));
        let room = std::task::ready!(waiting.as_mut().poll(cx));
        *entering = None;
        Poll::Ready(room)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn the_pool_has_an_end_and_is_waited_for() {
        let heads = Heads::default();
        let mut cx = Context::from_waker(Waker::noop());
        let mut enter = |entering: &mut Option<Entering>| match heads.poll_enter(entering, &mut cx) {
            Poll::Ready(room) => room,
            Poll::Pending => None,
        };
        let mut rooms: Vec<Room> = std::iter::from_fn(|| enter(&mut None)).collect();
        assert_eq!(rooms.len(), 256);
        let mut entering = None;
        assert!(enter(&mut entering).is_none());
        rooms.pop();
        assert!(enter(&mut entering).is_some());
        assert!(entering.is_none());
    }
}
