//! Page-aligned buffers, used again: a fresh megabyte costs more in page faults than the copy into it.

use std::sync::{Arc, Mutex, PoisonError};

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
}

impl Buffers {
    /// A pool of buffers of `size` bytes each.
    pub fn new(size: usize) -> Arc<Self> {
        Arc::new(Self { size, idle: Mutex::default() })
    }

    /// A buffer of at least `size` bytes: a pooled one if it is not far too large.
    pub fn take(self: &Arc<Self>, size: usize) -> Buffer {
        if size <= self.size / 4 || size > self.size {
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
        Self { bytes, start, size, home }
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
