//! Work that the load generator cannot drive, because it is several calls in a row, another protocol, or no server at all: as many
//! threads as clients, each of which takes one turn after the other on a connection of its own.

use crate::clock::now;
use crate::load::Tally;
use crate::process::Process;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What one client does again and again.
pub type Turn<'a> = Box<dyn FnMut() -> io::Result<()> + Send + 'a>;

pub struct Turns<'a> {
    pub who: &'static str,
    /// Whose CPU and memory it costs.
    pub process: Process,
    /// How many of what is counted one turn does.
    pub counts: f64,
    /// What one turn moves.
    pub bytes: u64,
    /// A client. All of them are made before the time begins, and go after it has ended.
    pub connect: Box<dyn Fn() -> io::Result<Turn<'a>> + 'a>,
}

impl<'a> Turns<'a> {
    pub fn clients(&self, count: usize) -> io::Result<Vec<Turn<'a>>> {
        (0..count).map(|_| (self.connect)()).collect()
    }

    /// No turn begins after `period` nor after `limit` others; those that have begun are waited for.
    pub fn run(&self, clients: &mut [Turn<'a>], period: Duration, limit: u64) -> io::Result<Tally> {
        let (began, begun) = (now(), &AtomicU64::new(0));
        let times: io::Result<Vec<Vec<Duration>>> = std::thread::scope(|scope| {
            let client = move |turn: &mut Turn| {
                let mut times = Vec::new();
                while begun.fetch_add(1, Ordering::Relaxed) < limit && (times.is_empty() || now() - began < period) {
                    let before = now();
                    turn()?;
                    times.push(now() - before);
                }
                Ok(times)
            };
            let clients: Vec<_> = clients.iter_mut().map(|turn| scope.spawn(move || client(turn))).collect();
            clients.into_iter().map(|client| client.join().expect("no client panics")).collect()
        });
        let times = times?.concat();
        let bytes = times.len() as u64 * self.bytes;
        Ok(Tally::of(&times, now() - began, bytes))
    }
}
