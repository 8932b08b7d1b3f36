//! How long a server takes from its start to its first good answer, after it was asked to end and after it was killed
//! in the middle of writes.

use crate::clock::pause;
use crate::load::Load;
use crate::request::{Request, Site};
use crate::server::{Launch, Server};
use crate::work::Work;
use std::io;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

#[derive(Clone, Copy, PartialEq)]
pub enum End {
    Stopped,
    Killed,
}

pub struct Restarts {
    pub after: End,
    /// Sorted.
    pub first_answers: Vec<Duration>,
}

impl Restarts {
    /// The slowest, in milliseconds.
    pub fn worst(&self) -> Option<f64> {
        self.first_answers.last().map(|worst| worst.as_secs_f64() * 1e3)
    }
}

/// Ends and starts `server` a few times. The first answer is that to `probe`.
pub fn measure(
    launch: &Launch,
    mut server: Server,
    after: End,
    probe: &Request,
    numbers: &AtomicU64,
    times: usize,
) -> io::Result<(Server, Restarts)> {
    let mut first_answers = Vec::with_capacity(times);
    for _ in 0..times {
        match after {
            End::Stopped => server.stop()?,
            End::Killed => kill_under_load(server, numbers)?,
        }
        server = launch.start(probe)?;
        first_answers.push(server.first_answer);
    }
    first_answers.sort_unstable();
    Ok((server, Restarts { after, first_answers }))
}

fn kill_under_load(server: Server, numbers: &AtomicU64) -> io::Result<()> {
    let request = Work::PutSmall.request(&Site::Azure);
    let period = Duration::from_secs(60);
    let load = Load { at: server.at, request: &request, numbers, clients: 32, threads: 1, period, limit: u64::MAX };
    std::thread::scope(|scope| {
        let writers = scope.spawn(|| load.run());
        pause(Duration::from_secs(1));
        server.kill()?;
        match writers.join().expect("the load thread panicked") {
            Ok(_) => Err(io::Error::other("the server was killed and its clients saw nothing")),
            // Their connections were cut, as they should be.
            Err(_) => Ok(()),
        }
    })
}
