//! The load generator: closed-loop clients, each with one connection and one request in flight, over few threads.
//!
//! It shares the machine with the server it measures, so it does one `write` and one `read` per small request and
//! nothing else worth naming; both ends of every comparison are driven by it. A thread that has one client waits for the
//! server in its `read`, with several clients for all of them in `epoll_wait`.

use crate::clock::now;
use crate::reply::Reply;
use crate::request::Request;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A server that says nothing for so long has failed.
const SILENCE: Duration = Duration::from_secs(60);
const BUFFER: usize = 256 << 10;

pub struct Load<'a> {
    pub at: SocketAddr,
    pub request: &'a Request,
    /// Where names go on from; shared by all windows of one server, so that new names stay new.
    pub numbers: &'a AtomicU64,
    pub clients: usize,
    pub threads: usize,
    /// No request begins after this time, nor with this number or a higher one.
    pub period: Duration,
    pub limit: u64,
}

/// What one window saw. Requests that began in it are waited for, and the time is taken at the last reply.
pub struct Tally {
    pub seconds: f64,
    pub bytes: u64,
    /// In microseconds, sorted.
    latencies: Vec<u32>,
}

impl Tally {
    /// Of those who keep their times themselves.
    pub fn of(times: &[Duration], elapsed: Duration, bytes: u64) -> Tally {
        let mut latencies: Vec<u32> = times.iter().map(|time| micros(*time)).collect();
        latencies.sort_unstable();
        Tally { seconds: elapsed.as_secs_f64(), bytes, latencies }
    }

    /// Of several that ran at the same time.
    #[cfg(feature = "rados")]
    pub fn together(all: Vec<Tally>) -> Tally {
        let mut sum = Tally { seconds: 0.0, bytes: 0, latencies: Vec::new() };
        for tally in all {
            sum.seconds = sum.seconds.max(tally.seconds);
            sum.bytes += tally.bytes;
            sum.latencies.extend(tally.latencies);
        }
        sum.latencies.sort_unstable();
        sum
    }

    pub fn requests(&self) -> u64 {
        self.latencies.len() as u64
    }

    pub fn rate(&self) -> f64 {
        self.requests() as f64 / self.seconds
    }

    pub fn megabytes(&self) -> f64 {
        self.bytes as f64 / self.seconds / 1e6
    }

    /// The latency in milliseconds that `share` of the requests did not exceed.
    pub fn percentile(&self, share: f64) -> f64 {
        let last = self.latencies.len().saturating_sub(1);
        let at = (self.latencies.len() as f64 * share) as usize;
        self.latencies.get(at.min(last)).map_or(f64::NAN, |&micros| f64::from(micros) / 1e3)
    }
}

fn micros(time: Duration) -> u32 {
    time.as_micros().try_into().unwrap_or(u32::MAX)
}

impl Load<'_> {
    pub fn run(&self) -> io::Result<Tally> {
        let threads = self.threads.clamp(1, self.clients);
        let clients = |index| self.clients / threads + usize::from(index < self.clients % threads);
        let open = |index| (0..clients(index)).map(|_| Connection::open(self)).collect();
        let connected: Vec<Vec<Connection>> = (0..threads).map(open).collect::<io::Result<_>>()?;
        let began = now();
        let parts: Vec<io::Result<Part>> = std::thread::scope(|scope| {
            let running: Vec<_> =
                connected.into_iter().map(|clients| scope.spawn(move || self.drive(clients, began))).collect();
            running.into_iter().map(|thread| thread.join().expect("a load thread panicked")).collect()
        });
        let mut tally = Tally { seconds: 0.0, bytes: 0, latencies: Vec::new() };
        for part in parts {
            let part = part?;
            tally.bytes += part.bytes;
            tally.seconds = tally.seconds.max((part.ended - began).as_secs_f64());
            tally.latencies.extend(part.latencies);
        }
        tally.latencies.sort_unstable();
        Ok(tally)
    }

    /// One thread's clients, to their last reply. Each sends at least one request, however long the others keep the thread.
    fn drive(&self, mut connections: Vec<Connection>, began: Instant) -> io::Result<Part> {
        let deadline = began + self.period;
        if let [alone] = &mut connections[..] {
            return self.drive_alone(alone, began, deadline);
        }
        let queue = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut part = Part::new(began);
        for (index, connection) in connections.iter().enumerate() {
            // Edge triggered: registered once, both ways, and never touched again.
            let interest = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET;
            epoll::add(&queue, &connection.stream, epoll::EventData::new_u64(index as u64), interest)?;
        }
        let mut busy = connections.iter_mut().map(|each| usize::from(each.begin(self, began, deadline))).sum::<usize>();
        let patience = Timespec { tv_sec: SILENCE.as_secs().cast_signed(), tv_nsec: 0 };
        let mut events = Vec::with_capacity(connections.len());
        while busy > 0 {
            match epoll::wait(&queue, spare_capacity(&mut events), Some(&patience)) {
                Ok(0) => return Err(silent()),
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            for event in events.drain(..) {
                let connection = &mut connections[event.data.u64() as usize];
                if !connection.waiting {
                    continue;
                }
                if let Some(end) = connection.advance(self, &mut part)? {
                    busy -= usize::from(!connection.begin(self, end, deadline));
                    connection.send(self)?;
                }
            }
        }
        Ok(part)
    }
}

impl Load<'_> {
    fn drive_alone(&self, connection: &mut Connection, began: Instant, deadline: Instant) -> io::Result<Part> {
        connection.stream.set_nonblocking(false)?;
        connection.stream.set_read_timeout(Some(SILENCE))?;
        connection.blocking = true;
        let (mut part, mut at) = (Part::new(began), began);
        while connection.begin(self, at, deadline) {
            at = loop {
                if let Some(end) = connection.advance(self, &mut part)? {
                    break end;
                }
            };
        }
        Ok(part)
    }
}

fn silent() -> io::Error {
    io::Error::new(ErrorKind::TimedOut, "the server has stopped answering")
}

/// What one thread saw.
struct Part {
    ended: Instant,
    bytes: u64,
    latencies: Vec<u32>,
    buffer: Vec<u8>,
}

impl Part {
    fn new(began: Instant) -> Part {
        Part { ended: began, bytes: 0, latencies: Vec::new(), buffer: vec![0; BUFFER] }
    }
}

struct Connection {
    stream: TcpStream,
    head: Vec<u8>,
    sent: usize,
    reply: Reply,
    began: Instant,
    waiting: bool,
    /// Reading waits for as long as a server may be silent.
    blocking: bool,
}

impl Connection {
    fn open(load: &Load) -> io::Result<Connection> {
        let stream = TcpStream::connect_timeout(&load.at, Duration::from_secs(10))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let head = load.request.head.clone();
        Ok(Connection { stream, head, sent: 0, reply: Reply::new(), began: now(), waiting: false, blocking: false })
    }

    /// Takes the next name; false when the window is over.
    fn begin(&mut self, load: &Load, at: Instant, deadline: Instant) -> bool {
        self.waiting = false;
        if at >= deadline {
            return false;
        }
        let number = load.numbers.fetch_add(1, Ordering::Relaxed);
        if number >= load.limit {
            return false;
        }
        load.request.set_number(&mut self.head, number);
        (self.began, self.sent, self.reply, self.waiting) = (at, 0, Reply::new(), true);
        true
    }

    /// Sends and receives what can be now. The time of the reply's end, when it came.
    fn advance(&mut self, load: &Load, part: &mut Part) -> io::Result<Option<Instant>> {
        if !self.send(load)? {
            return Ok(None);
        }
        loop {
            let length = match self.stream.read(&mut part.buffer) {
                Ok(0) => return Err(io::Error::new(ErrorKind::UnexpectedEof, "the server closed a connection")),
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock && self.blocking => return Err(silent()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            part.bytes += length as u64;
            if self.reply.take(&part.buffer[..length], load.request.status, load.request.headless_reply)? {
                let end = now();
                part.ended = end;
                part.bytes += load.request.body.len() as u64;
                part.latencies.push(micros(end - self.began));
                return Ok(Some(end));
            }
            if length < part.buffer.len() {
                // The socket is empty; more bytes will be a new event.
                return Ok(None);
            }
        }
    }

    /// True when the whole request is sent.
    fn send(&mut self, load: &Load) -> io::Result<bool> {
        let (head, body) = (&self.head, &load.request.body);
        while self.waiting && self.sent < head.len() + body.len() {
            let head_sent = self.sent.min(head.len());
            let body_sent = self.sent - head_sent;
            let rest = [IoSlice::new(&head[head_sent..]), IoSlice::new(&body[body_sent..])];
            match self.stream.write_vectored(&rest) {
                Ok(length) => self.sent += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}
