//! The thread that gives space back, in order: a room is punched before its extent is sealed, so that a crash in
//! between leaves the extent for the next start to settle.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::append::Use;
use super::directory::Directory;
use super::layout::{HEADER, PAGE, room};
use super::read::Files;
use crate::content::Piece;

/// A stretch of an extent: whole rooms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub extent: u64,
    pub offset: u64,
    pub length: u64,
}

impl From<&Piece> for Range {
    fn from(piece: &Piece) -> Self {
        Self { extent: piece.extent, offset: piece.offset, length: room(piece.length) }
    }
}

enum Task {
    GiveBack(Vec<Range>, Vec<Use>),
    Seal(u64),
    Settle { extent: u64, live: Vec<(u64, u64)>, answer: oneshot::Sender<io::Result<()>> },
    Tell(oneshot::Sender<()>),
    Stop,
}

/// The way to the thread. Whatever comes after its end is not done: the next start does it.
#[derive(Clone)]
pub(crate) struct Reclaim {
    tasks: Sender<Task>,
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl Reclaim {
    pub fn start(directory: Arc<Directory>, files: Arc<Files>) -> io::Result<Self> {
        let (tasks, inbox) = channel();
        let thread =
            std::thread::Builder::new().name("reclaim".into()).spawn(move || work(&directory, &files, &inbox))?;
        Ok(Self { tasks, thread: Arc::new(Mutex::new(Some(thread))) })
    }

    /// `uses` are kept until the ranges are given back.
    pub fn give_back(&self, ranges: Vec<Range>, uses: Vec<Use>) {
        self.send(Task::GiveBack(ranges, uses));
    }

    pub fn seal(&self, extent: u64) {
        self.send(Task::Seal(extent));
    }

    pub async fn settle(&self, extent: u64, live: Vec<(u64, u64)>) -> io::Result<()> {
        let (answer, answered) = oneshot::channel();
        self.send(Task::Settle { extent, live, answer });
        answered.await.unwrap_or_else(|_| Err(io::Error::other("stopped before the extent was settled")))
    }

    /// Says so when all that was asked before is done, or will never be.
    pub fn tell(&self, done: oneshot::Sender<()>) {
        self.send(Task::Tell(done));
    }

    /// Does what was asked so far, then ends the thread.
    pub fn stop(&self) {
        self.send(Task::Stop);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }

    fn send(&self, task: Task) {
        // After `stop` nobody listens, and nobody has to.
        let _ = self.tasks.send(task);
    }
}

fn work(directory: &Directory, files: &Files, inbox: &Receiver<Task>) {
    while let Ok(task) = inbox.recv() {
        match task {
            Task::GiveBack(ranges, uses) => {
                for range in ranges {
                    let done = directory.give_back(range.extent, range.offset, range.length);
                    log(done, range.extent, "space was not given back; the next start tries again");
                }
                drop(uses);
            }
            Task::Seal(extent) => {
                log(directory.seal(extent), extent, "not sealed; the next start settles it");
                files.forget(extent);
            }
            Task::Settle { extent, live, answer } => {
                let _ = answer.send(settle(directory, extent, live));
                files.forget(extent);
            }
            Task::Tell(done) => done.send(()).unwrap_or(()),
            Task::Stop => return,
        }
    }
}

fn settle(directory: &Directory, extent: u64, mut live: Vec<(u64, u64)>) -> io::Result<()> {
    live.sort_unstable();
    let mut free_from = HEADER;
    for (offset, length) in live {
        // A piece may be named twice, by a snapshot and its base.
        directory.punch(extent, free_from, offset.saturating_sub(free_from))?;
        directory.occupy(extent, offset);
        free_from = free_from.max(offset + room(length));
    }
    directory.punch(extent, free_from, directory.length(extent)?.next_multiple_of(PAGE).saturating_sub(free_from))?;
    directory.vacate_if_unknown(extent);
    directory.seal(extent)
}

fn log(result: io::Result<()>, extent: u64, what: &str) {
    if let Err(error) = result {
        tracing::warn!(extent, %error, "{what}");
    }
}
