//! A server that is killed again and again while clients work on it. What they expect of it is theirs to say: they look at the
//! beginning of each round, and once more at the end.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::chance::Chance;
use crate::client::Client;
use crate::process::Server;

/// What is killed, and how often.
pub struct Killing<'a> {
    pub binary: &'a str,
    pub directory: &'a Path,
    /// As connection strings name it: `Queue`.
    pub service: &'a str,
    pub kills: u64,
    pub seed: u64,
}

impl Killing<'_> {
    pub fn start(&self) -> Server {
        Server::start(self.binary, self.directory, &[]).expect("it starts after every kill")
    }

    /// `setup` runs once. Then, in each round, every worker works on a connection of its own until the server dies, which an error tells
    /// it, or until `stop` is set. Gives the server as it was started last, after the last kill.
    pub fn run<W: Send>(
        &self,
        workers: &mut [W],
        setup: impl FnOnce(&mut Client),
        work: impl Fn(&mut W, u64, &mut Client, &AtomicBool) -> io::Result<()> + Sync,
    ) -> Server {
        let mut chance = Chance::new(self.seed);
        let server = self.start();
        setup(&mut Client::new(server.endpoint(self.service)));
        let mut server = Some(server);
        for round in 0..self.kills {
            let server = server.take().unwrap_or_else(|| self.start());
            let address = server.endpoint(self.service);
            let stop = AtomicBool::new(false);
            thread::scope(|scope| {
                let (work, stop) = (&work, &stop);
                for worker in workers.iter_mut() {
                    scope.spawn(move || drop(work(worker, round, &mut Client::new(address), stop)));
                }
                pause(50 + chance.below(400) as u64);
                server.kill().expect("it ran until it was killed");
                stop.store(true, Ordering::Relaxed);
            });
        }
        self.start()
    }
}

#[expect(clippy::disallowed_methods, reason = "a kill has to come at some moment")]
fn pause(millis: u64) {
    thread::sleep(Duration::from_millis(millis));
}

/// What something may be after a crash: what was acknowledged last, and what was under way besides.
#[derive(Clone, Debug)]
pub struct Possible<T> {
    pub certain: T,
    pub perhaps: Option<T>,
}

impl<T: Clone + PartialEq + std::fmt::Debug> Possible<T> {
    pub fn new(certain: T) -> Self {
        Self { certain, perhaps: None }
    }

    /// The server is back: whatever it shows must be explained, and is certain from now on.
    pub fn settle(&mut self, name: &str, seen: T) {
        let is_explained = seen == self.certain || self.perhaps.as_ref() == Some(&seen);
        assert!(is_explained, "{name} is {seen:?}, expected {self:?}");
        *self = Self::new(seen);
    }

    /// Something is about to change it: `change` asks for that, and says whether it was done.
    pub fn become_by(&mut self, to: T, change: impl FnOnce() -> io::Result<bool>) -> io::Result<()> {
        self.perhaps = Some(to.clone());
        let was_done = change()?;
        *self = Self::new(if was_done { to } else { self.certain.clone() });
        Ok(())
    }
}
