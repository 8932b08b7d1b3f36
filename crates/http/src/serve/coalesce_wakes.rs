//! Coalesces wake-ups: a task that wakes itself while it runs is polled again at once.
//!
//! A connection does that with each body: hyper reads it in one half of the task, the operation takes it in the other, and each half
//! wakes the other. The runtime takes that for a task that yields: it queues the task last, and wakes a second thread to share work
//! that is not there.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering::AcqRel, Ordering::Acquire, Ordering::Release};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// How often it is polled again before other tasks get their turn.
const ROUNDS: usize = 4;

const WAITS: u8 = 0;
const RUNS: u8 = 1;
/// It runs, and was woken while it ran.
const WOKEN: u8 = 2;

pub struct CoalescedWakes<F> {
    work: Pin<Box<F>>,
    state: Arc<Wakes>,
    waker: Waker,
}

struct Wakes {
    phase: AtomicU8,
    /// Of the task, while it waits.
    task: Mutex<Waker>,
}

pub fn coalesce_wakes<F: Future>(work: F) -> CoalescedWakes<F> {
    let state = Arc::new(Wakes { phase: AtomicU8::new(WAITS), task: Mutex::new(Waker::noop().clone()) });
    CoalescedWakes { work: Box::pin(work), waker: state.clone().into(), state }
}

impl Wakes {
    /// Before it runs: which task to wake from now on.
    fn begin(&self, task: &Waker) {
        let mut kept = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.will_wake(task) {
            kept.clone_from(task);
        }
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        match self.phase.compare_exchange(RUNS, WOKEN, AcqRel, Acquire) {
            Ok(_) | Err(WOKEN) => {}
            Err(_) => self.task.lock().unwrap_or_else(PoisonError::into_inner).wake_by_ref(),
        }
    }
}

impl<F: Future> Future for CoalescedWakes<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { work, state, waker } = &mut *self;
        state.begin(context.waker());
        for _ in 0..ROUNDS {
            state.phase.store(RUNS, Release);
            let done = work.as_mut().poll(&mut Context::from_waker(waker));
            if done.is_ready() || state.phase.compare_exchange(RUNS, WAITS, AcqRel, Acquire).is_ok() {
                return done;
            }
        }
        state.phase.store(WAITS, Release);
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// Counts how often the task is woken.
    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    /// Wakes itself `times`, then is done.
    fn restless(times: usize) -> impl Future<Output = usize> {
        let mut polls = 0;
        std::future::poll_fn(move |context| {
            polls += 1;
            if polls > times {
                return Poll::Ready(polls);
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
    }

    #[test]
    fn it_goes_on_by_itself_but_not_for_ever() {
        //         wakes itself  polled by the task  woken
        let table = [(0, 1, 0), (1, 1, 0), (3, 1, 0), (4, 2, 1), (9, 3, 2)];
        for (times, polls, wakes) in table {
            let woken = Arc::new(Woken::default());
            let waker = Waker::from(woken.clone());
            let mut work = coalesce_wakes(restless(times));
            let mut polled = 1;
            while Pin::new(&mut work).poll(&mut Context::from_waker(&waker)).is_pending() {
                polled += 1;
            }
            assert_eq!((polled, woken.0.load(Relaxed)), (polls, wakes), "{times} times");
        }
    }

    /// A wake-up while it waits wakes the task that polled it last.
    #[test]
    fn others_wake_the_task() {
        let inner = Arc::new(Mutex::new(Waker::noop().clone()));
        let kept = inner.clone();
        let mut work = coalesce_wakes(std::future::poll_fn(move |context| {
            kept.lock().unwrap().clone_from(context.waker());
            Poll::<()>::Pending
        }));
        let tasks = [Arc::new(Woken::default()), Arc::new(Woken::default())];
        for task in &tasks {
            let waker = Waker::from(task.clone());
            assert!(Pin::new(&mut work).poll(&mut Context::from_waker(&waker)).is_pending());
            inner.lock().unwrap().wake_by_ref();
        }
        assert_eq!(tasks.map(|task| task.0.load(Relaxed)), [1, 1]);
    }
}
