//! Who is connected, and who makes room. There are so many places. When they are taken, the connection that has been quiet the longest is
//! ended for the next one: connections that do nothing keep nobody out.
//!
//! Quiet is a client that has neither taken anything of an answer nor sent a good part of a request. What comes by the byte does not count.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

/// What a client has to send to be heard.
const HEARD: u64 = 16 << 10;
/// How often it is looked whether somebody has become quiet.
const LOOK: Duration = Duration::from_millis(250);

pub struct Crowd {
    pub places: Arc<Semaphore>,
    /// Who has been quiet for less is not asked to leave.
    quiet: Duration,
    began: Instant,
    next: AtomicU64,
    seats: Mutex<BTreeMap<u64, Arc<Seat>>>,
}

struct Seat {
    /// When it was not quiet last, in milliseconds.
    heard: AtomicU64,
    leaves: Notify,
}

/// A connection's place, until it is dropped.
pub struct Place {
    crowd: Arc<Crowd>,
    number: u64,
    seat: Arc<Seat>,
    _permit: OwnedSemaphorePermit,
}

impl Crowd {
    pub fn new(places: usize, quiet: Duration) -> Arc<Self> {
        Arc::new(Self {
            places: Arc::new(Semaphore::new(places)),
            quiet,
            began: Instant::now(),
            next: AtomicU64::new(0),
            seats: Mutex::default(),
        })
    }

    fn seats(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Seat>>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// A free place, for the next connection. `None` when the process ends.
    pub async fn free(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = self.places.clone().try_acquire_owned() {
            return Some(permit);
        }
        loop {
            self.make_room();
            if let Ok(permit) = timeout(LOOK, self.places.clone().acquire_owned()).await {
                return permit.ok();
            }
        }
    }

    /// Asks the one to leave that has been quiet the longest.
    fn make_room(&self) {
        let mut seats = self.seats();
        let quietest = seats.iter().min_by_key(|(_, seat)| seat.heard.load(Relaxed));
        let Some((number, heard)) = quietest.map(|(number, seat)| (*number, seat.heard.load(Relaxed))) else { return };
        if u128::from(self.now().saturating_sub(heard)) < self.quiet.as_millis() {
            return;
        }
        if let Some(seat) = seats.remove(&number) {
            seat.leaves.notify_one();
        }
    }

    pub fn seat(self: &Arc<Self>, permit: OwnedSemaphorePermit) -> Place {
        let number = self.next.fetch_add(1, Relaxed);
        let seat = Arc::new(Seat { heard: AtomicU64::new(self.now()), leaves: Notify::new() });
        self.seats().insert(number, seat.clone());
        Place { crowd: self.clone(), number, seat, _permit: permit }
    }
}

impl Place {
    /// Ends when the connection has to make room.
    pub async fn leaves(&self) {
        self.seat.leaves.notified().await;
    }

    pub fn watch<S>(&self, stream: S) -> Watched<S> {
        Watched { stream, crowd: self.crowd.clone(), seat: self.seat.clone(), unheard: 0 }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.crowd.seats().remove(&self.number);
    }
}

/// A connection's stream, which tells when it was not quiet.
pub struct Watched<S> {
    stream: S,
    crowd: Arc<Crowd>,
    seat: Arc<Seat>,
    /// Bytes that have come and did not count yet.
    unheard: u64,
}

impl<S> Watched<S> {
    fn heard(&self) {
        self.seat.heard.store(self.crowd.now(), Relaxed);
    }

    fn sent(&self, sent: &Poll<io::Result<usize>>) {
        if matches!(sent, Poll::Ready(Ok(1..))) {
            self.heard();
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(cx, buf);
        this.unheard += (buf.filled().len() - before) as u64;
        if this.unheard >= HEARD {
            this.unheard = 0;
            this.heard();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let sent = Pin::new(&mut this.stream).poll_write(cx, buf);
        this.sent(&sent);
        sent
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let sent = Pin::new(&mut this.stream).poll_write_vectored(cx, bufs);
        this.sent(&sent);
        sent
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const QUIET: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn the_quietest_makes_room() {
        let crowd = Crowd::new(3, QUIET);
        let mut places = Vec::new();
        for _ in 0..3 {
            places.push(crowd.seat(crowd.free().await.unwrap()));
        }
        let (mut first, mut far) = duplex(1 << 20);
        tokio::time::advance(Duration::from_secs(2)).await;
        // The first takes an answer, the second sends much, the third sends a byte.
        places[0].watch(&mut first).write_all(b"answer").await.unwrap();
        far.write_all(&vec![0; HEARD as usize]).await.unwrap();
        places[1].watch(&mut first).read_exact(&mut vec![0; HEARD as usize]).await.unwrap();
        far.write_all(b"x").await.unwrap();
        places[2].watch(&mut first).read_exact(&mut [0]).await.unwrap();
        assert!(timeout(Duration::from_secs(2), crowd.free()).await.is_err(), "nobody has been quiet for so long");
        let third = places.pop().unwrap();
        let leaving = tokio::spawn(async move { third.leaves().await });
        let fourth = crowd.seat(crowd.free().await.unwrap());
        leaving.await.unwrap();
        drop((places, fourth));
        assert_eq!((crowd.places.available_permits(), crowd.seats().len()), (3, 0));
    }
}
