//! Page-aligned buffers, used again: a fresh megabyte costs more in page faults than the copy into it. Those of uploads come from a
//! pool of a stated size; an upload that finds no room in it goes on with a short buffer, or waits for one.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::layout::PAGE;

/// How many idle buffers are kept. Beyond that they go back to the allocator.
const IDLE_MAX: usize = 32;

pub(crate) struct Buffers {
    size: usize,
    idle: Mutex<Vec<Vec<u8>>>,
}

/// `size` bytes that begin on a page. Holds whatever its last user left in it.
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    size: usize,
    home: Option<Arc<Buffers>>,
    /// Its share of a pool.
    share: Option<OwnedSemaphorePermit>,
}

/// Buffers that have no more than so many bytes together. A quarter is for short ones alone, so that a few who hold long ones for
/// long do not keep everybody else from going on in short steps.
pub(crate) struct Pool {
    buffers: Arc<Buffers>,
    long: Arc<Semaphore>,
    short: Arc<Semaphore>,
}

/// What a pool is divided into.
const SHARE: usize = 4096;

impl Pool {
    pub fn new(buffers: Arc<Buffers>, bytes: usize) -> Self {
        let (long, short) = Self::parts(bytes);
        Self { buffers, long: Arc::new(Semaphore::new(long)), short: Arc::new(Semaphore::new(short)) }
    }

    fn parts(bytes: usize) -> (usize, usize) {
        let all = bytes / SHARE;
        (all - all / 4, all / 4)
    }

    /// A long buffer of at least `size` bytes, if there is room for it.
    pub fn try_take(&self, size: usize) -> Option<Buffer> {
        let share = self.long.clone().try_acquire_many_owned(self.shares(size)).ok()?;
        Some(self.take_as(size, share))
    }

    /// A short one, once there is room for it. A caller that waits here may not hold another buffer, which nobody else could give back.
    pub async fn take_short(&self, size: usize) -> Buffer {
        let share = self.short.clone().acquire_many_owned(self.shares(size)).await;
        self.take_as(size, share.expect("a pool is never closed"))
    }

    fn take_as(&self, size: usize, share: OwnedSemaphorePermit) -> Buffer {
        let mut buffer = self.buffers.take(size);
        buffer.share = Some(share);
        buffer
    }

    fn shares(&self, size: usize) -> u32 {
        self.buffers.granted(size).div_ceil(SHARE) as u32
    }

    #[cfg(test)]
    pub fn has_short(&self) -> bool {
        self.short.available_permits() >= 20
    }

    #[cfg(test)]
    pub fn is_whole(&self, bytes: usize) -> bool {
        (self.long.available_permits(), self.short.available_permits()) == Self::parts(bytes)
    }
}

impl Buffers {
    /// A pool of buffers of `size` bytes each.
    pub fn new(size: usize) -> Arc<Self> {
        Arc::new(Self { size, idle: Mutex::default() })
    }

    /// How long a buffer is that is asked for with `size`.
    fn granted(&self, size: usize) -> usize {
        if size <= self.size / 4 || size > self.size { size } else { self.size }
    }

    /// A buffer of at least `size` bytes: a used one if that is not far too large.
    pub fn take(self: &Arc<Self>, size: usize) -> Buffer {
        if self.granted(size) == size && size != self.size {
            return Buffer::new(vec![0; size + PAGE as usize], size, None);
        }
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let bytes = idle.unwrap_or_else(|| vec![0; self.size + PAGE as usize]);
        Buffer::new(bytes, self.size, Some(self.clone()))
    }
}

impl Buffer {
    fn new(bytes: Vec<u8>, size: usize, home: Option<Arc<Buffers>>) -> Self {
        let start = bytes.as_ptr().align_offset(PAGE as usize);
        Self { bytes, start, size, home, share: None }
    }

    pub fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.size]
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.size]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(home) = &self.home {
            let mut idle = home.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < IDLE_MAX {
                idle.push(std::mem::take(&mut self.bytes));
            }
        }
    }
}
