//! When a piece may be given back: not while a pin lives that is older than the wish.
//!
//! Every wish to free ends an epoch. A pin belongs to the epoch in which it was taken, and a wish is granted
//! when no pin of its epoch or an earlier one is left; so wishes are granted in order.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use super::Pin;

pub(crate) struct Pins {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    epoch: u64,
    held: BTreeMap<u64, usize>,
    waiting: VecDeque<(u64, Wish)>,
}

type Wish = Box<dyn FnOnce() + Send>;

struct Held {
    pins: Arc<Pins>,
    epoch: u64,
}

impl Pins {
    pub fn new() -> Arc<Self> {
        Arc::new(Self { state: Mutex::default() })
    }

    pub fn pin(self: &Arc<Self>) -> Pin {
        let epoch = self.with(|state| {
            *state.held.entry(state.epoch).or_default() += 1;
            state.epoch
        });
        Pin(Box::new(Held { pins: self.clone(), epoch }))
    }

    /// Runs `wish` once no pin is older than this call: at once, or when the last such pin goes.
    pub fn when_unpinned(&self, wish: impl FnOnce() + Send + 'static) {
        self.with(|state| {
            state.waiting.push_back((state.epoch, Box::new(wish)));
            state.epoch += 1;
        });
        self.grant();
    }

    /// Whether no wish waits.
    pub fn idle(&self) -> bool {
        self.with(|state| state.waiting.is_empty())
    }

    fn grant(&self) {
        // One at a time and outside the lock: a wish may take its time, and may itself wish.
        while let Some(wish) = self.with(State::next_granted) {
            wish();
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    fn next_granted(&mut self) -> Option<Wish> {
        let oldest_pin = self.held.keys().next().copied().unwrap_or(u64::MAX);
        let granted = self.waiting.front().is_some_and(|(epoch, _)| *epoch < oldest_pin);
        if granted { self.waiting.pop_front().map(|(_, wish)| wish) } else { None }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.pins.with(|state| {
            if let Some(count) = state.held.get_mut(&self.epoch) {
                *count -= 1;
                if *count == 0 {
                    state.held.remove(&self.epoch);
                }
            }
        });
        self.pins.grant();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    #[test]
    fn a_wish_waits_for_older_pins_only() {
        let pins = Pins::new();
        let granted = Arc::new(AtomicUsize::new(0));
        let wish = || {
            let granted = granted.clone();
            pins.when_unpinned(move || {
                granted.fetch_add(1, SeqCst);
            });
        };
        wish();
        assert_eq!(granted.load(SeqCst), 1, "no pin, no wait");

        let first = pins.pin();
        wish();
        let second = pins.pin();
        wish();
        assert_eq!(granted.load(SeqCst), 1);
        drop(first);
        assert_eq!(granted.load(SeqCst), 2, "the second pin is younger than the first wish");
        let third = pins.pin();
        drop(second);
        assert_eq!(granted.load(SeqCst), 3, "the third pin is younger than both");
        drop(third);
    }

    #[test]
    fn pins_dropped_out_of_order_hold_back_what_they_should() {
        let pins = Pins::new();
        let granted = Arc::new(AtomicUsize::new(0));
        let (first, second) = (pins.pin(), pins.pin());
        let seen = granted.clone();
        pins.when_unpinned(move || {
            seen.fetch_add(1, SeqCst);
        });
        drop(second);
        assert_eq!(granted.load(SeqCst), 0);
        drop(first);
        assert_eq!(granted.load(SeqCst), 1);
    }
}
