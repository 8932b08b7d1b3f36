//! Work that becomes a task of its own when its caller goes away: a write that has begun is finished though its client hangs up.
//!
//! To spawn a task for each request would do, and costs two wake-ups of other threads. So the work is polled in the caller's task,
//! and is spawned only when the caller drops it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

/// Does `work` here; what is left of it when this is dropped goes on as a task of the runtime.
pub fn detach_on_drop<F>(work: F) -> DetachOnDrop<F>
where
    F: Future<Output: Send> + Send + 'static,
{
    DetachOnDrop(Some(Box::pin(work)))
}

pub struct DetachOnDrop<F: Future<Output: Send> + Send + 'static>(Option<Pin<Box<F>>>);

impl<F: Future<Output: Send> + Send + 'static> Future for DetachOnDrop<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // Taken out, so that work which panics is not polled again.
        let mut work = self.0.take().expect("not polled after its end");
        let polled = work.as_mut().poll(context);
        if polled.is_pending() {
            self.0 = Some(work);
        }
        polled
    }
}

impl<F: Future<Output: Send> + Send + 'static> Drop for DetachOnDrop<F> {
    fn drop(&mut self) {
        // Without a runtime the process is at its end.
        if let (Some(rest), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn what_was_begun_is_ended_whether_or_not_somebody_waits() {
        for waits in [true, false] {
            let (go_on, wait) = oneshot::channel::<()>();
            let (done, seen) = oneshot::channel();
            let mut work = detach_on_drop(async move {
                let _ = wait.await;
                let _ = done.send("done");
            });
            let begun = std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut work).poll(context))).await;
            assert!(begun.is_pending());
            let waiting = waits.then_some(work);
            go_on.send(()).expect("somebody goes on");
            if let Some(work) = waiting {
                work.await;
            }
            assert_eq!(seen.await, Ok("done"), "{waits}");
        }
    }
}
