//! An engine and a content store that break now and then: a call that never arrives, a commit that nobody is told of, a read or a
//! write that fails. What they do is drawn from the seed.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use lazuli_engine::content::{Chunks, Content, Piece, Recovery, Stage, Staged};
use lazuli_engine::{BoxFuture, Engine, Fault, Job, Partition, Space, Stamp, Txn, Verdict, Want};

use crate::chance::Chance;

#[derive(Clone)]
pub struct Dice(Arc<(Mutex<Chance>, usize)>);

impl Dice {
    /// `per_mille` times in a thousand.
    pub fn new(seed: u64, per_mille: usize) -> Self {
        Self(Arc::new((Mutex::new(Chance::new(seed)), per_mille)))
    }

    fn fall(&self) -> bool {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).below(1000) < self.0.1
    }
}

fn broken() -> Fault {
    Fault::Unavailable("the simulated machine broke".into())
}

pub struct Breaking<T> {
    pub inner: T,
    pub dice: Dice,
}

/// Tells a fault, though all went well.
struct Untold(Box<dyn Job>);

impl Job for Untold {
    fn wants(&self) -> Vec<Want> {
        self.0.wants()
    }

    fn run(&mut self, txn: &mut Txn<'_>) -> Verdict {
        self.0.run(txn)
    }

    fn settle(self: Box<Self>, _fate: Result<(), Fault>) {
        self.0.settle(Err(broken()));
    }
}

impl<E: Engine> Engine for Breaking<E> {
    fn submit(&self, at: Partition, job: Box<dyn Job>) {
        if self.dice.fall() {
            job.settle(Err(broken()));
        } else if self.dice.fall() {
            self.inner.submit(at, Box::new(Untold(job)));
        } else {
            self.inner.submit(at, job);
        }
    }

    fn look<'a>(
        &'a self,
        at: &'a Partition,
        look: &'a mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
    ) -> BoxFuture<'a, Result<(), Fault>> {
        if self.dice.fall() {
            return Box::pin(async { Err(broken()) });
        }
        self.inner.look(at, look)
    }

    fn scan<'a>(
        &'a self,
        space: Space,
        scan: &'a mut (dyn FnMut(&mut Txn<'_>) -> Verdict + Send),
    ) -> BoxFuture<'a, Result<(), Fault>> {
        if self.dice.fall() {
            return Box::pin(async { Err(broken()) });
        }
        self.inner.scan(space, scan)
    }

    fn now(&self) -> Stamp {
        self.inner.now()
    }

    fn fence(&self, gateway: u128) -> BoxFuture<'_, Result<(), Fault>> {
        self.inner.fence(gateway)
    }
}

impl<C: Content> Content for Breaking<C> {
    fn stage(&self, expected: Option<u64>) -> Box<dyn Stage> {
        Box::new(BreakingStage { inner: self.inner.stage(expected), dice: self.dice.clone() })
    }

    fn read(&self, piece: Piece, from: u64, to: u64) -> Box<dyn Chunks> {
        Box::new(BreakingChunks { inner: self.inner.read(piece, from, to), dice: self.dice.clone() })
    }

    fn free(&self, pieces: Vec<Piece>) -> BoxFuture<'static, ()> {
        self.inner.free(pieces)
    }

    fn recovery(&self) -> Option<&dyn Recovery> {
        self.inner.recovery()
    }
}

struct BreakingStage {
    inner: Box<dyn Stage>,
    dice: Dice,
}

impl Stage for BreakingStage {
    fn write(&mut self, bytes: Bytes) -> BoxFuture<'_, Result<(), Fault>> {
        if self.dice.fall() {
            return Box::pin(async { Err(broken()) });
        }
        self.inner.write(bytes)
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<Staged, Fault>> {
        if self.dice.fall() {
            return Box::pin(async { Err(broken()) });
        }
        self.inner.finish()
    }
}

struct BreakingChunks {
    inner: Box<dyn Chunks>,
    dice: Dice,
}

impl Chunks for BreakingChunks {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Fault>> {
        if self.dice.fall() {
            return Box::pin(async { Err(broken()) });
        }
        self.inner.next()
    }
}
